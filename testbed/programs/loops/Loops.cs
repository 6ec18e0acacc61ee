// The bench program: the cost of calls, and of collections beside busy threads.
//
// loops, then commands, one per line:
//   bench KIND THREADS CHUNKS -> bench KIND THREADS BEST MEDIAN   nanoseconds per call of Loops.KIND(int), from CHUNKS
//       chunks of a million calls (fewer where a call takes long) on each thread, after a warm-up long enough for every
//       tier. It is processor time where the system tells a thread's own (Linux), so that other programs do not count
//   burst KIND THREADS BURSTS -> burst KIND THREADS BEST MEDIAN   the same in bursts of 500 calls with pauses between them
//   each KIND CALLS -> each KIND NANOSECONDS...   every single call, with two readings of the clock, while another thread
//       collects garbage
//   gc COUNT -> gc MEDIAN MAX   microseconds of GC.Collect(0), COUNT times with 1 ms between, while two threads hammer
//       Loops.Plain(int) from two loops in turn, one of calls alone and one that also divides. In the first some processors
//       take every interrupt in the stub that the runtime calls through, where .NET Core 2.1 and 3.1 cannot stop a thread,
//       with or without an agent; in the second most interrupts hit the loop itself, which these stop only where it returns. So
//       each loop ends after some microseconds; otherwise the result would be the length of the loops
// KIND: Plain (about 1 ns), Interlocked (a shared counter), ThreadStatic (a counter per thread), Stopwatched
// (its own times, in shared sums), Inlined (left for the
// JIT to inline), Empty (no call at all: the loop itself), Throws (an exception that the loop catches), ThrowsDeep
// (the same from below 20 frames), AtOnce and Suspends (async methods: one that never waits, one that always does). For bursts
// and single calls: Numbers, Texts, Objects (arguments to capture), Written (events of an EventSource).
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static partial class Loops
{
    const int Chunk = 1000000;
    /// <summary>Number of calls in a loop beside collections.</summary>
    const int Slice = 5000;
    const int WarmUpMilliseconds = 500;

    static long shared;
    [ThreadStatic] static long own;
    static long sink;
    static volatile bool stop;
    static volatile int divisor = 3;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Plain(int n) => n ^ 5;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Interlocked(int n)
    {
        System.Threading.Interlocked.Increment(ref shared);
        return n ^ 5;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int ThreadStatic(int n)
    {
        own++;
        return n ^ 5;
    }

    static long total;
    static long count;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Stopwatched(int n)
    {
        long since = Stopwatch.GetTimestamp();
        try
        {
            return n ^ 5;
        }
        finally
        {
            System.Threading.Interlocked.Add(ref total, Stopwatch.GetTimestamp() - since);
            System.Threading.Interlocked.Increment(ref count);
        }
    }

    static int Inlined(int n) => n ^ 5;

    static int Main()
    {
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "bench":
                    Bench(words[1], int.Parse(words[2]), int.Parse(words[3]));
                    break;
                case "burst":
                    Bursts(words[1], int.Parse(words[2]), int.Parse(words[3]));
                    break;
                case "each":
                    Each(words[1], int.Parse(words[2]));
                    break;
                case "gc":
                    Collect(int.Parse(words[1]));
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    /// <summary>Number of calls in a chunk.</summary>
    static int ChunkOf(string kind)
    {
        switch (kind)
        {
            case "Throws":
            case "ThrowsDeep":
                return ThrownChunk;
            case "AtOnce":
            case "Suspends":
                return AwaitedChunk;
            default:
                return Chunk;
        }
    }

    /// <summary>A chunk of calls from a loop that names its callee, as a compiler would see it.</summary>
    static Func<int, int> Hammer(string kind)
    {
        switch (kind)
        {
            case "Plain":
                return HammerPlain;
            case "Interlocked":
                return HammerInterlocked;
            case "ThreadStatic":
                return HammerThreadStatic;
            case "Stopwatched":
                return HammerStopwatched;
            case "Inlined":
                return HammerInlined;
            case "Empty":
                return HammerNothing;
            case "Throws":
                return HammerThrows;
            case "ThrowsDeep":
                return HammerThrowsDeep;
            case "AtOnce":
                return HammerAtOnce;
            case "Suspends":
                return HammerSuspends;
            default:
                throw new ArgumentException("no such kind: " + kind);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerPlain(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Plain(i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerPlainAndDivide(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum = (sum + Plain(i)) / divisor;
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerInterlocked(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Interlocked(i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerThreadStatic(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += ThreadStatic(i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerStopwatched(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Stopwatched(i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerInlined(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Inlined(i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerNothing(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += i ^ 5;
        return sum;
    }

    static void Bench(string kind, int threadCount, int chunks)
    {
        Func<int, int> hammer = Hammer(kind);
        int chunk = ChunkOf(kind);
        var samples = new List<double>();
        var warm = new Barrier(threadCount);
        var threads = new List<Thread>();
        for (int t = 0; t < threadCount; t++)
        {
            threads.Add(new Thread(() =>
            {
                WarmUp(hammer, chunk / 100);
                var mine = new List<double>();
                warm.SignalAndWait();
                for (int i = 0; i < chunks; i++)
                {
                    double start = ThreadNanoseconds();
                    sink += hammer(chunk);
                    mine.Add((ThreadNanoseconds() - start) / chunk);
                }
                lock (samples)
                    samples.AddRange(mine);
            }));
        }
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        samples.Sort();
        Say("bench " + kind + " " + threadCount + " " + Number(samples[0]) + " " + Number(samples[samples.Count / 2]));
    }

    struct TimeSpec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "clock_gettime")]
    static extern int ClockGetTime(int clock, out TimeSpec time);

    static readonly bool linux = RuntimeInformation.IsOSPlatform(OSPlatform.Linux);

    /// <summary>Processor time of this thread in nanoseconds on Linux; elapsed time elsewhere.</summary>
    static double ThreadNanoseconds()
    {
        const int ThreadCpuTime = 3;
        if (linux && ClockGetTime(ThreadCpuTime, out TimeSpec time) == 0)
            return time.Seconds * 1e9 + time.Nanoseconds;
        return Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency);
    }

    /// <summary>Many short calls of the loop, so that it and its callee reach their last tier.</summary>
    static void WarmUp(Func<int, int> hammer, int calls)
    {
        var clock = Stopwatch.StartNew();
        while (clock.ElapsedMilliseconds < WarmUpMilliseconds)
            sink += hammer(calls);
    }

    static void Collect(int count)
    {
        stop = false;
        var threads = Enumerable.Range(0, 2).Select(_ => new Thread(() =>
        {
            while (!stop)
                sink += HammerPlain(Slice) + HammerPlainAndDivide(Slice);
        })).ToList();
        threads.ForEach(thread => thread.Start());
        Thread.Sleep(WarmUpMilliseconds);
        var samples = new List<double>();
        for (int i = 0; i < count; i++)
        {
            long start = Stopwatch.GetTimestamp();
            GC.Collect(0);
            samples.Add((Stopwatch.GetTimestamp() - start) * (1e6 / Stopwatch.Frequency));
            Thread.Sleep(1);
        }
        stop = true;
        threads.ForEach(thread => thread.Join());
        samples.Sort();
        Say("gc " + Number(samples[samples.Count / 2]) + " " + Number(samples[samples.Count - 1]));
    }

    static string Number(double value) => value.ToString("0.0000", CultureInfo.InvariantCulture);

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

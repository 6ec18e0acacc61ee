// A host with calls of known times. Each method measures from its first to its last statement, and its caller measures
// around the call; the reported time must lie between the two.
//   sleep N MS            Sleep(int), N times                -> known ...
//   busy THREADS N        Busy(int), N times on each thread, for 1 to 200 microseconds
//   recurse DEPTH         Recurse(int)
//   nest N                Outer(int), which calls Inner(int)
//   throw N               Throws(int), which throws every third time; Through(int), which lets it pass; Catches(int)
//   stand N / leave       N threads enter Stand() and stay -> standing N, and leave it -> left N
//   die N                 N threads end inside of Die()
// The answer of all but stand and leave is lines "known METHOD CALLS EXCEPTIONS INNER OUTER MAX_INNER MAX_OUTER P50_INNER
// P50_OUTER P90_INNER P90_OUTER P99_INNER P99_OUTER", in nanoseconds since the start, then "end".
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static class Timed
{
    sealed class Known
    {
        public readonly List<long> Inner = new List<long>(), Outer = new List<long>();
        public long Calls, Exceptions, OutermostInner, OutermostOuter;
    }

    static readonly SortedDictionary<string, Known> all = new SortedDictionary<string, Known>();

    static Known Of(string method)
    {
        lock (all)
        {
            if (!all.TryGetValue(method, out var known))
                all[method] = known = new Known();
            return known;
        }
    }

    static long Now() => Stopwatch.GetTimestamp();

    static void Inside(string method, long since)
    {
        long took = Now() - since;
        var known = Of(method);
        lock (known)
            known.Inner.Add(took);
    }

    static void Around(string method, Action call)
    {
        var known = Of(method);
        bool thrown = false;
        long since = Now();
        try
        {
            call();
        }
        catch (InvalidOperationException)
        {
            thrown = true;
        }
        long took = Now() - since;
        lock (known)
        {
            known.Calls++;
            known.Outer.Add(took);
            known.Exceptions += thrown ? 1 : 0;
        }
    }

    static void Spin(long ticks)
    {
        for (long since = Now(); Now() - since < ticks;) { }
    }

    static long Microseconds(long us) => us * Stopwatch.Frequency / 1000000;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Sleep(int ms)
    {
        long since = Now();
        Thread.Sleep(ms);
        Inside("Timed.Sleep(int)", since);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Busy(int us)
    {
        long since = Now();
        Spin(Microseconds(us));
        Inside("Timed.Busy(int)", since);
        return us;
    }

    // Only dialled, never called.
    static int Last(int n) => Last(n - 1);

    static long outermost;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Recurse(int depth)
    {
        long since = Now();
        Spin(Microseconds(1));
        int sum = depth > 0 ? 1 + Recurse(depth - 1) : 1;
        outermost = Now() - since;
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Outer(int us)
    {
        long since = Now();
        Spin(Microseconds(us));
        long before = Now();
        long inner = Inner(us);
        long between = Now() - before;
        Spin(Microseconds(us));
        Inside("Timed.Outer(int)", since);
        return "" + (inner + between);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Inner(int us)
    {
        long since = Now();
        Spin(Microseconds(us));
        Inside("Timed.Inner(int)", since);
        return since;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throws(int turn)
    {
        if (turn % 3 == 0)
            throw new InvalidOperationException("thrown");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Through(int turn)
    {
        Around("Timed.Unseen()", () => { });
        Throws(turn);
        return turn;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Catches(int turn)
    {
        try
        {
            Throws(turn);
            return false;
        }
        catch (InvalidOperationException e) when (e.Message == "thrown")
        {
            return true;
        }
        finally
        {
            Spin(1);
        }
    }

    static readonly CountdownEvent standing = new CountdownEvent(1);
    static readonly ManualResetEventSlim go = new ManualResetEventSlim();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Stand()
    {
        standing.Signal();
        go.Wait();
        return 0.5;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Die()
    {
        pthread_exit(IntPtr.Zero);
    }

    [DllImport("libc")]
    static extern void pthread_exit(IntPtr value);
    [DllImport("libpthread.so.0")]
    static extern int pthread_create(out IntPtr thread, IntPtr attributes, IntPtr start, IntPtr argument);
    [DllImport("libpthread.so.0")]
    static extern int pthread_join(IntPtr thread, IntPtr value);
    delegate IntPtr Start(IntPtr argument);

    static List<Thread> threads = new List<Thread>();

    static void OnThreads(int count, Action<int> body)
    {
        for (int number = 0; number < count; number++)
        {
            int mine = number;
            var thread = new Thread(() => body(mine));
            threads.Add(thread);
            thread.Start();
        }
    }

    static void Joined()
    {
        threads.ForEach(thread => thread.Join());
        threads.Clear();
    }

    static long Ns(long ticks) => (long)(ticks * (1e9 / Stopwatch.Frequency));

    static long Rank(List<long> sorted, int perMille) =>
        sorted.Count == 0 ? 0 : Ns(sorted[Math.Max(1, (sorted.Count * perMille + 999) / 1000) - 1]);

    static long Sum(List<long> list)
    {
        long sum = 0;
        list.ForEach(one => sum += one);
        return Ns(sum);
    }

    static void Tell()
    {
        foreach (var pair in all)
        {
            var known = pair.Value;
            known.Inner.Sort();
            known.Outer.Sort();
            long inner = known.OutermostInner > 0 ? Ns(known.OutermostInner) : Sum(known.Inner);
            long outer = known.OutermostOuter > 0 ? Ns(known.OutermostOuter) : Sum(known.Outer);
            var line = "known " + pair.Key.Replace(" ", "") + " " + known.Calls + " " + known.Exceptions + " " + inner + " " + outer;
            foreach (int perMille in new[] { 1000, 500, 900, 990 })
                line += " " + Rank(known.Inner, perMille) + " " + Rank(known.Outer, perMille);
            Console.WriteLine(line);
        }
        Console.WriteLine("end");
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            var words = line.Split(' ');
            int first = words.Length > 1 ? int.Parse(words[1]) : 0;
            int second = words.Length > 2 ? int.Parse(words[2]) : 0;
            switch (words[0])
            {
                case "sleep":
                    for (int i = 0; i < first; i++)
                        Around("Timed.Sleep(int)", () => Sleep(second));
                    break;
                case "busy":
                    OnThreads(first, number =>
                    {
                        uint random = (uint)number + 1;
                        for (int i = 0; i < second; i++)
                        {
                            random = unchecked(random * 1664525 + 1013904223);
                            Around("Timed.Busy(int)", () => Busy(1 + (int)(random >> 16) % 200));
                        }
                    });
                    Joined();
                    break;
                case "recurse":
                    var recursion = Of("Timed.Recurse(int)");
                    long since = Now();
                    int depth = Recurse(first);
                    recursion.OutermostOuter += Now() - since;
                    recursion.OutermostInner += outermost;
                    recursion.Calls += depth;
                    break;
                case "nest":
                    for (int i = 0; i < first; i++)
                        Around("Timed.Outer(int)", () => Outer(20));
                    Of("Timed.Inner(int)").Calls += first;
                    break;
                case "throw":
                    for (int i = 0; i < first; i++)
                    {
                        Around("Timed.Throws(int)", () => Throws(i));
                        Around("Timed.Through(int)", () => Through(i));
                        Around("Timed.Catches(int)", () => Catches(i));
                    }
                    // The other methods call it as well.
                    var throws = Of("Timed.Throws(int)");
                    throws.Calls *= 3;
                    throws.Exceptions *= 3;
                    break;
                case "stand":
                    standing.Reset(first);
                    go.Reset();
                    OnThreads(first, _ => Stand());
                    standing.Wait();
                    Console.WriteLine("standing " + first);
                    continue;
                case "leave":
                    int standing_threads = threads.Count;
                    go.Set();
                    Joined();
                    Console.WriteLine("left " + standing_threads);
                    continue;
                case "die":
                    Start start = _ => { Die(); return IntPtr.Zero; };
                    for (int i = 0; i < first; i++)
                    {
                        pthread_create(out var thread, IntPtr.Zero, Marshal.GetFunctionPointerForDelegate(start), IntPtr.Zero);
                        pthread_join(thread, IntPtr.Zero);
                    }
                    GC.KeepAlive(start);
                    Of("Timed.Die()").Calls += first;
                    break;
                default:
                    Console.WriteLine("error unknown command: " + line);
                    continue;
            }
            Tell();
        }
    }
}

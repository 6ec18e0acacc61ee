// Methods with arguments to capture, called in bursts that a collector of events keeps up with, and one that writes the same
// events to an EventSource.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

static partial class Loops
{
    /// <summary>Calls in a burst.</summary>
    const int Burst = 500;

    sealed class Order
    {
        public int Id;
        public long Quantity;
        public double Price;
        public bool Paid;
        public string Name;
    }

    static readonly Order order = new Order { Id = 7, Quantity = 12, Price = 0.5, Paid = true, Name = "Beans" };
    static readonly string first = new string('a', 64);
    static readonly string second = new string('b', 64);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Numbers(int a, long b, double c) => a ^ (int)b;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Texts(string a, string b) => a.Length ^ b.Length;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Objects(Order of) => of.Id;

    /// <summary>As Numbers, with an event at its beginning and one at its end.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Written(int a, long b, double c)
    {
        CallEvents.Log.Entered(a, b, BitConverter.DoubleToInt64Bits(c));
        int result = a ^ (int)b;
        CallEvents.Log.Left(result);
        return result;
    }

    [EventSource(Name = "Redial-Bench")]
    sealed class CallEvents : EventSource
    {
        public static readonly CallEvents Log = new CallEvents();

        [Event(1)]
        public void Entered(long a, long b, long c) { WriteEvent(1, a, b, c); }

        [Event(2)]
        public void Left(long result) { WriteEvent(2, result); }
    }

    /// <summary>The loop of a kind of captured calls; null for other kinds.</summary>
    static Func<int, int> Captured(string kind)
    {
        switch (kind)
        {
            case "Numbers":
                return HammerNumbers;
            case "Texts":
                return HammerTexts;
            case "Objects":
                return HammerObjects;
            case "Written":
                return HammerWritten;
            default:
                return null;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerNumbers(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Numbers(i, i, 0.5);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerTexts(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Texts(first, second);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerObjects(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Objects(order);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerWritten(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += Written(i, i, 0.5);
        return sum;
    }

    /// <summary>Nanoseconds of a call, by bursts with pauses between them.</summary>
    static void Bursts(string kind, int threadCount, int bursts)
    {
        Func<int, int> hammer = Captured(kind);
        var samples = new List<double>();
        var warm = new Barrier(threadCount);
        var threads = Enumerable.Range(0, threadCount).Select(_ => new Thread(() =>
        {
            var clock = Stopwatch.StartNew();
            while (clock.ElapsedMilliseconds < WarmUpMilliseconds)
            {
                sink += hammer(Burst);
                Pause();
            }
            var mine = new List<double>(bursts);
            warm.SignalAndWait();
            for (int i = 0; i < bursts; i++)
            {
                double start = ThreadNanoseconds();
                sink += hammer(Burst);
                mine.Add((ThreadNanoseconds() - start) / Burst);
                Pause();
            }
            lock (samples)
                samples.AddRange(mine);
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        samples.Sort();
        Say("burst " + kind + " " + threadCount + " " + Number(samples[0]) + " " + Number(samples[samples.Count / 2]));
    }

    /// <summary>Longer than the pause of a collector of events between two looks.</summary>
    const int PauseMilliseconds = 25;

    static void Pause() { Thread.Sleep(PauseMilliseconds); }

    /// <summary>Times single calls while another thread collects garbage.</summary>
    static void Each(string kind, int calls)
    {
        Func<int, int> hammer = Captured(kind);
        stop = false;
        var collector = new Thread(() =>
        {
            while (!stop)
            {
                GC.Collect(0);
                Thread.Sleep(1);
            }
        });
        collector.Start();
        var samples = new List<double>(calls);
        for (int warm = 0; warm < WarmUpMilliseconds / PauseMilliseconds; warm++)
        {
            sink += hammer(Burst);
            Pause();
        }
        while (samples.Count < calls)
        {
            for (int i = 0; i < Burst; i++)
            {
                long start = Stopwatch.GetTimestamp();
                sink += hammer(1);
                samples.Add((Stopwatch.GetTimestamp() - start) * (1e9 / Stopwatch.Frequency));
            }
            Pause();
        }
        stop = true;
        collector.Join();
        Say("each " + kind + " " + string.Join(" ", samples.Select(Number)));
    }
}

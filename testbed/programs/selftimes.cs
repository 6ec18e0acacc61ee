// A host whose methods have known self times: each spins for a given time and sums up what it took.
//   load PRICE PARSE STORE -> loaded   from now on, without a pause: Serve, which calls Price, Parse and Store, each for
//                                      that many microseconds; 0 leaves one out
//   still -> still                     no more
//   rounds N PRICE PARSE STORE         the same N times, on this thread
//   never                              Never(1), which no test does
//   extra N                            Extra(50), N times
// The answers of still, rounds and extra are lines "known METHOD CALLS SELF_NS", in all so far, then "end".
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

static class Selftimes
{
    sealed class Known
    {
        public long Calls, Ticks;
    }

    static readonly SortedDictionary<string, Known> all = new SortedDictionary<string, Known>();

    static readonly Known price = Of("Price"), parse = Of("Parse"), store = Of("Store"), extra = Of("Extra");

    static Known Of(string method) => all["Selftimes." + method] = new Known();

    // Each spins by itself: a method for that would have the self time.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Price(int us)
    {
        long since = Stopwatch.GetTimestamp(), until = since + us * Stopwatch.Frequency / 1000000;
        while (Stopwatch.GetTimestamp() < until) { }
        price.Calls++;
        price.Ticks += Stopwatch.GetTimestamp() - since;
        return us;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Parse(int us)
    {
        long since = Stopwatch.GetTimestamp(), until = since + us * Stopwatch.Frequency / 1000000;
        while (Stopwatch.GetTimestamp() < until) { }
        parse.Calls++;
        parse.Ticks += Stopwatch.GetTimestamp() - since;
        return "";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Store(int us)
    {
        long since = Stopwatch.GetTimestamp(), until = since + us * Stopwatch.Frequency / 1000000;
        while (Stopwatch.GetTimestamp() < until) { }
        store.Calls++;
        store.Ticks += Stopwatch.GetTimestamp() - since;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Extra(int us)
    {
        long since = Stopwatch.GetTimestamp(), until = since + us * Stopwatch.Frequency / 1000000;
        while (Stopwatch.GetTimestamp() < until) { }
        extra.Calls++;
        extra.Ticks += Stopwatch.GetTimestamp() - since;
    }

    // The most total time, and next to no self time.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Serve(int[] us)
    {
        if (us[0] > 0) Price(us[0]);
        if (us[1] > 0) Parse(us[1]);
        if (us[2] > 0) Store(us[2]);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Never(int n) => n + 1;

    static volatile bool loaded;

    static void Load(int[] us)
    {
        while (loaded) Serve(us);
    }

    static void Tell()
    {
        foreach (var pair in all)
            Console.WriteLine("known " + pair.Key + " " + pair.Value.Calls + " "
                + (long)(pair.Value.Ticks * (1e9 / Stopwatch.Frequency)));
        Console.WriteLine("end");
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Thread thread = null;
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            string[] words = line.Split(' ');
            int[] numbers = Array.ConvertAll(words, word => int.TryParse(word, out int number) ? number : 0);
            switch (words[0])
            {
                case "load":
                    loaded = true;
                    var us = new[] { numbers[1], numbers[2], numbers[3] };
                    thread = new Thread(() => Load(us)) { IsBackground = true };
                    thread.Start();
                    Console.WriteLine("loaded");
                    break;
                case "still":
                    loaded = false;
                    thread.Join();
                    Console.WriteLine("still");
                    Tell();
                    break;
                case "rounds":
                    for (int n = 0; n < numbers[1]; n++) Serve(new[] { numbers[2], numbers[3], numbers[4] });
                    Tell();
                    break;
                case "extra":
                    for (int n = 0; n < numbers[1]; n++) Extra(50);
                    Tell();
                    break;
                case "never":
                    Never(1);
                    break;
                default:
                    Console.WriteLine("error unknown command: " + line);
                    break;
            }
        }
    }
}

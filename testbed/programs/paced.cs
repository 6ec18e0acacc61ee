// Methods with requested call rates, to test the cost of dials.
//
//   pace HOT WARM COOL -> pacing   from now on, at most once per millisecond: that many calls of each method
//   rounds N -> rounds             after N more rounds
//   still -> still                 no more rounds
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

static class Paced
{
    static volatile int hot, warm, cool;
    static volatile bool pacing;
    static long rounds;
    static long sink;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Hot(int n) => n ^ 5;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Warm(int n) => n ^ 6;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Cool(int n) => n ^ 7;

    // The timer of Windows may tick as rarely as every 16 ms.
    static readonly bool rareTicks = Environment.OSVersion.Platform == PlatformID.Win32NT;

    static void Pause()
    {
        if (rareTicks) Thread.Yield();
        else Thread.Sleep(1);
    }

    static void Pace()
    {
        var clock = Stopwatch.StartNew();
        long next = 0;
        while (pacing)
        {
            int sum = 0;
            for (int n = hot; n > 0; n--) sum += Hot(n);
            for (int n = warm; n > 0; n--) sum += Warm(n);
            for (int n = cool; n > 0; n--) sum += Cool(n);
            sink += sum;
            Interlocked.Increment(ref rounds);
            // A round that took longer is not made up for.
            next = Math.Max(next, clock.ElapsedMilliseconds) + 1;
            while (clock.ElapsedMilliseconds < next) Pause();
        }
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Thread thread = null;
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            string[] words = line.Split(' ');
            Func<int, int> number = at => int.Parse(words[at], CultureInfo.InvariantCulture);
            if (words[0] == "pace")
            {
                hot = number(1);
                warm = number(2);
                cool = number(3);
                pacing = true;
                if (thread == null)
                {
                    thread = new Thread(Pace) { IsBackground = true };
                    thread.Start();
                }
                Console.WriteLine("pacing");
            }
            else if (words[0] == "rounds")
            {
                long until = Interlocked.Read(ref rounds) + number(1);
                while (thread != null && Interlocked.Read(ref rounds) < until) Thread.Sleep(1);
                Console.WriteLine("rounds");
            }
            else if (words[0] == "still")
            {
                pacing = false;
                thread?.Join();
                thread = null;
                Console.WriteLine("still");
            }
        }
    }
}

using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Meter
{
    /// <summary>The method whose cost is measured: about one nanosecond of body, never inlined.</summary>
    static class Hot
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Add(long left, long right) => left + right;
    }

    /// <summary>
    /// Measures on command, one line a command and one line an answer:
    /// "calls THREADS MILLIONS" → "ns X" (wall time of the slowest thread by its calls, best of six);
    /// "collect THREADS TIMES" → "us X" (median of GC.Collect(0) while the threads call Hot.Add, one millisecond apart);
    /// end of input → exit.
    /// </summary>
    static class Program
    {
        const int Rounds = 6;
        static volatile bool stop;
        static long sink;

        static int Main()
        {
            Calls(1, 1);
            Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
            for (string line = Console.ReadLine(); line != null; line = Console.ReadLine())
            {
                string[] words = line.Split(' ');
                double value;
                if (words.Length == 3 && words[0] == "calls")
                    value = Calls(int.Parse(words[1]), int.Parse(words[2]));
                else if (words.Length == 3 && words[0] == "collect")
                    value = Collect(int.Parse(words[1]), int.Parse(words[2]));
                else
                {
                    Console.WriteLine("error unknown command: " + line);
                    continue;
                }
                string unit = words[0] == "calls" ? "ns " : "us ";
                Console.WriteLine(unit + value.ToString("R", CultureInfo.InvariantCulture));
            }
            return 0;
        }

        static double Calls(int threads, int millions)
        {
            double best = double.MaxValue;
            for (int round = 0; round < Rounds; round++)
            {
                var nanoseconds = new double[threads];
                using (var start = new Barrier(threads))
                    Run(threads, thread => { start.SignalAndWait(); nanoseconds[thread] = Loop(millions); });
                double slowest = 0;
                foreach (double time in nanoseconds)
                    slowest = Math.Max(slowest, time);
                best = Math.Min(best, slowest);
            }
            return best;
        }

        static double Loop(int millions)
        {
            long sum = 0;
            var clock = Stopwatch.StartNew();
            for (int million = 0; million < millions; million++)
                sum = Million(sum);
            clock.Stop();
            Interlocked.Add(ref sink, sum);
            return clock.Elapsed.TotalMilliseconds / millions;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Million(long sum)
        {
            for (int i = 0; i < 1000000; i++)
                sum = Hot.Add(sum, i);
            return sum;
        }

        static double Collect(int threads, int times)
        {
            stop = false;
            var workers = new Thread[threads];
            for (int i = 0; i < threads; i++)
            {
                workers[i] = new Thread(() =>
                {
                    long sum = 0;
                    while (!stop)
                        sum = Million(sum);
                    Interlocked.Add(ref sink, sum);
                });
                workers[i].Start();
            }
            var microseconds = new double[times];
            for (int i = 0; i < times; i++)
            {
                Thread.Sleep(1);
                var clock = Stopwatch.StartNew();
                GC.Collect(0);
                microseconds[i] = clock.Elapsed.TotalMilliseconds * 1000;
            }
            stop = true;
            foreach (Thread worker in workers)
                worker.Join();
            Array.Sort(microseconds);
            return microseconds[times / 2];
        }

        static void Run(int threads, Action<int> work)
        {
            var started = new Thread[threads];
            for (int i = 0; i < threads; i++)
            {
                int thread = i;
                started[i] = new Thread(() => work(thread));
                started[i].Start();
            }
            foreach (Thread thread in started)
                thread.Join();
        }
    }
}

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;

namespace Shop
{
    /// <summary>A steady, gently varying load, until Ctrl-C or the end of standard input.</summary>
    static class DemoMode
    {
        const int Threads = 4;
        const int TickMilliseconds = 20;
        const int PluginAfterSeconds = 5;
        const int StatusEverySeconds = 10;

        public static int Run(bool ignoreInput)
        {
            var stop = new ManualResetEventSlim();
            Console.CancelKeyPress += (sender, e) =>
            {
                e.Cancel = true;
                stop.Set();
            };
            if (!ignoreInput && Console.IsInputRedirected)
                Background("input", () => WaitForEndOfInput(stop));

            var catalog = new Catalog();
            var clock = Stopwatch.StartNew();
            var clerks = Enumerable.Range(1, Threads).Select(seed => new Clerk(catalog, seed)).ToList();
            var threads = clerks.Select((clerk, i) => Background("clerk " + i, () => Serve(clerk, i, clock, stop)))
                .ToList();

            Console.WriteLine("Shop is open, process " + Process.GetCurrentProcess().Id + ". Ctrl-C closes it.");
            if (!stop.Wait(PluginAfterSeconds * 1000))
            {
                Func<int, int> tax = Plugins.LoadTax();
                clerks.ForEach(clerk => clerk.Tax = tax);
                Console.WriteLine("Plugin.dll is loaded: prices now include tax.");
                while (!stop.Wait(StatusEverySeconds * 1000))
                    PrintStatus(clerks, clock);
            }
            threads.ForEach(thread => thread.Join());
            PrintStatus(clerks, clock);
            return 0;
        }

        /// <summary>A burst of work every tick; each clerk has its own rhythm.</summary>
        static void Serve(Clerk clerk, int index, Stopwatch clock, ManualResetEventSlim stop)
        {
            double period = 20.0 + 7 * index;
            while (!stop.Wait(TickMilliseconds))
            {
                double phase = 2 * Math.PI * clock.Elapsed.TotalSeconds / period;
                clerk.Work(60 + (int)(40 * Math.Sin(phase)));
            }
        }

        static Thread Background(string name, ThreadStart work)
        {
            var thread = new Thread(work) { IsBackground = true, Name = name };
            thread.Start();
            return thread;
        }

        static void WaitForEndOfInput(ManualResetEventSlim stop)
        {
            while (Console.In.ReadLine() != null)
            {
            }
            stop.Set();
        }

        static void PrintStatus(List<Clerk> clerks, Stopwatch clock) =>
            Console.WriteLine("Open for " + (int)clock.Elapsed.TotalSeconds + " s, "
                + clerks.Sum(clerk => clerk.Rounds) + " customers served.");
    }
}

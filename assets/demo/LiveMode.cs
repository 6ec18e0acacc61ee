using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;

namespace Shop
{
    /// <summary>Obeys commands on standard input, one per line. Every answer ends with a line of its own, so that
    /// a test waits for events and never for time. README.md lists the commands.</summary>
    sealed class LiveMode
    {
        readonly Catalog catalog = new Catalog();
        readonly List<Clerk> clerks = new List<Clerk>();
        readonly Barrier barrier;
        readonly Tally own = new Tally();
        readonly Queue<(Cart Cart, Thread Thread, int[] Value)> parked =
            new Queue<(Cart, Thread, int[])>();
        readonly Loop loop;
        readonly Reflection reflection = new Reflection();
        long[] zero = new long[KnownMethods.All.Length];
        volatile int roundsToRun;
        Func<int, int> tax;

        LiveMode(int threads, int seed)
        {
            barrier = new Barrier(threads + 1);
            loop = new Loop(catalog, threads, seed + threads);
            for (int i = 0; i < threads; i++)
            {
                var clerk = new Clerk(catalog, seed + i);
                clerks.Add(clerk);
                new Thread(() => Serve(clerk)) { IsBackground = true, Name = "clerk " + i }.Start();
            }
        }

        public static int Run(int threads, int seed) => new LiveMode(threads, seed).Obey();

        void Serve(Clerk clerk)
        {
            while (true)
            {
                barrier.SignalAndWait();
                clerk.Work(roundsToRun);
                barrier.SignalAndWait();
            }
        }

        int Obey()
        {
            Say("ready " + Process.GetCurrentProcess().Id);
            string line;
            while ((line = Console.In.ReadLine()) != null)
            {
                string[] words = line.Split(new[] { ' ' }, 3, StringSplitOptions.RemoveEmptyEntries);
                if (words.Length == 0)
                    continue;
                if (words[0] == "exit")
                    return words.Length > 1 ? int.Parse(words[1]) : 0;
                try
                {
                    Do(words);
                }
                catch (Exception e) when (!(e is OutOfMemoryException))
                {
                    Say("error " + line + ": " + e.Message.Replace('\n', ' '));
                }
            }
            return 0;
        }

        void Do(string[] words)
        {
            string argument = words.Length > 1 ? words[1] : "";
            switch (words[0])
            {
                case "round":
                    roundsToRun = int.Parse(argument);
                    barrier.SignalAndWait();
                    barrier.SignalAndWait();
                    Say("done " + clerks.Sum(clerk => clerk.Rounds));
                    break;
                case "truth":
                    Truth.Print(Console.Out, "truth", Total(), zero);
                    Say("end");
                    break;
                case "truth-reset":
                    zero = Total();
                    Say("reset");
                    break;
                case "park":
                    Park();
                    break;
                case "unpark":
                    Unpark();
                    break;
                case "loop":
                    loop.Do(argument, words.Length > 2 ? words[2] : "", Say);
                    break;
                case "load-plugin":
                    LoadPlugin();
                    break;
                case "reflect":
                    reflection.Do(argument, words.Length > 2 ? words[2] : "", Say);
                    break;
                case "quit":
                    Environment.Exit(int.Parse(argument));
                    break;
                case "failfast":
                    Environment.FailFast("failed fast on request");
                    break;
                case "throw":
                    var thrower = new Thread(() => throw new InvalidOperationException("thrown on request"));
                    thrower.Start();
                    thrower.Join();
                    break;
                default:
                    Say("error unknown command: " + words[0]);
                    break;
            }
        }

        long[] Total()
        {
            if (loop.IsOn)
                throw new InvalidOperationException("the truth is only known while the loop is off");
            return Truth.Sum(clerks.Select(clerk => clerk.Tally).Concat(loop.Tallies).Append(own));
        }

        void Park()
        {
            var cart = new Cart("parked " + parked.Count);
            own.Add(Known.CartNew, 1);
            var value = new int[1];
            var thread = new Thread(() => value[0] = cart.Parked()) { IsBackground = true, Name = "parked" };
            thread.Start();
            cart.WaitUntilParked();
            own.Add(Known.CartParked, 1);
            parked.Enqueue((cart, thread, value));
            Say("parked " + parked.Count);
        }

        void Unpark()
        {
            var (cart, thread, value) = parked.Dequeue();
            cart.Release();
            thread.Join();
            Say("unparked " + value[0]);
        }

        void LoadPlugin()
        {
            tax = Plugins.LoadTax();
            clerks.ForEach(clerk => clerk.Tax = tax);
            int price = tax(100);
            own.Add(Known.PluginTax, 1);
            Say("plugin " + price);
        }

        static void Say(string line)
        {
            Console.Out.WriteLine(line);
            Console.Out.Flush();
        }
    }
}

using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

namespace Shop
{
    /// <summary>Threads that call the known methods without a pause, from `loop on` to `loop off`.</summary>
    sealed class Loop
    {
        readonly List<Clerk> clerks = new List<Clerk>();
        readonly List<Thread> threads = new List<Thread>();
        long[] before;
        volatile bool stop;
        long rounds;

        public Loop(Catalog catalog, int howMany, int seed)
        {
            for (int i = 0; i < howMany; i++)
                clerks.Add(new Clerk(catalog, seed + i));
        }

        public bool IsOn => threads.Count > 0;

        public IEnumerable<Tally> Tallies => clerks.Select(clerk => clerk.Tally);

        public void Do(string what, string argument, Action<string> say)
        {
            if (IsOn != (what != "on"))
                throw new InvalidOperationException("the loop is " + (IsOn ? "on" : "off"));
            switch (what)
            {
                case "on":
                    Start();
                    say("looping " + clerks.Count);
                    break;
                case "wait":
                    long until = Interlocked.Read(ref rounds) + long.Parse(argument);
                    while (Interlocked.Read(ref rounds) < until)
                        Thread.Sleep(1);
                    say("looped " + Interlocked.Read(ref rounds));
                    break;
                case "off":
                    Stop();
                    Truth.Print(Console.Out, "truth", Truth.Sum(Tallies), before);
                    say("end");
                    break;
                default:
                    throw new ArgumentException("expected on, wait N or off");
            }
        }

        void Start()
        {
            before = Truth.Sum(Tallies);
            stop = false;
            foreach (Clerk clerk in clerks)
                threads.Add(new Thread(() => Run(clerk)) { IsBackground = true, Name = "loop" });
            threads.ForEach(thread => thread.Start());
        }

        void Run(Clerk clerk)
        {
            while (!stop)
            {
                clerk.Work(1);
                Interlocked.Increment(ref rounds);
            }
        }

        void Stop()
        {
            stop = true;
            threads.ForEach(thread => thread.Join());
            threads.Clear();
        }
    }
}

// Many threads that live at the same time:
//   start N  -> started TOTAL     N more threads, each of which calls Work once and stays; TOTAL live now
//   call K   -> called CALLS      every thread calls Work K times; CALLS since the start of the program
//   end      -> ended             all threads end
//   take N   -> took              N MiB of the heap are allocated, written and dropped
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

static class Threads
{
    static readonly List<Thread> all = new List<Thread>();
    static readonly object gate = new object();
    static int round, each, arrived;
    static long calls;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Work(int n) => n + 1;

    static void Run(object first)
    {
        Work(1);
        int seen = (int)first;
        while (true)
        {
            int number;
            lock (gate)
            {
                arrived++;
                Monitor.PulseAll(gate);
                while (round == seen)
                    Monitor.Wait(gate);
                seen = round;
                number = each;
            }
            if (number < 0)
                return;
            for (int i = 0; i < number; i++)
                Work(i);
        }
    }

    static void WaitForAll()
    {
        lock (gate)
            while (arrived < all.Count)
                Monitor.Wait(gate);
    }

    static void Next(int number)
    {
        lock (gate)
        {
            (round, each, arrived) = (round + 1, number, 0);
            Monitor.PulseAll(gate);
        }
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "start":
                    int more = int.Parse(words[1]);
                    for (int i = 0; i < more; i++)
                    {
                        var thread = new Thread(Run, 256 << 10) { IsBackground = true };
                        all.Add(thread);
                        thread.Start(round);
                    }
                    WaitForAll();
                    calls += more;
                    Console.WriteLine("started " + all.Count);
                    break;
                case "call":
                    int number = int.Parse(words[1]);
                    Next(number);
                    WaitForAll();
                    calls += (long)number * all.Count;
                    Console.WriteLine("called " + calls);
                    break;
                case "end":
                    Next(-1);
                    all.ForEach(thread => thread.Join());
                    all.Clear();
                    arrived = 0;
                    Console.WriteLine("ended");
                    break;
                case "take":
                    for (int i = 0; i < int.Parse(words[1]); i++)
                        Array.Fill(new byte[1 << 20], (byte)1);
                    Console.WriteLine("took");
                    break;
            }
        }
    }
}

// Loads many small assemblies on many threads and calls their methods at once: first calls under contention.
//
// modules FOLDER THREADS, with FOLDER written by `makelibs tiny`, then commands, one per line:
//   start N -> started N        the threads load the next N assemblies; right after each load they call its First(int)
//                               three times and its Second(int) twice
//   wait    -> loaded TOTAL     when all of those are loaded and called
//   call    -> called TOTAL     every loaded assembly's First once, in this thread
//   truth   -> truth Lib0!Lib0.Worker.First(int) 3, ..., end
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Threading;

static class Modules
{
    sealed class Loaded
    {
        public int Number;
        public Func<int, int> First;
        public Func<int, int> Second;
        public long FirstCalls;
        public long SecondCalls;
    }

    static readonly List<Loaded> All = new List<Loaded>();
    static readonly List<Thread> Loading = new List<Thread>();
    static int next;

    static int Main(string[] args)
    {
        if (args.Length != 2 || !int.TryParse(args[1], out int threads))
        {
            Console.Error.WriteLine("usage: modules FOLDER THREADS");
            return 2;
        }
        int started = 0;
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "start":
                    started += int.Parse(words[1]);
                    int end = started;
                    for (int i = 0; i < threads; i++)
                        Loading.Add(new Thread(() => LoadUntil(args[0], end)));
                    Loading.ForEach(thread => thread.Start());
                    Say("started " + words[1]);
                    break;
                case "wait":
                    Loading.ForEach(thread => thread.Join());
                    Loading.Clear();
                    Say("loaded " + All.Count);
                    break;
                case "call":
                    foreach (Loaded library in All)
                    {
                        library.First(1);
                        library.FirstCalls++;
                    }
                    Say("called " + All.Count);
                    break;
                case "truth":
                    All.Sort((a, b) => a.Number - b.Number);
                    foreach (Loaded library in All)
                    {
                        string type = "truth Lib" + library.Number + "!Lib" + library.Number + ".Worker.";
                        Console.Out.WriteLine(type + "First(int) " + library.FirstCalls);
                        Console.Out.WriteLine(type + "Second(int) " + library.SecondCalls);
                    }
                    Say("end");
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    static void LoadUntil(string folder, int end)
    {
        while (true)
        {
            int number;
            lock (Loading)
            {
                if (next == end)
                    return;
                number = next++;
            }
            string name = "Lib" + number;
            Type worker = Assembly.LoadFrom(Path.GetFullPath(Path.Combine(folder, name + ".dll")))
                .GetType(name + ".Worker", true);
            var loaded = new Loaded { Number = number, First = Bind(worker, "First"), Second = Bind(worker, "Second") };
            for (int i = 0; i < 3; i++)
                Expect(loaded.First(i), i + 1);
            for (int i = 0; i < 2; i++)
                Expect(loaded.Second(i), i * 2);
            loaded.FirstCalls = 3;
            loaded.SecondCalls = 2;
            lock (All)
                All.Add(loaded);
        }
    }

    static Func<int, int> Bind(Type type, string method) =>
        (Func<int, int>)type.GetMethod(method).CreateDelegate(typeof(Func<int, int>));

    static void Expect(int got, int expected)
    {
        if (got != expected)
            throw new InvalidOperationException(got + " instead of " + expected);
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

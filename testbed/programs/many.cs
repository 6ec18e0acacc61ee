// Loads assemblies with many methods and calls some of them repeatedly.
//
// many FILE..., then commands, one per line:
//   hammer [THREADS] -> hammering   that many threads (default 1) call Hot.All.Sweep(int) repeatedly: each method of Hot
//       once per sweep
//   stop     -> stopped      the threads stop
//   sweep N  -> swept N      N sweeps in this thread
//   memory   -> memory KIB   a collection, then the process's resident memory
// The first FILE is Hot.dll. It prints "first MS" first, the time of the first sweep, in which the runtime compiles every
// method of Hot; then "ready PID", when all are loaded. It ends on "exit" or at the end of its
// input.
using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;

static class Many
{
    static volatile bool stop;
    static int sink;

    static int Main(string[] args)
    {
        Assembly[] loaded = args.Select(file => Assembly.LoadFrom(Path.GetFullPath(file))).ToArray();
        if (loaded.Length == 0)
        {
            Console.Error.WriteLine("usage: many HOT FILE...");
            return 2;
        }
        var sweep = (Func<int, int>)loaded[0].GetType("Hot.All", true).GetMethod("Sweep")
            .CreateDelegate(typeof(Func<int, int>));
        var first = Stopwatch.StartNew();
        sink += sweep(0);
        Say("first " + first.Elapsed.TotalMilliseconds.ToString(CultureInfo.InvariantCulture));
        // Every method has code before a test reads it.
        for (int i = 1; i < 100; i++)
            sink += sweep(i);
        var hammering = new Thread[0];
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "hammer":
                    stop = false;
                    hammering = new Thread[words.Length > 1 ? int.Parse(words[1]) : 1];
                    for (int i = 0; i < hammering.Length; i++)
                    {
                        hammering[i] = new Thread(() =>
                        {
                            while (!stop)
                                sink += sweep(1);
                        });
                        hammering[i].Start();
                    }
                    Say("hammering");
                    break;
                case "stop":
                    stop = true;
                    foreach (Thread thread in hammering)
                        thread.Join();
                    Say("stopped");
                    break;
                case "sweep":
                    for (int i = 0; i < int.Parse(words[1]); i++)
                        sink += sweep(i);
                    Say("swept " + words[1]);
                    break;
                case "memory":
                    GC.Collect();
                    Say("memory " + Process.GetCurrentProcess().WorkingSet64 / 1024);
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        stop = true;
        return 0;
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

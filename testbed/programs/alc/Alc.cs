// Copies of one file, each in its own load context and with its own statics.
//
// alc, then commands, one per line:
//   load [FILE] -> loaded K MVID   another copy of Copied.dll (or of FILE); K counts copies from 0
//   call K N    -> called K TOTAL  Copied.Counter.Add(int) of copy K, N times with 1; TOTAL is that copy's static
//   together K N -> called K     Copied.Counter.Add(int) of copy K, once on each of N threads at the same moment
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.Loader;
using System.Threading;

static class Alc
{
    sealed class Context : AssemblyLoadContext
    {
        protected override Assembly Load(AssemblyName name) => null;
    }

    static int Main()
    {
        var copies = new List<Func<int, int>>();
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(new[] { ' ' }, line.StartsWith("load ") ? 2 : 3);
            switch (words[0])
            {
                case "load":
                    Assembly copy = new Context().LoadFromAssemblyPath(words.Length > 1
                        ? words[1] : Path.Combine(AppContext.BaseDirectory, "plugins", "Copied.dll"));
                    copies.Add((Func<int, int>)copy.GetType("Copied.Counter", true).GetMethod("Add")
                        .CreateDelegate(typeof(Func<int, int>)));
                    Say("loaded " + (copies.Count - 1) + " " + copy.ManifestModule.ModuleVersionId);
                    break;
                case "call":
                    Func<int, int> add = copies[int.Parse(words[1])];
                    int total = 0;
                    for (int i = 0; i < int.Parse(words[2]); i++)
                        total = add(1);
                    Say("called " + words[1] + " " + total);
                    break;
                case "together":
                    Together(copies[int.Parse(words[1])], int.Parse(words[2]));
                    Say("called " + words[1]);
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    static void Together(Func<int, int> add, int number)
    {
        int absent = number;
        var threads = new Thread[number];
        for (int i = 0; i < number; i++)
        {
            threads[i] = new Thread(() =>
            {
                Interlocked.Decrement(ref absent);
                SpinWait.SpinUntil(() => Volatile.Read(ref absent) == 0);
                add(1);
            });
            threads[i].Start();
        }
        foreach (Thread thread in threads)
            thread.Join();
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

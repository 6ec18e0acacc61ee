// Random valid IL, deterministic for a seed, and its driver.
//
// randomil make SEED MODULES FOLDER -> FOLDER/Rand0.dll, ...: see Library.cs
// randomil run FOLDER [M.T.N]..., then commands, one per line (passes leave out method N of Rand<M>.T<T>):
//   pass FILE  -> passed CALLS    calls every method of every module and writes a line for each: its number, its name, a
//                                 hash of its actions, and how it ended
//                                 ("module N" after each module)
//   call M T N -> called RESULTS  calls only method N of Rand<M>.T<T>, to examine a failure
//   truth FILE -> told N          writes how often each method was entered so far, one number per line
// It prints "ready PID" when all modules are loaded, before any call, and ends on "exit" or at the end of
// its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;
using Ground;

static class RandomIl
{
    /// <summary>Maximum calls caused by one call.</summary>
    const int Allowance = 12;

    static readonly int[] Inputs = { 3, 0, -70000 };

    const int StackSize = 8 << 20;

    static int Main(string[] args)
    {
        CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        if (args.Length == 4 && args[0] == "make" && ulong.TryParse(args[1], out ulong seed) && int.TryParse(args[2], out int count))
        {
            Directory.CreateDirectory(args[3]);
            for (int i = 0; i < count; i++)
                new Library(seed, i).Write(Path.Combine(args[3], "Rand" + i + ".dll"));
            Console.WriteLine("made " + count);
            return 0;
        }
        if (args.Length >= 2 && args[0] == "run")
        {
            // On the main thread, each exception would make the C library read /proc/self/maps.
            var thread = new Thread(() => Run(Path.GetFullPath(args[1]), new HashSet<string>(args.Skip(2))), StackSize);
            thread.Start();
            thread.Join();
            return 0;
        }
        Console.Error.WriteLine("usage: randomil make SEED MODULES FOLDER | run FOLDER [M.T.N]...");
        return 2;
    }

    static void Run(string folder, HashSet<string> leftOut)
    {
        int modules = Directory.GetFiles(folder, "Rand*.dll").Length;
        Assembly[] loaded = Enumerable.Range(0, modules)
            .Select(i => Assembly.LoadFrom(Path.Combine(folder, "Rand" + i + ".dll"))).ToArray();
        State.Truth = new int[modules * Library.Numbers];
        var runs = loaded.Select(Runs).ToArray();
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(new[] { ' ' }, 2);
            switch (words[0])
            {
                case "pass":
                    Say("passed " + Pass(runs, leftOut, words[1]));
                    break;
                case "call":
                    int[] which = words[1].Split(' ').Select(int.Parse).ToArray();
                    Say("called" + string.Concat(Inputs.Select(input => Once(runs[which[0]][which[1]], which[2], input))));
                    break;
                case "truth":
                    File.WriteAllLines(words[1], State.Truth.Select(calls => calls.ToString()));
                    Say("told " + State.Truth.Length);
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
    }

    static Action<int, int>[] Runs(Assembly module)
    {
        Type run = module.GetType(module.GetName().Name + ".Run", true);
        return Enumerable.Range(0, Library.Types)
            .Select(i => (Action<int, int>)run.GetMethod("R" + i).CreateDelegate(typeof(Action<int, int>))).ToArray();
    }

    static int Pass(Action<int, int>[][] runs, HashSet<string> leftOut, string file)
    {
        int calls = 0;
        using (var output = new StreamWriter(file))
        {
            for (int module = 0; module < runs.Length; module++)
            {
                for (int type = 0; type < Library.Types; type++)
                    for (int method = 0; method < Library.Methods; method++)
                    {
                        if (leftOut.Contains(module + "." + type + "." + method))
                            continue;
                        output.Write("Rand" + module + " T" + type + " " + method);
                        // If the process ends here, the file contains the method.
                        output.Flush();
                        foreach (int input in Inputs)
                        {
                            output.Write(Once(runs[module][type], method, input));
                            calls++;
                        }
                        output.Write('\n');
                    }
                Say("module " + module);
            }
        }
        return calls;
    }

    static string Once(Action<int, int> run, int method, int input)
    {
        string ended = "";
        State.Reset(Allowance);
        try
        {
            run(method, input);
        }
        catch (Exception e)
        {
            ended = "!" + e.GetType().Name;
        }
        return " " + State.Hash().ToString("x") + ended + (State.IsLocked() ? "!locked" : "");
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

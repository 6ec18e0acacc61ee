// Types that implement interfaces, derive from classes and carry attributes, and others that only look like it. Every
// method counts its own calls.
//
// handlers, then commands, one per line:
//   call  -> called        every method of this program, each a different number of times
//   load  -> loaded        loads Late.dll; its types are not used, so that Contracts.dll is not loaded yet
//   serve -> served        every method of Late.dll; the first call loads Contracts.dll
//   truth -> truth handlers!Shop.Direct.Handle(Shop.Order) 3, ..., end
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;

/// <summary>Counts calls by method.</summary>
public static class Truth
{
    static readonly SortedDictionary<string, int> Calls = new SortedDictionary<string, int>();

    public static void Hit(string method)
    {
        Calls.TryGetValue(method, out int calls);
        Calls[method] = calls + 1;
    }

    public static void Print()
    {
        foreach (KeyValuePair<string, int> one in Calls)
            Program.Say("truth " + one.Key + " " + one.Value);
        Program.Say("end");
    }
}

static class Program
{
    static int Main()
    {
        string plugins = Path.Combine(AppContext.BaseDirectory, "plugins");
        AppDomain.CurrentDomain.AssemblyResolve += (_, wanted) =>
            Assembly.LoadFrom(Path.Combine(plugins, new AssemblyName(wanted.Name).Name + ".dll"));
        Assembly late = null;
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            switch (line)
            {
                case "call":
                    Shop.Caller.CallAll();
                    Web.Caller.CallAll();
                    Say("called");
                    break;
                case "load":
                    late = Assembly.LoadFrom(Path.Combine(plugins, "Late.dll"));
                    Say("loaded");
                    break;
                case "serve":
                    late.GetType("Late.Caller", true).GetMethod("CallAll").Invoke(null, null);
                    Say("served");
                    break;
                case "truth":
                    Truth.Print();
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    public static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

// Calls methods of an assembly that contains invalid IL.
//
// badil FILE, written by `makelibs bad`, then commands, one per line:
//   good N -> good RESULT                Bad.Bodies.Good(int)
//   broken N -> threw EXCEPTION-TYPE     Bad.Bodies.Broken(int)
//   variable N -> variable RESULT        Bad.Bodies.CallsVariable(int); threw EXCEPTION-TYPE if unsupported
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;

static class BadIl
{
    static int Main(string[] args)
    {
        if (args.Length != 1)
        {
            Console.Error.WriteLine("usage: badil FILE");
            return 2;
        }
        Type bodies = Assembly.LoadFrom(Path.GetFullPath(args[0])).GetType("Bad.Bodies", true);
        Func<int, int> good = Bind(bodies, "Good"), broken = Bind(bodies, "Broken");
        Func<int, int> variable = Bind(bodies, "CallsVariable");
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            try
            {
                switch (words[0])
                {
                    case "good":
                        Say("good " + good(int.Parse(words[1])));
                        break;
                    case "broken":
                        Say("broken " + broken(int.Parse(words[1])));
                        break;
                    case "variable":
                        Say("variable " + variable(int.Parse(words[1])));
                        break;
                    default:
                        Say("error unknown command: " + line);
                        break;
                }
            }
            catch (InvalidProgramException e)
            {
                Say("threw " + e.GetType().Name);
            }
        }
        return 0;
    }

    static Func<int, int> Bind(Type type, string method) =>
        (Func<int, int>)type.GetMethod(method).CreateDelegate(typeof(Func<int, int>));

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

// A method of every shape of IL body, each with a known result, known side effects, and a known number of calls.
//
// shapes [FILE], written by `makelibs jumps`, then commands, one per line:
//   run   -> a line for each shape: its result, or the exception with its stack trace; then "done"
//   truth -> "truth METHOD CALLS" for each method called since the last one, then "end"
// It prints "ready PID" first and ends on "exit" or at the end of its input. The answers to `run` are the same every time.
using System;
using System.Diagnostics;
using System.Globalization;
using System.Threading;

namespace Shapes
{
    static class Program
    {
        static int Main(string[] args)
        {
            if (args.Length > 0)
                HandWritten.Load(args[0]);
            CultureInfo.DefaultThreadCurrentCulture = CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
            Say("ready " + Process.GetCurrentProcess().Id);
            string line;
            while ((line = Console.In.ReadLine()) != null && line != "exit")
            {
                switch (line)
                {
                    case "run":
                        All();
                        Say("done");
                        break;
                    case "truth":
                        T.Tell();
                        break;
                    default:
                        Say("error no such command");
                        break;
                }
            }
            return 0;
        }

        static void All()
        {
            Constructors.All();
            Generics.All();
            Machines.All();
            Memory.All();
            Exceptions.All();
            Calls.All();
            Numbers.All();
            Threads.All();
            Big.All();
            HandWritten.All();
        }

        public static void Say(string text)
        {
            Console.Out.Write(text + "\n");
            Console.Out.Flush();
        }
    }
}

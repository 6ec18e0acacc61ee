// Exercises the core library methods that the runtime itself calls: helpers that the JIT calls (casts, conversions,
// arrays, statics), exceptions of every origin, threads, finalizers, delegates, calls from native code, reflection,
// loading.
//
// internals, then commands, one per line:
//   run     -> a line for each item, with its result or exception; then "done". The same every time
//   casts N -> casts N    N times 1,000 casts to an interface, each compiled to a helper call
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace Internals
{
    static class Program
    {
        static int Main()
        {
            CultureInfo.DefaultThreadCurrentCulture = CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
            AppDomain.CurrentDomain.ProcessExit += delegate { Say("exits"); };
            Say("ready " + Process.GetCurrentProcess().Id);
            string line;
            while ((line = Console.In.ReadLine()) != null && line != "exit")
            {
                string[] words = line.Split(' ');
                switch (words[0])
                {
                    case "run":
                        Helpers.All();
                        Thrown.All();
                        Threads.All();
                        Memory.All();
                        Native.All();
                        Loading.All();
                        Say("done");
                        break;
                    case "casts":
                        for (int i = int.Parse(words[1]); i > 0; i--)
                            Cast();
                        Say(line);
                        break;
                    default:
                        Say("error no such command");
                        break;
                }
            }
            return 0;
        }

        // Several types, so that the JIT neither guesses nor moves the casts out of the loop.
        static readonly object[] castable = { 1, "two", 3.0, true, 'f' };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Cast()
        {
            for (int i = 0; i < 1000; i++)
                if (!(castable[i % 5] is IConvertible))
                    throw new InvalidOperationException();
        }

        public static void Show(string name, Func<object> what)
        {
            string said;
            try
            {
                said = Text(what());
            }
            catch (Exception e)
            {
                said = Told(e);
            }
            Say(name + " = " + said);
        }

        /// Types and messages; traces have other frames if dialled code keeps its own.
        public static string Told(Exception e) =>
            e.GetType() + ": " + e.Message.Replace("\r", "").Replace("\n", "|") + (e.InnerException == null ? "" : " <- " + Told(e.InnerException));

        static string Text(object value)
        {
            switch (value)
            {
                case null:
                    return "null";
                case double number:
                    return BitConverter.DoubleToInt64Bits(number).ToString("x16");
                case object[] several:
                    return "[" + string.Join(", ", Array.ConvertAll(several, Text)) + "]";
                default:
                    return Convert.ToString(value);
            }
        }

        public static void Say(string text)
        {
            Console.Out.Write(text + "\n");
            Console.Out.Flush();
        }
    }
}

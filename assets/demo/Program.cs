using System;
using System.IO;

namespace Shop
{
    static class Program
    {
        const string Usage = "usage: Shop [--forever] | --exact N --threads T [--seed S] | "
            + "--live --threads T [--seed S] | --methods";

        static int Main(string[] args)
        {
            string mode = "demo";
            int rounds = 0, threads = 1, seed = 1;
            for (int i = 0; i < args.Length; i++)
            {
                bool good = true;
                switch (args[i])
                {
                    case "--exact":
                        mode = "exact";
                        good = Number(args, ref i, 0, out rounds);
                        break;
                    case "--threads":
                        good = Number(args, ref i, 1, out threads);
                        break;
                    case "--seed":
                        good = Number(args, ref i, 0, out seed);
                        break;
                    case "--live":
                    case "--methods":
                    case "--forever":
                        mode = args[i].Substring(2);
                        break;
                    default:
                        good = false;
                        break;
                }
                if (!good)
                {
                    Console.Error.WriteLine("Shop cannot use " + args[Math.Min(i, args.Length - 1)] + "\n" + Usage);
                    return 2;
                }
            }
            // An answer of many lines is written at once; its last line is flushed.
            if (mode == "exact" || mode == "live")
                Console.SetOut(new StreamWriter(Console.OpenStandardOutput()) { AutoFlush = false });
            switch (mode)
            {
                case "exact":
                    return ExactMode.Run(rounds, threads, seed);
                case "live":
                    return LiveMode.Run(threads, seed);
                case "methods":
                    Truth.PrintMethods(Console.Out);
                    return 0;
                default:
                    return DemoMode.Run(mode == "forever");
            }
        }

        /// <summary>Reads the whole number after args[i]; false unless it is at least <paramref name="least"/>.</summary>
        static bool Number(string[] args, ref int i, int least, out int number)
        {
            number = 0;
            return ++i < args.Length && int.TryParse(args[i], out number) && number >= least;
        }
    }
}

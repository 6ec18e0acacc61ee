// Work for the framework's precompiled code, with callees inlined into it when the framework was built:
//   parse N -> parsed CHECKSUM   reads and writes a date N times
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

static class Dates
{
    // A frame that never ends would keep its code.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Parse(int times)
    {
        long sum = 0;
        for (int i = 0; i < times; i++)
        {
            var date = DateTime.Parse("2026-11-20 12:34:56", CultureInfo.InvariantCulture);
            sum += date.AddDays(i).ToString("yyyy-MM-dd", CultureInfo.InvariantCulture).Length;
        }
        return sum;
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            if (!line.StartsWith("parse ") || !int.TryParse(line.Substring(6), out int times))
            {
                Console.WriteLine("error unknown command: " + line);
                continue;
            }
            Console.WriteLine("parsed " + Parse(times));
        }
    }
}

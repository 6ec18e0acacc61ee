// The simplest host with a known truth, without exceptions (Wine 8 cannot run exception filters):
//   call N -> called TOTAL   calls Counter.Add(int) N times; TOTAL since the start
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

static class Counter
{
    static long total;
    static int sum;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Add(int n) => sum = unchecked(sum + n);

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            if (!line.StartsWith("call ") || !int.TryParse(line.Substring(5), out int calls))
            {
                Console.WriteLine("error unknown command: " + line);
                continue;
            }
            for (int i = 0; i < calls; i++)
                Add(i);
            total += calls;
            Console.WriteLine("called " + total);
        }
    }
}

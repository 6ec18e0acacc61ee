// Ends abruptly, while threads call Ends.Step(int), which also throws and catches.
//
//   work N -> working    N threads, each of which has made a hundred calls
//   overflow             the stack overflows, on a thread of its own
//   exit CODE            Environment.Exit, from another thread
//   throw                an exception that nobody catches, on another thread
//   pointer              managed code reads through an invalid pointer
//   native               native code does
// It prints "ready PID" first and ends at the end of its input.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static unsafe class Ends
{
    const int InvalidAddress = 1 << 20;

    static long steps;

    [DllImport("libc", EntryPoint = "strlen")]
    static extern IntPtr Length(IntPtr text);

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line; (line = Console.ReadLine()) != null;)
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "work":
                    Work(int.Parse(words[1]));
                    Console.WriteLine("working");
                    break;
                case "overflow":
                    On(() => Deep(1));
                    break;
                case "exit":
                    On(() => Environment.Exit(int.Parse(words[1])));
                    break;
                case "throw":
                    On(() => throw new InvalidOperationException("thrown on request"));
                    break;
                case "pointer":
                    On(() => Read((int*)InvalidAddress));
                    break;
                case "native":
                    On(() => Length((IntPtr)InvalidAddress));
                    break;
            }
        }
    }

    static void Work(int threads)
    {
        for (int i = 0; i < threads; i++)
        {
            new Thread(() =>
            {
                for (int n = 0; ; n++)
                {
                    Step(n);
                    Interlocked.Increment(ref steps);
                }
            }) { IsBackground = true }.Start();
        }
        while (Interlocked.Read(ref steps) < 100 * threads)
            Thread.Sleep(1);
    }

    /// <summary>Runs <paramref name="end"/> on another thread; this one waits for ever.</summary>
    static void On(ThreadStart end)
    {
        new Thread(end).Start();
        Thread.Sleep(Timeout.Infinite);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Step(int n)
    {
        try
        {
            return n % 64 == 0 ? Refuse(n) : n ^ 5;
        }
        catch (ArgumentException)
        {
            return n;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Refuse(int n) => throw new ArgumentException("refused");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int n) => n + Deep(n + 1) * 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Read(int* address) => *address;
}

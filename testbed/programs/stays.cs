// A program that ignores the request to end: it prints "ready PID", and "stays" where it should end.
using System;
using System.Diagnostics;
using System.Threading;

static class Stays
{
    static void Main()
    {
        AppDomain.CurrentDomain.ProcessExit += delegate
        {
            Console.WriteLine("stays");
            Thread.Sleep(Timeout.Infinite);
        };
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Thread.Sleep(Timeout.Infinite);
    }
}

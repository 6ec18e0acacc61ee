// Opens and closes files without a pause, eight at a time.
//
//   opened -> opened N     files opened so far
//   exit   -> (none)       ends with 0
// It first prints "ready PID". If a file cannot be opened, it prints "failed" and the reason.
using System;
using System.Diagnostics;
using System.IO;
using System.Threading;

static class Files
{
    const int AtOnce = 8;

    static long opened;

    static void Work()
    {
        string path = typeof(Files).Assembly.Location;
        var files = new FileStream[AtOnce];
        try
        {
            while (true)
            {
                for (int i = 0; i < AtOnce; i++)
                    files[i] = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read);
                foreach (FileStream file in files)
                    file.Dispose();
                Interlocked.Add(ref opened, AtOnce);
            }
        }
        catch (Exception e)
        {
            Console.WriteLine("failed " + e.Message);
        }
    }

    static int Main()
    {
        new Thread(Work) { IsBackground = true }.Start();
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
            Console.WriteLine("opened " + Interlocked.Read(ref opened));
        return 0;
    }
}

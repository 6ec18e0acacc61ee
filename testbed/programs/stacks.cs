// Short-lived threads with stacks that grow over many pages:
//   run ROUNDS THREADS DEPTH -> ran NARROW WIDE
// ROUNDS times it starts THREADS threads at once, each of which calls Narrow and Wide down to DEPTH and ends. NARROW and
// WIDE are the calls since the start. Wide's frames are larger than a page each.
//   deep N -> sum S              the methods of Last, which end with a call to themselves, N deep
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

static unsafe class Stacks
{
    static long narrow, wide;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Narrow(int depth)
    {
        string text = depth % 7 == 0 ? "seven" : null;
        return depth == 0 ? 0 : Narrow(depth - 1) + (text == null ? 1 : text.Length);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Wide(int depth)
    {
        byte* room = stackalloc byte[5000];
        room[depth % 5000] = 1;
        return depth == 0 ? room[0] : Wide(depth - 1) + room[1];
    }

    // Through delegates, so that nothing is inlined here before its dial.
    static long Deep(int depth)
    {
        Func<int, long, long> down = Last.Down;
        Func<int, int, long> overInt = Last.Start<int>;
        Func<int, string, long> overString = Last.Start<string>;
        Func<int, long> ofInt = Last<int>.Down, ofString = Last<string>.Down;
        Func<int, long, string, long> bothOfInt = Last<int>.Both<string>, bothOfString = Last<string>.Both<string>;
        return down(depth, 1) + overInt(depth, 2) + overString(depth, "3") + ofInt(depth) + ofString(depth)
            + bothOfInt(depth, 4, "4") + bothOfString(depth, 5, "5");
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            string[] words = line.Split(' ');
            if (words[0] == "deep")
            {
                Console.WriteLine("sum " + Deep(int.Parse(words[1])));
                continue;
            }
            int rounds = int.Parse(words[1]), threads = int.Parse(words[2]), depth = int.Parse(words[3]);
            for (int round = 0; round < rounds; round++)
            {
                var running = new Thread[threads];
                for (int i = 0; i < threads; i++)
                {
                    // Stacks of different sizes, so that a new one does not fit into the place of an old one.
                    running[i] = new Thread(() => { Narrow(depth); Wide(depth / 16); }, (1 + i % 3) << 20);
                    running[i].Start();
                }
                foreach (Thread thread in running)
                    thread.Join();
                narrow += threads * (depth + 1L);
                wide += threads * (depth / 16 + 1L);
            }
            Console.WriteLine("ran " + narrow + " " + wide);
        }
    }
}

// Optimised, a final call to itself is a jump: a million of them need no stack. (NoInlining would keep them calls.)
static class Last
{
    public static long Down(int depth, long sum)
    {
        if (depth == 0)
            return sum;
        return Down(depth - 1, sum + depth);
    }

    public static long Generic<T>(int depth, long sum, T more)
    {
        if (depth == 0)
            return sum;
        return Generic(depth - 1, sum + depth, more);
    }

    // Ends with a call to another method.
    public static long Start<T>(int depth, T more)
    {
        return Generic(depth, 1, more);
    }
}

static class Last<T>
{
    public static long Down(int depth, long sum)
    {
        if (depth == 0)
            return sum;
        return Down(depth - 1, sum + depth);
    }

    // Ends with a call to a method of the same name.
    public static long Down(int depth)
    {
        return Down(depth, 2);
    }

    public static long Both<U>(int depth, long sum, U more)
    {
        if (depth == 0)
            return sum;
        return Both(depth - 1, sum + depth, more);
    }
}

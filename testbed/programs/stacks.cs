// Threads that come and go, with stacks that grow over many pages:
//   run ROUNDS THREADS DEPTH -> ran NARROW WIDE
// ROUNDS times it starts THREADS threads at once, each of which calls Narrow and Wide down to DEPTH and ends. NARROW and
// WIDE are the calls since the start. Wide's frames are larger than a page each.
//   deep N -> sum S              Down(N), a method that calls itself last
// It says "ready PID" first and ends with "exit" or at the end of its input.
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

    // Optimised, its last call is a jump: a million of them need no stack. (NoInlining would keep it a call.)
    static long Down(int depth, long sum)
    {
        if (depth == 0)
            return sum;
        return Down(depth - 1, sum + depth);
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            string[] words = line.Split(' ');
            if (words[0] == "deep")
            {
                Func<int, long, long> down = Down;
                Console.WriteLine("sum " + down(int.Parse(words[1]), 0));
                continue;
            }
            int rounds = int.Parse(words[1]), threads = int.Parse(words[2]), depth = int.Parse(words[3]);
            for (int round = 0; round < rounds; round++)
            {
                var running = new Thread[threads];
                for (int i = 0; i < threads; i++)
                {
                    // Stacks of different sizes, so that a new one does not fit where an old one was.
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

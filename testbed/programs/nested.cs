// Calls whose tree is known:
//   run ROUNDS -> done     each round calls Outer: it calls Middle twice, which calls Leaf three times, and Leaf once itself
//   thread -> done         the same round on a thread of its own
//   recurse DEPTH -> done  Recursive calls itself DEPTH times
//   waits -> done          Starts calls Waits, an async method that completes on another thread after Starts returned
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

public static class Nested
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Leaf(int number) { return number + 1; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Middle(int number)
    {
        int sum = 0;
        for (int i = 0; i < 3; i++) sum += Leaf(number);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Outer(int number) { return Middle(number) + Middle(number + 1) + Leaf(number); }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Recursive(int depth) { return depth == 0 ? 0 : Recursive(depth - 1) + 1; }

    public static async Task<int> Waits(TaskCompletionSource<int> gate) { return await gate.Task + 1; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Task<int> Starts(TaskCompletionSource<int> gate) { return Waits(gate); }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            var words = line.Split(' ');
            switch (words[0])
            {
                case "run":
                    for (int i = 0; i < int.Parse(words[1]); i++) Outer(i);
                    break;
                case "thread":
                    var thread = new Thread(() => Outer(0));
                    thread.Start();
                    thread.Join();
                    break;
                case "recurse":
                    Recursive(int.Parse(words[1]));
                    break;
                case "waits":
                    var gate = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
                    Task<int> task = Starts(gate);
                    gate.SetResult(1);
                    task.Wait();
                    break;
            }
            Console.WriteLine("done");
        }
    }
}

// Async methods: the cost of a call until its completion, all on the calling thread.
using System;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

static partial class Loops
{
    /// <summary>Number of async calls in a chunk.</summary>
    const int AwaitedChunk = 100000;

    [ThreadStatic] static TaskCompletionSource<int> gate;

    /// <summary>Completes without waiting, with a number that has a cached task: nothing is allocated.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> AtOnce(int n)
    {
        await Task.CompletedTask;
        return n & 7;
    }

    /// <summary>Waits for the gate.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> Suspends(int n) => n ^ await gate.Task;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerAtOnce(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
            sum += AtOnce(i).Result;
        return sum;
    }

    /// <summary>Each call continues and completes inside the opening of its gate.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerSuspends(int calls)
    {
        int sum = 0;
        for (int i = 0; i < calls; i++)
        {
            TaskCompletionSource<int> own = gate = new TaskCompletionSource<int>();
            Task<int> call = Suspends(i);
            if (call.IsCompleted)
                throw new InvalidOperationException("it did not wait");
            own.SetResult(i);
            if (!call.IsCompleted)
                throw new InvalidOperationException("it went on elsewhere");
            sum += call.Result;
        }
        return sum;
    }
}

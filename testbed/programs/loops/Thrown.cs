// Exceptions: what one costs that is thrown and caught.
using System;
using System.Runtime.CompilerServices;

static partial class Loops
{
    /// <summary>Exceptions of a chunk: each takes some ten thousand times as long as a plain call.</summary>
    const int ThrownChunk = 2000;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Throws(int n) => throw new InvalidOperationException("thrown");

    /// <summary>Frames between the loop and the method that throws.</summary>
    const int Frames = 20;

    /// <summary>Throws below so many frames of its own.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int ThrowsDeep(int frames) => (frames > 1 ? ThrowsDeep(frames - 1) : Throws(frames)) + 1;

    /// <summary>Begins with a plain call: where that is timed, the thread is one that was in a timed call.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerThrows(int calls)
    {
        int sum = Plain(calls);
        for (int i = 0; i < calls; i++)
        {
            try
            {
                sum += Throws(i);
            }
            catch (InvalidOperationException)
            {
                sum++;
            }
        }
        return sum;
    }

    /// <summary>The same, with frames to be left in between.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int HammerThrowsDeep(int calls)
    {
        int sum = Plain(calls);
        for (int i = 0; i < calls; i++)
        {
            try
            {
                sum += ThrowsDeep(Frames);
            }
            catch (InvalidOperationException)
            {
                sum++;
            }
        }
        return sum;
    }
}

// Exceptions: the cost of a throw and its catch.
using System;
using System.Runtime.CompilerServices;

static partial class Loops
{
    /// <summary>Exceptions per chunk: each takes about ten thousand times as long as a plain call.</summary>
    const int ThrownChunk = 2000;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Throws(int n) => throw new InvalidOperationException("thrown");

    /// <summary>Number of frames between the loop and the method that throws.</summary>
    const int Frames = 20;

    /// <summary>Throws below the given number of its own frames.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int ThrowsDeep(int frames) => (frames > 1 ? ThrowsDeep(frames - 1) : Throws(frames)) + 1;

    /// <summary>Starts with a plain call, so that a timed thread has already been in a timed call.</summary>
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

    /// <summary>The same, with frames to unwind in between.</summary>
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

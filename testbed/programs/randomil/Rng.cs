using System.Collections.Generic;

/// <summary>Random numbers that depend only on the seed (SplitMix64).</summary>
sealed class Rng
{
    ulong state;

    public Rng(ulong seed) => state = seed;

    public ulong Next()
    {
        state += 0x9E3779B97F4A7C15;
        ulong z = state;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    /// <summary>0 to below - 1.</summary>
    public int Below(int below) => (int)(Next() % (ulong)below);

    /// <summary>True with the given percentage.</summary>
    public bool Percent(int percent) => Below(100) < percent;

    public T Of<T>(IReadOnlyList<T> list) => list[Below(list.Count)];
}

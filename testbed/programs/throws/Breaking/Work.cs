// A plug-in of throws, with other types than Failing.
using System;
using System.Runtime.CompilerServices;

namespace Breaking
{
    public sealed class Broken : Exception
    {
        public Broken(int piece) : base("piece " + piece) { }
    }

    public static class Work
    {
        static int pieces;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Break(int i)
        {
            pieces++;
            throw new Broken(i);
        }

        public static void Fail(int i) => Break(i);
    }
}

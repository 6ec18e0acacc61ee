using System.Runtime.CompilerServices;

namespace Copied
{
    public static class Counter
    {
        static int total;

#if NEWER
        // Gets the token that Add has without NEWER.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Twice(int n) => n * 2;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Add(int n) => total += Twice(n) / 2;
#else
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Add(int n) => total += n;
#endif
    }
}

using System.Runtime.CompilerServices;

namespace Copied
{
    public static class Counter
    {
        static int total;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Add(int n) => total += n;
    }
}

using System.Runtime.CompilerServices;

namespace Gathered
{
    public static class Work
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Twice(int n) => n * 2;
    }
}

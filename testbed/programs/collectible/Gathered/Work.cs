using System.Runtime.CompilerServices;

namespace Gathered
{
    public struct Item
    {
        public override int GetHashCode() => 0;
    }

    public static class Work
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Twice(int n) => n * 2;
    }
}

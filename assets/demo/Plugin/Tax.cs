using System.Runtime.CompilerServices;

namespace Plugin
{
    /// <summary>The plug-in that Shop loads into a separate load context.</summary>
    public static class Tax
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Apply(int price) => price + price / 5;
    }
}

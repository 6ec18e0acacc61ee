using System;
using System.Runtime.CompilerServices;

namespace Shop
{
    /// <summary>A generic type: used with reference types (shared code) and value types (separate code).</summary>
    sealed class Box<T>
    {
        T content;

        public void Put(T item) => content = item;

        public T Get() => content;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public U Map<U>(Func<T, U> change) => change(content);

        public sealed class Lid
        {
            int opened;

            public int Open() => ++opened;
        }
    }

    static class Boxes
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static T Larger<T>(T a, T b) where T : IComparable<T> => a.CompareTo(b) >= 0 ? a : b;
    }
}

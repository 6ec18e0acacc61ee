using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Shop
{
    /// <summary>The goods for sale: an indexer, an iterator, a nested type, a lock shared by all threads.</summary>
    sealed class Catalog
    {
        public const int Kinds = 16;

        readonly int[] prices = new int[Kinds];
        readonly object gate = new object();
        long reserved;

        public Catalog()
        {
            for (int i = 0; i < Kinds; i++)
                prices[i] = 100 + i * 7;
        }

        public int this[int item] => prices[item];

        /// <summary>The amount that all threads together reserved; it does not depend on their order.</summary>
        public long Reserved
        {
            get { lock (gate) return reserved; }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public IEnumerable<int> Items(int howMany)
        {
            for (int i = 0; i < howMany; i++)
                yield return prices[i];
        }

        public static int Visit(int price) => price & 63;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Reserve(int amount)
        {
            lock (gate)
                reserved += amount;
        }

        public sealed class Shelf
        {
            readonly int[] slots = { 3, 1, 4, 1, 5, 9, 2, 6 };

            public int Size => slots.Length;

            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Find(int wanted)
            {
                for (int i = 0; i < slots.Length; i++)
                {
                    if (slots[i] == wanted)
                        return i;
                }
                return -1;
            }
        }
    }
}

using System.Runtime.CompilerServices;
using System.Threading;

namespace Shop
{
    interface ICart
    {
        int Touch(int item);
    }

    /// <summary>A customer's cart: overloads, properties, ref and out, an explicit implementation.</summary>
    sealed class Cart : ICart
    {
        readonly int[] counts = new int[Catalog.Kinds];
        readonly ManualResetEventSlim entered = new ManualResetEventSlim();
        readonly ManualResetEventSlim released = new ManualResetEventSlim();
        string name;
        int total;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Cart(string name)
        {
            this.name = name;
        }

        public int Total => total;

        public string Name
        {
            set => name = value;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Add(int item)
        {
            counts[item]++;
            return ++total;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Add(int item, int amount)
        {
            counts[item] += amount;
            return total += amount;
        }

        public int Peek(int item) => counts[item];

        [MethodImpl(MethodImplOptions.NoInlining)]
        public bool TryTake(int item, out int left)
        {
            left = counts[item];
            if (left == 0)
                return false;
            left = --counts[item];
            total--;
            return true;
        }

        public static void Raise(ref int amount, int by) => amount += by;

        [MethodImpl(MethodImplOptions.NoInlining)]
        int ICart.Touch(int item) => counts[item] ^ total;

        /// <summary>Stays inside until <see cref="Release"/>: a frame that is still running when a dial changes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Parked()
        {
            entered.Set();
            released.Wait();
            return name.Length * 100 + total;
        }

        public void WaitUntilParked() => entered.Wait();

        public void Release() => released.Set();
    }
}

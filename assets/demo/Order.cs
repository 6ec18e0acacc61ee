using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Shop
{
    /// <summary>Orders: async methods and virtual calls.</summary>
    class Order
    {
        /// <summary>Goes to the thread pool, then calls Confirm once.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<int> PlaceAsync(int number)
        {
            await Task.Yield();
            return Confirm(number);
        }

        public static int Confirm(int number) => number * 31 + 7;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public virtual int Ship(int weight) => weight + 2;
    }

    sealed class ExpressOrder : Order
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public override int Ship(int weight) => base.Ship(weight) * 2;
    }
}

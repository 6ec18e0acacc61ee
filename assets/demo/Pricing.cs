using System;
using System.Runtime.CompilerServices;

namespace Shop
{
    /// <summary>Prices: delegates, lambdas, exceptions thrown, caught and filtered, a static constructor.</summary>
    static class Pricing
    {
        static readonly int[] Steps;

        static Pricing()
        {
            Truth.CountShared(Known.PricingStatic);
            Steps = new[] { 0, 5, 10, 20 };
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Half(int price) => price / 2;

        public static int Clamp(int price, int low, int high) =>
            price < low ? low : price > high ? high : price;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Sum(int[] prices)
        {
            int sum = 0;
            foreach (int price in prices)
                sum += price;
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Discount(Func<int, int> rule, int price)
        {
            int step = Steps[price & 3];
            Func<int, int> rounded = p => rule(p) - step;
            return rounded(price);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Check(int price)
        {
            if (price < 0)
                throw new ArgumentOutOfRangeException(nameof(price));
            return price;
        }

        /// <summary>Calls Check once and catches what it throws.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Guarded(int price)
        {
            try
            {
                return Check(price);
            }
            catch (ArgumentOutOfRangeException)
            {
                return 1;
            }
        }

        /// <summary>Calls Check once; a thrown exception runs IsExpected once, in a filter.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Filtered(int price)
        {
            int tries = 0;
            try
            {
                return Check(price);
            }
            catch (ArgumentException e) when (IsExpected(e.ParamName))
            {
                tries++;
            }
            finally
            {
                tries += 2;
            }
            return tries;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static bool IsExpected(string parameter) => parameter == "price";
    }
}

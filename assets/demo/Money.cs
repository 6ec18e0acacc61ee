using System;
using System.Runtime.CompilerServices;

namespace Shop
{
    /// <summary>A value type: operators, a property, an interface called through a type parameter.</summary>
    struct Money : IComparable<Money>
    {
        readonly long cents;

        public Money(long cents)
        {
            this.cents = cents;
        }

        public long Cents => cents;

        public Money Plus(int more) => new Money(cents + more);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Money operator +(Money a, Money b) => new Money(a.cents + b.cents);

        public static implicit operator Money(long cents) => new Money(cents);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int CompareTo(Money other) => cents.CompareTo(other.cents);
    }
}

// Constructors: the probe comes before the call of the base constructor.
using System;
using System.Runtime.CompilerServices;

namespace Shapes
{
    static class Constructors
    {
        public static void All()
        {
            T.Show("ctor chain", () => new Derived(3).Sum);
            T.Show("ctor of this", () => new Derived("four").Sum);
            T.Show("ctor throws in base", () => new Derived(-1));
            T.Show("ctor throws itself", () => new Derived(99));
            T.Show("ctor of a struct", () => new Pair(1, 2).Sum());
            T.Show("ctor with initialisers", () => new Initialised().Third);
            T.Show("cctor", () => Precise.Value);
            T.Show("cctor lazily", () => Lazily.Value);
            T.Show("cctor of a generic type", () => new object[] { PerType<int>.Name, PerType<string>.Name, PerType<object>.Name });
            T.Show("cctor throws", () => Broken.Value);
            T.Show("ctor by reflection", () => ((Derived)Activator.CreateInstance(typeof(Derived), 5)).Sum);
        }
    }

    class Base
    {
        public readonly int Sum;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Base(int n)
        {
            T.Hit("Base..ctor(int)");
            if (n < 0)
                throw new ArgumentOutOfRangeException("n", "too small");
            Sum = n * 2;
        }
    }

    sealed class Derived : Base
    {
        readonly int twice = 2 * T.Hit("Derived..ctor(int)");

        // The initialiser of `twice` runs before the base's constructor, as the probe does.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public Derived(int n) : base(n)
        {
            if (n == 99)
                throw new InvalidOperationException("ninety-nine" + twice);
        }

        public Derived(string text) : this(text.Length + T.Hit("Derived..ctor(string)")) { }
    }

    struct Pair
    {
        public int A, B;

        public Pair(int a, int b)
        {
            T.Hit("Pair..ctor(int, int)");
            A = a;
            B = b;
        }

        public int Sum()
        {
            T.Hit("Pair.Sum()");
            return A + B;
        }
    }

    sealed class Initialised
    {
        readonly int[] first = { 1, 2, 3 };
        readonly string second = new string('x', 2);
        public readonly int Third;

        public Initialised()
        {
            T.Hit("Initialised..ctor()");
            Third = first.Length + second.Length;
        }
    }

    static class Precise
    {
        public static readonly int Value;

        static Precise()
        {
            T.Hit("Precise..cctor()");
            Value = 7;
        }
    }

    static class Lazily
    {
        public static readonly int Value = 8 + T.Hit("Lazily..cctor()");
    }

    static class PerType<T1>
    {
        public static readonly string Name;

        static PerType()
        {
            T.Hit("PerType<T1>..cctor()");
            Name = typeof(T1).Name;
        }
    }

    static class Broken
    {
        public static readonly int Value = T.Hit("Broken..cctor()") + Fail();

        static int Fail()
        {
            T.Hit("Broken.Fail()");
            throw new NotSupportedException("never made");
        }
    }
}

// Generic methods and types: each value type has its own code, reference types share theirs.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Shapes
{
    static class Generics
    {
        public static void All()
        {
            T.Show("generic method", () => new object[] { Name<int>(1), Name<string>("s"), Name<object>("o"), Name(new Pair(1, 2)) });
            T.Show("generic type", () => new object[] { new Holder<string>("a").Get("b"), new Holder<long>(5).Get(7), new Holder<Pair>(default).Get(default) });
            T.Show("generic method of a generic type", () => new Holder<string>("a").Both<int, Version>(1, new Version(1, 2)));
            T.Show("generic virtual", () => new object[] { ((Shape)new Round()).Of<int>(), ((Shape)new Round()).Of<string>(), new Shape().Of<Round>() });
            T.Show("constrained call", () => new object[] { Print(4), Print("five"), Print(new Pair(3, 4)), Print(DayOfWeek.Friday) });
            T.Show("constrained interface", () => { var counter = new Counter(); Bump(ref counter); Bump(ref counter); return counter.Count; });
            T.Show("readonly element", () => new object[] { Element(new[] { "a", "b" }, 1), Element(new[] { 1, 2 }, 0) });
            T.Show("readonly of covariant array", () => Element<object>(new string[] { "x" }, 0));
            T.Show("default and new", () => new object[] { Fresh<int>(), Fresh<Initialised>().Third, Nothing<string>(), Nothing<double>() });
            T.Show("static of a generic type", () => new object[] { Holder<int>.Next(), Holder<int>.Next(), Holder<string>.Next(), Holder<object>.Next() }.Length);
            T.Show("recursive instantiation", () => Deep<int>(5));
            T.Show("linq", () => Enumerable.Range(0, 20).Where(Odd).Select(Square).Sum());
            T.Show("comparer", () => new SortedSet<int>(new[] { 3, 1, 2 }, new Backwards()).First());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Name<T1>(T1 value)
        {
            T.Hit("Generics.Name<T1>(T1)");
            return typeof(T1).Name + (value is ValueType);
        }

        static string Print<T1>(T1 value)
        {
            T.Hit("Generics.Print<T1>(T1)");
            return value.ToString() + value.GetHashCode().CompareTo(int.MaxValue);
        }

        static void Bump<T1>(ref T1 counter) where T1 : ICounts
        {
            T.Hit("Generics.Bump<T1>(ref T1)");
            counter.Bump();
        }

        static string Element<T1>(T1[] array, int index)
        {
            T.Hit("Generics.Element<T1>(T1[], int)");
            return array[index].ToString();
        }

        static T1 Fresh<T1>() where T1 : new()
        {
            T.Hit("Generics.Fresh<T1>()");
            return new T1();
        }

        static T1 Nothing<T1>()
        {
            T.Hit("Generics.Nothing<T1>()");
            return default;
        }

        static int Deep<T1>(int depth)
        {
            T.Hit("Generics.Deep<T1>(int)");
            return depth == 0 ? typeof(T1).ToString().Length : Deep<List<T1>>(depth - 1);
        }

        static bool Odd(int n)
        {
            T.Hit("Generics.Odd(int)");
            return n % 2 == 1;
        }

        static int Square(int n)
        {
            T.Hit("Generics.Square(int)");
            return n * n;
        }
    }

    interface ICounts
    {
        void Bump();
    }

    struct Counter : ICounts
    {
        public int Count;

        void ICounts.Bump()
        {
            T.Hit("Counter.Shapes.ICounts.Bump()");
            Count++;
        }
    }

    sealed class Backwards : IComparer<int>
    {
        public int Compare(int a, int b) => b.CompareTo(a) + T.Hit("Backwards.Compare(int, int)");
    }

    sealed class Holder<T1>
    {
        static int next;
        readonly T1 held;

        public Holder(T1 value)
        {
            T.Hit("Holder<T1>..ctor(T1)");
            held = value;
        }

        public string Get(T1 other)
        {
            T.Hit("Holder<T1>.Get(T1)");
            return EqualityComparer<T1>.Default.Equals(held, other) + typeof(T1).Name;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public string Both<T2, T3>(T2 second, T3 third)
        {
            T.Hit("Holder<T1>.Both<T2, T3>(T2, T3)");
            return string.Concat(held, second, third);
        }

        public static int Next()
        {
            T.Hit("Holder<T1>.Next()");
            return ++next;
        }
    }

    class Shape
    {
        public virtual string Of<T1>()
        {
            T.Hit("Shape.Of<T1>()");
            return "shape of " + typeof(T1).Name;
        }
    }

    sealed class Round : Shape
    {
        public override string Of<T1>()
        {
            T.Hit("Round.Of<T1>()");
            return "round " + base.Of<T1>();
        }
    }
}

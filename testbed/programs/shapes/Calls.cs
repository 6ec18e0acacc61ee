// Ways to call: virtual, by interface, by delegate, by reflection, natively; and attributes of methods.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Shapes
{
    abstract class Animal
    {
        public abstract string Voice();

        public virtual string Twice()
        {
            T.Hit("Animal.Twice()");
            return Voice() + Voice();
        }

        public string this[int n]
        {
            get
            {
                T.Hit("Animal.get_Item(int)");
                return Voice() + n;
            }
        }
    }

    class Dog : Animal
    {
        public override string Voice()
        {
            T.Hit("Dog.Voice()");
            return "wau";
        }

        public sealed override string Twice()
        {
            T.Hit("Dog.Twice()");
            return base.Twice() + "!";
        }

        public static Dog operator +(Dog a, Dog b)
        {
            T.Hit("Dog.op_Addition(Dog, Dog)");
            return a ?? b;
        }

        public static explicit operator int(Dog dog)
        {
            T.Hit("Dog.op_Explicit(Dog)");
            return 4;
        }
    }

    static class Calls
    {
        [DllImport("libc", EntryPoint = "abs")]
        static extern int Absolute(int n);

        delegate int Compared(IntPtr a, IntPtr b);

        [DllImport("libc", EntryPoint = "qsort")]
        static extern void Sort(int[] numbers, UIntPtr count, UIntPtr size, Compared compared);

        static event Action<string> Happened;

        static readonly List<string> log = new List<string>();

        public static void All()
        {
            Animal dog = new Dog();
            T.Show("virtual", () => dog.Twice() + dog[2]);
            T.Show("operators", () => (int)(null + new Dog()));
            T.Show("on null", () => ((Animal)null).Twice());
            T.Show("delegate", () => new Func<int, int>(Marked)(4));
            T.Show("open delegate", () => ((Func<Dog, string>)Delegate.CreateDelegate(typeof(Func<Dog, string>), typeof(Dog).GetMethod("Voice")))(new Dog()));
            T.Show("reflection", () => typeof(Calls).GetMethod("Marked", BindingFlags.NonPublic | BindingFlags.Static).Invoke(null, new object[] { 3 }));
            T.Show("reflection that fails", () => typeof(Calls).GetMethod("Thrower", BindingFlags.NonPublic | BindingFlags.Static).Invoke(null, null) ?? "nothing");
            T.Show("native", () => Absolute(-5));
            T.Show("called by native code", () => { var numbers = new[] { 3, 1, 2 }; Sort(numbers, (UIntPtr)3, (UIntPtr)4, ByNumber); return string.Join(" ", numbers); });
            T.Show("event", Events);
            T.Show("synchronized", () => Synchronized(2));
            T.Show("never optimised", () => Plain(3));
            T.Show("always optimised", () => Always(3));
            T.Show("always inlined", () => Inlined(3) + Inlined(4));
            T.Show("empty", () => { Empty(); Empty(); return "nothing"; });
            T.Show("many parameters", () => Many(1, 2, 3, 4, 5, 6f, 7d, "8", 9, 10, new Pair(5, 6), 12, '3', true, 15.5m));
            T.Show("optional", () => Optional(1) + Optional(1, "b") + Params() + Params(1, 2, 3));
            T.Show("last call", () => Even(1001));
            T.Show("mutual recursion", () => Ackermann(2, 3));
            T.Show("interface twice", () => { var both = new Both(); return ((IOne)both).Get() + ((ITwo)both).Get() + both.Get(); });
            T.Show("tuple", () => { var (a, b) = Tuple(3); return a + b; });
            T.Show("nullable", () => Nullable(null) + Nullable(4));
            T.Show("name of the method", () => MethodOf().Name);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Marked(int n)
        {
            T.Hit("Calls.Marked(int)");
            return n * 3;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Thrower()
        {
            T.Hit("Calls.Thrower()");
            throw new FormatException("thrown");
        }

        static int ByNumber(IntPtr a, IntPtr b)
        {
            T.Hit("Calls.ByNumber(nint, nint)");
            return Marshal.ReadInt32(a).CompareTo(Marshal.ReadInt32(b));
        }

        static object Events()
        {
            T.Hit("Calls.Events()");
            log.Clear();
            Action<string> listener = what => log.Add(what);
            Happened += listener;
            Happened("once");
            Happened -= listener;
            return log.Count + " " + (Happened == null);
        }

        [MethodImpl(MethodImplOptions.Synchronized)]
        static int Synchronized(int n)
        {
            T.Hit("Calls.Synchronized(int)");
            return n + (System.Threading.Monitor.IsEntered(typeof(Calls)) ? 10 : 20);
        }

        [MethodImpl(MethodImplOptions.NoOptimization | MethodImplOptions.NoInlining)]
        static int Plain(int n)
        {
            T.Hit("Calls.Plain(int)");
            int a = n + 1, b = a * 2;
            return b - a;
        }

        // AggressiveOptimization, which .NET Core 2.1 lacks.
        [MethodImpl((MethodImplOptions)512)]
        static int Always(int n)
        {
            T.Hit("Calls.Always(int)");
            int sum = 0;
            for (int m = 0; m < n; m++)
                sum += m;
            return sum;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        static int Inlined(int n)
        {
            T.Hit("Calls.Inlined(int)");
            return n << 1;
        }

        static void Empty() { }

        static string Many(byte a, sbyte b, short c, ushort d, int e, float f, double g, string h, long i, ulong j, Pair k, uint l, char m, bool n, decimal o)
        {
            T.Hit("Calls.Many(byte, sbyte, short, ushort, int, float, double, string, long, ulong, Pair, uint, char, bool, decimal)");
            return string.Concat(a + b + c + d + e, f, g, h, i + (long)j, k.Sum(), l, m, n, o);
        }

        static string Optional(int n, string text = "a")
        {
            T.Hit("Calls.Optional(int, string)");
            return text + n;
        }

        static int Params(params int[] numbers)
        {
            T.Hit("Calls.Params(int[])");
            return numbers.Length;
        }

        static bool Even(int n)
        {
            T.Hit("Calls.Even(int)");
            return n == 0 || Odd(n - 1);
        }

        static bool Odd(int n)
        {
            T.Hit("Calls.Odd(int)");
            return n != 0 && Even(n - 1);
        }

        static int Ackermann(int m, int n)
        {
            T.Hit("Calls.Ackermann(int, int)");
            return m == 0 ? n + 1 : n == 0 ? Ackermann(m - 1, 1) : Ackermann(m - 1, Ackermann(m, n - 1));
        }

        interface IOne
        {
            int Get();
        }

        interface ITwo
        {
            int Get();
        }

        sealed class Both : IOne, ITwo
        {
            public int Get()
            {
                T.Hit("Calls+Both.Get()");
                return 1;
            }

            int ITwo.Get()
            {
                T.Hit("Calls+Both.Shapes.Calls.ITwo.Get()");
                return 100;
            }
        }

        static (int, long) Tuple(int n)
        {
            T.Hit("Calls.Tuple(int)");
            return (n, n * 2L);
        }

        static int Nullable(int? n)
        {
            T.Hit("Calls.Nullable(Nullable<int>)");
            return n ?? 7;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static MethodBase MethodOf()
        {
            T.Hit("Calls.MethodOf()");
            return MethodBase.GetCurrentMethod();
        }
    }
}

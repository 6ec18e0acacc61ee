// Operations that the JIT compiles to helper calls: casts, boxes, conversions, checked arithmetic, arrays, copies, statics.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Internals
{
    static class Helpers
    {
        class Animal { }
        class Cat : Animal, IDisposable { public void Dispose() { } }
        struct Wide { public long A, H; public Guid B, C, D; public object Last; }
        enum Colour : byte { Red = 3 }

        static object[] things;
        static double number = 1e300;
        static long large = long.MaxValue;
        static ulong unsigned = ulong.MaxValue - 1;
        static int zero = things == null ? 0 : 1;

        public static void All()
        {
            things = new object[] { new Cat(), new Animal(), 5, "five", new int[2], new Cat[1], null, Colour.Red, new List<string>(), (Action)All };
            Program.Show("casts", () => new object[]
            {
                Count(o => o is Animal), Count(o => o is IDisposable), Count(o => o is IEnumerable<object>), Count(o => o is Animal[]),
                Count(o => o is int), Count(o => o is int?), Count(o => o is Delegate), Count(o => o is IComparable), Count(o => o as string != null),
                Count(Generic<Cat>), Count(Generic<int>), Count(Generic<IList<int>>), Count(Generic<Enum>),
            });
            Program.Show("bad cast", () => (Cat)things[1]);
            Program.Show("bad cast to an interface", () => (IDisposable)things[1]);
            Program.Show("bad unboxing", () => (long)things[2]);
            Program.Show("unboxing null", () => (int)things[6]);
            Program.Show("unboxing", () => new object[] { (int)things[2] + 1, (int?)things[2], (int?)things[6], (byte)(Colour)things[7] });
            Program.Show("boxed nullables", () => new object[] { Box<int>(null), Box<int>(4), Box<Colour>(Colour.Red) });
            Program.Show("stores into arrays", () =>
            {
                Animal[] animals = new Cat[3];
                animals[0] = new Cat();
                animals[1] = null;
                object[] any = new object[] { 1, "two" };
                any[0] = animals;
                return any.Length + animals.Length;
            });
            Program.Show("bad store", () => { Animal[] animals = new Cat[1]; animals[0] = (Animal)things[1]; return 0; });
            Program.Show("bad element address", () => { object[] any = new Cat[1]; return Address(ref any[0]); });
            Program.Show("element address", () => { object[] any = new object[1]; return Address(ref any[0]); });
            Program.Show("conversions", () => new object[]
            {
                (long)-1.5e10, unchecked((ulong)1e19), (double)unsigned, (float)unsigned, (double)large, (uint)4e9, number % 7.5, (float)number % 3f, Math.Round(2.5), Math.Pow(2, 0.5),
            });
            Program.Show("checked: double to int", () => checked((int)number));
            Program.Show("checked: double to uint", () => checked((uint)number));
            Program.Show("checked: double to long", () => checked((long)number));
            Program.Show("checked: double to ulong", () => checked((ulong)-number));
            Program.Show("checked: times", () => checked(large * 2));
            Program.Show("checked: unsigned times", () => checked(unsigned * 2));
            Program.Show("divisions", () => new object[] { large / 7, large % 7, unsigned / 7, unsigned % 7 });
            Program.Show("by zero", () => 1 / zero);
            Program.Show("past the smallest", () => int.MinValue / (zero - 1));
            Program.Show("past the end", () => (new int[2])[zero + 2]);
            Program.Show("negative length", () => new int[zero - 1]);
            Program.Show("several dimensions", () =>
            {
                var cube = new string[2, 3, 4];
                cube[1, 2, 3] = "last";
                var bounded = (int[,])Array.CreateInstance(typeof(int), new[] { 2, 2 }, new[] { 5, 6 });
                bounded[6, 7] = 9;
                return cube[1, 2, 3] + cube.Length + bounded[6, 7] + bounded.GetLowerBound(1);
            });
            Program.Show("copies", () =>
            {
                var wide = new Wide { A = 1, B = default, C = default, D = default, H = 2, Last = "last" };
                Wide[] many = { wide, Copied(wide), default };
                var again = (Wide[])many.Clone();
                Array.Copy(many, 0, again, 1, 2);
                Array.Clear(many, 0, 2);
                return again[2].H + (string)again[1].Last + many[0].A;
            });
            Program.Show("memory", () =>
            {
                Span<byte> bytes = stackalloc byte[300];
                bytes.Fill(7);
                bytes.Slice(100).Clear();
                var more = new byte[300];
                bytes.CopyTo(more);
                Buffer.BlockCopy(more, 0, more, 1, 200);
                int sum = 0;
                foreach (byte one in more)
                    sum += one;
                return sum;
            });
            Program.Show("statics", () => new object[]
            {
                Of<int>.Count++, Of<string>.Count++, Of<object>.Count++, Of<Cat>.Name, Of<Wide>.Name, Of<string[]>.Name,
            });
            Program.Show("virtual generics", () => new object[] { new Shape().Named<int>(), new Shape().Named<string>(), ((INamed)new Shape()).Named<Cat>() });
            Program.Show("strings", () => new object[]
            {
                new string('x', 3), new string(new[] { 'a', 'b' }), new string(new[] { 'a', 'b', 'c' }, 1, 2), FromPointers(), string.Concat("a", 1, 'c'),
                string.Intern("int" + "ern"), "text".Substring(1).ToUpperInvariant(), $"{1.5:0.00}|{large:n0}",
            });
            Program.Show("enums", () => new object[] { Colour.Red.ToString(), Enum.Parse(typeof(Colour), "Red"), Colour.Red.Equals((Colour)3), Colour.Red.GetHashCode() });
            Program.Show("varied", () => new object[] { new ArrayList { 3, 1, 2 }.Count, Comparer<int>.Default.Compare(1, 2), EqualityComparer<string>.Default.Equals("a", "b") });
        }

        static int Count(Func<object, bool> test)
        {
            int count = 0;
            foreach (object thing in things)
                count += test(thing) ? 1 : 0;
            return count;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static bool Generic<T>(object o) => o is T;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Box<T>(T? value) where T : struct => value;

        static string Address<T>(ref T place) => typeof(T).Name;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Wide Copied(Wide wide)
        {
            wide.H++;
            return wide;
        }

        static unsafe string FromPointers()
        {
            fixed (char* text = "pointed")
            {
                sbyte* bytes = stackalloc sbyte[] { 104, 105, 0 };
                return new string(text) + new string(text, 1, 2) + new string(bytes) + new string(bytes, 0, 1);
            }
        }

        static class Of<T>
        {
            public static int Count;
            public static readonly string Name = typeof(T).Name;
        }

        interface INamed { string Named<T>(); }
        class Shape : INamed { public virtual string Named<T>() => typeof(T).Name; }
    }
}

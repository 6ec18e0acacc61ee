// The base of generated methods: state that they change, types that they use, and the digest of their actions.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ground
{
    /// <summary>A value type without references.</summary>
    public struct Pt
    {
        public int A;
        public long B;
        public Pt(int a, long b) { A = a; B = b; }
        public override string ToString() => "Pt";
    }

    /// <summary>A value type with a reference and a hole.</summary>
    public struct Mixed
    {
        public object O;
        public short S;
        public double D;
    }

    /// <summary>A generic value type.</summary>
    public struct Pair<T, U>
    {
        public T First;
        public U Second;
    }

    /// <summary>The base of generated classes.</summary>
    public class Node
    {
        public int I;
        public long L;
        public double D;
        public object O;
        public Pt P;
        public int[] Ints;
        public Node() { I = 3; }
        public Node(int i) { I = i; L = i * 5L; }
        public virtual int Visit(int n) => n ^ I;
        public override string ToString() => "Node";
    }

    /// <summary>Overrides the methods of Node.</summary>
    public class Leaf : Node
    {
        public Leaf(int i) : base(i) { O = "leaf"; }
        public override int Visit(int n) => n + I * 2;
    }

    /// <summary>The exception that generated code throws.</summary>
    public class Oops : Exception
    {
        public readonly int Code;
        public Oops(int code) { Code = code; }
    }

    /// <summary>A delegate to generated methods.</summary>
    public delegate int Fn(int n);

    public static class State
    {
        public static int SI;
        public static long SL;
        public static double SD;
        public static object SO;
        public static Pt SP;
        public static string Text;
        /// <summary>Entries of each method, by its number; the methods count themselves.</summary>
        public static int[] Truth = new int[0];

        static ulong hash;
        static int fuel;
        /// <summary>Objects that synchronized methods locked.</summary>
        static readonly List<object> locks = new List<object>();

        /// <summary>Resets everything, with a new hash.</summary>
        public static void Reset(int allowance)
        {
            SI = 5;
            SL = -7;
            SD = 0.5;
            SO = "so";
            SP = new Pt(1, 2);
            Text = "";
            hash = 14695981039346656037;
            fuel = allowance;
            locks.Clear();
        }

        /// <summary>The hash so far, and the current statics.</summary>
        public static ulong Hash()
        {
            Mix(SI);
            Mix(SL);
            Mix(SD);
            Mix(SO);
            Mix(SP);
            return hash;
        }

        /// <summary>Returns whether a synchronized method kept its lock, and releases it.</summary>
        public static bool IsLocked()
        {
            bool any = false;
            foreach (object one in locks)
                for (; Monitor.IsEntered(one); any = true)
                    Monitor.Exit(one);
            return any;
        }

        /// <summary>Returns whether another call is allowed, so that every chain of calls ends.</summary>
        public static bool Burn() => --fuel >= 0;

        public static void Mix(int value) => Mix((long)value);

        public static void Mix(long value) => hash = (hash ^ (ulong)value) * 1099511628211 + (hash >> 47);

        public static void Mix(double value) =>
            Mix(double.IsNaN(value) ? 77 : value == 0 ? 0 : BitConverter.DoubleToInt64Bits(value));

        /// <summary>Returns whether a synchronized method has its lock.</summary>
        public static void Held(object locked)
        {
            Mix(Monitor.IsEntered(locked) ? 1 : 0);
            locks.Add(locked);
        }

        public static void Held(RuntimeTypeHandle type) => Held(Type.GetTypeFromHandle(type));

        public static void Mix(RuntimeTypeHandle type) => Mix(Type.GetTypeFromHandle(type).Name, 0);

        public static void Mix(Span<int> values)
        {
            Mix(values.Length);
            foreach (int value in values)
                Mix(value);
        }

        public static void Mix(Pt value)
        {
            Mix(value.A);
            Mix(value.B);
        }

        public static void Mix(Mixed value)
        {
            Mix(value.O);
            Mix(value.S);
            Mix(value.D);
        }

        public static void Mix(Pair<int, string> value)
        {
            Mix(value.First);
            Mix(value.Second);
        }

        public static void Mix(object value) => Mix(value, 0);

        static void Mix(object value, int depth)
        {
            switch (value)
            {
                case null:
                    Mix(11);
                    break;
                case int i:
                    Mix(i);
                    break;
                case long l:
                    Mix(l);
                    break;
                case double d:
                    Mix(d);
                    break;
                case Pt p:
                    Mix(p);
                    break;
                case string s:
                    Mix(s.Length);
                    foreach (char c in s)
                        Mix(c);
                    break;
                case int[] ints:
                    Mix(ints.Length);
                    foreach (int i in ints)
                        Mix(i);
                    break;
                case Pt[] pts:
                    Mix(pts.Length);
                    foreach (Pt p in pts)
                        Mix(p);
                    break;
                case object[] objects:
                    Mix(objects.Length);
                    for (int i = 0; i < objects.Length && depth < 2; i++)
                        Mix(objects[i], depth + 1);
                    break;
                case Oops oops:
                    Mix(oops.Code);
                    break;
                case Node node:
                    Mix(node.I);
                    Mix(node.L);
                    Mix(node.D);
                    Mix(node.P);
                    if (depth < 2)
                    {
                        Mix(node.O, depth + 1);
                        Mix(node.Ints, depth + 1);
                    }
                    break;
                default:
                    Mix(value.GetType().Name, depth);
                    break;
            }
        }

        /// <summary>An element. 2.1's JIT may crash when it inlines a span's own indexer into a loop that it duplicates.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ref int At(Span<int> values, int index) => ref values[index];

        /// <summary>A short text of a number, so that a string is not always a literal.</summary>
        public static string Say(int n) => Words[n & 3];

        static readonly string[] Words = { "", "one", "two", null };

        /// <summary>One of eight array shapes; some are null, some short.</summary>
        public static int[] Ints(int n) => (n & 7) == 7 ? null : new int[n & 7 | 2];

        public static object[] Objects(int n)
        {
            switch (n & 7)
            {
                case 7:
                    return null;
                case 6:
                    return new string[] { "s", "t", "u" };
                default:
                    return new object[] { n, "o", null, new Node(n) };
            }
        }

        public static Pt[] Pts(int n) => (n & 7) == 7 ? null : new[] { new Pt(n, 1), new Pt(2, n), new Pt(), new Pt(4, 4) };

        /// <summary>Mixes an exception into the digest, by the name of its type.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Caught(object exception)
        {
            Mix(exception.GetType().Name, 0);
            if (exception is Oops oops)
                Mix(oops.Code);
        }
    }
}

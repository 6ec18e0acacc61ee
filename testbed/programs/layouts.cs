// Objects with generic structs as fields, for every pair of some types.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

public enum Kind : byte { Plain, Fancy }

public struct Point
{
    public int X;
    public double Y;
}

public struct Named
{
    public string Name;
    public Point At;
    public int? Size;
}

public struct Two<A, B>
{
    public A First;
    public B Second;
}

public struct Three<A, B>
{
    public A First;
    public B Second;
    public A Third;
}

public class Held<A, B>
{
    public Two<A, B> Two;
    public (A, B) Tuple;
    public KeyValuePair<B, A> Entry;
    public Three<A, B> Three;
}

/// The same fields in a class that is not generic.
public class Plain
{
    public byte Small;
    public (int Number, string Text) Tuple;
    public KeyValuePair<string, Point> Entry;
    public Two<byte, Two<string, long>> Nested;
    public (int, int)? Some;
    public (int, int)? None;
    public Two<List<int>, Kind> List;
    public DateTimeOffset? Offset;
    public Two<string, string> Password;
}

public static class Layouts
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static object Any(int number, object value) { return null; }

    /// A value of a type; `n` makes it different from others.
    static object ValueOf(int type, int n)
    {
        switch (type)
        {
            case 0: return (byte)n;
            case 1: return (short)-n;
            case 2: return n * 1000003;
            case 3: return (long)n << 33;
            case 4: return n * 0.5;
            case 5: return (char)('A' + n % 26);
            case 6: return "text " + n;
            case 7: return new Guid(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
            case 8: return new DateTime(2020, 2, 29, 12, 0, n % 60, DateTimeKind.Utc);
            case 9: return TimeSpan.FromSeconds(n % 60);
            case 10: return new Point { X = n, Y = n * 0.5 };
            case 11: return (Kind)(n % 2);
            case 12: return new decimal(25 * n, 0, 0, false, 2);
            case 13: return (n, "pair " + n);
            case 14: return new KeyValuePair<byte, long>((byte)n, n);
            case 15: return new Named { Name = "named " + n, At = new Point { X = n, Y = n * 0.5 }, Size = n };
            default: return new Two<float, short> { First = n * 0.5f, Second = (short)n };
        }
    }

    const int Types = 17;

    static object Make<A, B>(A a, B b)
    {
        return new Held<A, B>
        {
            Two = new Two<A, B> { First = a, Second = b }, Tuple = (a, b), Entry = new KeyValuePair<B, A>(b, a),
            Three = new Three<A, B> { First = a, Second = b, Third = a },
        };
    }

    static readonly MethodInfo MakeOf = typeof(Layouts).GetMethod("Make", BindingFlags.NonPublic | BindingFlags.Static);

    static object[] All()
    {
        var all = new object[Types * Types];
        for (int n = 0; n < all.Length; n++)
        {
            object a = ValueOf(n / Types, 2 * n + 1), b = ValueOf(n % Types, 2 * n + 2);
            all[n] = MakeOf.MakeGenericMethod(a.GetType(), b.GetType()).Invoke(null, new[] { a, b });
        }
        return all;
    }

    static Plain PlainOne(int n)
    {
        return new Plain
        {
            Small = 7, Tuple = (n, "text " + n), Entry = new KeyValuePair<string, Point>("key", new Point { X = n, Y = 0.5 }),
            Nested = new Two<byte, Two<string, long>> { First = 1, Second = new Two<string, long> { First = "inner", Second = n } },
            Some = (n, -n), List = new Two<List<int>, Kind> { First = new List<int> { n }, Second = Kind.Fancy },
            Offset = new DateTimeOffset(2024, 12, 31, 23, 59, 59, TimeSpan.FromMinutes(-90)),
            Password = new Two<string, string> { First = "hunter2", Second = "hunter2" },
        };
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            switch (line)
            {
                case "pairs":
                    var all = All();
                    for (int n = 0; n < all.Length; n++) Any(n, all[n]);
                    break;
                case "plain":
                    Any(5, PlainOne(5));
                    break;
                case "threads":
                    bool stop = false;
                    var collecting = new Thread(() => { while (!Volatile.Read(ref stop)) GC.Collect(2, GCCollectionMode.Forced, true, true); });
                    collecting.Start();
                    var threads = new List<Thread>();
                    for (int t = 0; t < 4; t++)
                        threads.Add(new Thread(() => { foreach (var n in Enumerable.Range(0, 40)) Any(n, PlainOne(n)); }));
                    threads.ForEach(thread => thread.Start());
                    threads.ForEach(thread => thread.Join());
                    Volatile.Write(ref stop, true);
                    collecting.Join();
                    break;
            }
            Console.WriteLine("done");
        }
    }
}

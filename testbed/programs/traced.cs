// Calls with known arguments and results, one kind per command.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

public enum Flat : ulong { None, Most = ulong.MaxValue }

public enum Kind : byte { Plain, Fancy }

public class Base
{
    public int Id;
    protected string note = "base";
}

public struct Point
{
    public int X;
    public double Y;
    public Point(int x, double y) { X = x; Y = y; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public double Scaled(double scale) { return X * scale + Y; }
}

public struct Named
{
    public string Name;
    public Point At;
    public int? Size;
}

public class Order : Base
{
    public string Name { get; set; }
    public Kind Kind;
    public Point At;
    public int? Count;
    public decimal Price;
    public DateTime When;
    public TimeSpan Took;
    public Guid Key;
    public string Password = "hunter2";
    public int Pin = 7391;
    public Order Next;
    public object Boxed;
    public int[] Numbers;
    public List<string> Tags;
    public Dictionary<string, int> Stock;

    public static Order Number(int i, Order next)
    {
        return new Order
        {
            Id = i, Name = "order " + i, Kind = (Kind)(i % 2), At = new Point(i, i * 0.5), Count = i % 2 == 0 ? i : (int?)null,
            Price = new decimal(25 * i, 0, 0, false, 2), When = new DateTime(2020, 2, 29, 12, 0, i % 60, DateTimeKind.Utc), Took = TimeSpan.FromSeconds(-i),
            Key = new Guid(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), Next = next, Boxed = i, Numbers = new[] { i, -i },
            Tags = new List<string> { "tag " + i, null }, Stock = new Dictionary<string, int> { ["a"] = i, ["b"] = -i },
        };
    }
}

public class Box<T>
{
    readonly T value;
    public Box(T value) { this.value = value; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public T Exchange(T other) { return value; }
}

public static class Traced
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Order Objects(Order order, Base declared, object boxed, object nothing) { return order; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Named Structs(
        Point point, Named named, int? some, int? none, (int Number, string Text) pair, KeyValuePair<string, Point> entry,
        DayOfWeek? day)
    {
        return named;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Guid Texts(Guid key, DateTime utc, DateTime local, DateTimeOffset offset, TimeSpan took, decimal price)
    {
        return key;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int[] Collections(
        int[] numbers, string[] texts, Point[] points, List<int> list, List<Order> orders, Dictionary<string, int> stock,
        Dictionary<int, Point> places, int[,] grid, IEnumerable<string> empty)
    {
        return numbers;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Spans(Span<int> numbers, ReadOnlySpan<char> text, Span<Point> none) { return numbers.Length; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool ByRefs(ref int number, out string text, ref Point point, in Guid key, ref Order order, out int count)
    {
        number++;
        text = "out " + number;
        point.X = -1;
        order = null;
        count = 5;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool Finds(int number, ref string[] texts, out List<int> list, out Dictionary<string, int> map, ref object boxed)
    {
        list = new List<int> { number, 2 };
        map = new Dictionary<string, int> { ["a"] = number };
        boxed = "was " + boxed;
        texts[0] = null;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Generic<T>(T value) { return value; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Task<int> Tasks(Task<int> done, Task waiting, Func<int, int> function) { return done; }

    // The objects are dead once the method has begun.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool OutlivesObjects(Base order, Named named, ref Order field, KeyValuePair<string, Order> pair, WeakReference weak)
    {
        order = null;
        named = default;
        pair = default;
        field = null;
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        return weak.IsAlive;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallOutlivesObjects()
    {
        WeakReference CallWith(int which)
        {
            var order = Order.Number(which, null);
            var name = new string('n', 100 + which);
            var weak = new WeakReference(which == 1 ? (object)name : order);
            Order other = null;
            var named = which == 1 ? new Named { Name = name } : default;
            var pair = which == 3 ? new KeyValuePair<string, Order>("k", order) : default;
            name = null;
            if (which == 2) other = order;
            var kept = which == 0 ? order : null;
            order = null;
            Console.WriteLine("alive " + which + " " + OutlivesObjects(kept, named, ref other, pair, weak));
            return weak;
        }
        for (int which = 0; which < 4; which++) CallWith(which);
    }

    public class Moving
    {
        public string Name;
        public object Boxed;
        public Moving Next;
    }

    // Other threads change the collections meanwhile.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Shared(List<int> list, Dictionary<int, string> map, Moving moving, int[] numbers) { }

    static void CallShared(int count)
    {
        var list = new List<int>();
        var map = new Dictionary<int, string>();
        var moving = new Moving();
        var numbers = new int[10];
        bool stop = false;
        var writing = new Thread(() =>
        {
            var random = new Random(1);
            while (!Volatile.Read(ref stop))
            {
                int value = random.Next(1000) * 10 + 7;
                if (random.Next(20) == 0) list.Clear(); else list.Add(value);
                if (random.Next(40) == 0) map.Clear(); else if (random.Next(3) == 0) map.Remove(value); else map[value] = "value " + value;
                moving.Next = random.Next(2) == 0 ? null : new Moving { Name = "order " + value };
                moving.Name = "order " + value;
                moving.Boxed = random.Next(2) == 0 ? (object)value : "boxed " + value;
                numbers[random.Next(10)] = value;
            }
        });
        var collecting = new Thread(() => { while (!Volatile.Read(ref stop)) GC.Collect(2, GCCollectionMode.Forced, true, true); });
        writing.Start();
        collecting.Start();
        var threads = new List<Thread>();
        for (int t = 0; t < 8; t++) threads.Add(new Thread(() => { for (int i = 0; i < count; i++) Shared(list, map, moving, numbers); }));
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        Volatile.Write(ref stop, true);
        writing.Join();
        collecting.Join();
    }

    static void ShapesOnThreads(int count)
    {
        bool stop = false;
        var collecting = new Thread(() => { while (!Volatile.Read(ref stop)) GC.Collect(2, GCCollectionMode.Forced, true, true); });
        collecting.Start();
        var threads = new List<Thread>();
        for (int t = 0; t < 8; t++) threads.Add(new Thread(() => { for (int i = 0; i < count; i++) Shapes(i); }));
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        Volatile.Write(ref stop, true);
        collecting.Join();
    }

    public class Account
    {
        public int Id = 1;
        public string Password;
        public string Note;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Login(string user, string password, Account account) { }

    // Afterwards, the secrets are nowhere in the program's own memory.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe void CallLogin(int round)
    {
        string Secret(int kind)
        {
            var text = new string('\0', 24);
            fixed (char* to = text) for (int i = 0; i < text.Length; i++) to[i] = (char)('A' + (i * 7 + kind * 5) % 26 + (i % 3 == 0 ? 32 : 0));
            return text;
        }
        var password = Secret(1);
        var account = new Account { Password = Secret(2), Note = "note " + round };
        var user = Secret(3);
        Login(user, password, account);
        foreach (var text in new[] { password, account.Password, user })
            fixed (char* to = text) for (int i = 0; i < text.Length; i++) to[i] = 'z';
    }

    static void Shapes(int i)
    {
        var order = Order.Number(i, Order.Number(i + 1, Order.Number(i + 2, null)));
        Objects(order, order, i % 2 == 0 ? (object)i : new Point(i, 2), null);
        var point = new Point(i, 0.5);
        Structs(
            point, new Named { Name = "named " + i, At = point, Size = i }, i, null, (i, "pair"),
            new KeyValuePair<string, Point>("key", point), DayOfWeek.Friday);
        var key = new Guid(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        var date = new DateTime(2024, 12, 31, 23, 59, 59);
        Texts(
            key, DateTime.SpecifyKind(date, DateTimeKind.Utc), date.AddTicks(1),
            new DateTimeOffset(date, TimeSpan.FromMinutes(-90)), new TimeSpan(1, 2, 3, 4), -0.05m);
        var numbers = new int[20];
        for (int n = 0; n < numbers.Length; n++) numbers[n] = n * i;
        var stock = new Dictionary<string, int> { ["gone"] = 1, ["a"] = i, ["b"] = 2 };
        stock.Remove("gone");
        Collections(
            numbers, new[] { "x", null }, new[] { point, default(Point) }, new List<int> { i, 2, 3 }, new List<Order> { order },
            stock, new Dictionary<int, Point> { [i] = point }, new int[2, 3], new string[0]);
        Spans(new Span<int>(numbers, 1, 3), "a text".AsSpan(2), default);
        int number = i;
        var changed = order;
        ByRefs(ref number, out _, ref point, key, ref changed, out _);
        var found = new[] { "x", "y" };
        object inBox = i;
        Finds(i, ref found, out _, out _, ref inBox);
        Generic(i);
        Generic("text " + i);
        Generic(order);
        Generic(new KeyValuePair<string, int>("k", i));
        new Box<int>(i).Exchange(-i);
        new Box<string>("boxed").Exchange("other");
        new Point(i, 1).Scaled(2);
        object boxed = new Point(i, 1);
        ((Point)boxed).Scaled(3);
        Tasks(Task.FromResult(i), new TaskCompletionSource<int>().Task, n => n + i);
    }

    static readonly ManualResetEventSlim Inside = new ManualResetEventSlim();
    static readonly ManualResetEventSlim Leave = new ManualResetEventSlim();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Primitives(
        bool flag, char letter, sbyte i1, byte u1, short i2, ushort u2, int i4, uint u4, long i8, ulong u8, float r4, double r8,
        IntPtr native)
    {
        return i8 - i4;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static double Doubles(float small, double large) { return small * large; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static float Floats(float small) { return small; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static byte Bytes(byte small) { return small; }

    // Changes its arguments: those of the call's beginning are captured.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Strings(string first, string password, string last)
    {
        var result = first == null ? null : first + last;
        first = "changed";
        last = first;
        return result;
    }

    public enum Size : sbyte { Small = -1, Middle, Large = 100 }

    // An enum of this type, of this module, of the core library, and one without a name.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Size Enums(Size own, Flat flat, DayOfWeek day, DayOfWeek unnamed) { return own; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static DayOfWeek Days(DateTime date) { return date.DayOfWeek; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Nothing() { }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Outer(int depth) { return depth == 0 ? 0 : 1 + Outer(depth - 1); }

    /// Throws an exception around this many others. The innermost has no message.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Chains(int inner)
    {
        Exception cause = null;
        for (int i = inner; i > 0; i--)
            cause = i == inner ? new Cause() : (Exception)new ArgumentException("inner " + i, cause);
        throw new InvalidOperationException("outer", cause);
    }

    public sealed class Cause : Exception { }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Fails(int number, string how)
    {
        if (how == "throw") throw new InvalidOperationException("number " + number);
        return number;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Waits(int ms, string text)
    {
        Inside.Set();
        Leave.Wait();
    }

    // The object is dead once the method has begun.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool Outlives(string text, WeakReference weak)
    {
        text = null;
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        return weak.IsAlive;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool CallOutlives(out WeakReference weak)
    {
        var text = new string('x', 1000);
        weak = new WeakReference(text);
        return Outlives(text, weak);
    }

    public class Instance
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public string Join(int number, string text) { return text + number; }
    }
    /// An object that has more than fits into a call.
    public class Crowded
    {
        public string A = new string('a', 200), B = new string('b', 200), C = new string('c', 200), D = new string('d', 200);
        [MethodImpl(MethodImplOptions.NoInlining)]
        public string Greet(string name, Point at) { return name; }
    }

    static void Primitives(int i)
    {
        Primitives(
            i % 2 == 0, (char)('A' + i % 26), (sbyte)-i, (byte)i, (short)(-3 * i), (ushort)(3 * i), -7 * i, (uint)(7 * i),
            -1000003L * i, 1000003UL * (ulong)i, i * 0.5f, i * 0.25, (IntPtr)(-i));
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Thread waiting = null;
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            var words = line.Split(' ');
            int count = words.Length > 1 ? int.Parse(words[1]) : 1;
            switch (words[0])
            {
                case "primitives":
                    for (int i = 0; i < count; i++) Primitives(i);
                    break;
                case "shapes":
                    for (int i = 0; i < count; i++) Shapes(i);
                    break;
                case "shape":
                    Shapes(count);
                    break;
                case "shape-threads":
                    ShapesOnThreads(count);
                    break;
                case "shared":
                    CallShared(count);
                    break;
                case "weak-objects":
                    CallOutlivesObjects();
                    break;
                case "login":
                    for (int i = 0; i < count; i++) CallLogin(i);
                    GC.Collect();
                    break;
                case "numbers":
                    Doubles(1.5f, -2.25);
                    Floats(float.NaN);
                    Bytes(200);
                    Nothing();
                    break;
                case "strings":
                    for (int i = 0; i < count; i++) Strings("first " + i, "secret " + i, new string((char)('a' + i % 26), i));
                    break;
                case "odd-strings":
                    Strings(null, null, "x");
                    Strings("", "secret", "");
                    Strings("\u0000\u001b[31m\ud800é名", "secret", new string('z', 5000));
                    break;
                case "enums":
                    Enums(Size.Small, Flat.Most, DayOfWeek.Friday, (DayOfWeek)42);
                    Days(new DateTime(2020, 1, 1));
                    break;
                case "nested":
                    Outer(3);
                    break;
                case "fails":
                    for (int i = 0; i < count; i++)
                        try { Fails(i, i % 2 == 0 ? "throw" : "return"); } catch (InvalidOperationException) { }
                    break;
                case "chains":
                    for (int i = 0; i < count; i++)
                        try { Chains(i); } catch (InvalidOperationException) { }
                    break;
                case "instance":
                    new Instance().Join(7, "seven");
                    break;
                case "crowded": new Crowded().Greet(new string('n', 150), new Point(int.Parse(words[1]), 0.5)); break;
                case "wait":
                    waiting = new Thread(() => Waits(60000, "in flight"));
                    waiting.Start();
                    Inside.Wait();
                    break;
                case "leave":
                    Leave.Set();
                    waiting.Join();
                    break;
                case "weak":
                    Console.WriteLine("alive " + CallOutlives(out _));
                    break;
                case "threads":
                    var stop = false;
                    var collecting = new Thread(() => { while (!Volatile.Read(ref stop)) GC.Collect(2, GCCollectionMode.Forced, true, true); });
                    collecting.Start();
                    var threads = new List<Thread>();
                    for (int t = 0; t < 8; t++)
                    {
                        int number = t;
                        threads.Add(new Thread(() =>
                        {
                            for (int i = 0; i < count; i++) Strings("thread " + number + " call " + i, null, new string('x', i % 40));
                        }));
                    }
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

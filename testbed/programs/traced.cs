// Calls with known arguments and results, one kind per command.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

public enum Flat : ulong { None, Most = ulong.MaxValue }

public static class Traced
{
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
                case "instance":
                    new Instance().Join(7, "seven");
                    break;
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

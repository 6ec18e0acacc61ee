// Compiles without pause: each call is the first of another instance of a generic method.
//
//   work N    -> working    N threads compile and call, and each has done so a few times
//   exit CODE               Main returns CODE
// It prints "ready PID" first and ends at the end of its input.
using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

static class Compiles
{
    struct Even<T> { }
    struct Odd<T> { }

    static int compiled;

    static int Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line; (line = Console.ReadLine()) != null;)
        {
            string[] words = line.Split(' ');
            if (words[0] == "exit")
                return int.Parse(words[1]);
            Work(int.Parse(words[1]));
            Console.WriteLine("working");
        }
        return 0;
    }

    static void Work(int threads)
    {
        for (int i = 0; i < threads; i++)
        {
            int first = i;
            new Thread(() => Compile(first, threads)) { IsBackground = true }.Start();
        }
        while (Volatile.Read(ref compiled) < 20 * threads)
            Thread.Sleep(1);
    }

    // Every number has a type of its own, made of its binary digits.
    static void Compile(int first, int step)
    {
        MethodInfo dialled = Method(nameof(Dialled)), plain = Method(nameof(Plain));
        for (int n = first + 1; ; n += step)
        {
            Type type = typeof(int);
            for (int rest = n; rest > 0; rest >>= 1)
                type = (rest % 2 == 0 ? typeof(Even<>) : typeof(Odd<>)).MakeGenericType(type);
            plain.MakeGenericMethod(type).Invoke(null, null);
            dialled.MakeGenericMethod(type).Invoke(null, null);
            Interlocked.Increment(ref compiled);
        }
    }

    static MethodInfo Method(string name) =>
        typeof(Compiles).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic);

    // Many inlined calls each, so that threads spend most of their time in the compiler.
    static int Dialled<T>() => Many(1) + Many(2) + Many(3);

    static int Plain<T>() => Many(4) + Many(5) + Many(6);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static int Many(int n) => Sum(n) + Sum(n + 1) + Sum(n + 2) + Sum(n + 3) + Sum(n + 4) + Sum(n + 5);

    static int Sum(int n) => Square(n) + Square(n + 1) + Square(n + 2) + Square(n + 3);

    static int Square(int n) => Product(n, n);

    static int Product(int n, int m) => n * m;
}

// A host in which known callers make a known number of calls.
//   NAME N [M]  -> done NAME      the comment of each method below describes NAME
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;

interface ITarget
{
    int Through(int turn);
}

sealed class Implementation : ITarget
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Through(int turn) => turn + 1;
}

abstract class Generic
{
    public abstract int Virtual<T>(T value);
}

sealed class Derived : Generic
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public override int Virtual<T>(T value) => value == null ? 0 : 1;
}

// The methods to dial.
static class Target
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Plain(int turn) => turn ^ 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Small(int turn) => turn + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Delegated(int turn) => turn + 3;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Reflected(int turn) => turn + 4;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Emitted(int turn) => turn + 5;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Recurse(int depth)
    {
        int below = depth > 0 ? Recurse(depth - 1) : 0;
        return below + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Throws(int turn)
    {
        if (turn >= 0)
            throw new InvalidOperationException("thrown");
        return turn;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Many(int turn) => turn + 6;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Hot(int turn) => turn + 7;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ended(int turn) => turn + 8;

    // Large results, arguments on the stack, large variables and a growing stack: an unusual frame.
    public struct Large
    {
        public long A, B, C, D, E, F, G, H;

        public Large(long all) => A = B = C = D = E = F = G = H = all;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static unsafe Large Odd(Large one, Large other, int size, params object[] more)
    {
        byte* grown = stackalloc byte[size];
        for (int i = 0; i < size; i++)
            grown[i] = (byte)i;
        one.A += other.H + grown[size - 1] + more.Length;
        return one;
    }
}

static class Callers
{
    static int sink;
    static readonly Dictionary<string, Action<int, int>> Commands = new Dictionary<string, Action<int, int>>
    {
        ["plain"] = Plain, ["inlined"] = (n, _) => Physical(n), ["delegate"] = (n, _) => ByDelegate(n), ["multicast"] = (n, _) => ByMulticast(n),
        ["interface"] = (n, _) => ByInterface(n), ["virtual"] = (n, _) => ByGenericVirtual(n), ["reflection"] = (n, _) => ByReflection(n),
        ["emitted"] = (n, _) => ByEmitted(n), ["recurse"] = (n, _) => Recursion(n), ["throw"] = (n, _) => Catching(n), ["many"] = (n, _) => FromMany(n),
        ["hot"] = (n, m) => Hot(n, m), ["threads"] = OnThreads, ["odd"] = (n, _) => Odd(n), ["last"] = (n, _) => Last(n),
    };

    // N times from One, 2 N times from two places of Two.
    static void Plain(int n, int _)
    {
        for (int i = 0; i < n; i++)
        {
            One(i);
            Two(i);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void One(int turn)
    {
        int one = Target.Plain(turn);
        sink += one;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Two(int turn)
    {
        int first = Target.Plain(turn);
        sink += first;
        int second = Target.Plain(turn + 1);
        sink += second;
    }

    // N times from Inlined, which is inlined into Physical when optimised.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Physical(int n)
    {
        for (int i = 0; i < n; i++)
            sink += Inlined(i);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static int Inlined(int turn) => Target.Small(turn) * 3;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ByDelegate(int n)
    {
        Func<int, int> target = Target.Delegated;
        for (int i = 0; i < n; i++)
            sink += target(i);
    }

    // N times two targets, called by the runtime's stub.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ByMulticast(int n)
    {
        Func<int, int> target = Target.Delegated;
        target += Target.Delegated;
        for (int i = 0; i < n; i++)
            sink += target(i);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ByInterface(int n)
    {
        ITarget target = new Implementation();
        for (int i = 0; i < n; i++)
            sink += target.Through(i);
    }

    // N times each over a value type, and over a reference type by another.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ByGenericVirtual(int n)
    {
        Generic target = new Derived();
        for (int i = 0; i < n; i++)
            sink += target.Virtual(i);
        OverReferences(target, n);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void OverReferences(Generic target, int n)
    {
        for (int i = 0; i < n; i++)
            sink += target.Virtual("text");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ByReflection(int n)
    {
        MethodInfo target = typeof(Target).GetMethod(nameof(Target.Reflected));
        for (int i = 0; i < n; i++)
            sink += (int)target.Invoke(null, new object[] { i });
    }

    // N times from a dynamic method, which is collected after the answer "emitted".
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ByEmitted(int n)
    {
        WeakReference made = Emitted(n);
        while (made.IsAlive)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference Emitted(int n) => new WeakReference(Emit(n));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static object Emit(int n)
    {
        var method = new DynamicMethod("Made", typeof(int), new[] { typeof(int) }, typeof(Callers).Module, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, typeof(Target).GetMethod(nameof(Target.Emitted)));
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        var made = (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
        for (int i = 0; i < n; i++)
            sink += made(i);
        Console.WriteLine("emitted");
        Console.ReadLine();
        return method;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Recursion(int depth)
    {
        int sum = Target.Recurse(depth);
        sink += sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Catching(int n)
    {
        for (int i = 0; i < n; i++)
        {
            try
            {
                sink += Target.Throws(i);
            }
            catch (InvalidOperationException)
            {
                sink++;
            }
        }
    }

    // N times from each of a hundred places.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void FromMany(int n)
    {
        for (int i = 0; i < n; i++)
            Hundred();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Hundred()
    {
        int sum = 0;
        sum += Target.Many(0); sum += Target.Many(1); sum += Target.Many(2); sum += Target.Many(3); sum += Target.Many(4);
        sum += Target.Many(5); sum += Target.Many(6); sum += Target.Many(7); sum += Target.Many(8); sum += Target.Many(9);
        sum += Target.Many(10); sum += Target.Many(11); sum += Target.Many(12); sum += Target.Many(13); sum += Target.Many(14);
        sum += Target.Many(15); sum += Target.Many(16); sum += Target.Many(17); sum += Target.Many(18); sum += Target.Many(19);
        sum += Target.Many(20); sum += Target.Many(21); sum += Target.Many(22); sum += Target.Many(23); sum += Target.Many(24);
        sum += Target.Many(25); sum += Target.Many(26); sum += Target.Many(27); sum += Target.Many(28); sum += Target.Many(29);
        sum += Target.Many(30); sum += Target.Many(31); sum += Target.Many(32); sum += Target.Many(33); sum += Target.Many(34);
        sum += Target.Many(35); sum += Target.Many(36); sum += Target.Many(37); sum += Target.Many(38); sum += Target.Many(39);
        sum += Target.Many(40); sum += Target.Many(41); sum += Target.Many(42); sum += Target.Many(43); sum += Target.Many(44);
        sum += Target.Many(45); sum += Target.Many(46); sum += Target.Many(47); sum += Target.Many(48); sum += Target.Many(49);
        sum += Target.Many(50); sum += Target.Many(51); sum += Target.Many(52); sum += Target.Many(53); sum += Target.Many(54);
        sum += Target.Many(55); sum += Target.Many(56); sum += Target.Many(57); sum += Target.Many(58); sum += Target.Many(59);
        sum += Target.Many(60); sum += Target.Many(61); sum += Target.Many(62); sum += Target.Many(63); sum += Target.Many(64);
        sum += Target.Many(65); sum += Target.Many(66); sum += Target.Many(67); sum += Target.Many(68); sum += Target.Many(69);
        sum += Target.Many(70); sum += Target.Many(71); sum += Target.Many(72); sum += Target.Many(73); sum += Target.Many(74);
        sum += Target.Many(75); sum += Target.Many(76); sum += Target.Many(77); sum += Target.Many(78); sum += Target.Many(79);
        sum += Target.Many(80); sum += Target.Many(81); sum += Target.Many(82); sum += Target.Many(83); sum += Target.Many(84);
        sum += Target.Many(85); sum += Target.Many(86); sum += Target.Many(87); sum += Target.Many(88); sum += Target.Many(89);
        sum += Target.Many(90); sum += Target.Many(91); sum += Target.Many(92); sum += Target.Many(93); sum += Target.Many(94);
        sum += Target.Many(95); sum += Target.Many(96); sum += Target.Many(97); sum += Target.Many(98); sum += Target.Many(99);
        sink += sum;
    }

    // M times from Warm, N times each, so that its code is replaced meanwhile.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Hot(int n, int m)
    {
        for (int i = 0; i < m; i++)
            Warm(n);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Warm(int n)
    {
        for (int i = 0; i < n; i++)
            sink += Target.Hot(i);
    }

    // N threads, each M times from Here and M times from There.
    static void OnThreads(int n, int m)
    {
        var threads = new List<Thread>();
        for (int number = 0; number < n; number++)
        {
            var thread = new Thread(() => { Here(m); There(m); });
            threads.Add(thread);
            thread.Start();
        }
        threads.ForEach(thread => thread.Join());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Here(int n)
    {
        int sum = 0;
        for (int i = 0; i < n; i++)
            sum += Target.Plain(i);
        Interlocked.Add(ref sink, sum);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void There(int n)
    {
        int sum = 0;
        for (int i = 0; i < n; i++)
            sum += Target.Plain(i);
        Interlocked.Add(ref sink, sum);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Odd(int n)
    {
        var large = new Target.Large(1);
        for (int i = 0; i < n; i++)
            large = Target.Odd(large, large, 100 + i * 64, i, "more");
        sink += (int)large.A;
    }

    // N times from Ends, whose last instruction is a call that the JIT may turn into a jump: then its caller is Last.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Last(int n)
    {
        Func<int, int> ends = Ends;
        for (int i = 0; i < n; i++)
            sink += ends(i);
    }

    static int Ends(int turn) => Target.Ended(turn);

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            string[] words = line.Split(' ');
            if (!Commands.TryGetValue(words[0], out var command))
            {
                Console.WriteLine("error unknown command: " + line);
                continue;
            }
            command(int.Parse(words[1]), words.Length > 2 ? int.Parse(words[2]) : 0);
            Console.WriteLine("done " + words[0]);
        }
    }
}

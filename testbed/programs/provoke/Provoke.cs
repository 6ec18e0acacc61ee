// Provokes every callback of a profiler, again and again, and prints the same each time.
//
//   work N -> worked N CHECKSUM    N times: loads Loaded.dll as another module, calls its methods for the first time,
//                                  throws and catches through filters and finally blocks, compiles a dynamic method,
//                                  and loads and unloads a collectible assembly
//   exit N                         returns N
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

static class Provoke
{
    static readonly byte[] loaded = File.ReadAllBytes(Path.Combine(AppContext.BaseDirectory, "plugins", "Loaded.dll"));

    static int Main()
    {
        Say("ready " + Process.GetCurrentProcess().Id);
        for (string line; (line = Console.ReadLine()) != null;)
        {
            string[] words = line.Split(' ');
            if (words[0] == "exit")
                return int.Parse(words[1]);
            int sum = 0;
            for (int i = 0; i < int.Parse(words[1]); i++)
                sum = unchecked(sum * 31 + Round(i));
            Say("worked " + words[1] + " " + sum.ToString("x8"));
        }
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Round(int n)
    {
        int sum = Run(Assembly.Load(loaded).GetType("Loaded.Work", true), n);
        sum = unchecked(sum * 31 + Dynamic()(n));
        WeakReference gone = Collected(n, ref sum);
        while (gone.IsAlive)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        return sum;
    }

    static int Run(Type work, int n) => ((Func<int, int>)work.GetMethod("Run").CreateDelegate(typeof(Func<int, int>)))(n);

    static Func<int, int> Dynamic()
    {
        var method = new DynamicMethod("Twice", typeof(int), new[] { typeof(int) });
        Twice(method.GetILGenerator());
        return (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
    }

    /// <summary>Calls a method of a collectible assembly, of which nothing stays.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference Collected(int n, ref int sum)
    {
        TypeBuilder type = AssemblyBuilder.DefineDynamicAssembly(
            new AssemblyName("Collected"), AssemblyBuilderAccess.RunAndCollect)
            .DefineDynamicModule("Collected").DefineType("Collected.Work", TypeAttributes.Public);
        Twice(type.DefineMethod("Run", MethodAttributes.Public | MethodAttributes.Static, typeof(int),
            new[] { typeof(int) }).GetILGenerator());
        Type made = type.CreateTypeInfo().AsType();
        sum = unchecked(sum * 31 + Run(made, n));
        return new WeakReference(made);
    }

    static void Twice(ILGenerator il)
    {
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

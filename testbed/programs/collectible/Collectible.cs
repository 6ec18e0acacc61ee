// Code that must be refused: in a collectible load context, in dynamic assemblies, in a dynamic method.
//
// collectible, then commands, one per line:
//   load KIND   -> loaded KIND, or unsupported KIND (collectible on .NET Core 2.1)
//                  KIND: collectible (Gathered!Gathered.Work.Twice(int)), run and collect (dynamic assemblies
//                  Emitted_run and Emitted_collect, Emitted.Work.Twice(int)), method (a DynamicMethod), plain (the
//                  same file as collectible, in a context that stays: the counterpart that may be dialled), over
//                  (Collectible.Over<T>(int), which is not collectible, over a type of the collectible context, which is
//                  to be loaded before), over-int (the same over int)
//   call KIND N -> called KIND N     calls its Twice N times and checks the results
//   load-plugin NAME -> loaded NAME  loads Parcels or Letters in a collectible context
//   pass NAME N      -> passed NAME N  calls Passing.Pass and Passing.Fail with objects of that plug-in; N is in each value
//   unload      -> unloaded          the collectible context, once it is really gone (3.1 and later)
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

static class Collectible
{
    sealed class Staying : AssemblyLoadContext
    {
        protected override Assembly Load(AssemblyName name) => null;
    }

    static readonly Dictionary<string, Func<int, int>> Methods = new Dictionary<string, Func<int, int>>();
    static WeakReference context;

    static int Main()
    {
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "load":
                    Say((Load(words[1]) ? "loaded " : "unsupported ") + words[1]);
                    break;
                case "load-plugin":
                    Plugin(words[1]);
                    Say("loaded " + words[1]);
                    break;
                case "pass":
                    Pass(words[1], int.Parse(words[2]));
                    Passing.Forget();
                    Say("passed " + words[1] + " " + words[2]);
                    break;
                case "call":
                    Call(words[1], int.Parse(words[2]));
                    Say("called " + words[1] + " " + words[2]);
                    break;
                case "unload":
                    Unload();
                    while (context.IsAlive)
                    {
                        GC.Collect();
                        GC.WaitForPendingFinalizers();
                        Thread.Sleep(1);
                    }
                    Say("unloaded");
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    // Main's own frame must not hold the method, which would keep its context alive.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Call(string kind, int times)
    {
        Func<int, int> twice = Methods[kind];
        for (int i = 0; i < times; i++)
        {
            if (twice(i) != 2 * i)
                throw new InvalidOperationException("wrong result");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Load(string kind)
    {
        switch (kind)
        {
            case "plain":
                Methods[kind] = Bind(new Staying().LoadFromAssemblyPath(Gathered).GetType("Gathered.Work", true));
                return true;
            case "collectible":
                AssemblyLoadContext made = MakeContext();
                if (made == null)
                    return false;
                Methods[kind] = Bind(made.LoadFromAssemblyPath(Gathered).GetType("Gathered.Work", true));
                return true;
            case "over":
                Assembly gathered = ((AssemblyLoadContext)context.Target).LoadFromAssemblyPath(Gathered);
                Methods[kind] = BindOver(gathered.GetType("Gathered.Item", true));
                return true;
            case "over-int":
                Methods[kind] = BindOver(typeof(int));
                return true;
            case "run":
                Methods[kind] = Bind(Emit(kind, AssemblyBuilderAccess.Run));
                return true;
            case "collect":
                Methods[kind] = Bind(Emit(kind, AssemblyBuilderAccess.RunAndCollect));
                return true;
            case "method":
                var method = new DynamicMethod("Twice", typeof(int), new[] { typeof(int) });
                Twice(method.GetILGenerator());
                Methods[kind] = (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
                return true;
            default:
                return false;
        }
    }

    static string Gathered => FileOf("Gathered");

    static string FileOf(string plugin) => Path.Combine(AppContext.BaseDirectory, "plugins", plugin + ".dll");

    // Null on .NET Core 2.1: the constructor with (name, isCollectible) came with .NET Core 3.0.
    static AssemblyLoadContext MakeContext()
    {
        ConstructorInfo make = typeof(AssemblyLoadContext).GetConstructor(new[] { typeof(string), typeof(bool) });
        var made = (AssemblyLoadContext)make?.Invoke(new object[] { "gathered", true });
        context = made == null ? null : new WeakReference(made);
        return made;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Plugin(string name) => MakeContext().LoadFromAssemblyPath(FileOf(name));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Pass(string name, int number) =>
        Passing.Call(((AssemblyLoadContext)context.Target).LoadFromAssemblyPath(FileOf(name)), name, number);

    static Type Emit(string kind, AssemblyBuilderAccess access)
    {
        string name = "Emitted_" + kind;
        TypeBuilder type = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), access)
            .DefineDynamicModule(name).DefineType("Emitted.Work", TypeAttributes.Public);
        Twice(type.DefineMethod("Twice", MethodAttributes.Public | MethodAttributes.Static, typeof(int),
            new[] { typeof(int) }).GetILGenerator());
        return type.CreateTypeInfo().AsType();
    }

    static void Twice(ILGenerator il)
    {
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
    }

    static int Over<T>(int n) where T : struct => 2 * n + default(T).GetHashCode();

    static Func<int, int> BindOver(Type type) =>
        (Func<int, int>)typeof(Collectible).GetMethod("Over", BindingFlags.Static | BindingFlags.NonPublic)
            .MakeGenericMethod(type).CreateDelegate(typeof(Func<int, int>));

    static Func<int, int> Bind(Type type) =>
        (Func<int, int>)type.GetMethod("Twice").CreateDelegate(typeof(Func<int, int>));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Unload()
    {
        Methods.Remove("collectible");
        typeof(AssemblyLoadContext).GetMethod("Unload").Invoke(context.Target, null);
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

// Known throws. Each command throws N times, catches everything, and prints "done N" with the number of catches:
//
//   plain N      Shop.OutOfStockException, "item I", thrown by Throws.Plain
//   inner N      InvalidOperationException around ArgumentException, thrown by Throws.Inner
//   rethrow N    Shop.OutOfStockException thrown by Throws.Plain, and again by `throw;` in Throws.Rethrow
//   anew N       the same, and again by `throw e;` in Throws.Anew, which starts a new stack trace
//   generic N    ArgumentException thrown by Box<int>.Put<string> and Box<string>.Put<int>
//   own N        Box<int>.Full, a nested type of a generic one, thrown by Box<int>.Fill
//   dynamic N    NotSupportedException thrown in a dynamic method, which Throws.CallDynamic calls
//   null N       NullReferenceException in Throws.Dereference, from the processor
//   async N      TimeoutException thrown by Throws.Late, an async method, and awaited by Throws.Awaits
//   library N    FormatException thrown by the core library
//   handler N    Shop.OutOfStockException while a handler of first chances throws and catches FormatException
//   threads T N  T threads at once, N each: Shop.OutOfStockException and ArgumentException in turns
//   many N       one throw each by N methods made with Reflection.Emit
//   plugin NAME N  exceptions of Failing or Breaking, in a collectible load context if the runtime has them
//   unload       -> unloaded  that context, once it is really gone
//   crash        -> crashing  an exception that nothing catches; waits for a line before the process ends
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.Loader;
using System.Threading;
using System.Threading.Tasks;

namespace Shop
{
    public sealed class OutOfStockException : Exception
    {
        public OutOfStockException(string message) : base(message) { }
    }
}

static class Box<T>
{
    public sealed class Full : Exception { }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Put<U>(int i) => throw new ArgumentException(typeof(T).Name + " " + typeof(U).Name + " " + i);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Fill() => throw new Full();
}

static class Throws
{
    static WeakReference context;

    static int Main()
    {
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            int last = words.Length > 1 ? int.Parse(words[words.Length - 1]) : 0;
            switch (words[0])
            {
                case "threads":
                    Say("done " + Threads(int.Parse(words[1]), last));
                    break;
                case "many":
                    Say("done " + Many(last));
                    break;
                case "handler":
                    AppDomain.CurrentDomain.FirstChanceException += Handler;
                    int handled = Repeat(last, Plain);
                    AppDomain.CurrentDomain.FirstChanceException -= Handler;
                    Say("done " + handled);
                    break;
                case "plugin":
                    Say("done " + Plugin(words[1], last));
                    break;
                case "unload":
                    Unload();
                    while (context != null && context.IsAlive)
                    {
                        GC.Collect();
                        GC.WaitForPendingFinalizers();
                        Thread.Sleep(1);
                    }
                    Say("unloaded");
                    break;
                case "crash":
                    AppDomain.CurrentDomain.UnhandledException += (sender, e) =>
                    {
                        Say("crashing");
                        Console.In.ReadLine();
                    };
                    Plain(-1);
                    break;
                default:
                    Say("done " + Repeat(last, Named(words[0])));
                    break;
            }
        }
        return 0;
    }

    static Action<int> Named(string command)
    {
        switch (command)
        {
            case "plain": return Plain;
            case "inner": return Inner;
            case "rethrow": return Rethrow;
            case "anew": return Anew;
            case "generic": return i => { if (i % 2 == 0) Box<int>.Put<string>(i); else Box<string>.Put<int>(i); };
            case "own": return i => Box<int>.Fill();
            case "dynamic": return CallDynamic;
            case "null": return i => Dereference(null);
            case "async": return i => Awaits(i).GetAwaiter().GetResult();
            case "library": return i => int.Parse("no number");
            default: throw new InvalidOperationException("unknown command: " + command);
        }
    }

    // The number of exceptions caught here.
    static int Repeat(int times, Action<int> throws)
    {
        int caught = 0;
        for (int i = 0; i < times; i++)
        {
            try
            {
                throws(i);
            }
            catch (Exception)
            {
                caught++;
            }
        }
        return caught;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Plain(int i) => throw new Shop.OutOfStockException("item " + i);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Argument(int i) => throw new ArgumentException("argument " + i);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Inner(int i) => throw new InvalidOperationException("outer " + i, new ArgumentException("inner " + i));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Rethrow(int i)
    {
        try
        {
            Plain(i);
        }
        catch (Exception)
        {
            throw;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Anew(int i)
    {
        try
        {
            Plain(i);
        }
        catch (Exception e)
        {
            throw e;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Dereference(string text) => text.Length;

    static async Task Late(int i)
    {
        await Task.Yield();
        throw new TimeoutException("late " + i);
    }

    static async Task Awaits(int i) => await Late(i);

    static Action failing;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallDynamic(int i)
    {
        if (failing == null)
        {
            var method = new DynamicMethod("Made", null, new Type[0], typeof(Throws).Module, true);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Newobj, typeof(NotSupportedException).GetConstructor(new Type[0]));
            il.Emit(OpCodes.Throw);
            failing = (Action)method.CreateDelegate(typeof(Action));
        }
        failing();
    }

    static bool inHandler;

    static void Handler(object sender, FirstChanceExceptionEventArgs e)
    {
        if (inHandler)
            return;
        inHandler = true;
        try
        {
            InHandler();
        }
        catch (FormatException)
        {
        }
        inHandler = false;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void InHandler() => throw new FormatException("in the handler");

    static int Threads(int count, int each)
    {
        int caught = 0;
        var start = new Barrier(count);
        var threads = Enumerable.Range(0, count).Select(_ => new Thread(() =>
        {
            start.SignalAndWait();
            int mine = Repeat(each, i => { if (i % 2 == 0) Plain(i); else Argument(i); });
            Interlocked.Add(ref caught, mine);
        })).ToArray();
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        return caught;
    }

    static int Many(int count)
    {
        TypeBuilder type = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Many"), AssemblyBuilderAccess.Run)
            .DefineDynamicModule("Many").DefineType("Many.Work", TypeAttributes.Public);
        for (int i = 0; i < count; i++)
        {
            ILGenerator il = type.DefineMethod("Fails" + i, MethodAttributes.Public | MethodAttributes.Static, null,
                new Type[0]).GetILGenerator();
            il.Emit(OpCodes.Newobj, typeof(NotSupportedException).GetConstructor(new Type[0]));
            il.Emit(OpCodes.Throw);
        }
        Type made = type.CreateTypeInfo().AsType();
        return Enumerable.Range(0, count)
            .Sum(i => Repeat(1, _ => ((Action)made.GetMethod("Fails" + i).CreateDelegate(typeof(Action)))()));
    }

    // Main's own frame must not hold anything of the context.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Plugin(string name, int times)
    {
        string path = Path.Combine(AppContext.BaseDirectory, "plugins", name + ".dll");
        // .NET Core 2.1 has no such constructor.
        ConstructorInfo make = typeof(AssemblyLoadContext).GetConstructor(new[] { typeof(string), typeof(bool) });
        var made = (AssemblyLoadContext)make?.Invoke(new object[] { name, true });
        context = made == null ? null : new WeakReference(made);
        Assembly assembly = (made ?? AssemblyLoadContext.Default).LoadFromAssemblyPath(path);
        MethodInfo fail = assembly.GetType(name + ".Work", true).GetMethod("Fail");
        return Repeat(times, (Action<int>)fail.CreateDelegate(typeof(Action<int>)));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Unload()
    {
        if (context != null)
            typeof(AssemblyLoadContext).GetMethod("Unload").Invoke(context.Target, null);
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

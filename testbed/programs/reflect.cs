// Threads that reflect over one module while its dials change.
//
// reflect PATH|corelib THREADS, then commands, one per line:
//   start    -> started THREADS
//   passes N -> passes TOTAL                     after N more passes over the whole module
//   call N   -> called N CHECKSUM                Big.All.CallAll(int) of the module, N times, in this thread
//   stop     -> stopped passes P exceptions E    (E must be 0; the first exceptions are on standard error)
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Threading;

static class Reflect
{
    const BindingFlags All = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
        | BindingFlags.Static | BindingFlags.DeclaredOnly;

    static volatile bool stop;
    static long passes;
    static long exceptions;

    static int Main(string[] args)
    {
        if (args.Length != 2 || !int.TryParse(args[1], out int howMany))
        {
            Console.Error.WriteLine("usage: reflect PATH|corelib THREADS");
            return 2;
        }
        Assembly assembly = args[0] == "corelib" ? typeof(object).Assembly : Assembly.LoadFrom(args[0]);
        var threads = new List<Thread>();
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "start":
                    stop = false;
                    for (int i = 0; i < howMany; i++)
                    {
                        int first = i;
                        threads.Add(new Thread(() => Run(assembly.ManifestModule, first)) { IsBackground = true });
                    }
                    threads.ForEach(thread => thread.Start());
                    Say("started " + howMany);
                    break;
                case "passes":
                    long until = Interlocked.Read(ref passes) + long.Parse(words[1]);
                    while (Interlocked.Read(ref passes) < until)
                        Thread.Sleep(1);
                    Say("passes " + Interlocked.Read(ref passes));
                    break;
                case "call":
                    var callAll = (Func<int, int>)assembly.GetType("Big.All", true).GetMethod("CallAll")
                        .CreateDelegate(typeof(Func<int, int>));
                    int sum = 0;
                    for (int i = 0; i < int.Parse(words[1]); i++)
                        sum = unchecked(sum * 31 + callAll(i));
                    Say("called " + words[1] + " " + sum.ToString("x8"));
                    break;
                case "stop":
                    stop = true;
                    threads.ForEach(thread => thread.Join());
                    threads.Clear();
                    Say("stopped passes " + passes + " exceptions " + exceptions);
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    /// <summary>Passes over the module; every thread starts at another type.</summary>
    static void Run(Module module, int thread)
    {
        while (!stop)
        {
            Type[] types = module.GetTypes();
            for (int i = 0; i < types.Length && !stop; i++)
            {
                Type type = types[(i + thread * types.Length / 8) % types.Length];
                try
                {
                    Read(module, type);
                }
                catch (Exception e)
                {
                    if (Interlocked.Increment(ref exceptions) <= 5)
                        Console.Error.WriteLine(type + ": " + e);
                }
            }
            Interlocked.Increment(ref passes);
        }
    }

    static void Read(Module module, Type type)
    {
        type.GetCustomAttributes(false);
        foreach (MethodBase method in type.GetMembers(All).OfMethods())
        {
            method.GetCustomAttributes(false);
            method.GetParameters();
            Type[] typeArguments = type.IsGenericType ? type.GetGenericArguments() : null;
            Type[] methodArguments = method.IsGenericMethod ? method.GetGenericArguments() : null;
            if (module.ResolveMethod(method.MetadataToken, typeArguments, methodArguments).Name != method.Name)
                throw new InvalidOperationException("another method was resolved than " + method);
            int locals = method.GetMethodBody()?.LocalSignatureMetadataToken ?? 0;
            if (locals != 0 && module.ResolveSignature(locals)[0] != 7)
                throw new InvalidOperationException("not a signature of local variables: " + method);
        }
    }

    static IEnumerable<MethodBase> OfMethods(this MemberInfo[] members)
    {
        foreach (MemberInfo member in members)
        {
            if (member is MethodBase method)
                yield return method;
        }
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

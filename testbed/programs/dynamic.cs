// A host that makes dynamic methods, calls each once, and has it collected.
//
// dynamic HOT, then commands, one per line:
//   keep     -> kept       a thousand dynamic methods, each of which calls another method of Hot, and which stay
//   churn N  -> churned N  N rounds on two threads: a thousand more, then a collection that destroys them
// HOT is Hot.dll. It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;

static class Dynamic
{
    static MethodInfo[] targets;
    static readonly List<Func<int, int>> kept = new List<Func<int, int>>();
    static int sink;

    static int Main(string[] args)
    {
        Assembly hot = Assembly.LoadFrom(Path.GetFullPath(args[0]));
        targets = hot.GetTypes().Where(type => type.Name.StartsWith("H")).SelectMany(type => type.GetMethods())
            .Where(method => method.Name.StartsWith("M")).ToArray();
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            if (line == "keep")
            {
                kept.AddRange(targets.Select(target => Call(target, 0)));
                Say("kept");
                continue;
            }
            int rounds = int.Parse(line.Split(' ')[1]);
            var threads = Enumerable.Range(0, 2).Select(_ => new Thread(() => Churn(rounds))).ToArray();
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
            Say("churned " + rounds);
        }
        return 0;
    }

    static void Churn(int rounds)
    {
        for (int round = 0; round < rounds; round++)
        {
            CallAll(round);
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }

    // The methods are garbage when this returns.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallAll(int round)
    {
        foreach (MethodInfo target in targets)
            Call(target, round);
    }

    // Bodies of many sizes, so that places differ.
    static Func<int, int> Call(MethodInfo target, int round)
    {
        var method = new DynamicMethod("Made", typeof(int), new[] { typeof(int) }, typeof(Dynamic).Module, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        for (int i = 0; i < round % 61; i++)
        {
            il.Emit(OpCodes.Ldc_I4, 1000 + i);
            il.Emit(OpCodes.Xor);
        }
        il.Emit(OpCodes.Call, target);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        var made = (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
        sink += made(round);
        return made;
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}

using System;
using System.Reflection;
using System.Runtime.CompilerServices;

/// Methods that stay, called with objects of a collectible context.
public static class Passing
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static object Pass(int round, object one, object many, object more) => one;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Fail(int round, Exception with) => throw with;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Call(Assembly from, string kind, int round)
    {
        Type factory = from.GetType(kind + ".Factory", true);
        var make = (Func<int, object[]>)factory.GetMethod("Make").CreateDelegate(typeof(Func<int, object[]>));
        var fail = (Func<int, Exception>)factory.GetMethod("Fail").CreateDelegate(typeof(Func<int, Exception>));
        object[] made = make(round);
        if (Pass(round, made[0], made[1], made[2]) != made[0])
            throw new InvalidOperationException("wrong result");
        try { Fail(round, fail(round)); } catch (Exception) { }
    }

    // The thread holds its latest exception, and so its context.
    public static void Forget()
    {
        try { throw new InvalidOperationException(); } catch (InvalidOperationException) { }
    }
}

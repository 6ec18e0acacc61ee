// Calls that take known times and end with known exceptions, one per command.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

public class OwnException : Exception { }
public class OtherException : Exception { }
public class Oops<T> : Exception { }

public static class Outer
{
    public class NestedException : Exception { }
}

public static class Unmade
{
    public static readonly int Number;
    static Unmade() { throw new OwnException(); }
}

public static class Kept
{
    [DllImport("libc", EntryPoint = "syscall")]
    static extern long Syscall(long number);
    [DllImport("kernel32")]
    static extern uint GetCurrentThreadId();

    static readonly bool Windows = RuntimeInformation.IsOSPlatform(OSPlatform.Windows);
    // 186 is gettid.
    static long ThreadId() => Windows ? GetCurrentThreadId() : Syscall(186);

    static readonly ManualResetEventSlim Inside = new ManualResetEventSlim();
    static readonly ManualResetEventSlim Leave = new ManualResetEventSlim();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Work(int ms)
    {
        var watch = Stopwatch.StartNew();
        while (watch.Elapsed.TotalMilliseconds < ms) Thread.Sleep(Math.Max(0, ms - (int)watch.Elapsed.TotalMilliseconds));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Fails(string how, int ms)
    {
        if (ms > 0) Thread.Sleep(ms);
        if (how.StartsWith("below-")) Below(how, 3);
        switch (how)
        {
            case "returns": return;
            case "own": throw new OwnException();
            case "system": throw new TimeoutException();
            case "nested-type": throw new Outer.NestedException();
            case "generic": throw new Oops<int>();
            case "null": how = null; how.ToString(); return;
            case "zero": ms /= (ms - ms); return;
            case "below": Deeper(3); return;
            case "rethrown": try { Throw(new OwnException()); } catch (OwnException) { throw; } return;
            case "replaced": try { Throw(new OwnException()); } catch (OwnException) { throw new OtherException(); } return;
            case "replaced-in-finally": try { Throw(new OwnException()); } finally { Throw(new OtherException()); } return;
            case "caught-in-finally": try { Throw(new OwnException()); } finally { Caught(new OtherException()); } return;
            case "caught-deep-in-finally":
                try { Throw(new OwnException()); }
                finally { try { Throw(new TimeoutException()); } catch { Caught(new OtherException()); Escapes(); } }
                return;
            case "rethrown-after-another":
                try { Throw(new OwnException()); } catch (OwnException) { Caught(new OtherException()); throw; } return;
            case "filtered": try { Throw(new OwnException()); } catch (Exception) when (Refuses()) { } return;
            case "filter-throws": try { Throw(new OwnException()); } catch (Exception) when (Throws()) { } return;
            case "invoked": typeof(Kept).GetMethod("Invoked").Invoke(null, null); return;
            case "initializer": GC.KeepAlive(Unmade.Number); return;
            case "sorted": new List<int> { 2, 1 }.Sort((a, b) => { Throw(new OwnException()); return 0; }); return;
            case "same-type-inside": try { Throw(new OwnException()); } finally { Caught(new OwnException()); } return;
            case "twelve-inside": Within(12); return;
            case "twenty-inside": Within(20); return;
            default: throw new ArgumentException(how);
        }
    }

    // The same, some frames below the observed method.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Below(string how, int frames)
    {
        if (frames > 0) { Below(how, frames - 1); return; }
        switch (how)
        {
            case "below-rethrown": try { Throw(new OwnException()); } catch (OwnException) { throw; } return;
            case "below-replaced": try { Throw(new OwnException()); } catch (OwnException) { throw new OtherException(); } return;
            case "below-replaced-twice":
                try { try { Throw(new OwnException()); } catch (OwnException) { throw new OtherException(); } }
                catch (OtherException) { Throw(new TimeoutException()); }
                return;
            case "below-replaced-in-finally": try { Throw(new OwnException()); } finally { Throw(new OtherException()); } return;
            case "below-caught-in-finally": try { Throw(new OwnException()); } finally { Caught(new OtherException()); } return;
            case "below-escapes-in-finally": try { Throw(new OwnException()); } finally { Escapes(); } return;
            case "below-rethrown-after-another":
                try { Throw(new OwnException()); } catch (OwnException) { Caught(new OtherException()); throw; } return;
            case "below-filtered": try { Throw(new OwnException()); } catch (Exception) when (Refuses()) { } return;
            case "below-filter-throws": try { Throw(new OwnException()); } catch (Exception) when (Throws()) { } return;
            case "below-filter-throws-in-finally":
                try { Throw(new OwnException()); } finally { try { Caught(new OtherException()); Escapes(); } catch when (Throws()) { } }
                return;
        }
    }

    // An exception in flight in a finally block that waits, and then throws others.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Holds(bool others)
    {
        try { Throw(new OwnException()); }
        finally
        {
            Inside.Set();
            Leave.Wait();
            if (others) { Caught(new OtherException()); Escapes(); }
        }
    }

    // In a catch block, entered before the dial: the exception thrown from it is another one.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Caught(Exception exception)
    {
        try { Throw(exception); } catch (Exception) { }
    }

    // An exception abandoned in flight, and the one in its place caught.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Escapes()
    {
        try { try { Throw(new Outer.NestedException()); } finally { Throw(new OtherException()); } } catch (OtherException) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Within(int depth)
    {
        try { Throw(depth % 2 == 0 ? (Exception)new OwnException() : new OtherException()); }
        finally { if (depth > 0) try { Within(depth - 1); } catch { } }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Invoked() { throw new OwnException(); }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(Exception exception) { throw exception; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Deeper(int depth) { if (depth > 0) Deeper(depth - 1); else Throw(new OwnException()); }

    static bool Refuses() { Caught(new OtherException()); return false; }
    static bool Throws() { Throw(new OtherException()); return true; }

    static void Try(Action body)
    {
        try { body(); } catch (Exception) { }
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Thread holding = null;
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            var words = line.Split(' ');
            switch (words[0])
            {
                case "work":
                    for (int at = 1; at < words.Length; at++) Work(int.Parse(words[at]));
                    break;
                case "threads":
                    var threads = new List<Thread>();
                    for (int at = 1; at < words.Length; at++)
                    {
                        int ms = int.Parse(words[at]);
                        threads.Add(new Thread(() =>
                        {
                            long id = ThreadId();
                            Work(ms);
                            lock (threads) Console.WriteLine("thread " + ms + " " + id);
                        }));
                    }
                    threads.ForEach(thread => thread.Start());
                    threads.ForEach(thread => thread.Join());
                    break;
                case "thread":
                    Console.WriteLine("thread " + ThreadId());
                    break;
                case "fail":
                    Try(() => Fails(words[1], words.Length > 2 ? int.Parse(words[2]) : 0));
                    break;
                case "storm":
                    int each = int.Parse(words[2]);
                    var all = new Thread[int.Parse(words[1])];
                    for (int at = 0; at < all.Length; at++)
                    {
                        all[at] = new Thread(() => { for (int n = 0; n < each; n++) Try(() => Fails("own", 0)); });
                        all[at].Start();
                    }
                    foreach (var thread in all) thread.Join();
                    break;
                case "hold":
                    Inside.Reset();
                    Leave.Reset();
                    holding = new Thread(() => Try(() => Holds(words[1] == "others")));
                    holding.Start();
                    Inside.Wait();
                    break;
                case "leave":
                    Leave.Set();
                    holding.Join();
                    break;
            }
            Console.WriteLine("done");
        }
    }
}

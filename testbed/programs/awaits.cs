// A host of async calls that wait for a gate. Each method measures from its first to its last statement, and its caller
// from before the call to its completion; the reported time must lie between the two.
//   at-once N             AtOnce(int), N times: completes without waiting                     -> known ...
//   throws N              Throws(int), N times: every second call throws before it waits      -> known ...
//   wait NAME N THREADS   N calls on each of THREADS threads, all of which wait               -> waiting TOTAL
//                         NAME is Plain, Value, Void, Outer (which awaits Inner), Generic, Lambda, Long (which waits twice)
//   yields N THREADS      Yields(int), N times on each of THREADS threads: continues at once on another thread, twice -> yielded
//   open | fail | cancel  the gate lets all calls continue, throws in them, or cancels them   -> known ...
//   collect               collects garbage, and moves everything that waits                   -> collected
//   trace                 the origin of an exception that passed through Outer and Inner      -> trace ...
// "known" lines are "known METHOD STARTS COMPLETIONS INNER OUTER", in calls and nanoseconds since the start, then "end".
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

static class Awaits
{
    sealed class Known
    {
        public long Starts, Completions, Inner, Outer;
    }

    static readonly SortedDictionary<string, Known> all = new SortedDictionary<string, Known>();

    static Known Of(string method)
    {
        lock (all)
        {
            if (!all.TryGetValue(method, out var known))
                all[method] = known = new Known();
            return known;
        }
    }

    internal static long Now() => Stopwatch.GetTimestamp();

    internal static void Inside(string method, long since) => Interlocked.Add(ref Of(method).Inner, Now() - since);

    static volatile TaskCompletionSource<int> gate = NewGate(), second = NewGate();

    static TaskCompletionSource<int> NewGate() =>
        new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);

    internal static Task<int> Gate => gate.Task;

    static readonly List<Task> tasks = new List<Task>();

    // A call whose completion is recorded by the code that completes it.
    static void Begin(string method, Func<Task> call)
    {
        var known = Of(method);
        Interlocked.Increment(ref known.Starts);
        long since = Now();
        var noted = call().ContinueWith(task =>
        {
            Interlocked.Add(ref known.Outer, Now() - since);
            Interlocked.Increment(ref known.Completions);
            GC.KeepAlive(task.Exception);
        }, TaskContinuationOptions.ExecuteSynchronously);
        lock (tasks)
            tasks.Add(noted);
    }

    static async Task<int> AtOnce(int n)
    {
        long since = Now();
        await Task.CompletedTask;
        Inside("Awaits.AtOnce(int)", since);
        return n;
    }

    static async Task Throws(int n)
    {
        long since = Now();
        Inside("Awaits.Throws(int)", since);
        if (n % 2 == 0)
            throw new InvalidOperationException("thrown");
        await Task.CompletedTask;
    }

    static async Task<int> Plain(int n)
    {
        long since = Now();
        try
        {
            return n + await gate.Task;
        }
        finally
        {
            Inside("Awaits.Plain(int)", since);
        }
    }

    static async ValueTask<string> Value(int n)
    {
        long since = Now();
        try
        {
            await gate.Task.ConfigureAwait(false);
            return "" + n;
        }
        finally
        {
            Inside("Awaits.Value(int)", since);
        }
    }

    static async Task<long> Long(int n)
    {
        long since = Now(), sum = 0;
        var last = second;
        try
        {
            sum += await gate.Task + n;
            await Task.Yield();
            sum += await last.Task;
            return sum;
        }
        finally
        {
            Inside("Awaits.Long(int)", since);
        }
    }

    // Continues before the thread that began it has left it.
    static async Task<long> Yields(int n)
    {
        await Task.Yield();
        long first = n;
        await Task.Yield();
        return first * 2;
    }

    static void YieldAll(int count, int threads)
    {
        var running = new List<Thread>();
        long sum = 0;
        for (int number = 0; number < threads; number++)
        {
            int start = number * count;
            var thread = new Thread(() =>
            {
                var calls = new List<Task<long>>();
                for (int n = start; n < start + count; n++)
                    calls.Add(Yields(n));
                foreach (var call in calls)
                    Interlocked.Add(ref sum, call.GetAwaiter().GetResult());
            });
            running.Add(thread);
            thread.Start();
        }
        running.ForEach(thread => thread.Join());
        long all = (long)count * threads;
        Console.WriteLine(sum == all * (all - 1) ? "yielded" : "error " + sum);
    }

    static async void Void(int n)
    {
        long since = Now();
        try
        {
            await gate.Task;
        }
        finally
        {
            Inside("Awaits.Void(int)", since);
        }
    }

    static async Task<int> Outer(int n)
    {
        long since = Now();
        try
        {
            var known = Of("Awaits.Inner(int)");
            Interlocked.Increment(ref known.Starts);
            long before = Now();
            try
            {
                return await Inner(n) + 1;
            }
            finally
            {
                Interlocked.Add(ref known.Outer, Now() - before);
                Interlocked.Increment(ref known.Completions);
            }
        }
        finally
        {
            Inside("Awaits.Outer(int)", since);
        }
    }

    static async Task<int> Inner(int n)
    {
        long since = Now();
        try
        {
            return await gate.Task + n;
        }
        finally
        {
            Inside("Awaits.Inner(int)", since);
        }
    }

    static readonly Func<int, Task<int>> lambda = async n =>
    {
        long since = Now();
        try
        {
            return await gate.Task - n;
        }
        finally
        {
            Inside("Lambda", since);
        }
    };

    // An async void method notifies its context of its completion, and throws there.
    sealed class Context : SynchronizationContext
    {
        readonly TaskCompletionSource<bool> completed = new TaskCompletionSource<bool>();

        public Task Completed => completed.Task;

        public override void OperationCompleted() => completed.TrySetResult(true);

        public override void Post(SendOrPostCallback callback, object state) =>
            ThreadPool.UnsafeQueueUserWorkItem(_ =>
            {
                try
                {
                    callback(state);
                }
                catch (Exception e) when (e is InvalidOperationException || e is OperationCanceledException)
                {
                }
            }, null);
    }

    static Task CallVoid(int n)
    {
        var context = new Context();
        var before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(context);
        try
        {
            Void(n);
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(before);
        }
        return context.Completed;
    }

    static void Call(string name, int n)
    {
        switch (name)
        {
            case "Plain": Begin("Awaits.Plain(int)", () => Plain(n)); break;
            case "Value": Begin("Awaits.Value(int)", () => Value(n).AsTask()); break;
            case "Long": Begin("Awaits.Long(int)", () => Long(n)); break;
            case "Void": Begin("Awaits.Void(int)", () => CallVoid(n)); break;
            case "Outer": Begin("Awaits.Outer(int)", () => Outer(n)); break;
            case "Lambda": Begin("Lambda", () => lambda(n)); break;
            case "Generic":
                if (n % 3 == 0)
                    Begin("Holder", () => new Holder<string>("a").Hold(n, 1.5));
                else if (n % 3 == 1)
                    Begin("Holder", () => new Holder<int>(n).Hold("x", n));
                else
                    Begin("Holder", () => new Holder<string>("b").Hold("y", "z"));
                break;
            default: throw new ArgumentException(name);
        }
    }

    static void Wait(string name, int count, int threads)
    {
        var running = new List<Thread>();
        for (int number = 0; number < threads; number++)
        {
            var thread = new Thread(() =>
            {
                for (int n = 0; n < count; n++)
                    Call(name, n);
            });
            running.Add(thread);
            thread.Start();
        }
        running.ForEach(thread => thread.Join());
        Console.WriteLine("waiting " + count * threads);
    }

    // All waiting calls continue, and have completed when this returns.
    static void Let(Action<TaskCompletionSource<int>> go)
    {
        TaskCompletionSource<int> first = gate, last = second;
        gate = NewGate();
        second = NewGate();
        go(first);
        go(last);
        Task[] begun;
        lock (tasks)
        {
            begun = tasks.ToArray();
            tasks.Clear();
        }
        Task.WhenAll(begun).GetAwaiter().GetResult();
    }

    static void Tell()
    {
        foreach (var pair in all)
        {
            var known = pair.Value;
            double ns = 1e9 / Stopwatch.Frequency;
            Console.WriteLine("known " + pair.Key + " " + known.Starts + " " + known.Completions + " " +
                (long)(known.Inner * ns) + " " + (long)(known.Outer * ns));
        }
        Console.WriteLine("end");
    }

    static void Main()
    {
        ThreadPool.SetMinThreads(4, 4);
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line = Console.ReadLine(); line != null && line != "exit"; line = Console.ReadLine())
        {
            var words = line.Split(' ');
            switch (words[0])
            {
                case "at-once":
                    for (int n = int.Parse(words[1]); n > 0; n--)
                        Begin("Awaits.AtOnce(int)", () => AtOnce(n));
                    break;
                case "throws":
                    for (int n = int.Parse(words[1]); n > 0; n--)
                        Begin("Awaits.Throws(int)", () => Throws(n));
                    break;
                case "wait":
                    Wait(words[1], int.Parse(words[2]), int.Parse(words[3]));
                    continue;
                case "open":
                    Let(one => one.SetResult(1));
                    break;
                case "fail":
                    Let(one => one.SetException(new InvalidOperationException("failed")));
                    break;
                case "cancel":
                    Let(one => one.SetCanceled());
                    break;
                case "yields":
                    YieldAll(int.Parse(words[1]), int.Parse(words[2]));
                    continue;
                case "collect":
                    GC.Collect(2, GCCollectionMode.Forced, true, true);
                    GC.WaitForPendingFinalizers();
                    GC.Collect(2, GCCollectionMode.Forced, true, true);
                    Console.WriteLine("collected");
                    continue;
                case "trace":
                    var outer = Outer(1);
                    gate.SetException(new InvalidOperationException("traced"));
                    gate = NewGate();
                    try
                    {
                        outer.GetAwaiter().GetResult();
                    }
                    catch (InvalidOperationException e)
                    {
                        Console.WriteLine("trace " + e.ToString().Replace('\n', '|'));
                    }
                    continue;
                default:
                    Console.WriteLine("error unknown command: " + line);
                    continue;
            }
            Tell();
        }
    }
}

class Holder<T>
{
    readonly T held;

    public Holder(T held) => this.held = held;

    public async Task<string> Hold<U, V>(U one, V other)
    {
        long since = Awaits.Now();
        try
        {
            int more = await Awaits.Gate;
            return held + "" + one + other + more;
        }
        finally
        {
            Awaits.Inside("Holder", since);
        }
    }
}

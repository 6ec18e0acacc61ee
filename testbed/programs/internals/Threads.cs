// Threads, locks, the thread pool, timers, contexts.
using System;
using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Internals
{
    static class Threads
    {
        [ThreadStatic] static int mine;
        [ThreadStatic] static object myObject;
        static readonly ThreadLocal<int> local = new ThreadLocal<int>(() => 5);
        static readonly AsyncLocal<string> flowing = new AsyncLocal<string>();
        static int turns;

        public static void All()
        {
            Program.Show("threads", () =>
            {
                var seen = new ConcurrentBag<int>();
                var threads = new Thread[4];
                for (int i = 0; i < threads.Length; i++)
                {
                    threads[i] = new Thread(n => { mine += (int)n; myObject = n; local.Value += mine; seen.Add(local.Value + (int)myObject); }, 256 << 10);
                    threads[i].Name = "thread " + i;
                    threads[i].IsBackground = i % 2 == 0;
                    threads[i].Start(i);
                }
                int sum = 0;
                foreach (Thread thread in threads)
                    thread.Join();
                foreach (int one in seen)
                    sum += one;
                return sum;
            });
            Program.Show("interrupted", () =>
            {
                string said = null;
                var thread = new Thread(() => { try { Thread.Sleep(Timeout.Infinite); } catch (ThreadInterruptedException) { said = "interrupted"; } });
                thread.Start();
                thread.Interrupt();
                thread.Join();
                return said;
            });
            Program.Show("locks", () =>
            {
                var gate = new object();
                int count = 0;
                Parallel.For(0, 4, _ => { for (int i = 0; i < 2000; i++) lock (gate) count++; });
                return count;
            });
            Program.Show("synchronised methods", () =>
            {
                turns = 0;
                Parallel.For(0, 4, _ => { for (int i = 0; i < 1000; i++) Turn(); });
                return turns;
            });
            Program.Show("wait and pulse", () =>
            {
                var gate = new object();
                bool ready = false;
                var thread = new Thread(() => { lock (gate) { ready = true; Monitor.PulseAll(gate); } });
                lock (gate)
                {
                    thread.Start();
                    while (!ready)
                        Monitor.Wait(gate);
                }
                thread.Join();
                return ready;
            });
            Program.Show("not mine", () => { Monitor.Exit(new object()); return 0; });
            Program.Show("pool", () =>
            {
                using (var done = new CountdownEvent(3))
                using (var ready = new AutoResetEvent(false))
                {
                    ThreadPool.QueueUserWorkItem(_ => done.Signal());
                    RegisteredWaitHandle wait = ThreadPool.RegisterWaitForSingleObject(ready, (_, late) => done.Signal(), null, -1, true);
                    ready.Set();
                    using (new Timer(_ => done.Signal(), null, 1, Timeout.Infinite))
                        done.Wait();
                    wait.Unregister(null);
                    return done.CurrentCount;
                }
            });
            Program.Show("contexts", () =>
            {
                flowing.Value = "flows";
                string seen = null;
                Task.Run(async () => { await Task.Delay(1); seen = flowing.Value; flowing.Value = "inner"; }).Wait();
                return seen + flowing.Value;
            });
            Program.Show("cancelled", () =>
            {
                using (var source = new CancellationTokenSource())
                {
                    string said = "";
                    source.Token.Register(() => said += "told");
                    source.Cancel();
                    try { Task.Delay(1000, source.Token).Wait(); } catch (AggregateException e) { said += " " + e.InnerException.GetType().Name; }
                    return said;
                }
            });
            Program.Show("named waits", () =>
            {
                using (var mutex = new Mutex(true))
                using (var semaphore = new SemaphoreSlim(1))
                {
                    semaphore.Wait();
                    bool free = new Thread(() => { }).IsAlive || mutex.WaitOne(0);
                    mutex.ReleaseMutex();
                    return free + " " + semaphore.CurrentCount + " " + Interlocked.Increment(ref turns) / 1000;
                }
            });
        }

        [MethodImpl(MethodImplOptions.Synchronized)]
        static void Turn() => turns++;
    }
}

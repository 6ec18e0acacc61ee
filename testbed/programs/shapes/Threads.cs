// The program's own threads, thread statics, timers of the pool, finalizers.
using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shapes
{
    static class Threads
    {
        [ThreadStatic] static int own;
        static int finalized;

        public static void All()
        {
            T.Show("threads", () => { int sum = 0; var threads = new Thread[4]; for (int n = 0; n < 4; n++) { threads[n] = new Thread(() => Interlocked.Add(ref sum, Work(1000))); threads[n].Start(); } foreach (Thread thread in threads) thread.Join(); return sum; });
            T.Show("thread that fails", () => { string said = null; var thread = new Thread(() => { try { Fail(); } catch (FormatException e) { said = e.Message; } }); thread.Start(); thread.Join(); return said; });
            T.Show("parallel", () => { long sum = 0; var thread = new Thread(() => Parallel.For(0, 100, n => Interlocked.Add(ref sum, Work(n)))); thread.Start(); thread.Join(); return sum; });
            T.Show("finalizer", () => { int before = finalized; Make(); for (int n = 0; n < 10 && finalized == before; n++) { GC.Collect(); GC.WaitForPendingFinalizers(); } return finalized > before; });
        }

        static int Work(int times)
        {
            T.Hit("Threads.Work(int)");
            own = 0;
            for (int n = 0; n < times; n++)
                own += n & 3;
            return own;
        }

        static void Fail()
        {
            T.Hit("Threads.Fail()");
            throw new FormatException("on a thread");
        }

        sealed class Finalized
        {
            ~Finalized()
            {
                T.Hit("Threads+Finalized.Finalize()");
                finalized++;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make()
        {
            for (int n = 0; n < 3; n++)
                GC.KeepAlive(new Finalized());
        }
    }
}

// Methods that the compiler turns into state machines: iterators (with fault blocks), async methods, closures.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace Shapes
{
    static class Machines
    {
        public static void All()
        {
            T.Show("iterator", () => string.Join(" ", Upto(4)));
            T.Show("iterator left early", () => Upto(1000).First(n => n > 2));
            T.Show("iterator that fails", () => Failing().Count());
            T.Show("iterator with finally", () => { var log = new List<string>(); foreach (int n in Guarded(log)) if (n == 2) break; return string.Join(" ", log); });
            T.Show("async at once", () => Twice(21).Result);
            T.Show("async later", () => Later(3).Result);
            T.Show("async that fails", () => { try { return Fails().Result; } catch (AggregateException e) { return e.InnerException.Message; } });
            T.Show("async value task", () => Valued(5).Result);
            T.Show("async in finally", () => { var log = new List<string>(); Finally(log).Wait(); return string.Join(" ", log); });
            T.Show("closure", () => Adders().Select(add => add(1)).Sum());
            T.Show("local function", () => Factorial(6));
            T.Show("multicast", Multicast);
        }

        static IEnumerable<int> Upto(int most)
        {
            T.Hit("Machines+<Upto>d__1.MoveNext()");
            for (int n = 0; n < most; n++)
            {
                yield return n;
                T.Hit("Machines+<Upto>d__1.MoveNext()");
            }
        }

        static IEnumerable<int> Failing()
        {
            T.Hit("Machines+<Failing>d__2.MoveNext()");
            using (new Noted())
            {
                yield return 1;
                T.Hit("Machines+<Failing>d__2.MoveNext()");
                throw new FormatException("the second is bad");
            }
        }

        static IEnumerable<int> Guarded(List<string> log)
        {
            T.Hit("Machines+<Guarded>d__3.MoveNext()");
            try
            {
                for (int n = 0; ; n++)
                {
                    log.Add("give" + n);
                    yield return n;
                    T.Hit("Machines+<Guarded>d__3.MoveNext()");
                }
            }
            finally
            {
                log.Add("over");
            }
        }

        sealed class Noted : IDisposable
        {
            public void Dispose() => T.Hit("Machines+Noted.Dispose()");
        }

        static async Task<int> Twice(int n)
        {
            T.Hit("Machines+<Twice>d__5.MoveNext()");
            await Task.CompletedTask;
            return 2 * n;
        }

        static async Task<int> Later(int times)
        {
            T.Hit("Machines+<Later>d__6.MoveNext()");
            int sum = 0;
            for (int n = 0; n < times; n++)
            {
                await Task.Yield();
                T.Hit("Machines+<Later>d__6.MoveNext()");
                sum += await Twice(n);
            }
            return sum;
        }

        static async Task<int> Fails()
        {
            T.Hit("Machines+<Fails>d__7.MoveNext()");
            await Task.Yield();
            T.Hit("Machines+<Fails>d__7.MoveNext()");
            throw new FormatException("after a while");
        }

        static async ValueTask<int> Valued(int n)
        {
            T.Hit("Machines+<Valued>d__8.MoveNext()");
            if (n == 0)
                return 0;
            return n + await Valued(n - 1);
        }

        static async Task Finally(List<string> log)
        {
            T.Hit("Machines+<Finally>d__9.MoveNext()");
            try
            {
                await Task.Yield();
                T.Hit("Machines+<Finally>d__9.MoveNext()");
                log.Add("body");
            }
            finally
            {
                await Task.Yield();
                T.Hit("Machines+<Finally>d__9.MoveNext()");
                log.Add("finally");
            }
        }

        static IEnumerable<Func<int, int>> Adders()
        {
            var adders = new List<Func<int, int>>();
            for (int n = 0; n < 3; n++)
            {
                int captured = n;
                adders.Add(m => { captured += m; return captured; });
            }
            return adders;
        }

        static long Factorial(int n)
        {
            T.Hit("Machines.Factorial(int)");
            return Of(n);
            static long Of(int m) => m < 2 ? 1 : m * Of(m - 1);
        }

        static object Multicast()
        {
            T.Hit("Machines.Multicast()");
            var log = new List<string>();
            Action one = () => log.Add("one"), two = () => log.Add("two");
            (one + two + one - two)();
            return string.Join(" ", log);
        }
    }
}

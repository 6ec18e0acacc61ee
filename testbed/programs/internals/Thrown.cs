// Exceptions of every origin, and the events for them.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Threading.Tasks;

namespace Internals
{
    static class Thrown
    {
        [ThreadStatic] static int firstChances;
        static string nothing;

        public static void All()
        {
            EventHandler<FirstChanceExceptionEventArgs> told = (sender, e) => firstChances++;
            AppDomain.CurrentDomain.FirstChanceException += told;
            firstChances = 0;
            Program.Show("null", () => nothing.Length);
            Program.Show("thrown null", () => throw null);
            Program.Show("own", () => throw new InvalidOperationException("own"));
            Program.Show("again", () => { try { return nothing.Length; } catch (NullReferenceException) { throw; } });
            Program.Show("wrapped", () => { try { return nothing.Length; } catch (Exception e) { throw new Exception("outer", e); } });
            Program.Show("captured", () =>
            {
                ExceptionDispatchInfo info = null;
                try { throw new ArgumentException("captured"); } catch (Exception e) { info = ExceptionDispatchInfo.Capture(e); }
                info.Throw();
                return 0;
            });
            Program.Show("filters", () =>
            {
                string order = "";
                bool Note(string text, bool answer) { order += text; return answer; }
                try
                {
                    try { throw new ArgumentNullException("filtered"); }
                    catch (ArgumentException) when (Note("1", false)) { order += "wrong"; }
                    finally { order += "f"; }
                }
                catch (Exception e) when (Note("2", e is ArgumentException)) { order += "c"; }
                return order;
            });
            Program.Show("a filter that throws", () =>
            {
                try { throw new Exception("first"); }
                catch (Exception) when (nothing.Length > 0) { return "wrong"; }
            });
            Program.Show("in a finally", () => { try { throw new Exception("lost"); } finally { Deep(3); } });
            Program.Show("deep", () => Deep(200));
            Program.Show("in a static constructor", () => Broken.Value);
            Program.Show("in a static constructor again", () => Broken.Value);
            Program.Show("in a task", () => { Task.Run(() => Deep(5)).Wait(); return 0; });
            Program.Show("in an async method", () => Later(7).GetAwaiter().GetResult());
            Program.Show("too large", () => new long[int.MaxValue / 2, 64, 64, 64]);
            Program.Show("not found", () => Type.GetType("No.Such.Type, NoSuchAssembly", true));
            Program.Show("bad access", () => { unsafe { return Peek(null); } });
            Program.Show("stack is enough", () => { RuntimeHelpers.EnsureSufficientExecutionStack(); return "yes"; });
            AppDomain.CurrentDomain.FirstChanceException -= told;
            Program.Say("first chances: " + firstChances);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static unsafe int Peek(int* where) => *where;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Deep(int depth)
        {
            try
            {
                return depth == 0 ? throw new TimeoutException("deep") : Deep(depth - 1) + 1;
            }
            finally
            {
                nothing = null;
            }
        }

        static async Task<int> Later(int n)
        {
            await Task.Yield();
            return n > 5 ? throw new FormatException("later") : n;
        }

        static class Broken
        {
            public static readonly int Value = int.Parse("broken");
        }
    }
}

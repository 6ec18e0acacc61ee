// Exception clauses, nested and adjacent; methods that never return; traces with their lines.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Shapes
{
    static class Exceptions
    {
        public static void All()
        {
            for (int kind = 0; kind < 8; kind++)
            {
                int chosen = kind;
                T.Show("clauses " + kind, () => Clauses(chosen));
            }
            T.Show("filters in order", () => { var log = new List<string>(); Filters(log); return string.Join(" ", log); });
            T.Show("filter that fails", () => FailingFilter());
            T.Show("finally after return", () => { var log = new List<string>(); int n = ReturnsInside(log); return n + string.Join(" ", log); });
            T.Show("finally that replaces", () => Replaces());
            T.Show("rethrown", () => Rethrows() + "");
            T.Show("captured", () => Captured());
            T.Show("unhandled in depth", () => Depth(5));
            T.Show("never returns", () => Always("always") ?? "");
            T.Show("never returns, caught", () => { try { return Always("again"); } catch (TimeoutException e) { return e.Message; } });
            T.Show("lock released", () => Locked(new object()));
            T.Show("using in using", () => { var log = new List<string>(); try { Usings(log); } catch (FormatException) { log.Add("caught"); } return string.Join(" ", log); });
            T.Show("goto out of try", () => Leaves(6));
            T.Show("loop of tries", () => Loop(50));
            T.Show("try in catch in finally", () => { var log = new List<string>(); Inside(log); return string.Join(" ", log); });
            T.Show("own exception", () => { try { throw new Own(3); } catch (Own e) when (e.Number == 3) { return e.Number; } });
            T.Show("object's own", () => { object nothing = null; return nothing.ToString(); });
            T.Show("stack frames", () => Frames() + "");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Clauses(int kind)
        {
            T.Hit("Exceptions.Clauses(int)");
            string log = "";
            try
            {
                try
                {
                    try
                    {
                        log += Throw(kind);
                    }
                    catch (ArgumentException e) when (e.ParamName == "one")
                    {
                        log += " one";
                    }
                    catch (ArgumentException)
                    {
                        log += " argument";
                        throw;
                    }
                    finally
                    {
                        log += " first";
                    }
                }
                catch (InvalidOperationException) when (kind == 3)
                {
                    log += " three";
                }
                catch (DivideByZeroException)
                {
                    log += " zero";
                    throw new InvalidOperationException("from a catch");
                }
                finally
                {
                    log += " second";
                    if (kind == 5)
                        log += Throw(0);
                }
            }
            catch (Exception e) when (!(e is OutOfMemoryException))
            {
                log += " last " + e.GetType().Name;
            }
            return log;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Throw(int kind)
        {
            T.Hit("Exceptions.Throw(int)");
            switch (kind)
            {
                case 0: return "none";
                case 1: throw new ArgumentException("first", "one");
                case 2: throw new ArgumentException("second", "two");
                case 3: throw new InvalidOperationException("third");
                case 4: return (1 / (kind - 4)).ToString();
                case 5: throw new FormatException("fifth");
                case 6: return (new int[1])[kind].ToString();
                default: return ((string)(object)kind).Length.ToString();
            }
        }

        static bool Note(List<string> log, string what, bool answer)
        {
            T.Hit("Exceptions.Note(List<string>, string, bool)");
            log.Add(what);
            return answer;
        }

        // Filters run before any finally block.
        static void Filters(List<string> log)
        {
            T.Hit("Exceptions.Filters(List<string>)");
            try
            {
                try
                {
                    Note(log, "body", true);
                    throw new FormatException();
                }
                catch (FormatException) when (Note(log, "inner", false))
                {
                    Note(log, "never", true);
                }
                finally
                {
                    Note(log, "finally", true);
                }
            }
            catch (FormatException) when (Note(log, "outer", true))
            {
                Note(log, "caught", true);
            }
        }

        static string FailingFilter()
        {
            T.Hit("Exceptions.FailingFilter()");
            try
            {
                throw new FormatException("first");
            }
            catch (FormatException) when (Throw(3) == null)
            {
                return "never";
            }
            catch (FormatException)
            {
                return "a filter that fails does not match";
            }
        }

        static int ReturnsInside(List<string> log)
        {
            T.Hit("Exceptions.ReturnsInside(List<string>)");
            try
            {
                log.Add("try");
                return log.Count;
            }
            finally
            {
                log.Add("finally");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Replaces()
        {
            T.Hit("Exceptions.Replaces()");
            try
            {
                throw new FormatException("lost");
            }
            finally
            {
                Throw(2);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Rethrows()
        {
            T.Hit("Exceptions.Rethrows()");
            try
            {
                return Throw(4);
            }
            catch (DivideByZeroException)
            {
                throw;
            }
            finally
            {
                Throw(0);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Captured()
        {
            T.Hit("Exceptions.Captured()");
            ExceptionDispatchInfo kept = null;
            try
            {
                Throw(5);
            }
            catch (FormatException e)
            {
                kept = ExceptionDispatchInfo.Capture(e);
            }
            kept.Throw();
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Depth(int left)
        {
            T.Hit("Exceptions.Depth(int)");
            if (left == 0)
                throw new InvalidOperationException("at the bottom");
            int below =
                Depth(left - 1);
            return below + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Always(string message)
        {
            T.Hit("Exceptions.Always(string)");
            throw new TimeoutException(message);
        }

        static string Locked(object gate)
        {
            T.Hit("Exceptions.Locked(object)");
            try
            {
                lock (gate)
                    Throw(5);
            }
            catch (FormatException)
            {
                return System.Threading.Monitor.IsEntered(gate).ToString();
            }
            return "not thrown";
        }

        sealed class Ends : IDisposable
        {
            readonly List<string> log;
            readonly string name;

            public Ends(List<string> log, string name)
            {
                T.Hit("Exceptions+Ends..ctor(List<string>, string)");
                this.log = log;
                this.name = name;
            }

            public void Dispose()
            {
                T.Hit("Exceptions+Ends.Dispose()");
                log.Add(name);
            }
        }

        static void Usings(List<string> log)
        {
            T.Hit("Exceptions.Usings(List<string>)");
            using (new Ends(log, "outer"))
            using (new Ends(log, "inner"))
                Throw(5);
        }

        static int Leaves(int most)
        {
            T.Hit("Exceptions.Leaves(int)");
            int n = 0;
        again:
            try
            {
                if (n++ < most)
                    goto again;
                if (n > 100)
                    goto end;
                n += 50;
                goto again;
            }
            finally
            {
                n += 2;
            }
        end:
            return n;
        }

        static int Loop(int times)
        {
            T.Hit("Exceptions.Loop(int)");
            int caught = 0;
            for (int n = 0; n < times; n++)
            {
                try
                {
                    if (n % 3 == 0)
                        continue;
                    if (n == 40)
                        break;
                    Throw(n % 7);
                }
                catch (Exception) when (n % 2 == 0)
                {
                    caught++;
                }
                catch
                {
                    caught += 100;
                }
            }
            return caught;
        }

        static void Inside(List<string> log)
        {
            T.Hit("Exceptions.Inside(List<string>)");
            try
            {
                log.Add("a");
            }
            finally
            {
                try
                {
                    Throw(5);
                }
                catch (FormatException)
                {
                    try
                    {
                        log.Add("b");
                    }
                    finally
                    {
                        log.Add("c");
                    }
                }
            }
        }

        sealed class Own : Exception
        {
            public readonly int Number;

            public Own(int number)
            {
                T.Hit("Exceptions+Own..ctor(int)");
                Number = number;
            }
        }

        // The program's own view of its stack: no frame more, and none less.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Frames()
        {
            T.Hit("Exceptions.Frames()");
            var trace = new System.Diagnostics.StackTrace(true);
            return string.Join(" ", trace.GetFrames().Take(2).Select(frame => frame.GetMethod().Name + ":line " + frame.GetFileLineNumber()));
        }
    }
}

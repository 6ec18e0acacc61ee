// The common part of all shapes: recording the call, and printing results.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Shapes
{
    public static class T
    {
        static readonly SortedDictionary<string, int> calls = new SortedDictionary<string, int>(StringComparer.Ordinal);

        [ThreadStatic] static int hash;

        /// Records a call of the method of that name (as in a pattern, without the namespace).
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Hit(string method)
        {
            lock (calls)
            {
                calls.TryGetValue(method, out int before);
                calls[method] = before + 1;
            }
            hash = unchecked(hash * 31 + method.Length);
            return 0;
        }

        /// Prints the result of a shape, or its failure, with its recorded actions.
        public static void Show(string name, Func<object> shape)
        {
            hash = 17;
            string said;
            try
            {
                said = Text(shape());
            }
            catch (Exception e)
            {
                said = Told(e);
            }
            Program.Say(name + " = " + said + " #" + hash.ToString("x8"));
        }

        public static void Tell()
        {
            lock (calls)
            {
                foreach (KeyValuePair<string, int> one in calls)
                    Program.Say("truth Shapes." + one.Key + " " + one.Value);
                calls.Clear();
            }
            Program.Say("end");
        }

        static string Text(object value)
        {
            switch (value)
            {
                case null:
                    return "null";
                case double number:
                    return BitConverter.DoubleToInt64Bits(number).ToString("x16");
                case object[] several:
                    return "[" + string.Join(", ", Array.ConvertAll(several, Text)) + "]";
                default:
                    return Convert.ToString(value);
            }
        }

        /// Type, message and stack trace with line numbers, inner exceptions included, on one line.
        static string Told(Exception e)
        {
            string told = e.GetType() + ": " + e.Message + "|" + (e.StackTrace ?? "").Replace("\r", "").Replace("\n", "|");
            return e.InnerException == null ? told : told + " <- " + Told(e.InnerException);
        }
    }
}

// Arithmetic, conversions, branches of both lengths, switches.
using System;
using System.Runtime.CompilerServices;

namespace Shapes
{
    static class Numbers
    {
        enum Colour : byte { Red, Green, Blue }

        public static void All()
        {
            foreach (int n in new[] { 0, 1, -1, 7, int.MaxValue, int.MinValue })
            {
                int chosen = n;
                T.Show("arithmetic " + n, () => Arithmetic(chosen));
                T.Show("checked " + n, () => Checked(chosen));
                T.Show("switch " + n, () => Switch(chosen));
            }
            T.Show("floating", () => new object[] { Floating(0), Floating(-1), Floating(1e300), Floating(double.NaN) });
            T.Show("conversions", () => new object[] { Conversions(3.99), Conversions(-2.5), Conversions(1e30) });
            T.Show("unsigned", () => new object[] { Unsigned(5), Unsigned(ulong.MaxValue) });
            T.Show("text switch", () => new object[] { Word("one"), Word("twelve"), Word("none"), Word(null) });
            T.Show("boxed", () => new object[] { Boxed(1), Boxed("x"), Boxed(Colour.Blue), Boxed(null), Boxed(2.5) });
            T.Show("decimal", () => Money(19.99m, 3));
            T.Show("long loop", () => Collatz(27));
        }

        static string Arithmetic(int n)
        {
            T.Hit("Numbers.Arithmetic(int)");
            unchecked
            {
                int a = n * 31 + 7, b = n >> 3, c = (int)((uint)n >> 3), d = n ^ a, e = ~b & c | d;
                return a + " " + b + " " + c + " " + d + " " + e + " " + (n == 0 ? 0 : 100 / n) + " " + (n == 0 ? 0 : 100 % n);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Checked(int n)
        {
            T.Hit("Numbers.Checked(int)");
            checked
            {
                short small = (short)(n / 2 % 40000);
                return n * 2 + small - (byte)small;
            }
        }

        static string Switch(int n)
        {
            T.Hit("Numbers.Switch(int)");
            switch (n)
            {
                case -1: return "minus";
                case 0: goto case 7;
                case 1: return "one";
                case 2: return "two";
                case 3: return "three";
                case 4: return "four";
                case 5: return "five";
                case 6: return "six";
                case 7: return "seven";
                case int.MaxValue: return "most";
                default: return n < 0 ? "least" : "many";
            }
        }

        static double Floating(double x)
        {
            T.Hit("Numbers.Floating(double)");
            float single = (float)x;
            double y = x > 0 ? Math.Sqrt(x) : x < 0 ? -x : 0.5;
            return y * single + (float)(y / 3) - x % 1.5;
        }

        static string Conversions(double x)
        {
            T.Hit("Numbers.Conversions(double)");
            return (x < 1e9 ? (int)x : 0) + " " + (x < 1e9 ? (sbyte)(int)x : 0) + " " + (char)('a' + (x < 1e9 ? (int)Math.Abs(x) : 9)) + " " + (float)x;
        }

        static string Unsigned(ulong n)
        {
            T.Hit("Numbers.Unsigned(ulong)");
            return (n / 3) + " " + (n % 7) + " " + (double)n + " " + (n > 100) + " " + unchecked((int)n);
        }

        static int Word(string word)
        {
            T.Hit("Numbers.Word(string)");
            switch (word)
            {
                case "one": return 1;
                case "two": return 2;
                case "three": return 3;
                case "four": return 4;
                case "five": return 5;
                case "six": return 6;
                case "seven": return 7;
                case "twelve": return 12;
                case null: return -1;
                default: return 0;
            }
        }

        static string Boxed(object value)
        {
            T.Hit("Numbers.Boxed(object)");
            return value switch
            {
                int n => "int " + (n + (int)value),
                Colour colour => "colour " + (byte)(Colour)value + colour,
                string text => "text " + text,
                null => "null",
                _ => value.GetType().Name,
            };
        }

        static decimal Money(decimal price, int count)
        {
            T.Hit("Numbers.Money(decimal, int)");
            return decimal.Round(price * count / 7, 4);
        }

        static int Collatz(long n)
        {
            T.Hit("Numbers.Collatz(long)");
            int steps = 0;
            for (; n != 1; steps++)
                n = n % 2 == 0 ? n / 2 : 3 * n + 1;
            return steps;
        }
    }
}

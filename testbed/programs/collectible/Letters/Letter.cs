using System;
using System.Collections.Generic;

namespace Letters
{
    public struct Stamp
    {
        public long Code;
        public string Country;
    }

    public class Letter
    {
        public string To;
        public Stamp Stamp;
        public string From;
    }

    public class Lost : Exception
    {
        public Lost(string message, Exception inner) : base(message, inner) { }
    }

    public static class Factory
    {
        public static object[] Make(int number)
        {
            var stamp = new Stamp { Code = 1000000007L * number, Country = "country " + number };
            var letter = new Letter { To = "to " + number, Stamp = stamp, From = null };
            return new object[] { letter, new[] { stamp }, new Dictionary<int, Letter> { [number] = letter } };
        }

        public static Exception Fail(int number) => new Lost("outer " + number, new Lost("inner " + number, null));
    }
}

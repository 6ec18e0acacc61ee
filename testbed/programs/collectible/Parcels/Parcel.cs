using System;
using System.Collections.Generic;

namespace Parcels
{
    public class Parcel
    {
        public int Number;
        public string Text;
        public double Weight;
        public Parcel Inner;
    }

    public class Failure : Exception
    {
        public Failure(string message, Exception inner) : base(message, inner) { }
    }

    public static class Factory
    {
        public static object[] Make(int number)
        {
            var parcel = new Parcel { Number = number, Text = "parcel " + number, Weight = number * 0.5 };
            parcel.Inner = new Parcel { Number = -number };
            return new object[] { parcel, new[] { parcel }, new List<Parcel> { parcel } };
        }

        public static Exception Fail(int number) => new Failure("outer " + number, new Failure("inner " + number, null));
    }
}

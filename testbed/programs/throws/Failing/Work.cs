// A plug-in of throws.
using System;

namespace Failing
{
    public sealed class Failure : Exception
    {
        public Failure(string message) : base(message) { }
    }

    public static class Work
    {
        public static void Fail(int i) => throw new Failure("failure " + i);
    }
}

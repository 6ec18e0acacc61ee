// Instructions that C# cannot express: `jmp` and `tail.`, in an assembly generated on demand.
using System;
using System.IO;
using System.Reflection;

namespace Shapes
{
    static class HandWritten
    {
        /// Calls that would overflow the stack if any frame stayed on it.
        const int Deep = 300_000;

        static Type jumps;

        public static void Load(string file) =>
            jumps = Assembly.LoadFrom(Path.GetFullPath(file)).GetType("Shapes.Jumps", true);

        public static void All()
        {
            if (jumps == null)
                return;
            T.Show("jmp", () => Bind("Down")(3));
            T.Show("jmp, deep", () => Bind("Down")(Deep));
            T.Show("tail.", () => Bind("Even")(4) + Bind("Even")(5));
            T.Show("tail., deep", () => Bind("Even")(Deep));
            T.Show("jmp that throws", () => Bind("Jumping")(1));
            T.Show("tail. that throws", () => Bind("Calling")(1));
            T.Show("neither", () => Bind("Thrower")(1));
        }

        static Func<int, int> Bind(string method) =>
            (Func<int, int>)jumps.GetMethod(method).CreateDelegate(typeof(Func<int, int>));
    }
}

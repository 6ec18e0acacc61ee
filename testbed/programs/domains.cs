// csc: -target:library
// The library that the host of several AppDomains (testbed/src/bin/many-domains) loads into each of them. Every domain
// has its own statics, so the call counts here belong to one domain.
using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Domains
{
    public static class Work
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Add(int n) => n + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static T Same<T>(T value) => value;
    }

    public static class Box<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Size(T value) => value == null ? 0 : value.ToString().Length;
    }

    // Called from native code, so it must not throw: a negative result reports an error.
    public static class Entry
    {
        static int adds, sames, sizes, parses, total;

        // Each makes the calls and returns the total of this domain's calls of that method.
        public static int Add(int times)
        {
            for (int i = 0; i < times; i++, adds++)
                if (Work.Add(i) != i + 1)
                    return -1;
            return adds;
        }

        // Half of the calls on a value type, half on references: two instantiations.
        public static int Same(int times)
        {
            for (int i = 0; i < times; i++, sames++)
                if (i % 2 == 0 ? Work.Same(i) != i : Work.Same("same") != "same")
                    return -1;
            return sames;
        }

        public static int Size(int times)
        {
            for (int i = 0; i < times; i++, sizes++)
                if (i % 2 == 0 ? Box<int>.Size(10) != 2 : Box<string>.Size("abc") != 3)
                    return -1;
            return sizes;
        }

        // The core library, which all domains share: each calls Version.ParseVersion once.
        public static int Parse(int times)
        {
            for (int i = 0; i < times; i++, parses++)
                if (Version.Parse("4.2").Major != 4)
                    return -1;
            return parses;
        }

        // A static of this domain.
        public static int Bump(int by) => total += by;

        // The id of the current domain, as the runtime reports it to managed code.
        public static int Where(int unused)
        {
            try
            {
                const BindingFlags any = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static
                    | BindingFlags.Instance;
                Type type = typeof(object).Assembly.GetType("System.AppDomain");
                object domain = type.GetProperty("CurrentDomain", any).GetValue(null);
                return (int)type.GetMethod("GetId", any).Invoke(domain, null);
            }
            catch (Exception)
            {
                return -1;
            }
        }
    }
}

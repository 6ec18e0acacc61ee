using System.Collections.Generic;
using System.IO;
using System.Threading;

namespace Shop
{
    /// <summary>Calls made by one thread. Only that thread adds to it, so every count is exact.</summary>
    sealed class Tally
    {
        readonly long[] calls = new long[KnownMethods.All.Length];

        public void Add(Known method, long howMany) => calls[(int)method] += howMany;

        public long this[Known method] => calls[(int)method];
    }

    /// <summary>Adds up the tallies and prints them.</summary>
    static class Truth
    {
        static readonly long[] Shared = new long[KnownMethods.All.Length];

        /// <summary>Counts a call that has no visible caller, such as a static constructor's.</summary>
        public static void CountShared(Known method) => Interlocked.Increment(ref Shared[(int)method]);

        /// <summary>Returns the calls so far, by method. The threads that own the tallies must be idle.</summary>
        public static long[] Sum(IEnumerable<Tally> tallies)
        {
            var sum = new long[KnownMethods.All.Length];
            for (int i = 0; i < sum.Length; i++)
                sum[i] = Interlocked.Read(ref Shared[i]);
            foreach (Tally tally in tallies)
            {
                for (int i = 0; i < sum.Length; i++)
                    sum[i] += tally[(Known)i];
            }
            return sum;
        }

        public static void Print(TextWriter to, string word, long[] now, long[] before = null)
        {
            for (int i = 0; i < now.Length; i++)
                to.WriteLine(word + " " + KnownMethods.All[i].Name + " " + (now[i] - (before?[i] ?? 0)));
        }

        /// <summary>Prints each known method and whether the JIT may inline it.</summary>
        public static void PrintMethods(TextWriter to)
        {
            foreach (var (name, inlinable) in KnownMethods.All)
                to.WriteLine("method " + name + (inlinable ? " inlinable" : " kept"));
        }
    }
}

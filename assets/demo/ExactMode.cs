using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

namespace Shop
{
    /// <summary>Calls everything a known number of times, then prints the truth and a reproducible checksum.</summary>
    static class ExactMode
    {
        public static int Run(int rounds, int threads, int seed)
        {
            var catalog = new Catalog();
            Func<int, int> tax = Plugins.LoadTax();
            var clerks = new List<Clerk>();
            for (int i = 0; i < threads; i++)
                clerks.Add(new Clerk(catalog, seed + i) { Tax = tax });

            var start = new ManualResetEventSlim();
            var workers = clerks.Select(clerk => new Thread(() =>
            {
                start.Wait();
                clerk.Work(rounds);
            })).ToList();
            workers.ForEach(worker => worker.Start());
            start.Set();
            workers.ForEach(worker => worker.Join());

            Truth.Print(Console.Out, "truth", Truth.Sum(clerks.Select(clerk => clerk.Tally)));
            long result = clerks.Aggregate(catalog.Reserved, (sum, clerk) => unchecked(sum * 31 + clerk.Checksum));
            Console.Out.WriteLine("result " + result.ToString("x16"));
            Console.Out.Flush();
            return 0;
        }
    }
}

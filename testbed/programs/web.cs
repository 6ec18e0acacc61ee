// framework: aspnet
// csc: -nowarn:CS1701,CS1702
//
// A web server on ASP.NET Core 3.1 over plain HTTP: GET /cart/N answers "total T", the sum of N prices. It counts the calls
// of its own methods in their callers.
//
//   truth        -> truth METHOD CALLS..., end   calls since the start or the last reset, with no request in flight
//   truth-reset  -> reset
//   exit         -> (none)                       stops serving and ends with 0
// It first prints "ready PID PORT"; the end of its input acts as exit.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;

namespace Web
{
    /// <summary>The calls of each known method.</summary>
    static class Known
    {
        public static readonly string[] Names =
        {
            "Web.Pages.Show(Microsoft.AspNetCore.Http.HttpContext)",
            "Web.Cart.Total(int)",
            "Web.Cart.Count(int)",
            "Web.Prices.Of(int)",
            "Web.Prices.Twice(int)",
            "Web.Store<T>.Find(T)",
            "Web.Store<T>.Size()",
            "Web.Shelf.Height()",
        };

        static readonly long[] calls = new long[Names.Length];

        public static void Called(int index) => Interlocked.Increment(ref calls[index]);

        public static void Reset()
        {
            for (int i = 0; i < calls.Length; i++)
                Interlocked.Exchange(ref calls[i], 0);
        }

        public static void Print(TextWriter to)
        {
            for (int i = 0; i < calls.Length; i++)
                to.WriteLine("truth " + Names[i] + " " + Interlocked.Read(ref calls[i]));
            to.WriteLine("end");
            to.Flush();
        }
    }

    interface IShelf
    {
        int Height();
    }

    class Shelf : IShelf
    {
        public int Height() => 2;
    }

    class Store<T>
    {
        readonly Dictionary<T, int> items = new Dictionary<T, int>();

        public void Put(T key, int value) => items[key] = value;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Find(T key) => items.TryGetValue(key, out int value) ? value : 0;

        public int Size() => items.Count;
    }

    static class Prices
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Of(int item) => item * 3 + 1;

        public static int Twice(int price) => price + price;
    }

    static class Cart
    {
        static readonly Store<int> byNumber = Filled(i => i);
        static readonly Store<string> byName = Filled(i => "item" + i);
        static readonly IShelf shelf = new Shelf();

        static Store<T> Filled<T>(Func<int, T> key)
        {
            var store = new Store<T>();
            for (int i = 0; i < 10; i++)
                store.Put(key(i), i);
            return store;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Total(int count)
        {
            int total = 0;
            for (int item = 0; item < count; item++)
            {
                Known.Called(3);
                int price = Prices.Of(item);
                Known.Called(4);
                total += Prices.Twice(price);
                Known.Called(5);
                total += byNumber.Find(item);
                Known.Called(5);
                total += byName.Find("item" + item);
                Known.Called(6);
                total += byName.Size();
                Known.Called(7);
                total += shelf.Height();
            }
            return total;
        }

        public static int Count(int count) => Math.Min(count, 20);
    }

    static class Pages
    {
        public static async Task Show(HttpContext context)
        {
            string path = context.Request.Path.Value;
            if (!path.StartsWith("/cart/") || !int.TryParse(path.Substring(6), out int count))
            {
                context.Response.StatusCode = 404;
                return;
            }
            Known.Called(2);
            count = Cart.Count(count);
            // Continues on another thread, like pages that wait for something.
            await Task.Yield();
            Known.Called(1);
            string body = "total " + Cart.Total(count);
            context.Response.ContentLength = body.Length;
            await context.Response.WriteAsync(body);
        }
    }

    static class Program
    {
        static int Main()
        {
            var host = new WebHostBuilder()
                .UseKestrel(options => options.Listen(IPAddress.Loopback, 0))
                .Configure(app => app.Run(context =>
                {
                    Known.Called(0);
                    return Pages.Show(context);
                }))
                .Build();
            host.Start();
            string address = host.ServerFeatures.Get<IServerAddressesFeature>().Addresses.Single();
            string port = address.Substring(address.LastIndexOf(':') + 1);
            Console.WriteLine("ready " + Process.GetCurrentProcess().Id + " " + port);
            string line;
            while ((line = Console.In.ReadLine()) != null && line != "exit")
            {
                if (line == "truth-reset")
                {
                    Known.Reset();
                    Console.WriteLine("reset");
                }
                else if (line == "truth")
                    Known.Print(Console.Out);
                else
                    Console.WriteLine("error no such command");
            }
            host.StopAsync(TimeSpan.FromSeconds(30)).Wait();
            return 0;
        }
    }
}

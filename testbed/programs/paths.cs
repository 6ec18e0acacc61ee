// Calls of Paths.Leaf by known ways: "ways COUNT KIND" makes COUNT of them and prints "done".
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

public static class Paths
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Leaf(int number, string way)
    {
        if (way == "throw") throw new InvalidOperationException(way);
        return number;
    }

    // Inlined into its caller once that is optimized.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static int Small(int number, string way) { return Leaf(number, way) + 1; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Middle(int number, string way) { return Small(number, way) * 2; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int depth, string way) { return depth == 0 ? Leaf(0, way) : Deep(depth - 1, way) + 1; }

    public interface IStep { int Step(int number, string way); }

    public class Steps<T> : IStep
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Step(int number, string way) { return Middle(number, way) + typeof(T).Name.Length; }
    }

    // Continues on a thread of the pool.
    static async Task<int> Fetch(int number, string way)
    {
        await Task.Yield();
        return Middle(number, way);
    }

    // Ways to Leaf that are known.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Ways(string way, int count)
    {
        for (int i = 0; i < count; i++)
        {
            try
            {
                switch (way)
                {
                    case "deep": Deep(100, way); break;
                    case "delegate": Func<int, string, int> step = Middle; step(i, way); break;
                    case "interface": IStep of = new Steps<string>(); of.Step(i, way); break;
                    case "reflection": typeof(Paths).GetMethod("Leaf").Invoke(null, new object[] { i, way }); break;
                    case "thread": var thread = new Thread(() => Middle(i, way)); thread.Start(); thread.Join(); break;
                    case "async": Fetch(i, way).Wait(); break;
                    default: Middle(i, way); break;
                }
            }
            catch (InvalidOperationException) { }
        }
    }

    static void Main()
    {
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            var words = line.Split(' ');
            Ways(words[2], int.Parse(words[1]));
            Console.WriteLine("done");
        }
    }
}

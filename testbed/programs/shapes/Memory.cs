// Stack memory, references, by-ref-like types, pointers.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Shapes
{
    static unsafe class Memory
    {
        public static void All()
        {
            T.Show("localloc", () => Stack(100));
            T.Show("localloc of nothing", () => Stack(0));
            T.Show("localloc in a loop", () => { int sum = 0; for (int n = 1; n < 20; n++) sum += Stack(n); return sum; });
            T.Show("localloc without zeroes", () => Span(16));
            T.Show("localloc and catch", () => StackAndCatch(7));
            T.Show("ref return", () => { var numbers = new[] { 5, 1, 4 }; Least(numbers) = 9; return string.Join(" ", numbers); });
            T.Show("ref readonly return", () => ReadOnly(new[] { 3, 4 }, 1));
            T.Show("ref return of a field", () => { var pair = new Box(); pair.Second() += 5; pair.Second() += 6; return pair.B; });
            T.Show("ref struct", () => new View(stackalloc int[] { 1, 2, 3 }).Total());
            T.Show("span return", () => Tail("hello".AsSpan(), 2).ToString());
            T.Show("in parameters", () => Sum(new Pair(3, 4), 5));
            T.Show("out parameters", () => { bool found = Find("b", out int at, out string what); return found + "" + at + what; });
            T.Show("pointers", () => Pointers(0x01020304));
            T.Show("fixed", () => Fixed(new byte[] { 1, 2, 3, 4 }));
            T.Show("large struct", () => { Large large = Make(4); return Change(large).Last + large.Last; });
            T.Show("explicit layout", () => new Union { Number = 1.5f }.Bits);
            T.Show("multi-dimensional", () => Grid(3, 4));
            T.Show("stack overflow kept away", () => Nested(2000));
        }

        static int Stack(int count)
        {
            T.Hit("Memory.Stack(int)");
            int* memory = stackalloc int[count];
            int sum = 0;
            for (int n = 0; n < count; n++)
                sum += memory[n] + (memory[n] = n);
            return sum;
        }

        static int Span(int count)
        {
            T.Hit("Memory.Span(int)");
            Span<byte> bytes = stackalloc byte[count];
            bytes.Fill(3);
            int sum = 0;
            foreach (byte one in bytes)
                sum += one;
            return sum;
        }

        static int StackAndCatch(int count)
        {
            T.Hit("Memory.StackAndCatch(int)");
            Span<int> numbers = stackalloc int[count];
            try
            {
                numbers[count] = 1;
            }
            catch (IndexOutOfRangeException)
            {
                numbers[0] = 42;
            }
            return numbers[0];
        }

        static ref int Least(int[] numbers)
        {
            T.Hit("Memory.Least(int[])");
            ref int least = ref numbers[0];
            for (int n = 1; n < numbers.Length; n++)
                if (numbers[n] < least)
                    least = ref numbers[n];
            return ref least;
        }

        static ref readonly int ReadOnly(int[] numbers, int at)
        {
            T.Hit("Memory.ReadOnly(int[], int)");
            return ref numbers[at];
        }

        sealed class Box
        {
            public int B;

            public ref int Second()
            {
                T.Hit("Memory+Box.Second()");
                return ref B;
            }
        }

        ref struct View
        {
            Span<int> numbers;

            public View(Span<int> numbers)
            {
                T.Hit("Memory+View..ctor(Span<int>)");
                this.numbers = numbers;
            }

            public int Total()
            {
                T.Hit("Memory+View.Total()");
                int total = 0;
                foreach (int number in numbers)
                    total += number;
                return total;
            }
        }

        static ReadOnlySpan<char> Tail(ReadOnlySpan<char> text, int from)
        {
            T.Hit("Memory.Tail(ReadOnlySpan<char>, int)");
            return text.Slice(from);
        }

        static int Sum(in Pair pair, in int more)
        {
            T.Hit("Memory.Sum(ref Pair, ref int)");
            return pair.A + pair.B + more;
        }

        static bool Find(string what, out int at, out string found)
        {
            T.Hit("Memory.Find(string, ref int, ref string)");
            at = Array.IndexOf(new[] { "a", "b" }, what);
            found = what;
            return at >= 0;
        }

        static int Pointers(int number)
        {
            T.Hit("Memory.Pointers(int)");
            byte* bytes = (byte*)&number;
            return bytes[0] * 1000 + bytes[3] + (int)(&bytes[3] - bytes) * 100;
        }

        static int Fixed(byte[] bytes)
        {
            T.Hit("Memory.Fixed(byte[])");
            fixed (byte* first = bytes)
            fixed (char* text = "AB")
                return *(int*)first + text[1];
        }

        struct Large
        {
            public long First, Second, Third, Fourth, Last;
        }

        static Large Make(int n)
        {
            T.Hit("Memory.Make(int)");
            return new Large { First = n, Second = n + 1, Third = n + 2, Fourth = n + 3, Last = n * 10 };
        }

        static Large Change(Large large)
        {
            T.Hit("Memory.Change(Memory+Large)");
            large.Last += large.First + large.Second + large.Third + large.Fourth;
            return large;
        }

        [StructLayout(LayoutKind.Explicit)]
        struct Union
        {
            [FieldOffset(0)] public float Number;
            [FieldOffset(0)] public int Bits;
        }

        static int Grid(int rows, int columns)
        {
            T.Hit("Memory.Grid(int, int)");
            var grid = new int[rows, columns];
            var jagged = new int[rows][];
            for (int row = 0; row < rows; row++)
            {
                jagged[row] = new int[columns];
                for (int column = 0; column < columns; column++)
                    jagged[row][column] = grid[row, column] += row * column;
            }
            return grid[rows - 1, columns - 1] + jagged[1][1];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Nested(int depth)
        {
            T.Hit("Memory.Nested(int)");
            return depth == 0 ? 0 : 1 + Nested(depth - 1);
        }
    }
}

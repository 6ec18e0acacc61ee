using System;
using System.Runtime.CompilerServices;

namespace Loaded
{
    /// <summary>Methods that are compiled anew with each load of this assembly.</summary>
    public static class Work
    {
        public static int Run(int n)
        {
            int sum = 0;
            for (int i = 0; i < 20; i++)
                sum += Kept(i) + Free.Kept(n) + Caught(i);
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Kept(int n) => n ^ 5;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Caught(int n)
        {
            try
            {
                return Throws(n);
            }
            catch (InvalidOperationException e) when (e.Message.Length > 3 && n % 2 == 0)
            {
                return 1;
            }
            catch (InvalidOperationException)
            {
                return 2;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Throws(int n)
        {
            try
            {
                throw new InvalidOperationException("thrown");
            }
            finally
            {
                done += n;
            }
        }

        static int done;
    }

    /// <summary>Methods to leave undialled, so that the runtime asks whether it may inline one.</summary>
    public static class Free
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Kept(int n) => Inlined(n) ^ 3;

        static int Inlined(int n) => n * 3 + 1;
    }
}

// A body of more than 64 KiB, generated on demand: without it nothing is called.
namespace Shapes
{
    static partial class Big
    {
        static partial void Body(ref long number);

        public static void All() => T.Show("big body", () => { long number = 5; Body(ref number); return number; });
    }
}

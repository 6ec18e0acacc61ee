// Base classes of types of Late.dll. It loads when they do.
namespace Bases
{
    /// <summary>Does not list the interface that its method implements for derived classes.</summary>
    public class KeeperBase
    {
        public virtual void Keep(string text) => Truth.Hit("Bases!Bases.KeeperBase.Keep(string)");
        public virtual void Keep(double number) => Truth.Hit("Bases!Bases.KeeperBase.Keep(double)");
    }
}

// references: Bases
// references: Contracts
// Implementations of interfaces of an assembly that loads later than this one.
using Contracts;

namespace Late
{
    public class Server : IContract
    {
        public void Serve(int number) => Truth.Hit("Late!Late.Server.Serve(int)");
        public virtual void Serve(string text) => Truth.Hit("Late!Late.Server.Serve(string)");
    }

    public class Derived : ContractBase
    {
        public override void Serve(int number) => Truth.Hit("Late!Late.Derived.Serve(int)");
    }

    public class Giver : IContract<string>
    {
        public void Give(string item) => Truth.Hit("Late!Late.Giver.Give(string)");
        void IContract.Serve(int number) => Truth.Hit("Late!Late.Giver.Contracts.IContract.Serve(int)");
        [Served]
        public virtual void Serve(int number) => Truth.Hit("Late!Late.Giver.Serve(int)");
    }

    /// <summary>Inherits one method of the interface.</summary>
    public class Keeper : Bases.KeeperBase, IKept
    {
        public void Keep(int number) => Truth.Hit("Late!Late.Keeper.Keep(int)");
    }

    /// <summary>The same, from a class of the program.</summary>
    public class Holder : Shop.Held, IKept
    {
        public void Keep(string text) => Truth.Hit("Late!Late.Holder.Keep(string)");
    }

    public static class Caller
    {
        public static void CallAll()
        {
            IContract[] all = { new Server(), new Derived(), new Giver() };
            foreach (IContract one in all)
                one.Serve(1);
            new Server().Serve("text");
            ((IContract<string>)new Giver()).Give("text");
            new Giver().Serve(1);
            IKept[] kept = { new Keeper(), new Holder() };
            foreach (IKept one in kept)
            {
                one.Keep("text");
                one.Keep(1);
            }
            new Keeper().Keep(1.5);
        }
    }
}

// What the types of Late.dll implement. It loads when they do.
using System;

namespace Contracts
{
    public interface IContract
    {
        void Serve(int number);
    }

    public interface IContract<T> : IContract
    {
        void Give(T item);
    }

    public interface IKept
    {
        void Keep(string text);
        void Keep(int number);
    }

    public abstract class ContractBase : IContract
    {
        public abstract void Serve(int number);
    }

    public sealed class ServedAttribute : Attribute { }
}

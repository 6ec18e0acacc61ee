// Implementations of interfaces and classes.
using System;
using System.IO;
using System.Runtime.CompilerServices;

namespace Shop
{
    public sealed class Order { }

    public interface IOrderHandler
    {
        void Handle(Order order);
        string Name { get; }
    }

    /// <summary>By another interface.</summary>
    public interface IPriorityHandler : IOrderHandler
    {
        int Priority { get; }
    }

    /// <summary>Its name only begins like the other's.</summary>
    public interface IOrderHandlers
    {
        void Handle(Order order);
    }

    public interface IHandler<T>
    {
        void Handle(T item);
    }

    public interface IVisitor
    {
        T Visit<T>(T item);
    }

    public class Direct : IOrderHandler
    {
        public void Handle(Order order) => Truth.Hit("handlers!Shop.Direct.Handle(Shop.Order)");
        public string Name { get { Truth.Hit("handlers!Shop.Direct.get_Name()"); return "direct"; } }
        // Other parameters: one virtual, one not.
        public virtual void Handle(int number) => Truth.Hit("handlers!Shop.Direct.Handle(int)");
        public void Handle(string text) => Truth.Hit("handlers!Shop.Direct.Handle(string)");
        public virtual void Helper() => Truth.Hit("handlers!Shop.Direct.Helper()");
    }

    /// <summary>Has the methods without the interface.</summary>
    public class LookAlike
    {
        public virtual void Handle(Order order) => Truth.Hit("handlers!Shop.LookAlike.Handle(Shop.Order)");
        public virtual string Name { get { Truth.Hit("handlers!Shop.LookAlike.get_Name()"); return "alike"; } }
    }

    public class Plural : IOrderHandlers
    {
        public void Handle(Order order) => Truth.Hit("handlers!Shop.Plural.Handle(Shop.Order)");
    }

    public abstract class HandlerBase : IOrderHandler
    {
        public abstract void Handle(Order order);
        public virtual string Name { get { Truth.Hit("handlers!Shop.HandlerBase.get_Name()"); return "base"; } }
        public virtual void Close() => Truth.Hit("handlers!Shop.HandlerBase.Close()");
    }

    public class Plain : HandlerBase
    {
        public override void Handle(Order order) => Truth.Hit("handlers!Shop.Plain.Handle(Shop.Order)");
    }

    public class Derived : HandlerBase
    {
        public override void Handle(Order order) => Truth.Hit("handlers!Shop.Derived.Handle(Shop.Order)");
        public override void Close() => Truth.Hit("handlers!Shop.Derived.Close()");
    }

    public class MoreDerived : Derived
    {
        public override void Handle(Order order) => Truth.Hit("handlers!Shop.MoreDerived.Handle(Shop.Order)");
        public override string Name { get { Truth.Hit("handlers!Shop.MoreDerived.get_Name()"); return "more"; } }
    }

    /// <summary>Hides what it inherits: calls by the interface run the base class's method.</summary>
    public class Hiding : Derived
    {
        public new virtual void Handle(Order order) => Truth.Hit("handlers!Shop.Hiding.Handle(Shop.Order)");
    }

    /// <summary>Lists the interface again, so that its new method implements it.</summary>
    public class Again : Derived, IOrderHandler
    {
        public new void Handle(Order order) => Truth.Hit("handlers!Shop.Again.Handle(Shop.Order)");
    }

    /// <summary>The public method has the name of a member that another method implements.</summary>
    public class Explicit : IOrderHandler
    {
        void IOrderHandler.Handle(Order order) =>
            Truth.Hit("handlers!Shop.Explicit.Shop.IOrderHandler.Handle(Shop.Order)");
        public virtual void Handle(Order order) => Truth.Hit("handlers!Shop.Explicit.Handle(Shop.Order)");
        public virtual string Name { get { Truth.Hit("handlers!Shop.Explicit.get_Name()"); return "explicit"; } }
    }

    public class DerivedExplicit : Explicit
    {
        public override void Handle(Order order) => Truth.Hit("handlers!Shop.DerivedExplicit.Handle(Shop.Order)");
        public override string Name
        {
            get { Truth.Hit("handlers!Shop.DerivedExplicit.get_Name()"); return "explicit"; }
        }
    }

    public struct Value : IOrderHandler
    {
        public void Handle(Order order) => Truth.Hit("handlers!Shop.Value.Handle(Shop.Order)");
        public string Name { get { Truth.Hit("handlers!Shop.Value.get_Name()"); return "value"; } }
    }

    public class Priority : IPriorityHandler
    {
        public void Handle(Order order) => Truth.Hit("handlers!Shop.Priority.Handle(Shop.Order)");
        public string Name { get { Truth.Hit("handlers!Shop.Priority.get_Name()"); return "priority"; } }
        int IPriorityHandler.Priority
        {
            get { Truth.Hit("handlers!Shop.Priority.Shop.IPriorityHandler.get_Priority()"); return 1; }
        }
    }

    public class OfOrder : IHandler<Order>
    {
        public void Handle(Order item) => Truth.Hit("handlers!Shop.OfOrder.Handle(Shop.Order)");
        public virtual void Handle(int item) => Truth.Hit("handlers!Shop.OfOrder.Handle(int)");
    }

    public class OfBoth : IHandler<int>, IHandler<string[]>
    {
        void IHandler<int>.Handle(int item) => Truth.Hit("handlers!Shop.OfBoth.Shop.IHandler<System.Int32>.Handle(int)");
        public virtual void Handle(int item) => Truth.Hit("handlers!Shop.OfBoth.Handle(int)");
        public void Handle(string[] item) => Truth.Hit("handlers!Shop.OfBoth.Handle(string[])");
    }

    public class Box<U> : IHandler<U>
    {
        public void Handle(U item) => Truth.Hit("handlers!Shop.Box<U>.Handle(U)");
        public virtual void Handle(object item, int number) => Truth.Hit("handlers!Shop.Box<U>.Handle(object, int)");
    }

    public abstract class GenericBase<A, B> : IHandler<B>
    {
        public abstract void Handle(B item);
        public virtual void Handle(A item) => Truth.Hit("handlers!Shop.GenericBase<A, B>.Handle(A)");
    }

    public class Closed : GenericBase<int, Order>
    {
        public override void Handle(Order item) => Truth.Hit("handlers!Shop.Closed.Handle(Shop.Order)");
        public override void Handle(int item) => Truth.Hit("handlers!Shop.Closed.Handle(int)");
    }

    public class Half : GenericBase<int, string>
    {
        public override void Handle(string item) => Truth.Hit("handlers!Shop.Half.Handle(string)");
    }

    public class Visitor : IVisitor
    {
        public T Visit<T>(T item)
        {
            Truth.Hit("handlers!Shop.Visitor.Visit<T>(T)");
            return item;
        }
        public virtual object Visit(object item)
        {
            Truth.Hit("handlers!Shop.Visitor.Visit(object)");
            return item;
        }
    }

    /// <summary>An interface of the framework.</summary>
    public class Resource : IDisposable, IComparable<Resource>
    {
        public void Dispose() => Truth.Hit("handlers!Shop.Resource.Dispose()");
        public int CompareTo(Resource other)
        {
            Truth.Hit("handlers!Shop.Resource.CompareTo(Shop.Resource)");
            return 0;
        }
    }

    public class NotDisposable
    {
        public virtual void Dispose() => Truth.Hit("handlers!Shop.NotDisposable.Dispose()");
    }

    /// <summary>A class of the framework, by which it has its interface.</summary>
    public class Reader : StringReader
    {
        public Reader() : base("text") { }
        public override int Read() { Truth.Hit("handlers!Shop.Reader.Read()"); return -1; }
        public virtual int Read(int number) { Truth.Hit("handlers!Shop.Reader.Read(int)"); return number; }
        protected override void Dispose(bool disposing) => Truth.Hit("handlers!Shop.Reader.Dispose(bool)");
    }

    /// <summary>Has the methods of an interface that only classes derived from it list.</summary>
    public class Inherited
    {
        public virtual void Handle(Order order) => Truth.Hit("handlers!Shop.Inherited.Handle(Shop.Order)");
        public virtual string Name { get { Truth.Hit("handlers!Shop.Inherited.get_Name()"); return "inherited"; } }
        public virtual void Handle(int number) => Truth.Hit("handlers!Shop.Inherited.Handle(int)");
    }

    /// <summary>Runs one inherited method, and one of its own.</summary>
    public class Inheriting : Inherited, IOrderHandler
    {
        string IOrderHandler.Name
        {
            get { Truth.Hit("handlers!Shop.Inheriting.Shop.IOrderHandler.get_Name()"); return "own"; }
        }
    }

    /// <summary>Derives from the same class, without the interface.</summary>
    public class NotInheriting : Inherited
    {
        public override void Handle(Order order) => Truth.Hit("handlers!Shop.NotInheriting.Handle(Shop.Order)");
    }

    /// <summary>Derives from a class that inherits.</summary>
    public class InheritingMore : Inheriting
    {
        public override void Handle(Order order) => Truth.Hit("handlers!Shop.InheritingMore.Handle(Shop.Order)");
    }

    public class GenericInherited<A, B>
    {
        public virtual void Handle(B item) => Truth.Hit("handlers!Shop.GenericInherited<A, B>.Handle(B)");
        public virtual void Handle(A item) => Truth.Hit("handlers!Shop.GenericInherited<A, B>.Handle(A)");
    }

    /// <summary>With another class between.</summary>
    public class GenericBetween<C> : GenericInherited<int, C> { }

    public class GenericInheriting : GenericBetween<Order>, IHandler<Order> { }

    /// <summary>A class of Late.dll inherits its method for an interface of Contracts.dll.</summary>
    public class Held
    {
        public virtual void Keep(int number) => Truth.Hit("handlers!Shop.Held.Keep(int)");
    }

    static class Caller
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Call(IOrderHandler handler, int times)
        {
            for (int i = 0; i < times; i++)
            {
                handler.Handle(new Order());
                _ = handler.Name;
            }
        }

        public static void CallAll()
        {
            Call(new Direct(), 3);
            var direct = new Direct();
            direct.Handle(1);
            direct.Handle("text");
            direct.Helper();
            var alike = new LookAlike();
            alike.Handle(new Order());
            _ = alike.Name;
            ((IOrderHandlers)new Plural()).Handle(new Order());
            Call(new Derived(), 2);
            Call(new MoreDerived(), 4);
            Call(new Plain(), 3);
            HandlerBase[] all = { new Plain(), new Derived(), new MoreDerived() };
            foreach (HandlerBase one in all)
                one.Close();
            Call(new Hiding(), 1);
            new Hiding().Handle(new Order());
            Call(new Again(), 5);
            Call(new Explicit(), 6);
            new Explicit().Handle(new Order());
            Call(new DerivedExplicit(), 7);
            new DerivedExplicit().Handle(new Order());
            Call(new Value(), 2);
            Call(new Priority(), 3);
            _ = ((IPriorityHandler)new Priority()).Priority;

            new Held().Keep(1);
            Call(new Inheriting(), 2);
            Call(new InheritingMore(), 3);
            new Inheriting().Handle(1);
            new NotInheriting().Handle(new Order());
            _ = new NotInheriting().Name;
            ((IHandler<Order>)new GenericInheriting()).Handle(new Order());
            new GenericInheriting().Handle(1);

            ((IHandler<Order>)new OfOrder()).Handle(new Order());
            new OfOrder().Handle(1);
            ((IHandler<int>)new OfBoth()).Handle(1);
            ((IHandler<string[]>)new OfBoth()).Handle(new string[0]);
            new OfBoth().Handle(1);
            ((IHandler<string>)new Box<string>()).Handle("text");
            ((IHandler<long>)new Box<long>()).Handle(1);
            new Box<int>().Handle(null, 1);
            ((IHandler<Order>)new Closed()).Handle(new Order());
            new Closed().Handle(1);
            ((IHandler<string>)new Half()).Handle("text");
            new Half().Handle(1);
            ((IVisitor)new Visitor()).Visit(1);
            ((IVisitor)new Visitor()).Visit("text");
            new Visitor().Visit((object)null);

            ((IDisposable)new Resource()).Dispose();
            ((IComparable<Resource>)new Resource()).CompareTo(null);
            new NotDisposable().Dispose();
            using (var reader = new Reader())
            {
                reader.Read();
                reader.Read(1);
            }
        }
    }
}

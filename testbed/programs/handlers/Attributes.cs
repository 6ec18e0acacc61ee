// Methods and types with attributes.
using System;

namespace Web
{
    [AttributeUsage(AttributeTargets.All, AllowMultiple = true)]
    public sealed class HttpGetAttribute : Attribute
    {
        public HttpGetAttribute() { }
        public HttpGetAttribute(string path) { }
        public int Order { get; set; }
    }

    public sealed class HttpGetterAttribute : Attribute { }

    /// <summary>It has no usual end.</summary>
    public sealed class Mark : Attribute { }

    [AttributeUsage(AttributeTargets.All)]
    public class AuditAttribute : Attribute { }

    public sealed class AuditedAttribute : AuditAttribute { }

    public static class Outer
    {
        public sealed class InnerAttribute : Attribute { }
    }

    public class Controller
    {
        [HttpGet]
        public void Get() => Truth.Hit("handlers!Web.Controller.Get()");
        [HttpGet("list", Order = 2), HttpGet("all"), Audit]
        public void List() => Truth.Hit("handlers!Web.Controller.List()");
        [HttpGetter]
        public void Getter() => Truth.Hit("handlers!Web.Controller.Getter()");
        [Mark]
        public void Marked() => Truth.Hit("handlers!Web.Controller.Marked()");
        [Outer.Inner]
        public void Inner() => Truth.Hit("handlers!Web.Controller.Inner()");
        [Audited]
        public void Audited() => Truth.Hit("handlers!Web.Controller.Audited()");
        public void HttpGet() => Truth.Hit("handlers!Web.Controller.HttpGet()");
        public void Parameter([Audit] int number) => Truth.Hit("handlers!Web.Controller.Parameter(int)");
        [return: Audit]
        public int Result() { Truth.Hit("handlers!Web.Controller.Result()"); return 1; }
        // The attribute of a property is not its accessors'.
        [HttpGet]
        public int Property { get { Truth.Hit("handlers!Web.Controller.get_Property()"); return 1; } }
        public int Accessor { [HttpGet] get { Truth.Hit("handlers!Web.Controller.get_Accessor()"); return 1; } }
    }

    [Audit]
    public class Till
    {
        public Till() => Truth.Hit("handlers!Web.Till..ctor()");
        public virtual void Open() => Truth.Hit("handlers!Web.Till.Open()");
        [HttpGet]
        public void Show() => Truth.Hit("handlers!Web.Till.Show()");

        public class Drawer
        {
            public void Slide() => Truth.Hit("handlers!Web.Till+Drawer.Slide()");
        }
    }

    /// <summary>Its attribute is its base class's.</summary>
    public class SmallTill : Till
    {
        public override void Open() => Truth.Hit("handlers!Web.SmallTill.Open()");
    }

    [Audit]
    public class AuditedHandler : Shop.IOrderHandler
    {
        public void Handle(Shop.Order order) => Truth.Hit("handlers!Web.AuditedHandler.Handle(Shop.Order)");
        public string Name { get { Truth.Hit("handlers!Web.AuditedHandler.get_Name()"); return "audited"; } }
        public virtual void Other() => Truth.Hit("handlers!Web.AuditedHandler.Other()");
    }

    public class OtherNamespace
    {
        [Api.HttpGet]
        public void Get() => Truth.Hit("handlers!Web.OtherNamespace.Get()");
    }

    static class Caller
    {
        public static void CallAll()
        {
            var controller = new Controller();
            controller.Get();
            controller.Get();
            controller.List();
            controller.Getter();
            controller.Marked();
            controller.Inner();
            controller.Audited();
            controller.HttpGet();
            controller.Parameter(1);
            controller.Result();
            _ = controller.Property;
            _ = controller.Accessor;
            var till = new Till();
            till.Open();
            till.Show();
            new Till.Drawer().Slide();
            new SmallTill().Open();
            var handler = new AuditedHandler();
            handler.Handle(new Shop.Order());
            _ = handler.Name;
            handler.Other();
            new OtherNamespace().Get();
        }
    }
}

namespace Api
{
    public sealed class HttpGetAttribute : Attribute { }
}

namespace Shop
{
    /// <summary>The counted methods, in the order of <see cref="KnownMethods.All"/>.</summary>
    enum Known
    {
        CartNew, CartAdd, CartAddMany, CartTotal, CartRename, CartPeek, CartTryTake, CartRaise, CartTouch,
        CartParked,
        MoneyCents, MoneyPlus, MoneyAdd, MoneyImplicit, MoneyCompare,
        CatalogItem, CatalogItems, CatalogVisit, CatalogReserve, ShelfSize, ShelfFind,
        PricingStatic, PricingHalf, PricingClamp, PricingSum, PricingDiscount, PricingCheck, PricingGuarded,
        PricingFiltered, PricingIsExpected,
        BoxPut, BoxGet, BoxMap, BoxLidOpen, BoxesLarger,
        OrderPlace, OrderConfirm, OrderShip, ExpressShip,
        PluginTax,
    }

    static class KnownMethods
    {
        /// <summary>Name of each known method, and whether the JIT may inline it.</summary>
        public static readonly (string Name, bool Inlinable)[] All =
        {
            ("Shop.Cart..ctor(string)", false),
            ("Shop.Cart.Add(int)", false),
            ("Shop.Cart.Add(int, int)", false),
            ("Shop.Cart.get_Total()", true),
            ("Shop.Cart.set_Name(string)", true),
            ("Shop.Cart.Peek(int)", true),
            ("Shop.Cart.TryTake(int, out int)", false),
            ("Shop.Cart.Raise(ref int, int)", true),
            ("Shop.Cart.Shop.ICart.Touch(int)", false),
            ("Shop.Cart.Parked()", false),
            ("Shop.Money.get_Cents()", true),
            ("Shop.Money.Plus(int)", true),
            ("Shop.Money.op_Addition(Money, Money)", false),
            ("Shop.Money.op_Implicit(long)", true),
            ("Shop.Money.CompareTo(Money)", false),
            ("Shop.Catalog.get_Item(int)", true),
            ("Shop.Catalog.Items(int)", false),
            ("Shop.Catalog.Visit(int)", true),
            ("Shop.Catalog.Reserve(int)", false),
            ("Shop.Catalog+Shelf.get_Size()", true),
            ("Shop.Catalog+Shelf.Find(int)", false),
            ("Shop.Pricing..cctor()", false),
            ("Shop.Pricing.Half(int)", false),
            ("Shop.Pricing.Clamp(int, int, int)", true),
            ("Shop.Pricing.Sum(int[])", false),
            ("Shop.Pricing.Discount(Func<int, int>, int)", false),
            ("Shop.Pricing.Check(int)", false),
            ("Shop.Pricing.Guarded(int)", false),
            ("Shop.Pricing.Filtered(int)", false),
            ("Shop.Pricing.IsExpected(string)", false),
            ("Shop.Box<T>.Put(T)", true),
            ("Shop.Box<T>.Get()", true),
            ("Shop.Box<T>.Map<U>(Func<T, U>)", false),
            ("Shop.Box<T>+Lid.Open()", true),
            ("Shop.Boxes.Larger<T>(T, T)", false),
            ("Shop.Order.PlaceAsync(int)", false),
            ("Shop.Order.Confirm(int)", true),
            ("Shop.Order.Ship(int)", false),
            ("Shop.ExpressOrder.Ship(int)", false),
            ("Plugin.Tax.Apply(int)", false),
        };
    }
}

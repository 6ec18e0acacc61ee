using System;
using System.Runtime.CompilerServices;

namespace Shop
{
    /// <summary>One thread's work. Every round calls every known method a known number of times and adds the calls to
    /// its tally. The checksum depends only on the seed and the number of rounds.</summary>
    sealed class Clerk
    {
        static readonly Func<int, int> Half = Pricing.Half;

        readonly Catalog catalog;
        readonly Catalog.Shelf shelf = new Catalog.Shelf();
        readonly Box<int> ints = new Box<int>();
        readonly Box<string> names = new Box<string>();
        readonly Box<Money> moneys = new Box<Money>();
        readonly Box<string>.Lid lid = new Box<string>.Lid();
        readonly Order plain = new Order();
        readonly Order express = new ExpressOrder();
        uint dice;
        long checksum;

        public readonly Tally Tally = new Tally();

        public Clerk(Catalog catalog, int seed)
        {
            this.catalog = catalog;
            dice = (uint)seed * 2654435761u + 1;
        }

        /// <summary>The plug-in's method, called once per round when loaded.</summary>
        public Func<int, int> Tax { get; set; }

        public long Rounds { get; private set; }

        public long Checksum => checksum;

        public void Work(int rounds)
        {
            for (int i = 0; i < rounds; i++)
                Round();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void Round()
        {
            FillCart();
            CountMoney();
            BrowseCatalog();
            SetPrices();
            PackBoxes();
            ShipOrders();
            // Exceptions and thread switches are slow, so only one round in sixteen has them.
            if (Rounds % 16 == 0)
            {
                Bargain();
                PlaceOrder();
            }
            Rounds++;
        }

        int Roll(int sides)
        {
            dice = dice * 1664525u + 1013904223u;
            return (int)((dice >> 8) % (uint)sides);
        }

        void Mix(long value) => checksum = unchecked(checksum * 31 + value);

        [MethodImpl(MethodImplOptions.NoInlining)]
        void FillCart()
        {
            var cart = new Cart("cart");
            Tally.Add(Known.CartNew, 1);
            int item = Roll(Catalog.Kinds);
            for (int i = 0; i < 8; i++)
                Mix(cart.Add((item + i) % Catalog.Kinds));
            Tally.Add(Known.CartAdd, 8);
            Mix(cart.Add(item, 3));
            Tally.Add(Known.CartAddMany, 1);
            Mix(cart.Peek(item) + cart.Peek(0));
            Tally.Add(Known.CartPeek, 2);
            Mix(cart.TryTake(item, out int left) ? left : -1);
            Tally.Add(Known.CartTryTake, 1);
            Cart.Raise(ref left, 5);
            Tally.Add(Known.CartRaise, 1);
            cart.Name = "renamed";
            Tally.Add(Known.CartRename, 1);
            Mix(((ICart)cart).Touch(item) + left);
            Tally.Add(Known.CartTouch, 1);
            Mix(cart.Total + cart.Total);
            Tally.Add(Known.CartTotal, 2);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void CountMoney()
        {
            Money a = (long)Roll(1000), b = (long)Roll(1000);
            Tally.Add(Known.MoneyImplicit, 2);
            Money sum = (a + b).Plus(1).Plus(2);
            Tally.Add(Known.MoneyAdd, 1);
            Tally.Add(Known.MoneyPlus, 2);
            Money larger = Boxes.Larger(Boxes.Larger(a, b), sum);
            Tally.Add(Known.BoxesLarger, 2);
            Tally.Add(Known.MoneyCompare, 2);
            Mix(larger.Cents + a.Cents + b.Cents);
            Tally.Add(Known.MoneyCents, 3);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void BrowseCatalog()
        {
            int sum = 0;
            foreach (int price in catalog.Items(4))
                sum += Catalog.Visit(price);
            Tally.Add(Known.CatalogItems, 1);
            Tally.Add(Known.CatalogVisit, 4);
            sum += catalog[Roll(Catalog.Kinds)] + catalog[0];
            Tally.Add(Known.CatalogItem, 2);
            catalog.Reserve(sum & 7);
            Tally.Add(Known.CatalogReserve, 1);
            Mix(sum + shelf.Find(Roll(10)) + shelf.Size);
            Tally.Add(Known.ShelfFind, 1);
            Tally.Add(Known.ShelfSize, 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void SetPrices()
        {
            int price = Roll(5000);
            Mix(Half(price) + Half(price + 1));
            Tally.Add(Known.PricingHalf, 2);
            Mix(Pricing.Clamp(price, 10, 4000) + Pricing.Clamp(-price, 10, 4000));
            Tally.Add(Known.PricingClamp, 2);
            Mix(Pricing.Sum(new[] { price, 1, 2 }));
            Tally.Add(Known.PricingSum, 1);
            Mix(Pricing.Discount(p => p - 1, price));
            Tally.Add(Known.PricingDiscount, 1);
            if (Tax != null)
            {
                Mix(Tax(price));
                Tally.Add(Known.PluginTax, 1);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void PackBoxes()
        {
            ints.Put(Roll(100));
            names.Put("tea");
            moneys.Put(new Money(Roll(100)));
            Tally.Add(Known.BoxPut, 3);
            Mix(ints.Map(n => n + 1L) + names.Map(s => s + "pot").Length + moneys.Map(m => m.Equals(null) ? 1 : 2));
            Tally.Add(Known.BoxMap, 3);
            Mix(ints.Get() + names.Get().Length);
            Tally.Add(Known.BoxGet, 2);
            Mix(string.CompareOrdinal(Boxes.Larger("a", "b"), "a") + lid.Open());
            Tally.Add(Known.BoxesLarger, 1);
            Tally.Add(Known.BoxLidOpen, 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void ShipOrders()
        {
            int weight = Roll(50);
            Mix(plain.Ship(weight) + express.Ship(weight));
            Tally.Add(Known.OrderShip, 2);
            Tally.Add(Known.ExpressShip, 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void Bargain()
        {
            Mix(Pricing.Guarded(-5) + Pricing.Filtered(-6) + Pricing.Filtered(6));
            Tally.Add(Known.PricingGuarded, 1);
            Tally.Add(Known.PricingFiltered, 2);
            Tally.Add(Known.PricingCheck, 3);
            Tally.Add(Known.PricingIsExpected, 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void PlaceOrder()
        {
            Mix(plain.PlaceAsync(Roll(1000)).GetAwaiter().GetResult());
            Tally.Add(Known.OrderPlace, 1);
            Tally.Add(Known.OrderConfirm, 1);
        }
    }
}

//! The list of standing orders.
#![forbid(unsafe_code)]

use redial_protocol::condition::Condition;
use redial_protocol::cost::Share;
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::message::Holder;
use redial_protocol::order::{Lifetime, Order, StandingOrder, TimeOptions};
use redial_protocol::pattern::Pattern;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of an order; later orders have larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderSeq(pub u64);

/// A session of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// How long an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderLifetime {
    /// Until turned off.
    Kept,
    /// Until turned off, at the latest at this time.
    KeptUntil(Instant),
    /// Until this session ends.
    Held(SessionId),
}

impl OrderLifetime {
    /// Converts the lifetime that a session asked for, starting now.
    pub fn of(lifetime: Lifetime, session: SessionId, now: Instant) -> OrderLifetime {
        match lifetime {
            Lifetime::Held => OrderLifetime::Held(session),
            Lifetime::Kept => OrderLifetime::Kept,
            // An end beyond the clock's range means for ever.
            Lifetime::KeptFor { ms } => now
                .checked_add(Duration::from_millis(ms))
                .map_or(OrderLifetime::Kept, OrderLifetime::KeptUntil),
        }
    }

    /// Returns the remaining lifetime.
    fn lifetime(self, now: Instant) -> Lifetime {
        match self {
            OrderLifetime::Held(_) => Lifetime::Held,
            OrderLifetime::Kept => Lifetime::Kept,
            OrderLifetime::KeptUntil(end) => {
                Lifetime::KeptFor { ms: end.saturating_duration_since(now).as_millis() as u64 }
            }
        }
    }

    /// Whether this lifetime lasts at least as long as `other`.
    fn covers(self, other: OrderLifetime) -> bool {
        match (self, other) {
            (OrderLifetime::Kept, _) => true,
            (OrderLifetime::KeptUntil(end), OrderLifetime::KeptUntil(other)) => end >= other,
            (OrderLifetime::Held(session), OrderLifetime::Held(other)) => session == other,
            _ => false,
        }
    }
}

/// The author of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderAuthor {
    /// The user (a name or uid); empty for orders of the launcher.
    pub user: String,
    /// The program.
    pub program: String,
    /// Its process id.
    pub pid: u32,
}

/// Why the budget set an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetStepOrigin {
    /// The user's order from which the budget stepped a copy down; undoing that order undoes this one, too.
    pub of: OrderSeq,
    /// The cost of the dial.
    pub cost: Share,
    /// The limit on the cost of all dials together.
    pub limit: Share,
}

/// An order to be added.
#[derive(Clone, Debug)]
pub struct NewOrder {
    /// Its pattern, parsed.
    pub pattern: Arc<Pattern>,
    /// As given.
    pub order: Order,
    /// The module copy that `Order::copy` names, with its generation.
    pub copy: Option<ModuleKey>,
    /// How long it will stand.
    pub owner: OrderLifetime,
    /// Its author.
    pub by: Arc<OrderAuthor>,
    /// Why the budget sets it, if it does.
    pub stepped: Option<BudgetStepOrigin>,
}

/// A standing order.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its number.
    pub seq: OrderSeq,
    /// Its pattern, parsed.
    pub pattern: Arc<Pattern>,
    /// As given.
    pub order: Order,
    /// Its condition, parsed.
    pub condition: Option<Arc<Condition>>,
    /// The module copy that `Order::copy` names; a later module with the same ModuleID does not match.
    pub copy: Option<ModuleKey>,
    /// How long it stands.
    pub owner: OrderLifetime,
    /// Its author.
    pub by: Arc<OrderAuthor>,
    /// Why the budget set it, if it did.
    pub stepped: Option<BudgetStepOrigin>,
}

impl Standing {
    /// Converts it for the wire.
    pub fn message(&self, now: Instant) -> StandingOrder {
        StandingOrder {
            order: self.order.clone(),
            lifetime: self.owner.lifetime(now),
            user: self.by.user.clone(),
            by: Holder { pid: self.by.pid, program: self.by.program.clone() },
        }
    }
}

/// Whether the controller that set an `off` order turns the dial on again with this order. The older orders then
/// decide once this one ends.
fn takes_back(order: &Order, by: &Arc<OrderAuthor>, standing: &Standing) -> bool {
    order.level > Level::Off && standing.order.level == Level::Off && standing.by == *by
}

/// Whether a pattern is `ASSEMBLY!*` for the assembly of an order's pattern.
fn is_all_of_assembly(pattern: &str, standing: &Standing) -> bool {
    let assembly =
        pattern.strip_suffix('*').filter(|assembly| assembly.ends_with('!') && !assembly.contains('*'));
    assembly.is_some_and(|assembly| standing.order.pattern.starts_with(assembly))
}

/// An order that was added.
#[derive(Clone, Debug)]
pub struct AddedOrder {
    /// Its number.
    pub seq: OrderSeq,
    /// The orders with the same pattern and scope that it replaced.
    pub replaced: Vec<Arc<Standing>>,
}

/// All standing orders, oldest first. The latest that matches a copy wins, even if it is `off`.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Ascending by number.
    list: Vec<Arc<Standing>>,
    last: u64,
}

/// Orders that were added together.
#[derive(Clone, Debug, Default)]
pub struct AddedOrders {
    /// For each given order its number, or the number of a later one among them that replaced it.
    pub seqs: Vec<OrderSeq>,
    /// Those of `seqs` that replaced previously standing orders.
    pub replacing: BTreeSet<OrderSeq>,
    /// The previously standing orders that they replaced.
    pub replaced: Vec<Arc<Standing>>,
}

/// The orders as visible outside the ReJIT thread.
#[derive(Debug, Default)]
pub struct Published {
    /// The standing orders, oldest first.
    pub orders: Arc<[Arc<Standing>]>,
    /// Changes that can be undone.
    pub undoable: usize,
}

/// The agent keeps no more orders.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_STANDING_ORDERS} orders already stand; turn some dials off first, or all to clear the orders")]
pub struct TooManyOrders;

impl Orders {
    /// Adds an order and removes those that it replaces: orders of the same pattern and scope that end no later,
    /// and `off` orders that the same controller now takes back.
    ///
    /// # Errors
    /// When [`MAX_STANDING_ORDERS`] stand.
    pub fn add(&mut self, new: NewOrder) -> Result<AddedOrder, TooManyOrders> {
        let NewOrder { pattern, order, copy, owner, by, stepped } = new;
        let is_void = |standing: &Standing| {
            standing.order.domain == order.domain
                && standing.copy == copy
                // An order that does not accept all domains may be refused where the other was not.
                && order.all_domains >= standing.order.all_domains
                && match standing.order.pattern == order.pattern {
                    true => owner.covers(standing.owner) || takes_back(&order, &by, standing),
                    false => is_all_of_assembly(&order.pattern, standing) && takes_back(&order, &by, standing),
                }
        };
        let replaced = self.take_out(is_void);
        if self.list.len() >= MAX_STANDING_ORDERS {
            return Err(TooManyOrders);
        }
        self.last += 1;
        let seq = OrderSeq(self.last);
        let condition = order.when.as_deref().and_then(|text| Condition::parse(text).ok()).map(Arc::new);
        self.list.push(Arc::new(Standing { seq, pattern, order, condition, copy, owner, by, stepped }));
        Ok(AddedOrder { seq, replaced })
    }

    /// Adds orders one after another. After an error some may have been added.
    ///
    /// # Errors
    /// As [`Orders::add`].
    pub fn add_all(&mut self, new: impl IntoIterator<Item = NewOrder>) -> Result<AddedOrders, TooManyOrders> {
        let mut all = AddedOrders::default();
        for new in new {
            let AddedOrder { seq, replaced } = self.add(new)?;
            for standing in replaced {
                let before = standing.seq;
                if all.replacing.remove(&before) || !all.seqs.contains(&before) {
                    all.replacing.insert(seq);
                }
                if all.seqs.contains(&before) {
                    all.seqs.iter_mut().filter(|one| **one == before).for_each(|one| *one = seq);
                } else {
                    all.replaced.push(standing);
                }
            }
            all.seqs.push(seq);
        }
        Ok(all)
    }

    /// Removes these orders, and restores `replaced`, the orders they had replaced, to their places.
    pub fn take_back(&mut self, seqs: &[OrderSeq], replaced: &[Arc<Standing>]) {
        self.list.retain(|standing| !seqs.contains(&standing.seq));
        let gone: Vec<_> = replaced.iter().filter(|one| !self.stands(one.seq)).cloned().collect();
        self.list.extend(gone);
        self.list.sort_by_key(|standing| standing.seq);
    }

    /// Takes the orders of `before`, but continues the present numbering.
    pub fn replace_by(&mut self, before: Orders) {
        self.list = before.list;
    }

    /// Removes and returns expired orders.
    pub fn expire(&mut self, now: Instant) -> Vec<Arc<Standing>> {
        self.take_out(|standing| matches!(standing.owner, OrderLifetime::KeptUntil(end) if end <= now))
    }

    /// Returns when the next order expires.
    pub fn next_expiry(&self) -> Option<Instant> {
        let end = |standing: &Arc<Standing>| match standing.owner {
            OrderLifetime::KeptUntil(end) => Some(end),
            _ => None,
        };
        self.list.iter().filter_map(end).min()
    }

    /// Removes the orders for module copies that are gone.
    pub fn forget_copies(&mut self, is_gone: impl Fn(ModuleKey) -> bool) {
        self.take_out(|standing| standing.copy.is_some_and(&is_gone));
    }

    /// Returns the numbers of the orders that `other` lacks.
    pub fn not_in(&self, other: &Orders) -> Vec<OrderSeq> {
        self.list.iter().map(|standing| standing.seq).filter(|seq| !other.stands(*seq)).collect()
    }

    /// Returns the orders by which the budget stepped copies of these orders down.
    pub fn stepped_from(&self, of: &[OrderSeq]) -> Vec<OrderSeq> {
        let is_of = |one: &&Arc<Standing>| one.stepped.is_some_and(|stepped| of.contains(&stepped.of));
        self.list.iter().filter(is_of).map(|one| one.seq).collect()
    }

    /// Removes an order.
    pub fn remove(&mut self, seq: OrderSeq) {
        self.list.retain(|standing| standing.seq != seq);
    }

    /// Removes and returns the orders held by a session.
    pub fn end_session(&mut self, session: SessionId) -> Vec<Arc<Standing>> {
        self.take_out(|standing| standing.owner == OrderLifetime::Held(session))
    }

    /// Whether a session holds a dial that is on.
    pub fn holds(&self, session: SessionId) -> bool {
        let holds =
            |one: &Arc<Standing>| one.owner == OrderLifetime::Held(session) && one.order.level > Level::Off;
        self.list.iter().any(holds)
    }

    /// Removes all orders.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Removes `off` orders that override no earlier order.
    pub fn tidy(&mut self) {
        let without_effect = self.list.len() - self.tidied().len();
        self.list.drain(..without_effect);
    }

    /// Returns the orders without those that [`Orders::tidy`] removes, oldest first.
    pub fn tidied(&self) -> &[Arc<Standing>] {
        let first_on = self.list.iter().position(|one| one.order.level != Level::Off);
        first_on.and_then(|at| self.list.get(at..)).unwrap_or_default()
    }

    fn take_out(&mut self, which: impl Fn(&Standing) -> bool) -> Vec<Arc<Standing>> {
        self.list.extract_if(.., |standing| which(standing)).collect()
    }

    /// Returns the wanted level and owner of a copy. `decides` is the latest order that matches it; off if there is
    /// none, or if it no longer stands.
    pub fn wanted(&self, decides: Option<OrderSeq>) -> (Level, Option<OrderLifetime>) {
        let standing = decides.and_then(|seq| self.get(seq));
        standing.map_or((Level::Off, None), |standing| (standing.order.level, Some(standing.owner)))
    }

    /// Returns the time options of a copy that this order decides.
    pub fn options(&self, decides: Option<OrderSeq>) -> TimeOptions {
        decides
            .and_then(|seq| self.get(seq))
            .map_or_else(TimeOptions::default, |standing| standing.order.options)
    }

    /// Returns the condition on traced calls of a copy that this order decides.
    pub fn condition(&self, decides: Option<OrderSeq>) -> Option<Arc<Condition>> {
        decides.and_then(|seq| self.get(seq)).and_then(|standing| standing.condition.clone())
    }

    /// Returns an order, if it still stands.
    pub fn get(&self, seq: OrderSeq) -> Option<&Standing> {
        let at = self.list.binary_search_by_key(&seq, |standing| standing.seq).ok()?;
        self.list.get(at).map(|standing| &**standing)
    }

    /// Whether an order still stands.
    pub fn stands(&self, seq: OrderSeq) -> bool {
        self.get(seq).is_some()
    }

    /// Returns the orders with a matching assembly part, oldest first.
    pub fn for_assembly<'a>(&'a self, assembly: &'a str) -> impl Iterator<Item = &'a Standing> {
        let list = self.list.iter().map(|standing| &**standing);
        list.filter(move |standing| standing.pattern.matches_assembly(assembly))
    }

    /// Returns all orders, oldest first.
    pub fn all(&self) -> &[Arc<Standing>] {
        &self.list
    }

    /// Returns the number of orders.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(pattern: &str, level: Level, owner: OrderLifetime) -> NewOrder {
        NewOrder {
            pattern: Arc::new(Pattern::parse(pattern).unwrap()),
            order: Order::new(pattern, level),
            copy: None,
            owner,
            by: Arc::default(),
            stepped: None,
        }
    }

    fn add(orders: &mut Orders, pattern: &str, level: Level, owner: OrderLifetime) -> OrderSeq {
        orders.add(new(pattern, level, owner)).unwrap().seq
    }

    #[test]
    fn latest_order_wins_even_if_off() {
        let mut orders = Orders::default();
        let all = add(&mut orders, "Shop!*", Level::Count, OrderLifetime::Kept);
        let off = add(&mut orders, "Shop.Cart.*", Level::Off, OrderLifetime::Kept);
        assert!(off > all);
        assert_eq!(orders.wanted(Some(off)).0, Level::Off);
        assert_eq!(orders.wanted(Some(all)).0, Level::Count);
        assert_eq!(orders.wanted(None), (Level::Off, None));
        orders.remove(all);
        assert_eq!(orders.wanted(Some(all)), (Level::Off, None), "it no longer stands");
    }

    #[test]
    fn held_order_leaves_the_kept_one_below_it() {
        let mut orders = Orders::default();
        let kept = add(&mut orders, "A.B", Level::Count, OrderLifetime::Kept);
        let held = add(&mut orders, "A.B", Level::Off, OrderLifetime::Held(SessionId(1)));
        assert_eq!(orders.wanted(Some(held)), (Level::Off, Some(OrderLifetime::Held(SessionId(1)))));
        assert_eq!(orders.end_session(SessionId(1)).len(), 1);
        assert!(!orders.stands(held));
        assert_eq!(orders.wanted(Some(kept)), (Level::Count, Some(OrderLifetime::Kept)));
    }

    #[test]
    fn repeated_order_replaces_the_earlier_one() {
        let mut orders = Orders::default();
        for _ in 0..10 {
            add(&mut orders, "A.B", Level::Count, OrderLifetime::Kept);
            add(&mut orders, "A.B", Level::Off, OrderLifetime::Kept);
        }
        assert_eq!(orders.len(), 1);
        orders.tidy();
        assert!(orders.is_empty(), "an off order without earlier orders has no effect");
    }

    #[test]
    fn last_of_repeated_orders_stands() {
        let mut orders = Orders::default();
        let stood = add(&mut orders, "A.B", Level::Off, OrderLifetime::Kept);
        let kept = |pattern: &str| new(pattern, Level::Count, OrderLifetime::Kept);
        let added = orders.add_all(["C.D", "A.B", "C.D", "A.B", "E.F"].map(kept)).unwrap();
        let [first, second, third, fourth, fifth] = added.seqs[..] else { panic!("five numbers") };
        assert!(first == third && second == fourth && third < fourth && fourth < fifth);
        assert_eq!(orders.all().iter().map(|one| one.seq).collect::<Vec<_>>(), [third, fourth, fifth]);
        assert_eq!(added.replaced.iter().map(|one| one.seq).collect::<Vec<_>>(), [stood]);
        assert_eq!(added.replacing, BTreeSet::from([fourth]), "orders of the same set had not stood before");
    }

    #[test]
    fn limits_the_number_of_orders() {
        let mut orders = Orders::default();
        for n in 0..MAX_STANDING_ORDERS {
            add(&mut orders, &format!("A.M{n}"), Level::Count, OrderLifetime::Kept);
        }
        assert_eq!(orders.add(new("B.M", Level::Count, OrderLifetime::Kept)).err(), Some(TooManyOrders));
    }

    #[test]
    fn expired_order_uncovers_the_earlier_one() {
        let mut orders = Orders::default();
        let now = Instant::now();
        let end = now + Duration::from_secs(10);
        let kept = add(&mut orders, "A.B", Level::Count, OrderLifetime::Kept);
        let off = add(&mut orders, "A.B", Level::Off, OrderLifetime::KeptUntil(end));
        assert_eq!(orders.next_expiry(), Some(end));
        assert!(orders.expire(now).is_empty() && orders.stands(off));
        assert_eq!(orders.expire(end).len(), 1);
        assert!(orders.stands(kept) && !orders.stands(off));
        let soon = add(&mut orders, "A.B", Level::Off, OrderLifetime::KeptUntil(end));
        let later =
            add(&mut orders, "A.B", Level::Off, OrderLifetime::KeptUntil(end + Duration::from_secs(1)));
        assert!(!orders.stands(soon) && orders.stands(later) && orders.stands(kept));
    }

    #[test]
    fn take_back_restores_replaced_orders() {
        let mut orders = Orders::default();
        let first = add(&mut orders, "A.B", Level::Count, OrderLifetime::Kept);
        let other = add(&mut orders, "C.D", Level::Count, OrderLifetime::Kept);
        let added = orders.add(new("A.B", Level::Off, OrderLifetime::Kept)).unwrap();
        assert!(!orders.stands(first));
        orders.take_back(&[added.seq], &added.replaced);
        assert_eq!(orders.all().iter().map(|one| one.seq).collect::<Vec<_>>(), [first, other]);
        orders.take_back(&[], &added.replaced);
        assert_eq!(orders.len(), 2, "a standing order is not added twice");
    }
}

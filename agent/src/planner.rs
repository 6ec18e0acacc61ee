//! Standing orders, and what they mean for a copy: pure bookkeeping, no CLR.
#![forbid(unsafe_code)]

use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use std::sync::Arc;

/// Number of an order; later orders have larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderSeq(pub u64);

/// A session of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub u64);

/// How long an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Until turned off.
    Kept,
    /// Until that session ends.
    Held(SessionId),
}

/// One order that stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its number.
    pub seq: OrderSeq,
    /// Its pattern, parsed.
    pub pattern: Arc<Pattern>,
    /// As given.
    pub order: Order,
    /// How long it stands.
    pub owner: Owner,
}

/// An order that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its number.
    pub seq: OrderSeq,
    /// Whether it took the place of one with the same pattern and scope.
    pub replaced: bool,
}

/// Every order that stands, oldest first. The latest that matches a copy wins, `off` included.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Ascending by number.
    list: Vec<Standing>,
    last: u64,
}

/// More orders than the agent keeps.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_STANDING_ORDERS} orders stand already; turn some off first (`redial off` clears them all)")]
pub struct TooManyOrders;

impl Orders {
    /// Adds an order and takes out those it makes void (the same pattern and scope, standing no longer than it).
    ///
    /// # Errors
    /// When [`MAX_STANDING_ORDERS`] stand.
    pub fn add(&mut self, pattern: Arc<Pattern>, order: Order, owner: Owner) -> Result<Added, TooManyOrders> {
        let before = self.list.len();
        self.retain(|standing| {
            let same = standing.order.pattern == order.pattern
                && standing.order.domain == order.domain
                && standing.order.copy == order.copy;
            !(same && (owner == Owner::Kept || standing.owner == owner))
        });
        if self.list.len() >= MAX_STANDING_ORDERS {
            return Err(TooManyOrders);
        }
        self.last += 1;
        let seq = OrderSeq(self.last);
        let replaced = self.list.len() < before;
        self.list.push(Standing { seq, pattern, order, owner });
        Ok(Added { seq, replaced })
    }

    /// Takes out an order.
    pub fn remove(&mut self, seq: OrderSeq) {
        self.retain(|standing| standing.seq != seq);
    }

    /// Takes out what a session held. Answers whether there was anything.
    pub fn end_session(&mut self, session: SessionId) -> bool {
        let before = self.list.len();
        self.retain(|standing| standing.owner != Owner::Held(session));
        before != self.list.len()
    }

    /// Takes out everything.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Takes out `off` orders that no earlier order needs masked.
    pub fn tidy(&mut self) {
        let first_on = self.list.iter().position(|s| s.order.level != Level::Off).unwrap_or(self.list.len());
        let drop: Vec<OrderSeq> = self.list.iter().take(first_on).map(|s| s.seq).collect();
        self.retain(|standing| !drop.contains(&standing.seq));
    }

    fn retain(&mut self, keep: impl Fn(&Standing) -> bool) {
        self.list.retain(keep);
    }

    /// What the latest of these orders that still stands wants; off when none does.
    pub fn wanted(&self, matching: &[OrderSeq]) -> (Level, Option<Owner>) {
        matching
            .iter()
            .filter_map(|seq| self.get(*seq))
            .max_by_key(|standing| standing.seq)
            .map_or((Level::Off, None), |standing| (standing.order.level, Some(standing.owner)))
    }

    /// An order, while it stands.
    pub fn get(&self, seq: OrderSeq) -> Option<&Standing> {
        let at = self.list.binary_search_by_key(&seq, |standing| standing.seq).ok()?;
        self.list.get(at)
    }

    /// Whether an order still stands.
    pub fn stands(&self, seq: OrderSeq) -> bool {
        self.get(seq).is_some()
    }

    /// Orders whose assembly half matches, oldest first.
    pub fn for_assembly<'a>(&'a self, assembly: &'a str) -> impl Iterator<Item = &'a Standing> {
        self.list.iter().filter(move |standing| standing.pattern.matches_assembly(assembly))
    }

    /// The patterns of all orders, for a quick look from other threads.
    pub fn patterns(&self) -> Vec<Arc<Pattern>> {
        self.list.iter().map(|standing| Arc::clone(&standing.pattern)).collect()
    }

    /// Every order, oldest first.
    pub fn all(&self) -> &[Standing] {
        &self.list
    }

    /// Orders there are.
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

    fn order(pattern: &str, level: Level) -> (Arc<Pattern>, Order) {
        (Arc::new(Pattern::parse(pattern).unwrap()), Order::new(pattern, level))
    }

    fn add(orders: &mut Orders, pattern: &str, level: Level, owner: Owner) -> OrderSeq {
        let (pattern, order) = order(pattern, level);
        orders.add(pattern, order, owner).unwrap().seq
    }

    #[test]
    fn the_latest_wins_off_included() {
        let mut orders = Orders::default();
        let all = add(&mut orders, "Shop!*", Level::Count, Owner::Kept);
        let off = add(&mut orders, "Shop.Cart.*", Level::Off, Owner::Kept);
        assert_eq!(orders.wanted(&[all, off]).0, Level::Off);
        assert_eq!(orders.wanted(&[all]).0, Level::Count);
    }

    #[test]
    fn a_held_order_leaves_the_kept_one_below_it() {
        let mut orders = Orders::default();
        let kept = add(&mut orders, "A.B", Level::Count, Owner::Kept);
        let held = add(&mut orders, "A.B", Level::Off, Owner::Held(SessionId(1)));
        assert_eq!(orders.wanted(&[kept, held]).0, Level::Off);
        assert!(orders.end_session(SessionId(1)));
        assert_eq!(orders.wanted(&[kept, held]), (Level::Count, Some(Owner::Kept)));
    }

    #[test]
    fn a_repeated_order_replaces_its_forerunner() {
        let mut orders = Orders::default();
        for _ in 0..10 {
            add(&mut orders, "A.B", Level::Count, Owner::Kept);
            add(&mut orders, "A.B", Level::Off, Owner::Kept);
        }
        assert_eq!(orders.len(), 1);
        orders.tidy();
        assert!(orders.is_empty(), "an off with nothing before it says nothing");
    }

    #[test]
    fn there_is_a_limit() {
        let mut orders = Orders::default();
        for n in 0..MAX_STANDING_ORDERS {
            add(&mut orders, &format!("A.M{n}"), Level::Count, Owner::Kept);
        }
        let (pattern, one_more) = order("B.M", Level::Count);
        assert_eq!(orders.add(pattern, one_more, Owner::Kept), Err(TooManyOrders));
    }
}

//! The list of standing orders.
#![forbid(unsafe_code)]

use redial_protocol::cost::Share;
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::message::Holder;
use redial_protocol::order::{Order, Stand, StandingOrder, TimeOptions};
use redial_protocol::pattern::Pattern;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Until turned off, or then.
    KeptUntil(Instant),
    /// Until that session ends.
    Held(SessionId),
}

impl Owner {
    /// What a session asks for, from now on.
    pub fn of(stand: Stand, session: SessionId, now: Instant) -> Owner {
        match stand {
            Stand::Held => Owner::Held(session),
            Stand::Kept => Owner::Kept,
            // Further ahead than the clock can tell is for ever.
            Stand::KeptFor { ms } => {
                now.checked_add(Duration::from_millis(ms)).map_or(Owner::Kept, Owner::KeptUntil)
            }
        }
    }

    /// What is left of it.
    fn stand(self, now: Instant) -> Stand {
        match self {
            Owner::Held(_) => Stand::Held,
            Owner::Kept => Stand::Kept,
            Owner::KeptUntil(end) => {
                Stand::KeptFor { ms: end.saturating_duration_since(now).as_millis() as u64 }
            }
        }
    }

    /// Whether an order that stands like this stands at least as long as one that stands like `other`.
    fn covers(self, other: Owner) -> bool {
        match (self, other) {
            (Owner::Kept, _) => true,
            (Owner::KeptUntil(end), Owner::KeptUntil(other)) => end >= other,
            (Owner::Held(session), Owner::Held(other)) => session == other,
            _ => false,
        }
    }
}

/// Who set an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetBy {
    /// The user (a name or uid); empty for orders of the launcher.
    pub user: String,
    /// The program.
    pub program: String,
    /// Its process id.
    pub pid: u32,
}

/// Why the budget set an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The order of a person that its copy was stepped down from; what is taken back takes this along.
    pub of: OrderSeq,
    /// What the dial cost.
    pub cost: Share,
    /// What all dials may cost together.
    pub limit: Share,
}

/// An order to be added.
#[derive(Clone, Debug)]
pub struct NewOrder {
    /// Its pattern, parsed.
    pub pattern: Arc<Pattern>,
    /// As given.
    pub order: Order,
    /// The module copy that `Order::copy` names, in its present life.
    pub copy: Option<ModuleKey>,
    /// How long it is to stand.
    pub owner: Owner,
    /// Who sets it.
    pub by: Arc<SetBy>,
    /// Why the budget sets it, if it does.
    pub stepped: Option<Stepped>,
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
    /// The module copy that `Order::copy` names: another module that gets its ModuleID later is not meant.
    pub copy: Option<ModuleKey>,
    /// How long it stands.
    pub owner: Owner,
    /// Who set it.
    pub by: Arc<SetBy>,
    /// Why the budget set it, if it did.
    pub stepped: Option<Stepped>,
}

impl Standing {
    /// As it travels.
    pub fn told(&self, now: Instant) -> StandingOrder {
        StandingOrder {
            order: self.order.clone(),
            stand: self.owner.stand(now),
            user: self.by.user.clone(),
            by: Holder { pid: self.by.pid, program: self.by.program.clone() },
        }
    }
}

/// Whether whoever turned something off turns it on again with this order: once it ends, what stood before the `off` decides.
fn takes_back(order: &Order, by: &Arc<SetBy>, standing: &Standing) -> bool {
    order.level > Level::Off && standing.order.level == Level::Off && standing.by == *by
}

/// Whether a pattern is `ASSEMBLY!*`, of the assembly that an order's pattern names.
fn is_all_of_assembly(pattern: &str, standing: &Standing) -> bool {
    let assembly =
        pattern.strip_suffix('*').filter(|assembly| assembly.ends_with('!') && !assembly.contains('*'));
    assembly.is_some_and(|assembly| standing.order.pattern.starts_with(assembly))
}

/// An order that was added.
#[derive(Clone, Debug)]
pub struct Added {
    /// Its number.
    pub seq: OrderSeq,
    /// Those with the same pattern and scope whose place it took.
    pub replaced: Vec<Arc<Standing>>,
}

/// Every order that stands, oldest first. The latest that matches a copy wins, `off` included.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Ascending by number.
    list: Vec<Arc<Standing>>,
    last: u64,
}

/// Orders that were added together.
#[derive(Clone, Debug, Default)]
pub struct AddedTogether {
    /// For each that was given its number, or that of a later one among them that took its place.
    pub seqs: Vec<OrderSeq>,
    /// Those of `seqs` that took the place of orders that stood before.
    pub replacing: BTreeSet<OrderSeq>,
    /// The orders whose place they took.
    pub replaced: Vec<Arc<Standing>>,
}

/// What of the orders is known outside the ReJIT thread.
#[derive(Debug, Default)]
pub struct Published {
    /// Those that stand, oldest first.
    pub orders: Arc<[Arc<Standing>]>,
    /// Changes that can be undone.
    pub undoable: usize,
}

/// More orders than the agent keeps.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_STANDING_ORDERS} orders stand already; turn some off first, or all: that clears them")]
pub struct TooManyOrders;

impl Orders {
    /// Adds an order and takes out those it makes void: of the same pattern and scope, standing no longer than it; and what
    /// the same hand had turned off and turns on again.
    ///
    /// # Errors
    /// When [`MAX_STANDING_ORDERS`] stand.
    pub fn add(&mut self, new: NewOrder) -> Result<Added, TooManyOrders> {
        let NewOrder { pattern, order, copy, owner, by, stepped } = new;
        let is_void = |standing: &Standing| {
            standing.order.domain == order.domain
                && standing.copy == copy
                // One that does not accept all domains may be refused where the other was not.
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
        self.list.push(Arc::new(Standing { seq, pattern, order, copy, owner, by, stepped }));
        Ok(Added { seq, replaced })
    }

    /// Adds orders one after the other. After an error some may have been added.
    ///
    /// # Errors
    /// As [`Orders::add`].
    pub fn add_all(
        &mut self,
        new: impl IntoIterator<Item = NewOrder>,
    ) -> Result<AddedTogether, TooManyOrders> {
        let mut all = AddedTogether::default();
        for new in new {
            let Added { seq, replaced } = self.add(new)?;
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

    /// Takes these orders out, and puts `replaced`, which they had made void, back in their places.
    pub fn take_back(&mut self, seqs: &[OrderSeq], replaced: &[Arc<Standing>]) {
        self.list.retain(|standing| !seqs.contains(&standing.seq));
        let gone: Vec<_> = replaced.iter().filter(|one| !self.stands(one.seq)).cloned().collect();
        self.list.extend(gone);
        self.list.sort_by_key(|standing| standing.seq);
    }

    /// The same orders as `before`, with numbers that go on from here.
    pub fn replace_by(&mut self, before: Orders) {
        self.list = before.list;
    }

    /// Takes out those whose time has passed, and answers them.
    pub fn expire(&mut self, now: Instant) -> Vec<Arc<Standing>> {
        self.take_out(|standing| matches!(standing.owner, Owner::KeptUntil(end) if end <= now))
    }

    /// When the next one's time passes.
    pub fn next_expiry(&self) -> Option<Instant> {
        let end = |standing: &Arc<Standing>| match standing.owner {
            Owner::KeptUntil(end) => Some(end),
            _ => None,
        };
        self.list.iter().filter_map(end).min()
    }

    /// Takes out those for module copies that are gone.
    pub fn forget_copies(&mut self, is_gone: impl Fn(ModuleKey) -> bool) {
        self.take_out(|standing| standing.copy.is_some_and(&is_gone));
    }

    /// Numbers of those that `other` lacks.
    pub fn not_in(&self, other: &Orders) -> Vec<OrderSeq> {
        self.list.iter().map(|standing| standing.seq).filter(|seq| !other.stands(*seq)).collect()
    }

    /// Those by which the budget stepped copies of these orders down.
    pub fn stepped_from(&self, of: &[OrderSeq]) -> Vec<OrderSeq> {
        let is_of = |one: &&Arc<Standing>| one.stepped.is_some_and(|stepped| of.contains(&stepped.of));
        self.list.iter().filter(is_of).map(|one| one.seq).collect()
    }

    /// Takes out an order.
    pub fn remove(&mut self, seq: OrderSeq) {
        self.list.retain(|standing| standing.seq != seq);
    }

    /// Takes out what a session held, and answers it.
    pub fn end_session(&mut self, session: SessionId) -> Vec<Arc<Standing>> {
        self.take_out(|standing| standing.owner == Owner::Held(session))
    }

    /// Whether a session holds a dial that is on.
    pub fn holds(&self, session: SessionId) -> bool {
        let holds = |one: &Arc<Standing>| one.owner == Owner::Held(session) && one.order.level > Level::Off;
        self.list.iter().any(holds)
    }

    /// Takes out everything.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Takes out `off` orders that no earlier order needs masked.
    pub fn tidy(&mut self) {
        let masking_nothing = self.list.len() - self.tidied().len();
        self.list.drain(..masking_nothing);
    }

    /// The orders without those that [`Orders::tidy`] takes out, oldest first.
    pub fn tidied(&self) -> &[Arc<Standing>] {
        let first_on = self.list.iter().position(|one| one.order.level != Level::Off);
        first_on.and_then(|at| self.list.get(at..)).unwrap_or_default()
    }

    fn take_out(&mut self, which: impl Fn(&Standing) -> bool) -> Vec<Arc<Standing>> {
        self.list.extract_if(.., |standing| which(standing)).collect()
    }

    /// What is wanted of a copy that this order decides, the latest of those that mean it; off when none does, or when it
    /// stands no more.
    pub fn wanted(&self, decides: Option<OrderSeq>) -> (Level, Option<Owner>) {
        let standing = decides.and_then(|seq| self.get(seq));
        standing.map_or((Level::Off, None), |standing| (standing.order.level, Some(standing.owner)))
    }

    /// What beyond times is asked of a copy that this order decides.
    pub fn options(&self, decides: Option<OrderSeq>) -> TimeOptions {
        decides
            .and_then(|seq| self.get(seq))
            .map_or_else(TimeOptions::default, |standing| standing.order.options)
    }

    /// An order, while it stands.
    pub fn get(&self, seq: OrderSeq) -> Option<&Standing> {
        let at = self.list.binary_search_by_key(&seq, |standing| standing.seq).ok()?;
        self.list.get(at).map(|standing| &**standing)
    }

    /// Whether an order still stands.
    pub fn stands(&self, seq: OrderSeq) -> bool {
        self.get(seq).is_some()
    }

    /// Orders whose assembly half matches, oldest first.
    pub fn for_assembly<'a>(&'a self, assembly: &'a str) -> impl Iterator<Item = &'a Standing> {
        let list = self.list.iter().map(|standing| &**standing);
        list.filter(move |standing| standing.pattern.matches_assembly(assembly))
    }

    /// Every order, oldest first.
    pub fn all(&self) -> &[Arc<Standing>] {
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

    fn new(pattern: &str, level: Level, owner: Owner) -> NewOrder {
        NewOrder {
            pattern: Arc::new(Pattern::parse(pattern).unwrap()),
            order: Order::new(pattern, level),
            copy: None,
            owner,
            by: Arc::default(),
            stepped: None,
        }
    }

    fn add(orders: &mut Orders, pattern: &str, level: Level, owner: Owner) -> OrderSeq {
        orders.add(new(pattern, level, owner)).unwrap().seq
    }

    #[test]
    fn the_latest_wins_off_included() {
        let mut orders = Orders::default();
        let all = add(&mut orders, "Shop!*", Level::Count, Owner::Kept);
        let off = add(&mut orders, "Shop.Cart.*", Level::Off, Owner::Kept);
        assert!(off > all);
        assert_eq!(orders.wanted(Some(off)).0, Level::Off);
        assert_eq!(orders.wanted(Some(all)).0, Level::Count);
        assert_eq!(orders.wanted(None), (Level::Off, None));
        orders.remove(all);
        assert_eq!(orders.wanted(Some(all)), (Level::Off, None), "it stands no more");
    }

    #[test]
    fn a_held_order_leaves_the_kept_one_below_it() {
        let mut orders = Orders::default();
        let kept = add(&mut orders, "A.B", Level::Count, Owner::Kept);
        let held = add(&mut orders, "A.B", Level::Off, Owner::Held(SessionId(1)));
        assert_eq!(orders.wanted(Some(held)), (Level::Off, Some(Owner::Held(SessionId(1)))));
        assert_eq!(orders.end_session(SessionId(1)).len(), 1);
        assert!(!orders.stands(held));
        assert_eq!(orders.wanted(Some(kept)), (Level::Count, Some(Owner::Kept)));
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
    fn of_orders_that_repeat_each_other_the_last_stands() {
        let mut orders = Orders::default();
        let stood = add(&mut orders, "A.B", Level::Off, Owner::Kept);
        let kept = |pattern: &str| new(pattern, Level::Count, Owner::Kept);
        let added = orders.add_all(["C.D", "A.B", "C.D", "A.B", "E.F"].map(kept)).unwrap();
        let [first, second, third, fourth, fifth] = added.seqs[..] else { panic!("five numbers") };
        assert!(first == third && second == fourth && third < fourth && fourth < fifth);
        assert_eq!(orders.all().iter().map(|one| one.seq).collect::<Vec<_>>(), [third, fourth, fifth]);
        assert_eq!(added.replaced.iter().map(|one| one.seq).collect::<Vec<_>>(), [stood]);
        assert_eq!(added.replacing, BTreeSet::from([fourth]), "those of their own set had not stood");
    }

    #[test]
    fn there_is_a_limit() {
        let mut orders = Orders::default();
        for n in 0..MAX_STANDING_ORDERS {
            add(&mut orders, &format!("A.M{n}"), Level::Count, Owner::Kept);
        }
        assert_eq!(orders.add(new("B.M", Level::Count, Owner::Kept)).err(), Some(TooManyOrders));
    }

    #[test]
    fn what_stands_for_a_time_gives_way_to_what_stood_before() {
        let mut orders = Orders::default();
        let now = Instant::now();
        let end = now + Duration::from_secs(10);
        let kept = add(&mut orders, "A.B", Level::Count, Owner::Kept);
        let off = add(&mut orders, "A.B", Level::Off, Owner::KeptUntil(end));
        assert_eq!(orders.next_expiry(), Some(end));
        assert!(orders.expire(now).is_empty() && orders.stands(off));
        assert_eq!(orders.expire(end).len(), 1);
        assert!(orders.stands(kept) && !orders.stands(off));
        let soon = add(&mut orders, "A.B", Level::Off, Owner::KeptUntil(end));
        let later = add(&mut orders, "A.B", Level::Off, Owner::KeptUntil(end + Duration::from_secs(1)));
        assert!(!orders.stands(soon) && orders.stands(later) && orders.stands(kept));
    }

    #[test]
    fn what_is_taken_back_leaves_what_it_had_replaced() {
        let mut orders = Orders::default();
        let first = add(&mut orders, "A.B", Level::Count, Owner::Kept);
        let other = add(&mut orders, "C.D", Level::Count, Owner::Kept);
        let added = orders.add(new("A.B", Level::Off, Owner::Kept)).unwrap();
        assert!(!orders.stands(first));
        orders.take_back(&[added.seq], &added.replaced);
        assert_eq!(orders.all().iter().map(|one| one.seq).collect::<Vec<_>>(), [first, other]);
        orders.take_back(&[], &added.replaced);
        assert_eq!(orders.len(), 2, "what stands is not put in twice");
    }
}

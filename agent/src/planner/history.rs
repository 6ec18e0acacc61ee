//! Keeps the order lists from before the last changes, for undo.
#![forbid(unsafe_code)]

use super::orders::{OrderSeq, Orders, SessionId, Standing};
use redial_protocol::diagnostics::{AuditAction, AuditedChange};
use redial_protocol::limits::{MAX_STANDING_ORDERS, MAX_UNDO};
use redial_protocol::message::AuditEntry;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Number of a change, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeId(pub u64);

/// The orders that undo a change.
#[derive(Debug)]
pub struct Reversal {
    /// The change, no longer in the history.
    pub change: Change,
    /// Numbers of the orders that it added.
    pub added: Vec<OrderSeq>,
    /// Orders that it removed.
    pub removed: Vec<Arc<Standing>>,
}

/// Author, time and content of a change that was made.
#[derive(Clone, Debug)]
pub struct ChangeRecord {
    /// Unix time, milliseconds.
    pub t_unix_ms: u64,
    /// The user.
    pub user: String,
    /// The program.
    pub program: String,
    /// The content.
    pub change: AuditedChange,
}

impl From<ChangeRecord> for AuditEntry {
    fn from(record: ChangeRecord) -> AuditEntry {
        let ChangeRecord { t_unix_ms, user, program, change } = record;
        AuditEntry { t_unix_ms, user, program, action: AuditAction::Changed(change) }
    }
}

/// A change of the orders.
#[derive(Clone, Debug)]
pub struct Change {
    id: ChangeId,
    /// The orders before it.
    pub before: Orders,
    /// Its author and content.
    pub record: ChangeRecord,
    /// Number of orders in `before` that the previous change's `before` lacks; counted once, since lists may be
    /// long and many.
    fresh: usize,
}

/// Limit for remembered orders; an order in several lists counts once.
const MAX_REMEMBERED: usize = 4 * MAX_STANDING_ORDERS;

/// The latest [`MAX_UNDO`] changes, or fewer if they are large.
#[derive(Debug, Default)]
pub struct History {
    /// Oldest first.
    changes: VecDeque<Change>,
    last: u64,
}

impl History {
    /// Records a change that was made.
    pub fn push(&mut self, before: Orders, record: ChangeRecord) -> ChangeId {
        self.last += 1;
        let id = ChangeId(self.last);
        self.put_back(Change { id, before, record, fresh: 0 }, &[], &[]);
        id
    }

    /// Removes and returns the last change, to undo it. Omits orders that have expired meanwhile.
    pub fn pop(&mut self, now: Instant) -> Option<Change> {
        let mut change = self.changes.pop_back()?;
        change.before.expire(now);
        Some(change)
    }

    /// Removes and returns one change, to undo it alone; None if the history no longer has it. `present` are the
    /// standing orders. Omits orders that have expired meanwhile.
    pub fn take(&mut self, id: ChangeId, present: &Orders, now: Instant) -> Option<Reversal> {
        let at = self.changes.iter().position(|change| change.id == id)?;
        let mut change = self.changes.remove(at)?;
        change.before.expire(now);
        let after = self.changes.get(at).map_or(present, |next| &next.before);
        let mut added = after.not_in(&change.before);
        let gone = |standing: &&Arc<Standing>| !after.stands(standing.seq);
        let removed: Vec<_> = change.before.all().iter().filter(gone).cloned().collect();
        // Orders by which the budget stepped these down go as well, now and in every later list.
        let lists = self.changes.range(at..).map(|later| &later.before).chain([present]);
        let stepped = lists.flat_map(|list| list.stepped_from(&added)).collect::<BTreeSet<OrderSeq>>();
        added.extend(stepped);
        for later in self.changes.range_mut(at..) {
            later.before.take_back(&added, &removed);
        }
        self.count_from(at);
        Some(Reversal { change, added, removed })
    }

    /// Restores a change whose undo was cancelled. `added` are the orders that the undo had brought back, `removed`
    /// those it had removed.
    pub fn put_back(&mut self, change: Change, added: &[OrderSeq], removed: &[Arc<Standing>]) {
        let at = self.insert(change);
        for later in self.changes.range_mut(at..).skip(1) {
            later.before.take_back(added, removed);
        }
        self.count_from(at);
        let surplus = self.changes.len().saturating_sub(MAX_UNDO);
        self.changes.drain(..surplus);
        while self.changes.len() > 1 && self.orders() > MAX_REMEMBERED {
            self.changes.pop_front();
        }
    }

    /// Returns an upper limit of the orders kept in lists: an order that went and came back counts twice.
    fn orders(&self) -> usize {
        let first = self.changes.front().map_or(0, |change| change.before.len());
        first + self.changes.iter().skip(1).map(|change| change.fresh).sum::<usize>()
    }

    /// Recounts `fresh` from this change on.
    fn count_from(&mut self, at: usize) {
        let changes = self.changes.make_contiguous();
        for at in at.max(1)..changes.len() {
            if let Some([earlier, later]) = changes.get_mut(at - 1..=at) {
                later.fresh = later.before.not_in(&earlier.before).len();
            }
        }
    }

    /// Inserts a change by its number and returns the index.
    fn insert(&mut self, change: Change) -> usize {
        let at = self.changes.partition_point(|other| other.id.0 < change.id.0);
        self.changes.insert(at, change);
        at
    }

    /// Forgets a change that was cancelled, along with its orders.
    pub fn forget(&mut self, id: ChangeId, seqs: &[OrderSeq], replaced: &[Arc<Standing>]) {
        let Some(at) = self.changes.iter().position(|change| change.id == id) else { return };
        self.changes.remove(at);
        for later in self.changes.range_mut(at..) {
            later.before.take_back(seqs, replaced);
        }
        self.count_from(at);
    }

    /// Removes all orders held by a session that ended, so that undo does not bring them back.
    pub fn end_session(&mut self, session: SessionId) {
        for change in &mut self.changes {
            change.before.end_session(session);
        }
        self.count_from(0);
    }

    /// Returns the number of changes that can be undone.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::{BudgetStepOrigin, NewOrder, OrderLifetime};
    use redial_protocol::cost::Share;
    use redial_protocol::level::Level;
    use redial_protocol::order::Order;
    use redial_protocol::pattern::Pattern;
    use std::time::Duration;

    struct Case {
        orders: Orders,
        history: History,
        now: Instant,
    }

    impl Case {
        fn new() -> Case {
            Case { orders: Orders::default(), history: History::default(), now: Instant::now() }
        }

        fn change(&mut self, pattern: &str, level: Level, owner: OrderLifetime) -> ChangeId {
            let before = self.orders.clone();
            let parsed = Arc::new(Pattern::parse(pattern).unwrap());
            let order = Order::new(pattern, level);
            self.orders
                .add(NewOrder {
                    pattern: parsed,
                    order,
                    copy: None,
                    owner,
                    by: Arc::default(),
                    stepped: None,
                })
                .unwrap();
            let (user, program) = (String::new(), String::new());
            self.history.push(
                before,
                ChangeRecord { t_unix_ms: 0, user, program, change: AuditedChange::order(pattern) },
            )
        }

        fn take(&mut self, id: ChangeId) -> Option<Reversal> {
            let reversal = self.history.take(id, &self.orders, self.now)?;
            self.orders.take_back(&reversal.added, &reversal.removed);
            Some(reversal)
        }

        /// Returns the order list before each change, then the present one.
        fn all(&self) -> Vec<Vec<String>> {
            let words = |orders: &Orders| {
                let word = |one: &Arc<Standing>| format!("{} {}", one.order.pattern, one.order.level);
                orders.all().iter().map(word).collect::<Vec<_>>()
            };
            let lists = self.history.changes.iter().map(|change| words(&change.before));
            lists.chain([words(&self.orders)]).collect()
        }
    }

    #[test]
    fn undo_restores_the_replaced_orders() {
        let mut case = Case::new();
        case.change("A.B", Level::Count, OrderLifetime::Kept);
        case.change("C.D", Level::Count, OrderLifetime::Kept);
        let off = case.change("A.B", Level::Off, OrderLifetime::Kept);
        case.change("E.F", Level::Count, OrderLifetime::Held(SessionId(1)));
        let (before, present) = (case.all(), case.orders.clone());
        let Reversal { change, added, removed } = case.take(off).expect("it is known");
        assert_eq!(case.all().last().unwrap(), &["A.B count", "C.D count", "E.F count"]);
        assert_eq!(case.orders.all()[0].owner, OrderLifetime::Kept);
        assert_eq!(case.history.len(), 3);
        assert!(case.take(off).is_none(), "it is already undone");
        // The undo was cancelled: everything is as before, including the lists of later changes.
        let back: Vec<OrderSeq> = removed.iter().map(|one| one.seq).collect();
        let gone: Vec<_> = present.all().iter().filter(|one| added.contains(&one.seq)).cloned().collect();
        case.orders.take_back(&back, &gone);
        case.history.put_back(change, &back, &gone);
        assert_eq!(case.all(), before);
    }

    #[test]
    fn keeps_fewer_large_lists() {
        let mut case = Case::new();
        for number in 0..MAX_UNDO + 3 {
            case.change(&format!("A.M{number}"), Level::Count, OrderLifetime::Kept);
        }
        assert_eq!(case.history.len(), MAX_UNDO);
        assert!(case.history.orders() <= MAX_UNDO * (MAX_UNDO + 3));
        let mut case = Case::new();
        for round in 0..10 {
            case.orders.clear();
            for number in 0..MAX_STANDING_ORDERS - 1 {
                let pattern = Arc::new(Pattern::parse("A.B").unwrap());
                let order = Order::new(format!("A.M{round}x{number}"), Level::Count);
                let by = Arc::default();
                let (copy, owner, stepped) = (None, OrderLifetime::Kept, None);
                case.orders.add(NewOrder { pattern, order, copy, owner, by, stepped }).unwrap();
            }
            case.change("A.B", Level::Count, OrderLifetime::Kept);
        }
        assert!((2..=5).contains(&case.history.len()), "{}", case.history.len());
        assert!(case.history.orders() <= MAX_REMEMBERED);
    }

    #[test]
    fn expired_orders_do_not_come_back() {
        let mut case = Case::new();
        let end = case.now + Duration::from_secs(1);
        case.change("A.B", Level::Count, OrderLifetime::Held(SessionId(1)));
        case.change("C.D", Level::Count, OrderLifetime::KeptUntil(end));
        let first = case.change("A.B", Level::Off, OrderLifetime::Kept);
        let second = case.change("C.D", Level::Off, OrderLifetime::Kept);
        case.change("E.F", Level::Count, OrderLifetime::Kept);
        case.history.end_session(SessionId(1));
        case.now = end;
        assert!(case.take(first).expect("known").removed.is_empty());
        assert!(case.take(second).expect("known").removed.is_empty());
        assert_eq!(case.all().last().unwrap(), &["E.F count"]);
    }

    #[test]
    fn undo_removes_the_budgets_steps_too() {
        let mut case = Case::new();
        case.change("E.F", Level::Count, OrderLifetime::Kept);
        let dialled = case.change("A.B", Level::Time, OrderLifetime::Kept);
        let of = case.orders.all()[1].seq;
        let step = |case: &mut Case, level| {
            let before = case.orders.clone();
            let pattern = Arc::new(Pattern::parse("A.B").unwrap());
            let stepped = Some(BudgetStepOrigin { of, cost: Share(700), limit: Share(500) });
            let (order, by) = (Order::new("A.B", level), Arc::default());
            let new = NewOrder { pattern, order, copy: None, owner: OrderLifetime::Kept, by, stepped };
            case.orders.add(new).unwrap();
            let (user, program) = (String::new(), "the budget".to_owned());
            case.history.push(
                before,
                ChangeRecord { t_unix_ms: 0, user, program, change: AuditedChange::order("A.B") },
            )
        };
        step(&mut case, Level::Count);
        let last = step(&mut case, Level::Off);
        let other = case.change("C.D", Level::Count, OrderLifetime::Kept);
        case.take(dialled).expect("it is known");
        assert_eq!(case.all().last().unwrap(), &["E.F count", "C.D count"]);
        assert!(
            case.all().iter().all(|list| !list.iter().any(|order| order.starts_with("A.B"))),
            "{:?}",
            case.all()
        );
        // Undoing later changes brings none of it back.
        case.take(other).expect("it is known");
        case.take(last).expect("it is known");
        assert_eq!(case.all().last().unwrap(), &["E.F count"]);
    }

    #[test]
    fn undoes_changes_of_one_order_separately() {
        let mut case = Case::new();
        let first = case.change("A.B", Level::Count, OrderLifetime::Held(SessionId(1)));
        let second = case.change("A.B", Level::Count, OrderLifetime::Kept);
        // The later replaced the earlier, which must no longer come back with it.
        case.take(first).expect("known");
        assert_eq!(case.all().last().unwrap(), &["A.B count"]);
        case.take(second).expect("known");
        assert!(case.orders.is_empty());
    }
}

//! The order lists that stood before the last changes, for undo.
#![forbid(unsafe_code)]

use super::orders::{OrderSeq, Orders, SessionId, Standing};
use redial_protocol::limits::{MAX_STANDING_ORDERS, MAX_UNDO};
use redial_protocol::message::AuditEntry;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Number of a change, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeId(pub u64);

/// What takes a change back.
#[derive(Debug)]
pub struct Reversal {
    /// The change, no longer in the history.
    pub change: Change,
    /// Orders that came with it, by their numbers.
    pub came: Vec<OrderSeq>,
    /// Orders that went with it.
    pub went: Vec<Arc<Standing>>,
}

/// A change of the orders.
#[derive(Clone, Debug)]
pub struct Change {
    id: ChangeId,
    /// What stood before it.
    pub before: Orders,
    /// Who changed what.
    pub what: AuditEntry,
    /// How many of `before` the change before it lacks; counted once, since a list may be long and there are many.
    fresh: usize,
}

/// Orders remembered at most, those that are in several lists once.
const REMEMBERED: usize = 4 * MAX_STANDING_ORDERS;

/// The latest [`MAX_UNDO`] changes, or fewer where they are large.
#[derive(Debug, Default)]
pub struct History {
    /// Oldest first.
    changes: VecDeque<Change>,
    last: u64,
}

impl History {
    /// Notes a change that was made.
    pub fn push(&mut self, before: Orders, what: AuditEntry) -> ChangeId {
        self.last += 1;
        let id = ChangeId(self.last);
        self.put_back(Change { id, before, what, fresh: 0 }, &[], &[]);
        id
    }

    /// Takes the last change out, to undo it. Orders whose time has passed meanwhile are no longer among it.
    pub fn pop(&mut self, now: Instant) -> Option<Change> {
        let mut change = self.changes.pop_back()?;
        change.before.expire(now);
        Some(change)
    }

    /// Takes a change out, to undo it alone; None when it is not known any more. `present` are the orders that stand.
    /// Orders whose time has passed meanwhile are not among those to come back.
    pub fn take(&mut self, id: ChangeId, present: &Orders, now: Instant) -> Option<Reversal> {
        let at = self.changes.iter().position(|change| change.id == id)?;
        let mut change = self.changes.remove(at)?;
        change.before.expire(now);
        let after = self.changes.get(at).map_or(present, |next| &next.before);
        let mut came = after.not_in(&change.before);
        let gone = |standing: &&Arc<Standing>| !after.stands(standing.seq);
        let went: Vec<_> = change.before.all().iter().filter(gone).cloned().collect();
        // What the budget stepped down of it goes along, now and wherever it is listed.
        let lists = self.changes.range(at..).map(|later| &later.before).chain([present]);
        let stepped = lists.flat_map(|list| list.stepped_from(&came)).collect::<BTreeSet<OrderSeq>>();
        came.extend(stepped);
        for later in self.changes.range_mut(at..) {
            later.before.take_back(&came, &went);
        }
        self.count_from(at);
        Some(Reversal { change, came, went })
    }

    /// Puts a change in again that was not undone after all: these orders had come back by its undoing, those had gone.
    pub fn put_back(&mut self, change: Change, came: &[OrderSeq], went: &[Arc<Standing>]) {
        let at = self.insert(change);
        for later in self.changes.range_mut(at..).skip(1) {
            later.before.take_back(came, went);
        }
        self.count_from(at);
        let surplus = self.changes.len().saturating_sub(MAX_UNDO);
        self.changes.drain(..surplus);
        while self.changes.len() > 1 && self.orders() > REMEMBERED {
            self.changes.pop_front();
        }
    }

    /// Orders that are kept for the lists, at most: one that went and came back is counted twice.
    fn orders(&self) -> usize {
        let first = self.changes.front().map_or(0, |change| change.before.len());
        first + self.changes.iter().skip(1).map(|change| change.fresh).sum::<usize>()
    }

    /// Counts anew what is fresh in the lists from this one on.
    fn count_from(&mut self, at: usize) {
        let changes = self.changes.make_contiguous();
        for at in at.max(1)..changes.len() {
            if let Some([earlier, later]) = changes.get_mut(at - 1..=at) {
                later.fresh = later.before.not_in(&earlier.before).len();
            }
        }
    }

    /// Puts a change in its place; which that is.
    fn insert(&mut self, change: Change) -> usize {
        let at = self.changes.partition_point(|other| other.id.0 < change.id.0);
        self.changes.insert(at, change);
        at
    }

    /// A change was taken back: neither it nor its orders are known any more.
    pub fn forget(&mut self, id: ChangeId, seqs: &[OrderSeq], replaced: &[Arc<Standing>]) {
        let Some(at) = self.changes.iter().position(|change| change.id == id) else { return };
        self.changes.remove(at);
        for later in self.changes.range_mut(at..) {
            later.before.take_back(seqs, replaced);
        }
        self.count_from(at);
    }

    /// A session ended: what it held does not come back.
    pub fn end_session(&mut self, session: SessionId) {
        for change in &mut self.changes {
            change.before.end_session(session);
        }
        self.count_from(0);
    }

    /// Changes that can be undone.
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
    use crate::planner::{NewOrder, Owner, Stepped};
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

        fn change(&mut self, pattern: &str, level: Level, owner: Owner) -> ChangeId {
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
            self.history.push(before, AuditEntry { t_unix_ms: 0, user, program, order: pattern.to_owned() })
        }

        fn take(&mut self, id: ChangeId) -> Option<Reversal> {
            let reversal = self.history.take(id, &self.orders, self.now)?;
            self.orders.take_back(&reversal.came, &reversal.went);
            Some(reversal)
        }

        /// The orders, and those before each change.
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
    fn one_change_goes_and_what_it_replaced_stands_as_it_stood() {
        let mut case = Case::new();
        case.change("A.B", Level::Count, Owner::Kept);
        case.change("C.D", Level::Count, Owner::Kept);
        let off = case.change("A.B", Level::Off, Owner::Kept);
        case.change("E.F", Level::Count, Owner::Held(SessionId(1)));
        let (before, present) = (case.all(), case.orders.clone());
        let Reversal { change, came, went } = case.take(off).expect("it is known");
        assert_eq!(case.all().last().unwrap(), &["A.B count", "C.D count", "E.F count"]);
        assert_eq!(case.orders.all()[0].owner, Owner::Kept);
        assert_eq!(case.history.len(), 3);
        assert!(case.take(off).is_none(), "it is taken back already");
        // It was cancelled: all is as before, the lists of later changes included.
        let back: Vec<OrderSeq> = went.iter().map(|one| one.seq).collect();
        let gone: Vec<_> = present.all().iter().filter(|one| came.contains(&one.seq)).cloned().collect();
        case.orders.take_back(&back, &gone);
        case.history.put_back(change, &back, &gone);
        assert_eq!(case.all(), before);
    }

    #[test]
    fn large_lists_are_fewer() {
        let mut case = Case::new();
        for number in 0..MAX_UNDO + 3 {
            case.change(&format!("A.M{number}"), Level::Count, Owner::Kept);
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
                let (copy, owner, stepped) = (None, Owner::Kept, None);
                case.orders.add(NewOrder { pattern, order, copy, owner, by, stepped }).unwrap();
            }
            case.change("A.B", Level::Count, Owner::Kept);
        }
        assert!((2..=5).contains(&case.history.len()), "{}", case.history.len());
        assert!(case.history.orders() <= REMEMBERED);
    }

    #[test]
    fn what_is_over_does_not_come_back() {
        let mut case = Case::new();
        let end = case.now + Duration::from_secs(1);
        case.change("A.B", Level::Count, Owner::Held(SessionId(1)));
        case.change("C.D", Level::Count, Owner::KeptUntil(end));
        let first = case.change("A.B", Level::Off, Owner::Kept);
        let second = case.change("C.D", Level::Off, Owner::Kept);
        case.change("E.F", Level::Count, Owner::Kept);
        case.history.end_session(SessionId(1));
        case.now = end;
        assert!(case.take(first).expect("known").went.is_empty());
        assert!(case.take(second).expect("known").went.is_empty());
        assert_eq!(case.all().last().unwrap(), &["E.F count"]);
    }

    #[test]
    fn what_the_budget_made_of_a_change_goes_with_it() {
        let mut case = Case::new();
        case.change("E.F", Level::Count, Owner::Kept);
        let dialled = case.change("A.B", Level::Time, Owner::Kept);
        let of = case.orders.all()[1].seq;
        let step = |case: &mut Case, level| {
            let before = case.orders.clone();
            let pattern = Arc::new(Pattern::parse("A.B").unwrap());
            let stepped = Some(Stepped { of, cost: Share(700), limit: Share(500) });
            let (order, by) = (Order::new("A.B", level), Arc::default());
            let new = NewOrder { pattern, order, copy: None, owner: Owner::Kept, by, stepped };
            case.orders.add(new).unwrap();
            let (user, program) = (String::new(), "the budget".to_owned());
            case.history.push(before, AuditEntry { t_unix_ms: 0, user, program, order: "A.B".into() })
        };
        step(&mut case, Level::Count);
        let last = step(&mut case, Level::Off);
        let other = case.change("C.D", Level::Count, Owner::Kept);
        case.take(dialled).expect("it is known");
        assert_eq!(case.all().last().unwrap(), &["E.F count", "C.D count"]);
        assert!(
            case.all().iter().all(|list| !list.iter().any(|order| order.starts_with("A.B"))),
            "{:?}",
            case.all()
        );
        // Nothing of it comes back with what was changed since.
        case.take(other).expect("it is known");
        case.take(last).expect("it is known");
        assert_eq!(case.all().last().unwrap(), &["E.F count"]);
    }

    #[test]
    fn of_changes_of_one_order_each_is_taken_back_alone() {
        let mut case = Case::new();
        let first = case.change("A.B", Level::Count, Owner::Held(SessionId(1)));
        let second = case.change("A.B", Level::Count, Owner::Kept);
        // The later replaced the earlier, which is not to come back with it any more.
        case.take(first).expect("known");
        assert_eq!(case.all().last().unwrap(), &["A.B count"]);
        case.take(second).expect("known");
        assert!(case.orders.is_empty());
    }
}

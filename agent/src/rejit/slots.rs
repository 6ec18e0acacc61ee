//! Slots: which rows have counters, and what becomes of both when their module unloads.
//!
//! Adding up what threads counted takes the longer the more threads there are, so it is never done under the ledger's lock:
//! numbers are read before or after, and where a row may have lost its slot meanwhile that is looked at again.
#![forbid(unsafe_code)]

use super::asynchronous::Asynchronous;
use super::ledger::{Book, Ledger};
use super::row::Row;
use crate::probes::async_leaf;
use crate::probes::blocks::{self, Slot};
use crate::probes::completions::Account;
use crate::probes::conditions;
use crate::probes::histogram::Histogram;
use crate::probes::timers::{self, Taken};
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::order::TimeOptions;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A row's counters.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The row.
    pub row: RowId,
    /// Its slot.
    pub slot: Slot,
    /// The slot's sum when the row got it.
    pub start: u64,
    /// Whether there are times to tell.
    pub timed: bool,
    /// The slot of the `MoveNext` in which its calls complete, where that has one.
    pub completes_in: Option<Slot>,
}

/// The last numbers of a row.
#[derive(Debug, Default)]
pub struct Last {
    /// Calls since it got its slot.
    pub calls: u64,
    /// Its times, where there were any.
    pub times: Option<Box<Taken>>,
}

/// Slots in use and free ones.
#[derive(Default)]
pub struct Slots {
    /// Given back, with the sum that each goes on from.
    free: Vec<(Slot, u64)>,
    next: u32,
    /// Runs of slots for async methods, from the other end: given back, and how many there ever were.
    free_runs: Vec<Slot>,
    runs: u32,
    counted: Vec<Counted>,
    revision: u64,
}

impl Slots {
    fn take(&mut self) -> Option<(Slot, u64)> {
        // A fresh slot has never been counted in.
        self.free.pop().or_else(|| {
            let fresh = (self.next < self.lowest_run()).then_some((Slot(self.next), 0));
            self.next += u32::from(fresh.is_some());
            fresh
        })
    }

    /// The lowest of the slots that runs have taken.
    fn lowest_run(&self) -> u32 {
        blocks::OWN.0.saturating_sub(self.runs.saturating_mul(async_leaf::SLOTS))
    }

    /// The slots of an async method; None when the budget is used up. What was noted there before stays.
    pub(super) fn take_run(&mut self) -> Option<Slot> {
        self.free_runs.pop().or_else(|| {
            let first =
                self.lowest_run().checked_sub(async_leaf::SLOTS).filter(|first| *first >= self.next)?;
            self.runs += 1;
            Some(Slot(first))
        })
    }

    /// They are nobody's.
    pub(super) fn give_back_run(&mut self, run: Slot) {
        self.free_runs.push(run);
    }

    /// Slots that were ever given.
    pub fn ever(&self) -> u32 {
        self.next
    }

    /// Slots in use.
    pub fn used(&self) -> u64 {
        let runs = u64::from(self.runs) - self.free_runs.len() as u64;
        u64::from(self.next) - self.free.len() as u64 + runs * u64::from(async_leaf::SLOTS)
    }

    /// Rows with counters, if that changed since `revision`; with the present revision.
    pub fn since(&self, revision: u64) -> Option<(u64, Vec<Counted>)> {
        (self.revision != revision).then(|| (self.revision, self.counted.clone()))
    }

    /// Which of these rows, as of `revision`, have lost their slot since: what was read there may be another's.
    pub fn lost_since(&self, revision: u64, rows: impl Iterator<Item = RowId>) -> HashSet<RowId> {
        if self.revision == revision {
            return HashSet::new();
        }
        let still: HashSet<RowId> = self.counted.iter().map(|counted| counted.row).collect();
        rows.filter(|row| !still.contains(row)).collect()
    }

    /// These rows have no slots any more.
    pub(super) fn forget(&mut self, rows: &[RowId]) {
        let rows: HashSet<RowId> = rows.iter().copied().collect();
        self.counted.retain(|counted| !rows.contains(&counted.row));
        self.revision += 1;
    }

    fn give_back(&mut self, slots: impl Iterator<Item = (Slot, u64)>) {
        self.free.extend(slots);
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.counted.capacity() * size_of::<Counted>() + self.free.capacity() * size_of::<(Slot, u64)>()
    }
}

impl Book {
    /// Gives a row its counters. False when the budget is used up.
    pub fn give_slot(&mut self, id: RowId) -> bool {
        let Some(row) = self.row(id) else { return false };
        if row.slot.is_some() {
            return true;
        }
        let Some((slot, start)) = self.slots.take() else { return false };
        if let Some(row) = self.row_mut(id) {
            row.slot = Some(slot);
            row.slot_start = start;
        }
        self.slots.counted.push(Counted { row: id, slot, start, timed: false, completes_in: None });
        self.slots.revision += 1;
        true
    }

    /// Notes which rows have times to tell, after some were asked for that had none.
    pub fn note_timed(&mut self) {
        let mut counted = std::mem::take(&mut self.slots.counted);
        for one in &mut counted {
            let row = self.row(one.row);
            one.timed = row.is_some_and(|row| row.was_timed);
            one.completes_in = row.and_then(|row| self.completes_in(row));
        }
        self.slots.counted = counted;
        self.slots.revision += 1;
    }

    fn completes_in(&self, row: &Row) -> Option<Slot> {
        let Some(Asynchronous::Starts(account)) = &row.asynchronous else { return None };
        self.row(self.find(row.what.module.id(), account.move_next)?)?.slot
    }

    /// The accounts of a module's rows.
    fn accounts_of(&self, key: ModuleKey) -> Vec<Arc<Account>> {
        let rows = self.rows_of(key).into_iter().filter_map(|id| self.row(id));
        rows.filter_map(|row| row.completes().map(Arc::clone)).collect()
    }

    /// The counters of a module's rows.
    fn counted_of(&self, key: ModuleKey) -> Vec<Counted> {
        let rows = self.rows_of(key).into_iter().filter_map(|id| self.row(id));
        let counted = rows.filter_map(|row| {
            let (row, slot, start, timed) = (row.id, row.slot?, row.slot_start, row.was_timed);
            Some(Counted { row, slot, start, timed, completes_in: None })
        });
        counted.collect()
    }
}

impl Ledger {
    /// A module unloads: its rows are lost, with their last numbers, and their slots go to others.
    pub fn lose(&self, key: ModuleKey) {
        let (counted, accounts) = {
            let book = self.book();
            (book.counted_of(key), book.accounts_of(key))
        };
        accounts.iter().for_each(|account| account.finish());
        // Nobody runs its code any more.
        let last = last_numbers(&counted);
        let freed = self.change(|book, now| book.lose(key, last, now));
        if freed.is_empty() {
            return;
        }
        freed.iter().for_each(|(slot, _)| conditions::set(*slot, TimeOptions::default()));
        freed.iter().filter(|(_, timed)| *timed).for_each(|(slot, _)| timers::reset(*slot));
        let slots: Vec<Slot> = freed.iter().map(|(slot, _)| *slot).collect();
        let mut sums = Vec::new();
        blocks::sum(&slots, &mut sums);
        self.book().slots.give_back(slots.into_iter().zip(sums));
    }
}

fn last_numbers(counted: &[Counted]) -> HashMap<RowId, Last> {
    let slots: Vec<Slot> = counted.iter().map(|one| one.slot).collect();
    let mut sums = Vec::new();
    blocks::sum(&slots, &mut sums);
    let calls =
        |(one, sum): (&Counted, u64)| (one.row, Last { calls: sum.saturating_sub(one.start), times: None });
    let mut last: HashMap<RowId, Last> = counted.iter().zip(sums).map(calls).collect();
    let timed: Vec<&Counted> = counted.iter().filter(|one| one.timed).collect();
    let slots: Vec<Slot> = timed.iter().map(|one| one.slot).collect();
    for (one, taken) in timed.into_iter().zip(timers::taken(&slots, &mut Histogram::default())) {
        if let Some(last) = last.get_mut(&one.row) {
            last.times = Some(Box::new(taken));
        }
    }
    last
}

/// Tests, and ledgers for those of others.
#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::catalogue::Module;
    use crate::probes::lacks::{self, Lacks};
    use crate::probes::time_leaf;
    use crate::rejit::row::Identity;
    use redial_protocol::level::Level;
    use redial_protocol::state::State;
    use std::sync::Arc;

    /// A ledger whose slots are nobody else's, as long as each test has numbers of its own.
    pub fn ledger(first_slot: u32) -> Ledger {
        let ledger = Ledger::default();
        ledger.book().slots.next = first_slot;
        ledger
    }

    /// A method's key and its row, which is live and timed in a slot.
    pub fn timed(ledger: &Ledger, module_id: u64) -> (ModuleKey, RowId, Slot) {
        let key = ModuleKey { module_id, generation: module_id as u32 };
        let what = Identity::sample(Arc::new(Module::sample(key, "Sample")), 0x0600_0001);
        let mut book = ledger.book();
        let id = book.add_row(what, None).unwrap();
        assert!(book.give_slot(id));
        let row = book.row_mut(id).unwrap();
        (row.wanted, row.state, row.was_timed) = (Level::Time, State::Live, true);
        let slot = row.slot.unwrap();
        book.note_timed();
        (key, id, slot)
    }

    /// So many calls of it, on a thread of their own.
    pub fn calls(slot: Slot, number: u32) {
        let run = move || (0..number).for_each(|_| time_leaf::tests::call(slot.0, &mut 0, || true));
        std::thread::spawn(run).join().unwrap();
    }

    #[test]
    fn a_module_that_goes_leaves_its_last_numbers_and_a_slot_that_begins_anew() {
        let ledger = ledger(140);
        let (key, row, slot) = timed(&ledger, 1);
        calls(slot, 3);
        lacks::note(slot.0 as usize * 8, Lacks::Buckets);
        let revision = ledger.book().slots.revision;
        ledger.lose(key);

        let told =
            |id| ledger.book().row(id).map(|row| (row.status(String::new(), 0), row.final_calls)).unwrap();
        let (status, final_calls) = told(row);
        assert_eq!((status.state, final_calls), (State::Lost, 3));
        assert!(status.note.is_some_and(|note| note.contains("unloaded")));
        assert_eq!(
            status.times_note,
            Lacks::Buckets.sentence(),
            "what is missing of its times is still told"
        );
        let times = *ledger.book().row(row).and_then(|row| row.final_times.as_deref()).unwrap();
        assert_eq!((times.sums.exits, times.percentiles, times.lacks), (3, None, Lacks::Buckets));
        let lost = ledger.book().slots.lost_since(revision, [row].into_iter());
        assert_eq!(lost, HashSet::from([row]));

        let (other_key, other, again) = timed(&ledger, 2);
        assert_eq!((again, ledger.book().slots.ever()), (slot, 141), "no slot more");
        calls(again, 2);
        assert_eq!(timers::sum(again).exits, 2);
        assert_eq!(told(other).0.times_note, None);
        ledger.lose(other_key);
        assert_eq!((told(other).1, told(row).1), (2, 3));
    }

    #[test]
    fn a_row_that_got_its_slot_while_its_module_went_was_not_called() {
        let ledger = ledger(150);
        let (key, row, slot) = timed(&ledger, 1);
        calls(slot, 5);
        let freed = ledger.change(|book, now| book.lose(key, HashMap::new(), now));
        assert_eq!(freed, [(slot, true)]);
        let book = ledger.book();
        assert_eq!(book.row(row).map(|row| (row.final_calls, row.final_times.is_some())), Some((0, false)));
    }

    #[test]
    fn async_methods_have_runs_of_slots_that_nobody_else_has() {
        let mut slots = Slots::default();
        let (first, second) = (slots.take_run().unwrap(), slots.take_run().unwrap());
        assert_eq!((first.0, second.0), (blocks::OWN.0 - async_leaf::SLOTS, first.0 - async_leaf::SLOTS));
        assert_eq!((slots.used(), slots.ever()), (2 * u64::from(async_leaf::SLOTS), 0));
        slots.give_back_run(first);
        assert_eq!((slots.used(), slots.take_run()), (u64::from(async_leaf::SLOTS), Some(first)));
        // From both ends until nothing is left between.
        slots.next = second.0 - 8;
        let last = slots.take_run().unwrap();
        assert_eq!((last.0, slots.take_run()), (second.0 - 6, None));
        assert_eq!(
            [(); 3].map(|()| slots.take().map(|(slot, _)| slot.0)),
            [Some(last.0 - 2), Some(last.0 - 1), None]
        );
    }
}

//! Slots: assigns counters to rows, and handles both when their module unloads.
//!
//! Summing the counters of all threads takes longer with more threads, so it never happens under the ledger's lock.
//! Numbers are read before or after, followed by a check whether a row lost its slot meanwhile.
#![forbid(unsafe_code)]

use crate::probes::async_helper;
use crate::probes::blocks::{self, Slot};
use redial_protocol::ids::RowId;
use std::collections::HashSet;

/// The first slot that belongs to a row.
const FIRST: u32 = blocks::MEASUREMENT_SLOT.0 + 1;

/// A row's counters.
#[derive(Clone, Copy, Debug)]
pub struct CountedRow {
    /// The row.
    pub row: RowId,
    /// Its slot.
    pub slot: Slot,
    /// The slot's sum when the row got it.
    pub start: u64,
    /// Whether it has times.
    pub timed: bool,
    /// The slot of the `MoveNext` in which its calls complete, if that has one.
    pub completion_slot: Option<Slot>,
}

/// Slots in use and free ones.
#[derive(Default)]
pub struct Slots {
    /// Slots given back, with the sum that each continues from.
    free: Vec<(Slot, u64)>,
    pub(super) next: u32,
    /// Runs of slots for async methods, allocated from the other end: those given back, and the number ever
    /// allocated.
    free_runs: Vec<Slot>,
    runs: u32,
    pub(super) counted: Vec<CountedRow>,
    pub(super) revision: u64,
}

impl Slots {
    pub(super) fn take(&mut self) -> Option<(Slot, u64)> {
        // A fresh slot has never counted anything.
        self.free.pop().or_else(|| {
            let fresh = FIRST + self.next;
            let is_free = fresh < self.lowest_run();
            self.next += u32::from(is_free);
            is_free.then_some((Slot(fresh), 0))
        })
    }

    /// Returns the lowest slot allocated to runs.
    fn lowest_run(&self) -> u32 {
        blocks::capacity().saturating_sub(self.runs.saturating_mul(async_helper::SLOTS))
    }

    /// Returns the numbers of slots, from the first and from the end, that may be in use after this many more copies
    /// and async methods got theirs.
    pub fn room_with(&self, copies: usize, runs: usize) -> (u32, u32) {
        let sum = |slots: u32, more: usize| slots.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        (sum(FIRST + self.next, copies), sum(self.runs, runs).saturating_mul(async_helper::SLOTS))
    }

    /// Allocates the slots of an async method; None if the budget is used up. Keeps earlier records there.
    pub(super) fn allocate_run(&mut self) -> Option<Slot> {
        self.free_runs.pop().or_else(|| {
            let first = self
                .lowest_run()
                .checked_sub(async_helper::SLOTS)
                .filter(|first| *first >= FIRST + self.next)?;
            self.runs += 1;
            Some(Slot(first))
        })
    }

    /// Frees a run.
    pub(super) fn free_run(&mut self, run: Slot) {
        self.free_runs.push(run);
    }

    /// Returns the number of slots ever allocated.
    #[cfg(test)]
    pub fn ever(&self) -> u32 {
        self.next
    }

    /// Returns the number of slots in use.
    pub fn used(&self) -> u64 {
        let runs = u64::from(self.runs) - self.free_runs.len() as u64;
        u64::from(self.next) - self.free.len() as u64 + runs * u64::from(async_helper::SLOTS)
    }

    /// Returns the present revision and the rows with counters, if they changed since `revision`.
    pub fn since(&self, revision: u64) -> Option<(u64, Vec<CountedRow>)> {
        (self.revision != revision).then(|| (self.revision, self.counted.clone()))
    }

    /// Returns those of these rows, as of `revision`, that have lost their slot since: numbers read there may be
    /// another row's.
    pub fn lost_since(&self, revision: u64, rows: impl Iterator<Item = RowId>) -> HashSet<RowId> {
        if self.revision == revision {
            return HashSet::new();
        }
        let still: HashSet<RowId> = self.counted.iter().map(|counted| counted.row).collect();
        rows.filter(|row| !still.contains(row)).collect()
    }

    /// Removes the counters of these rows.
    pub(super) fn forget(&mut self, rows: &[RowId]) {
        let rows: HashSet<RowId> = rows.iter().copied().collect();
        self.counted.retain(|counted| !rows.contains(&counted.row));
        self.revision += 1;
    }

    pub(super) fn give_back(&mut self, slots: impl Iterator<Item = (Slot, u64)>) {
        self.free.extend(slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn async_methods_get_separate_runs_of_slots() {
        let mut slots = Slots::default();
        let (first, second) = (slots.allocate_run().unwrap(), slots.allocate_run().unwrap());
        assert_eq!(
            (first.0, second.0),
            (blocks::capacity() - async_helper::SLOTS, first.0 - async_helper::SLOTS)
        );
        assert_eq!((slots.used(), slots.ever()), (2 * u64::from(async_helper::SLOTS), 0));
        slots.free_run(first);
        assert_eq!((slots.used(), slots.allocate_run()), (u64::from(async_helper::SLOTS), Some(first)));
        // From both ends, until nothing is left between.
        slots.next = second.0 - 9;
        let last = slots.allocate_run().unwrap();
        assert_eq!((last.0, slots.allocate_run()), (second.0 - 6, None));
        assert_eq!(
            [(); 3].map(|()| slots.take().map(|(slot, _)| slot.0)),
            [Some(last.0 - 2), Some(last.0 - 1), None]
        );
    }
}

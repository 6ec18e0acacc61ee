//! Totals of slots over all threads.

use super::call_sites;
use super::octave::Octave;
use super::record::{NONE, Record};
use super::timer::all;
use crate::probes::arena;
use crate::probes::blocks::Slot;
use crate::probes::histogram::{self, Histogram};
use crate::probes::missing_data::{self, MissingData};
use crate::sync::long_work;
use std::sync::atomic::{AtomicU64, Ordering};

/// Totals of a slot's calls over all threads, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSums {
    /// Calls in flight.
    pub in_flight: u64,
    /// Calls that ended.
    pub exits: u64,
    /// Calls among them that ended with an exception.
    pub exceptions: u64,
    /// Time in the outermost activations of each thread.
    pub total: u64,
    /// The same time without dialled callees; recursion counts once.
    pub own: u64,
    /// Longest call.
    pub max: u64,
}

impl TimeSums {
    fn add(&mut self, record: &Record) {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        // Read in the reverse order of writing, so each value is at least as recent as the ones before.
        let ended = record.ended.load(Ordering::Acquire);
        self.exits += ended.saturating_sub(of(&record.given_up));
        self.in_flight += of(&record.entered).saturating_sub(ended);
        self.exceptions += of(&record.exceptions);
        self.total = self.total.saturating_add(of(&record.total));
        self.own = self.own.saturating_add(of(&record.own));
        self.max = self.max.max(of(&record.max));
    }
}

/// Sums each slot's records, thread by thread. Calls that begin or end meanwhile are in these sums or in the
/// next ones. Takes longer with more slots and threads, so do not call it under a lock that others wait for.
pub fn sums(slots: &[Slot]) -> Vec<TimeSums> {
    long_work();
    let mut sums = vec![TimeSums::default(); slots.len()];
    for timer in all() {
        for (slot, sums) in slots.iter().zip(&mut sums) {
            if let Some(record) = timer.record(*slot) {
                sums.add(record);
            }
        }
    }
    sums
}

/// Returns the sums of one slot.
pub fn sum(slot: Slot) -> TimeSums {
    sums(&[slot]).first().copied().unwrap_or_default()
}

/// Sums a slot's histograms into `histogram`, which is cleared first.
pub fn fill_histogram(slot: Slot, histogram: &mut Histogram) {
    histogram.clear();
    let Some(base) = arena::made() else { return };
    for record in all().filter_map(|timer| timer.record(slot)) {
        // Read first: if this call moves to its bucket meanwhile, that bucket stands for the call that replaces
        // it here.
        let pending = record.pending.load(Ordering::Acquire);
        if pending != NONE {
            let (octave, bucket) = histogram::place(pending);
            histogram.add(octave, bucket, 1);
        }
        for (number, entry) in record.octaves.iter().enumerate() {
            let Some(octave) = Octave::at(base, entry.load(Ordering::Acquire)) else { continue };
            for (bucket, calls) in octave.calls().into_iter().enumerate() {
                histogram.add(number, bucket, calls);
            }
        }
    }
}

/// A slot's times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotTimes {
    /// Totals.
    pub sums: TimeSums,
    /// 50th, 90th and 99th percentile; None without calls, and if the histogram lacks some.
    pub percentiles: Option<[u64; 3]>,
    /// Missing part of the times.
    pub missing_data: MissingData,
}

/// Returns the times of slots, using the memory of `histogram`; takes longer than [`sums`].
pub fn slot_times(slots: &[Slot], histogram: &mut Histogram) -> Vec<SlotTimes> {
    let mut of_slot = |(slot, sums): (&Slot, TimeSums)| {
        let missing_data = missing_data::of(*slot);
        let is_known = matches!(missing_data, MissingData::Nothing | MissingData::Calls) && sums.exits > 0;
        let percentiles = is_known.then(|| {
            fill_histogram(*slot, histogram);
            let at_most = |per_mille| histogram.quantile(per_mille).map(|ticks| ticks.min(sums.max));
            Some([at_most(500)?, at_most(900)?, at_most(990)?])
        });
        SlotTimes { sums, percentiles: percentiles.flatten(), missing_data }
    };
    slots.iter().zip(sums(slots)).map(&mut of_slot).collect()
}

/// Forgets everything about a slot. Its code must not run any more.
pub fn reset(slot: Slot) {
    missing_data::forget(slot);
    call_sites::reset(slot);
    let Some(base) = arena::made() else { return };
    for record in all().filter_map(|timer| timer.record(slot)) {
        let Record { entered, ended, exceptions, total, own, max, given_up, usual, pending, octaves } =
            record;
        let numbers = [entered, ended, exceptions, total, own, max, given_up, usual];
        numbers.iter().for_each(|number| number.store(0, Ordering::Relaxed));
        pending.store(NONE, Ordering::Relaxed);
        octaves
            .iter()
            .filter_map(|entry| Octave::at(base, entry.load(Ordering::Acquire)))
            .for_each(Octave::reset);
    }
}

//! What all threads together know of slots.

use super::super::arena;
use super::super::blocks::Slot;
use super::super::histogram::{self, BUCKETS, Histogram};
use super::super::lacks::{self, Lacks, lacks};
use super::{NONE, Record, all, sites};
use crate::sync::long_work;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all threads know of a slot's calls, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls under way.
    pub in_flight: u64,
    /// Calls that ended.
    pub exits: u64,
    /// Those of them that ended by an exception.
    pub exceptions: u64,
    /// In outermost activations of each thread.
    pub total: u64,
    /// The same without dialled callees, recursion included once.
    pub own: u64,
    /// The longest call.
    pub max: u64,
}

impl Sums {
    fn add(&mut self, record: &Record) {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        // In the order in which they are written, turned round: so each is at least as much as the ones before.
        let ended = record.ended.load(Ordering::Acquire);
        self.exits += ended.saturating_sub(of(&record.given_up));
        self.in_flight += of(&record.entered).saturating_sub(ended);
        self.exceptions += of(&record.exceptions);
        self.total = self.total.saturating_add(of(&record.total));
        self.own = self.own.saturating_add(of(&record.own));
        self.max = self.max.max(of(&record.max));
    }
}

/// Adds each slot's records up, thread by thread; calls that begin or end meanwhile are in these sums or in the next ones. It
/// takes the longer the more slots and threads there are: under no lock that others wait for.
pub fn sums(slots: &[Slot]) -> Vec<Sums> {
    long_work();
    let mut sums = vec![Sums::default(); slots.len()];
    for timer in all() {
        for (slot, sums) in slots.iter().zip(&mut sums) {
            if let Some(record) = timer.record(*slot) {
                sums.add(record);
            }
        }
    }
    sums
}

/// The sums of one slot.
pub fn sum(slot: Slot) -> Sums {
    sums(&[slot]).first().copied().unwrap_or_default()
}

/// Adds a slot's histograms up, into `histogram`, which is emptied first.
pub fn fill(slot: Slot, histogram: &mut Histogram) {
    histogram.clear();
    let Some(base) = arena::made() else { return };
    for record in all().filter_map(|timer| timer.record(slot)) {
        // First: what goes into its bucket meanwhile then stands for the call that takes its place.
        let pending = record.pending.load(Ordering::Acquire);
        if pending != NONE {
            let (octave, bucket) = histogram::place(pending);
            histogram.add(octave, bucket, 1);
        }
        for (octave, unit) in record.octaves.iter().enumerate() {
            let unit = unit.load(Ordering::Acquire) as usize;
            if unit == 0 {
                continue;
            }
            // SAFETY: the unit is in the arena, an array of BUCKETS counts.
            let counts = unsafe {
                std::slice::from_raw_parts(base.add(unit * arena::UNIT).cast::<AtomicU64>().as_ptr(), BUCKETS)
            };
            for (bucket, count) in counts.iter().enumerate() {
                histogram.add(octave, bucket, count.load(Ordering::Relaxed));
            }
        }
    }
}

/// A slot's times, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Sums.
    pub sums: Sums,
    /// 50, 90 and 99 of a hundred calls took at most so long; None of no calls, and where some are not in the histogram.
    pub percentiles: Option<[u64; 3]>,
    /// What is missing.
    pub lacks: Lacks,
}

/// The times of slots, read with the memory of `histogram`; as long as [`sums`] takes and longer.
pub fn taken(slots: &[Slot], histogram: &mut Histogram) -> Vec<Taken> {
    let mut of_slot = |(slot, sums): (&Slot, Sums)| {
        let lacks = lacks(*slot);
        let is_known = matches!(lacks, Lacks::Nothing | Lacks::Calls) && sums.exits > 0;
        let percentiles = is_known.then(|| {
            fill(*slot, histogram);
            let at_most = |per_mille| histogram.quantile(per_mille).map(|ticks| ticks.min(sums.max));
            Some([at_most(500)?, at_most(900)?, at_most(990)?])
        });
        Taken { sums, percentiles: percentiles.flatten(), lacks }
    };
    slots.iter().zip(sums(slots)).map(&mut of_slot).collect()
}

/// Forgets what is known of a slot. Nobody runs its code any more.
pub fn reset(slot: Slot) {
    lacks::forget(slot);
    sites::reset(slot);
    let Some(base) = arena::made() else { return };
    for record in all().filter_map(|timer| timer.record(slot)) {
        let Record { entered, ended, exceptions, total, own, max, given_up, usual, pending, octaves } =
            record;
        let numbers = [entered, ended, exceptions, total, own, max, given_up, usual];
        numbers.iter().for_each(|number| number.store(0, Ordering::Relaxed));
        pending.store(NONE, Ordering::Relaxed);
        for unit in octaves.iter().map(|unit| unit.load(Ordering::Acquire) as usize).filter(|unit| *unit != 0)
        {
            // SAFETY: the unit is in the arena, an array of BUCKETS counts.
            let counts = unsafe {
                std::slice::from_raw_parts(base.add(unit * arena::UNIT).cast::<AtomicU64>().as_ptr(), BUCKETS)
            };
            counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
    }
}

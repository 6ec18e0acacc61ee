//! Call sites of a slot, over all threads.

use super::site_chains::{OTHERS, Unit};
use super::timer::all;
use crate::probes::blocks::Slot;
use crate::sync::long_work;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

pub use super::site_chains::{add_other, places_seen};

/// Forgets the call sites of a slot; its chains stay. Its code must not run any more.
pub(super) fn reset(slot: Slot) {
    if let Some(others) = OTHERS.get(slot.0 as usize) {
        others.store(0, Ordering::Relaxed);
    }
    all().flat_map(|timer| timer.sites(slot)).for_each(Unit::reset);
}

/// Origins of the calls of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Calls by return address.
    pub calls: HashMap<usize, u64>,
    /// Calls from other call sites.
    pub others: u64,
}

/// Sums over all threads. Takes longer with more threads, so do not call it under a lock that others wait for.
pub fn sites(slot: Slot) -> Sites {
    long_work();
    let mut sites = Sites::default();
    for unit in all().flat_map(|timer| timer.sites(slot)) {
        sites.others += unit.others.load(Ordering::Relaxed);
        for entry in &unit.entries {
            let address = entry.address.load(Ordering::Acquire);
            if address != 0 {
                *sites.calls.entry(address).or_default() += entry.calls.load(Ordering::Relaxed);
            }
        }
    }
    sites.others += OTHERS.get(slot.0 as usize).map_or(0, |others| others.load(Ordering::Relaxed));
    sites
}

//! Conditions for recording calls of a slot (`slowest_calls`). A condition is evaluated when a call ends that
//! was longer than its thread's record expects, or with an exception. The ReJIT thread sets conditions, and
//! helpers read them, without a lock.
#![forbid(unsafe_code)]

use super::blocks::{MAX_SLOTS, Slot};
use redial_protocol::order::TimeOptions;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// There is a condition.
const STANDS: u64 = 1 << 63;
/// Only calls that ended with an exception.
const FAILED_ONLY: u64 = 1 << 62;
/// Only calls that took longer than this many ticks.
const SLOWER: u64 = 1 << 61;
const TICKS: u64 = SLOWER - 1;

/// State of a slot besides its records.
pub(super) struct SlotCondition {
    condition: AtomicU64,
    /// Number of conditions so far; calls recorded for an earlier one are void.
    generation: AtomicU32,
    /// First unit of its list (`slowest_calls`); 0 if none was needed yet.
    pub(super) list: AtomicU32,
}

static SLOTS: [SlotCondition; MAX_SLOTS as usize] = [const {
    SlotCondition { condition: AtomicU64::new(0), generation: AtomicU32::new(0), list: AtomicU32::new(0) }
}; MAX_SLOTS as usize];

/// Slots with a condition.
static STANDING: AtomicU32 = AtomicU32::new(0);

/// The condition of a slot, possibly none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition(u64);

impl Condition {
    const NONE: Condition = Condition(0);

    /// Converts [`TimeOptions`]; calls `ns_per_tick` if there is a threshold.
    pub(super) fn of(options: TimeOptions, ns_per_tick: impl FnOnce() -> f64) -> Condition {
        if !options.keeps_calls() {
            return Condition::NONE;
        }
        let slower = |ns: u64| SLOWER | ((ns as f64 / ns_per_tick()) as u64).min(TICKS);
        let failed = if options.failed_only { FAILED_ONLY } else { 0 };
        Condition(STANDS | failed | options.slower_than_ns.map_or(0, slower))
    }

    /// Returns the ticks beyond which a call that returns must be checked.
    pub(super) fn alarm(self) -> u64 {
        match self.0 & (STANDS | FAILED_ONLY | SLOWER) {
            with if with == STANDS | SLOWER => self.0 & TICKS,
            _ => u64::MAX,
        }
    }

    /// Returns whether the condition holds for a call.
    pub(super) fn holds(self, took: u64, thrown: bool) -> bool {
        self.0 & STANDS != 0
            && (thrown || self.0 & FAILED_ONLY == 0)
            && (self.0 & SLOWER == 0 || took > self.0 & TICKS)
    }
}

impl SlotCondition {
    /// Returns the state of the slot at this offset in a block.
    pub(super) fn at(slot_offset: usize) -> Option<&'static SlotCondition> {
        SLOTS.get(slot_offset / size_of::<AtomicU64>())
    }

    /// Returns the state of a slot.
    pub(super) fn of(slot: Slot) -> Option<&'static SlotCondition> {
        SLOTS.get(slot.0 as usize)
    }

    /// Returns the generation. Read it before the condition: calls recorded for an earlier condition are void.
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(super) fn condition(&self) -> Condition {
        Condition(self.condition.load(Ordering::SeqCst))
    }

    pub(super) fn set(&self, condition: Condition) -> bool {
        if self.condition() == condition {
            return false;
        }
        let before = self.condition.swap(0, Ordering::SeqCst);
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.condition.store(condition.0, Ordering::SeqCst);
        match (before & STANDS != 0, condition.0 & STANDS != 0) {
            (false, true) => _ = STANDING.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = STANDING.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
        true
    }
}

/// Returns whether any slot has a condition.
pub fn any() -> bool {
    STANDING.load(Ordering::Relaxed) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_select_slow_failed_or_both() {
        let of = |slower_than_ns, failed_only| {
            Condition::of(TimeOptions { slower_than_ns, failed_only, ..TimeOptions::default() }, || 0.5)
        };
        let holds = |condition: Condition| {
            [(10, false), (21, false), (10, true), (21, true)]
                .map(|(took, thrown)| condition.holds(took, thrown))
        };
        assert_eq!(holds(of(None, false)), [false; 4]);
        assert_eq!(holds(of(Some(10), false)), [false, true, false, true]);
        assert_eq!(holds(of(None, true)), [false, false, true, true]);
        assert_eq!(holds(of(Some(10), true)), [false, false, false, true]);
        let alarms = [(None, false), (Some(10), false), (None, true), (Some(10), true)];
        let alarms = alarms.map(|(slower, failed)| of(slower, failed).alarm());
        assert_eq!(alarms, [u64::MAX, 20, u64::MAX, u64::MAX]);
        assert_eq!(of(Some(u64::MAX), false).alarm(), TICKS);
    }
}

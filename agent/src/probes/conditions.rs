//! Conditions: which calls of a slot are kept (`worst`), evaluated where a call ends that is longer than its thread's
//! record expects, or that an exception ended. Set by the ReJIT thread, read by leaves, without a lock.
#![forbid(unsafe_code)]

use super::blocks::{MAX_SLOTS, Slot};
use super::{clock, timers, worst};
use crate::sync::lock;
use redial_protocol::order::TimeOptions;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A condition stands.
const STANDS: u64 = 1 << 63;
/// Only calls that ended by an exception.
const FAILED_ONLY: u64 = 1 << 62;
/// Only calls that took longer than so many ticks.
const SLOWER: u64 = 1 << 61;
const TICKS: u64 = SLOWER - 1;

/// What is known of a slot beside its records.
pub(super) struct OfSlot {
    condition: AtomicU64,
    /// Counts the conditions it had: what was kept for an earlier one is void.
    generation: AtomicU32,
    /// First unit of its list (`worst`); 0 where none was needed yet.
    pub(super) list: AtomicU32,
}

static SLOTS: [OfSlot; MAX_SLOTS as usize] = [const {
    OfSlot { condition: AtomicU64::new(0), generation: AtomicU32::new(0), list: AtomicU32::new(0) }
}; MAX_SLOTS as usize];

/// Slots with a condition.
static STANDING: AtomicU32 = AtomicU32::new(0);

/// A slot's condition as it stands; also none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition(u64);

impl Condition {
    const NONE: Condition = Condition(0);

    /// For [`TimeOptions`]; `ns_per_tick` is asked for where there is a threshold.
    fn of(options: TimeOptions, ns_per_tick: impl FnOnce() -> f64) -> Condition {
        if !options.keeps_calls() {
            return Condition::NONE;
        }
        let slower = |ns: u64| SLOWER | ((ns as f64 / ns_per_tick()) as u64).min(TICKS);
        let failed = if options.failed_only { FAILED_ONLY } else { 0 };
        Condition(STANDS | failed | options.slower_than_ns.map_or(0, slower))
    }

    /// Ticks beyond which a call that returns is to be looked at.
    pub(super) fn alarm(self) -> u64 {
        match self.0 & (STANDS | FAILED_ONLY | SLOWER) {
            with if with == STANDS | SLOWER => self.0 & TICKS,
            _ => u64::MAX,
        }
    }

    /// Whether it holds for a call.
    pub(super) fn holds(self, took: u64, thrown: bool) -> bool {
        self.0 & STANDS != 0
            && (thrown || self.0 & FAILED_ONLY == 0)
            && (self.0 & SLOWER == 0 || took > self.0 & TICKS)
    }
}

impl OfSlot {
    /// Of the slot at this offset in a block.
    pub(super) fn at(slot_offset: usize) -> Option<&'static OfSlot> {
        SLOTS.get(slot_offset / size_of::<AtomicU64>())
    }

    /// To be read before the condition: what is kept for one that has gone is void.
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(super) fn condition(&self) -> Condition {
        Condition(self.condition.load(Ordering::SeqCst))
    }

    fn set(&self, condition: Condition) -> bool {
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

/// Sets or takes away which calls of a slot are kept, for all threads at once. What was kept before is void where that
/// changes. May wait for milliseconds; not for leaves.
pub fn set(slot: Slot, options: TimeOptions) {
    static SETTING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&SETTING);
    let Some(of_slot) = SLOTS.get(slot.0 as usize) else { return };
    if options.keeps_calls() {
        clock::begin();
        worst::begin(clock::ns_per_tick());
    }
    let condition = Condition::of(options, clock::ns_per_tick);
    if of_slot.set(condition) {
        // After the condition is there: an owner that missed it has its alarm lowered here (`Timer::look_at`).
        timers::lower_alarms(slot, condition.alarm());
    }
}

/// Whether any slot has a condition.
pub fn any() -> bool {
    STANDING.load(Ordering::Relaxed) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_slower_failed_or_both() {
        let of = |slower_than_ns, failed_only| {
            Condition::of(TimeOptions { slower_than_ns, failed_only, callers: true }, || 0.5)
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

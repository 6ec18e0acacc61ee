//! One thread's share of a method's rate, and the calls of the method that it dropped.

use super::entry::TracedMethod;
use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Methods for which a thread holds grants at once; two that share a place take turns.
pub(super) const GRANTS: usize = 64;

/// One thread's grants and dropped calls of a method. Zeroed memory is one.
#[repr(C)]
pub(super) struct Grant {
    pub(super) method: AtomicPtr<TracedMethod>,
    /// Calls that may still be captured.
    pub(super) left: Cell<u32>,
    pub(super) over_rate: AtomicU64,
    pub(super) no_room: AtomicU64,
    pub(super) undecided: AtomicU64,
}

impl Grant {
    pub(super) fn count_over_rate(&self) {
        add(&self.over_rate);
    }

    pub(super) fn count_no_room(&self) {
        add(&self.no_room);
    }

    pub(super) fn count_undecided(&self) {
        add(&self.undecided);
    }
}

/// Adds to a number that only the owner writes.
fn add(number: &AtomicU64) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

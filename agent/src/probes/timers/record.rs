//! Memory layout of a timer: the record of a slot and the frame of a call in flight.

use crate::probes::arena;
use crate::probes::histogram::OCTAVES;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Number of frames per thread, one more than the nested calls that can be timed; deeper calls are only
/// counted.
pub(crate) const MAX_FRAMES: usize = 1 << 17;

/// One thread's record of the calls of one slot, in ticks.
#[repr(C, align(64))]
pub(super) struct Record {
    /// Timed calls that began.
    pub(super) entered: AtomicU64,
    /// Calls that are over. When all but one are over, the one that ends is an outermost activation.
    pub(super) ended: AtomicU64,
    pub(super) exceptions: AtomicU64,
    /// Time in outermost activations.
    pub(super) total: AtomicU64,
    /// Time without dialled callees.
    pub(super) own: AtomicU64,
    pub(super) max: AtomicU64,
    /// Calls that are over without having been timed.
    pub(super) given_up: AtomicU64,
    /// Longest duration that needs no check: equal to `max`, or less if a condition requires checks (`alarm`).
    pub(super) usual: AtomicU64,
    /// Duration of the last finished call, which is not in a bucket yet, or [`NONE`]. It is delayed because a
    /// write to memory must not have an address that depends on a fresh reading of the counter: that costs 3
    /// ns.
    pub(super) pending: AtomicU64,
    /// Numbers of the histogram's octaves ([`super::octave`]); 0 if there is none yet.
    pub(super) octaves: [AtomicU32; OCTAVES],
}

const _: () = assert!(size_of::<Record>() == arena::UNIT);

/// No call: longer than any.
pub(super) const NONE: u64 = u64::MAX;

/// A call in flight.
#[repr(C)]
pub(super) struct Frame {
    pub(super) address: usize,
    pub(super) record: *const Record,
    pub(super) start: u64,
    /// Time in dialled callees.
    pub(super) children: u64,
}

/// Adds to a number that only this thread writes.
#[inline(always)]
pub(super) fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

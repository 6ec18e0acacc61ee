//! Memory of what is timed, in units of 256 bytes out of one reservation, within a budget: a thread's record of a method
//! takes one, and so does each octave of its histogram when a call first falls in it. Nothing is given back; what a dead
//! thread used goes on with the next thread.

use super::reserve::reserve;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a unit.
pub const UNIT: usize = 256;
/// Most bytes of all units. Windows charges the whole reservation to the process's commit, so there it is less.
pub const BUDGET: usize = if cfg!(windows) { 16 << 20 } else { 64 << 20 };
const UNITS: u32 = (BUDGET / UNIT) as u32;
/// Units that histograms may bring the sum to; the others are for records.
const UNITS_OF_HISTOGRAMS: u32 = UNITS / 4 * 3;

/// What a unit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A thread's record of a method.
    Record,
    /// An octave of its histogram.
    Octave,
}

static BASE: OnceLock<Option<usize>> = OnceLock::new();
/// The next unit never used; the first one is left out, since 0 says that there is none.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Address of the first unit; None when the system refuses memory.
pub fn base() -> Option<NonNull<u8>> {
    let address = BASE.get_or_init(|| reserve(BUDGET).map(|base| base.expose_provenance().get()));
    address.and_then(|address| NonNull::new(std::ptr::with_exposed_provenance_mut(address)))
}

/// Number of a fresh unit, all zeros; None when the budget is used up.
pub fn take(purpose: For) -> Option<u32> {
    let limit = if purpose == For::Record { UNITS } else { UNITS_OF_HISTOGRAMS };
    let more = |next: u32| (next < limit).then_some(next + 1);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()
}

/// Bytes used so far.
pub fn used_bytes() -> usize {
    (NEXT.load(Ordering::Relaxed) as usize - 1) * UNIT
}

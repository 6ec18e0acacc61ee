//! Memory for timing, within one budget.
//!
//! Most of it is units of 256 bytes from one reservation. A thread's timer takes some fifty units. Its record of a
//! method takes one, and its histogram a sixteenth for each octave that a call falls into, a quarter or one if many
//! do. Counting callers takes one per fifteen call sites; a method's list of slowest calls takes nine, and one more
//! for each stack. Units are never given back: the next thread continues with those of a dead thread. The rest is for
//! deeply nested calls, while threads are in them.

use super::address_space::{commit, reserve};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bytes per unit.
pub const UNIT: usize = 256;
/// Maximum bytes of everything.
pub const BUDGET: usize = 64 << 20;
const UNITS: u32 = (BUDGET / UNIT) as u32;
const _: () = assert!(BUDGET <= u32::MAX as usize);
/// Units that histograms and call sites leave for records.
const UNITS_OF_RECORDS: u32 = UNITS / 4;
/// Maximum bytes that may be charged for threads.
const BUDGET_OF_THREADS: usize = BUDGET / 2;
/// Bytes by which the room for units grows.
const AT_ONCE: usize = 1 << 20;

/// Purpose of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitPurpose {
    /// A thread's timer, its record of a method, and a part of the list of its records.
    Record,
    /// Octaves of records' histograms.
    Octave,
    /// A method's slowest calls.
    SlowestCalls,
    /// Call sites of a method, and a part of a thread's list of them.
    Sites,
}

static BASE: OnceLock<Option<usize>> = OnceLock::new();
/// Bytes at the beginning that stay zero: 0 means no unit, and where a table has no page, its readers find zeros.
pub(super) const ZEROS: usize = 1 << 10;
/// The first unit that is given out.
const FIRST: u32 = (ZEROS / UNIT) as u32;
/// Next unit that was never used.
static NEXT: AtomicU32 = AtomicU32::new(FIRST);
/// Number of units that the system lets us use.
static OPENED: AtomicU32 = AtomicU32::new(0);
/// Bytes charged for threads.
static OF_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the address of the first unit, reserving space at the first use; None if the system refuses.
pub fn base() -> Option<NonNull<u8>> {
    let address = BASE.get_or_init(|| reserve(BUDGET).map(|base| base.expose_provenance().get()));
    address.and_then(at)
}

/// Returns the address of the first unit if the space is already reserved.
pub fn made() -> Option<NonNull<u8>> {
    BASE.get().copied().flatten().and_then(at)
}

fn at(address: usize) -> Option<NonNull<u8>> {
    NonNull::new(std::ptr::with_exposed_provenance_mut(address))
}

/// Returns the number of a new, zeroed unit; None if the budget is used up or the system refuses.
pub fn take(purpose: UnitPurpose) -> Option<u32> {
    take_several(purpose, 1)
}

/// Returns the offset in bytes of the first of several consecutive new units; see [`take`].
pub(super) fn take_offset(purpose: UnitPurpose, units: u32) -> Option<u32> {
    take_several(purpose, units).map(|unit| unit * UNIT as u32)
}

/// Returns the number of the first of several consecutive new units; see [`take`].
pub(super) fn take_several(purpose: UnitPurpose, units: u32) -> Option<u32> {
    let left = (BUDGET.saturating_sub(OF_THREADS.load(Ordering::Relaxed)) / UNIT) as u32;
    let limit = if purpose == UnitPurpose::Record { left } else { left.saturating_sub(UNITS_OF_RECORDS) };
    let more = |next: u32| next.checked_add(units).filter(|end| *end <= limit);
    let unit = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
    open_to(unit + units).then_some(unit)
}

/// Returns new, zeroed memory for a `T` that stays for ever; see [`take`]. Alignments are those of a unit at most.
pub(super) fn take_zeroed<T>(purpose: UnitPurpose) -> Option<NonNull<T>> {
    const { assert!(align_of::<T>() <= UNIT) };
    let unit = take_several(purpose, size_of::<T>().div_ceil(UNIT) as u32)?;
    // SAFETY: within the reservation.
    Some(unsafe { base()?.add(unit as usize * UNIT) }.cast())
}

/// Makes this many units usable.
fn open_to(units: u32) -> bool {
    let opened = OPENED.load(Ordering::Acquire);
    if units <= opened {
        return true;
    }
    let Some(base) = base() else { return false };
    let wanted = (units as usize * UNIT).next_multiple_of(AT_ONCE).min(BUDGET);
    let from = opened as usize * UNIT;
    // SAFETY: within the reservation. Memory that another thread has made usable meanwhile is unchanged.
    if !unsafe { commit(base.add(from), wanted - from) } {
        return false;
    }
    OPENED.fetch_max((wanted / UNIT) as u32, Ordering::AcqRel);
    true
}

/// Charges bytes for a thread to the budget; false if not enough are left.
pub(super) fn charge(bytes: usize) -> bool {
    let left = BUDGET.saturating_sub(used_by_units()).min(BUDGET_OF_THREADS);
    let more = |open: usize| open.checked_add(bytes).filter(|sum| *sum <= left);
    OF_THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// Returns bytes to the budget.
pub(super) fn discharge(bytes: usize) {
    OF_THREADS.fetch_sub(bytes, Ordering::Relaxed);
}

fn used_by_units() -> usize {
    (NEXT.load(Ordering::Relaxed) - FIRST) as usize * UNIT
}

/// Returns the bytes used by records, histograms and calls in flight.
pub fn used_bytes() -> usize {
    used_by_units() + OF_THREADS.load(Ordering::Relaxed)
}

//! Memory of what is timed, within one budget. Most of it are units of 256 bytes out of one reservation: a thread's record
//! of a method takes one, and so does each octave of its histogram when a call first falls in it, and where callers are counted
//! every fifteen places that they call from; a method's list of its worst calls takes eight. They are not given back; what a dead
//! thread used goes on with the next thread. The rest (`steps`) is for the calls that threads are in, and for their lists of
//! records.

use super::reserve::{commit, reserve_space};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bytes of a unit.
pub const UNIT: usize = 256;
/// Most bytes of everything.
pub const BUDGET: usize = 64 << 20;
const UNITS: u32 = (BUDGET / UNIT) as u32;
/// Units that histograms and call sites leave to records.
const UNITS_OF_RECORDS: u32 = UNITS / 4;
/// Most of it that may be open for threads.
const BUDGET_OF_THREADS: usize = BUDGET / 2;
/// The units' room is opened so many bytes at a time.
const AT_ONCE: usize = 1 << 20;

/// What a unit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A thread's record of a method.
    Record,
    /// An octave of its histogram.
    Octave,
    /// A method's worst calls.
    Kept,
    /// Where its calls come from.
    Sites,
}

static BASE: OnceLock<Option<usize>> = OnceLock::new();
/// The next unit never used; the first one is left out, since 0 says that there is none.
static NEXT: AtomicU32 = AtomicU32::new(1);
/// Units that may be used as far as the system is concerned.
static OPENED: AtomicU32 = AtomicU32::new(0);
/// Bytes open for threads.
static OF_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Address of the first unit, which is made room for; None when the system refuses.
pub fn base() -> Option<NonNull<u8>> {
    let address = BASE.get_or_init(|| reserve_space(BUDGET).map(|base| base.expose_provenance().get()));
    address.and_then(at)
}

/// The same where there is one already.
pub fn made() -> Option<NonNull<u8>> {
    BASE.get().copied().flatten().and_then(at)
}

fn at(address: usize) -> Option<NonNull<u8>> {
    NonNull::new(std::ptr::with_exposed_provenance_mut(address))
}

/// Number of a fresh unit, all zeros; None when the budget is used up, or the system refuses.
pub fn take(purpose: For) -> Option<u32> {
    take_several(purpose, 1)
}

/// Number of the first of so many fresh units in a row; see [`take`].
pub(super) fn take_several(purpose: For, units: u32) -> Option<u32> {
    let left = (BUDGET.saturating_sub(OF_THREADS.load(Ordering::Relaxed)) / UNIT) as u32;
    let limit = if purpose == For::Record { left } else { left.saturating_sub(UNITS_OF_RECORDS) };
    let more = |next: u32| next.checked_add(units).filter(|end| *end <= limit);
    let unit = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
    open_to(unit + units).then_some(unit)
}

/// Makes so many units usable.
fn open_to(units: u32) -> bool {
    let opened = OPENED.load(Ordering::Acquire);
    if units <= opened {
        return true;
    }
    let Some(base) = base() else { return false };
    let wanted = (units as usize * UNIT).next_multiple_of(AT_ONCE).min(BUDGET);
    let from = opened as usize * UNIT;
    // SAFETY: within the reservation. What another thread made usable meanwhile stays as it is.
    if !unsafe { commit(base.add(from), wanted - from) } {
        return false;
    }
    OPENED.fetch_max((wanted / UNIT) as u32, Ordering::AcqRel);
    true
}

/// Takes so many bytes for a thread out of the budget; false when they are not left.
pub(super) fn charge(bytes: usize) -> bool {
    let left = BUDGET.saturating_sub(used_by_units()).min(BUDGET_OF_THREADS);
    let more = |open: usize| open.checked_add(bytes).filter(|sum| *sum <= left);
    OF_THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// They are not used any more.
pub(super) fn discharge(bytes: usize) {
    OF_THREADS.fetch_sub(bytes, Ordering::Relaxed);
}

fn used_by_units() -> usize {
    (NEXT.load(Ordering::Relaxed) as usize - 1) * UNIT
}

/// Bytes used: records, histograms, and what threads need for the calls they are in.
pub fn used_bytes() -> usize {
    used_by_units() + OF_THREADS.load(Ordering::Relaxed)
}

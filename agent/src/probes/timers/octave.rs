//! Counters of an octave of a record's histogram. They begin as narrow ones, four octaves to a unit of the arena, and
//! get a unit of their own once a bucket has many calls. Calls take outlying durations for as long as a process runs;
//! with a whole unit for each octave, the memory of a busy process would grow for hours.
//!
//! Only the owner of the record writes.

use crate::probes::arena;
use crate::probes::histogram::BUCKETS;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// Marks the number of a narrow octave. The rest is its place in the arena, in parts of a unit; that of a wide octave
/// is its unit. 0 stands for no octave.
const NARROW: u32 = 1 << 31;
/// Narrow octaves in a unit.
const PARTS: u32 = (arena::UNIT / (BUCKETS * size_of::<AtomicU16>())) as u32;
/// Bytes of a narrow octave.
const PART: usize = arena::UNIT / PARTS as usize;
/// Calls of a bucket with which its octave becomes wide.
const MANY: u16 = 1 << 12;

const _: () = assert!(BUCKETS * size_of::<AtomicU64>() == arena::UNIT);

/// The counters of an octave.
#[derive(Clone, Copy)]
pub(super) enum Octave {
    Wide(&'static [AtomicU64; BUCKETS]),
    Narrow(&'static [AtomicU16; BUCKETS]),
}

/// The next narrow octave, of which a thread's timer keeps the number; see [`next_narrow`].
pub(super) type NextNarrow = u32;

/// Returns the unit of a wide octave; None if there is no octave, or a narrow one.
#[inline(always)]
fn wide_unit(number: u32) -> Option<u32> {
    (1..NARROW).contains(&number).then_some(number)
}

/// Adds a call to a bucket in the ordinary case. Returns false without doing anything if there is no octave, or if it
/// is to become wide. Only on the owner's thread.
///
/// # Safety
/// The number is one of a record's octaves, and the bucket is below [`BUCKETS`].
#[inline(always)]
pub(super) unsafe fn add_fast(arena: NonNull<u8>, number: u32, bucket: usize) -> bool {
    if let Some(unit) = wide_unit(number) {
        // SAFETY: the caller's contract; a wide octave is a unit of the arena.
        let count =
            unsafe { arena.add(unit as usize * arena::UNIT).cast::<AtomicU64>().add(bucket).as_ref() };
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        return true;
    }
    let part = (number & !NARROW) as usize;
    // SAFETY: the caller's contract; a narrow octave is a part of a unit. Part 0, for no octave, is in the first unit,
    // which nobody uses.
    let count = unsafe { arena.add(part * PART).cast::<AtomicU16>().add(bucket).as_ref() };
    let calls = count.load(Ordering::Relaxed);
    let is_ordinary = part != 0 && calls < MANY - 1;
    if is_ordinary {
        count.store(calls + 1, Ordering::Relaxed);
    }
    is_ordinary
}

/// Returns the number of a new narrow octave, and what comes after it. None if no memory is left.
pub(super) fn next_narrow(next: NextNarrow, take: impl FnOnce() -> Option<u32>) -> Option<(u32, NextNarrow)> {
    let place = if next.is_multiple_of(PARTS) { take()? * PARTS } else { next };
    Some((NARROW | place, place + 1))
}

impl Octave {
    /// Returns the octave with this number, which a record has; None if the number is 0.
    pub(super) fn at(arena: NonNull<u8>, number: u32) -> Option<Octave> {
        if number == 0 {
            return None;
        }
        // SAFETY: records have numbers of octaves that are in the arena, were zeroed at first, and are never given
        // back.
        Some(unsafe {
            match wide_unit(number) {
                Some(unit) => Octave::Wide(arena.add(unit as usize * arena::UNIT).cast().as_ref()),
                None => {
                    let part = (number & !NARROW) as usize;
                    Octave::Narrow(arena.add(part * PART).cast().as_ref())
                }
            }
        })
    }

    /// Returns the calls in each bucket.
    pub(super) fn calls(self) -> [u64; BUCKETS] {
        let of = |bucket: usize| match self {
            Octave::Wide(counts) => counts.get(bucket).map(|count| count.load(Ordering::Relaxed)),
            Octave::Narrow(counts) => counts.get(bucket).map(|count| count.load(Ordering::Relaxed).into()),
        };
        std::array::from_fn(|bucket| of(bucket).unwrap_or_default())
    }

    /// Adds a call. Returns false if the counter is full. Only on the owner's thread.
    pub(super) fn add(self, bucket: usize) -> bool {
        match self {
            Octave::Wide(counts) => {
                let Some(count) = counts.get(bucket) else { return false };
                count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            }
            Octave::Narrow(counts) => {
                let Some(count) = counts.get(bucket) else { return false };
                let Some(more) = count.load(Ordering::Relaxed).checked_add(1) else { return false };
                count.store(more, Ordering::Relaxed);
            }
        }
        true
    }

    /// Whether it is to become wide, after a call was added to this bucket.
    pub(super) fn has_many(self, bucket: usize) -> bool {
        let Octave::Narrow(counts) = self else { return false };
        counts.get(bucket).is_some_and(|count| count.load(Ordering::Relaxed) >= MANY)
    }

    /// Copies the calls to a wide octave that nobody else knows yet.
    pub(super) fn copy_to(self, wide: Octave) {
        let Octave::Wide(counts) = wide else { return };
        for (count, calls) in counts.iter().zip(self.calls()) {
            count.store(calls, Ordering::Relaxed);
        }
    }

    /// Removes all calls.
    pub(super) fn reset(self) {
        match self {
            Octave::Wide(counts) => counts.iter().for_each(|count| count.store(0, Ordering::Relaxed)),
            Octave::Narrow(counts) => counts.iter().for_each(|count| count.store(0, Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::arena::UnitPurpose;

    #[test]
    fn narrow_octaves_share_units() {
        let mut units = [7, 9].into_iter();
        let (mut next, mut numbers) = (0, Vec::new());
        for _ in 0..PARTS + 1 {
            let (number, following) = next_narrow(next, || units.next()).unwrap();
            numbers.push(number & !NARROW);
            next = following;
        }
        assert_eq!(numbers, [28, 29, 30, 31, 36]);
        assert_eq!(next_narrow(0, || None), None);
        assert_eq!((wide_unit(0), wide_unit(5), wide_unit(NARROW | 5)), (None, Some(5), None));
    }

    #[test]
    fn a_wide_octave_takes_over_the_calls() {
        let arena = arena::base().unwrap();
        let take = || arena::take(UnitPurpose::Octave);
        let (number, _) = next_narrow(0, take).unwrap();
        let narrow = Octave::at(arena, number).unwrap();
        // SAFETY: the octave exists, or the number stands for none.
        let is_fast = |number| unsafe { add_fast(arena, number, 31) };
        assert!(!is_fast(0));
        for _ in 1..MANY {
            assert!(is_fast(number) && !narrow.has_many(31));
        }
        assert!(!is_fast(number), "it is to become wide");
        assert!(narrow.add(31) && narrow.has_many(31));
        assert!(narrow.add(0));
        let unit = take().unwrap();
        let wide = Octave::at(arena, unit).unwrap();
        narrow.copy_to(wide);
        assert!(wide.add(31) && !wide.has_many(31) && is_fast(unit));
        let calls = wide.calls();
        assert_eq!((calls[0], calls[31], calls.iter().sum()), (1, u64::from(MANY) + 2, u64::from(MANY) + 3));
        narrow.reset();
        assert_eq!(narrow.calls(), [0; BUCKETS]);
    }

    #[test]
    fn full_counters_stay() {
        let arena = arena::base().unwrap();
        let (number, _) = next_narrow(0, || arena::take(UnitPurpose::Octave)).unwrap();
        let narrow = Octave::at(arena, number).unwrap();
        assert!((0..u16::MAX).all(|_| narrow.add(3)) && !narrow.add(3));
        assert_eq!(narrow.calls()[3], u64::from(u16::MAX));
    }
}

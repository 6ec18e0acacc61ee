//! Calls in an octave of a record's histogram, in one of three widths. Calls take outlying durations for as long as a
//! process runs, so an octave begins with *small* counters of four bits, gets *narrow* ones once a bucket has fifteen calls, and
//! *wide* ones once a bucket has many. With wide counters for each octave, the memory of a busy process would grow for hours. In
//! a web server whose every method was timed, seven octaves of ten had at most fifteen calls; in a program that ran for five
//! minutes, three quarters had at most fifteen calls in each bucket.
//!
//! Only the owner of the record writes.

use crate::probes::arena::{self, UnitPurpose};
use crate::probes::histogram::BUCKETS;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};

/// Begins the number of a narrow octave. The rest is its place in the arena, in parts of a unit; that of a wide octave
/// is its unit. 0 stands for no octave. So a wide octave, the usual one of a hot method, takes a single test of the
/// sign.
const NARROW: u32 = 0b10 << 30;
/// Begins the number of a small octave. The rest is its place, in smaller parts.
const SMALL: u32 = 0b11 << 30;
/// The bits of a place.
const PLACE: u32 = !SMALL;
/// Bytes of a narrow octave.
const NARROW_BYTES: usize = BUCKETS * size_of::<AtomicU16>();
/// Bytes of a small octave: two buckets each.
const SMALL_BYTES: usize = BUCKETS / 2;
/// Calls of a bucket with which a small octave becomes narrow: a counter cannot hold more.
const FULL: u8 = 15;
/// Calls of a bucket with which a narrow octave becomes wide.
const MANY: u16 = 1 << 12;

const _: () = assert!(BUCKETS * size_of::<AtomicU64>() == arena::UNIT);
const _: () = assert!(arena::BUDGET / SMALL_BYTES <= PLACE as usize);

/// The calls of an octave.
#[derive(Clone, Copy)]
pub(super) enum Octave {
    Small(&'static [AtomicU8; SMALL_BYTES]),
    Narrow(&'static [AtomicU16; BUCKETS]),
    Wide(&'static [AtomicU64; BUCKETS]),
}

/// Widths of octaves, ascending.
#[derive(Clone, Copy)]
pub(super) enum Width {
    Small,
    Narrow,
    Wide,
}

/// Room for further octaves in units that a thread has begun. Zeroed memory stands for none.
#[derive(Default)]
pub(super) struct Room {
    small: Cell<u32>,
    narrow: Cell<u32>,
}

impl Room {
    /// Returns the number of a new octave; None if no memory is left. Only on the owner's thread.
    pub(super) fn take(&self, width: Width) -> Option<u32> {
        let unit = || arena::take(UnitPurpose::Octave);
        match width {
            Width::Small => Some(SMALL | take_part(&self.small, SMALL_BYTES, unit)?),
            Width::Narrow => Some(NARROW | take_part(&self.narrow, NARROW_BYTES, unit)?),
            Width::Wide => unit(),
        }
    }
}

/// Returns the place of a part of a unit; `next` is the one after the last, or the beginning of no unit.
fn take_part(next: &Cell<u32>, bytes: usize, unit: impl FnOnce() -> Option<u32>) -> Option<u32> {
    let parts = (arena::UNIT / bytes) as u32;
    let place = if next.get().is_multiple_of(parts) { unit()? * parts } else { next.get() };
    next.set(place + 1);
    Some(place)
}

/// Adds a call to a bucket in the ordinary case. Returns false without doing anything if there is no octave, a small
/// one, or one that is to become wide. Only on the owner's thread.
///
/// # Safety
/// The number is one of a record's octaves, and the bucket is below [`BUCKETS`].
#[inline(always)]
pub(super) unsafe fn add_fast(arena: NonNull<u8>, number: u32, bucket: usize) -> bool {
    if number.cast_signed() > 0 {
        // SAFETY: the caller's contract; a wide octave is a unit of the arena.
        let count =
            unsafe { arena.add(number as usize * arena::UNIT).cast::<AtomicU64>().add(bucket).as_ref() };
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        return true;
    }
    if number == 0 || number >= SMALL {
        return false;
    }
    let part = (number & PLACE) as usize;
    // SAFETY: the caller's contract; a narrow octave is a part of a unit.
    let count = unsafe { arena.add(part * NARROW_BYTES).cast::<AtomicU16>().add(bucket).as_ref() };
    let calls = count.load(Ordering::Relaxed);
    let is_ordinary = calls < MANY - 1;
    if is_ordinary {
        count.store(calls + 1, Ordering::Relaxed);
    }
    is_ordinary
}

impl Octave {
    /// Returns the octave with this number, which a record has; None if the number is 0.
    pub(super) fn at(arena: NonNull<u8>, number: u32) -> Option<Octave> {
        // SAFETY: records have numbers of octaves that are in the arena, were zeroed at first, and are never given
        // back.
        Some(unsafe {
            match number {
                0 => return None,
                1..NARROW => Octave::Wide(arena.add(number as usize * arena::UNIT).cast().as_ref()),
                NARROW..SMALL => {
                    Octave::Narrow(arena.add((number & PLACE) as usize * NARROW_BYTES).cast().as_ref())
                }
                SMALL.. => Octave::Small(arena.add((number & PLACE) as usize * SMALL_BYTES).cast().as_ref()),
            }
        })
    }

    /// Returns the calls in each bucket.
    pub(super) fn calls(self) -> [u64; BUCKETS] {
        let mut calls = [0; BUCKETS];
        match self {
            Octave::Small(pairs) => {
                let both = pairs.iter().flat_map(|pair| {
                    let pair = pair.load(Ordering::Relaxed);
                    [pair & FULL, pair >> 4]
                });
                calls.iter_mut().zip(both).for_each(|(calls, count)| *calls = count.into());
            }
            Octave::Narrow(counts) => {
                let each = calls.iter_mut().zip(counts);
                each.for_each(|(calls, count)| *calls = count.load(Ordering::Relaxed).into());
            }
            Octave::Wide(counts) => {
                let each = calls.iter_mut().zip(counts);
                each.for_each(|(calls, count)| *calls = count.load(Ordering::Relaxed));
            }
        }
        calls
    }

    /// Adds a call. Returns false if there is no room for it. Only on the owner's thread.
    pub(super) fn add(self, bucket: usize) -> bool {
        match self {
            Octave::Small(pairs) => {
                let Some(pair) = pairs.get(bucket / 2) else { return false };
                let before = pair.load(Ordering::Relaxed);
                if small(before, bucket) == FULL {
                    return false;
                }
                pair.store(before + (1 << shift(bucket)), Ordering::Relaxed);
            }
            Octave::Narrow(counts) => {
                let Some(count) = counts.get(bucket) else { return false };
                let Some(more) = count.load(Ordering::Relaxed).checked_add(1) else { return false };
                count.store(more, Ordering::Relaxed);
            }
            Octave::Wide(counts) => {
                let Some(count) = counts.get(bucket) else { return false };
                count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            }
        }
        true
    }

    /// Returns the width that it should get, after a call was added to this bucket.
    pub(super) fn next_width(self, bucket: usize) -> Option<Width> {
        match self {
            Octave::Small(pairs) => {
                let pair = pairs.get(bucket / 2)?.load(Ordering::Relaxed);
                (small(pair, bucket) == FULL).then_some(Width::Narrow)
            }
            Octave::Narrow(counts) => {
                let calls = counts.get(bucket)?.load(Ordering::Relaxed);
                (calls >= MANY).then_some(Width::Wide)
            }
            Octave::Wide(_) => None,
        }
    }

    /// Copies the calls to a wider octave that nobody else knows yet.
    pub(super) fn copy_to(self, wider: Octave) {
        match wider {
            Octave::Small(_) => (),
            Octave::Narrow(counts) => {
                let each = counts.iter().zip(self.calls());
                each.for_each(|(count, calls)| count.store(calls as u16, Ordering::Relaxed));
            }
            Octave::Wide(counts) => {
                let each = counts.iter().zip(self.calls());
                each.for_each(|(count, calls)| count.store(calls, Ordering::Relaxed));
            }
        }
    }

    /// Removes all calls.
    pub(super) fn reset(self) {
        match self {
            Octave::Small(pairs) => pairs.iter().for_each(|pair| pair.store(0, Ordering::Relaxed)),
            Octave::Narrow(counts) => counts.iter().for_each(|count| count.store(0, Ordering::Relaxed)),
            Octave::Wide(counts) => counts.iter().for_each(|count| count.store(0, Ordering::Relaxed)),
        }
    }
}

/// Returns the place of a bucket's counter in its pair.
fn shift(bucket: usize) -> usize {
    bucket % 2 * 4
}

/// Returns the counter of a bucket in its pair.
fn small(pair: u8, bucket: usize) -> u8 {
    pair >> shift(bucket) & FULL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octaves_share_units() {
        let mut units = [7, 9].into_iter();
        let next = Cell::new(0);
        let places: Vec<u32> =
            (0..5).map(|_| take_part(&next, NARROW_BYTES, || units.next()).unwrap()).collect();
        assert_eq!(places, [28, 29, 30, 31, 36]);
        assert_eq!(take_part(&Cell::new(0), SMALL_BYTES, || None), None);
        assert_eq!(take_part(&Cell::new(0), SMALL_BYTES, || Some(3)), Some(48));
    }

    #[test]
    fn wider_octaves_take_over_the_calls() {
        let arena = arena::base().unwrap();
        let room = Room::default();
        // SAFETY: the octave exists, or the number stands for none.
        let is_fast = |number, bucket| unsafe { add_fast(arena, number, bucket) };
        assert!(!is_fast(0, 31) && Octave::at(arena, 0).is_none());

        let number = room.take(Width::Small).unwrap();
        let small = Octave::at(arena, number).unwrap();
        for call in 0..FULL {
            assert!(small.next_width(31).is_none() && !is_fast(number, 31));
            assert!(small.add(31) && (call > 8 || small.add(30)));
        }
        assert!(matches!(small.next_width(31), Some(Width::Narrow)) && !small.add(31), "it is full");
        assert!(small.next_width(30).is_none() && small.add(0), "others have room");

        let number = room.take(Width::Narrow).unwrap();
        let narrow = Octave::at(arena, number).unwrap();
        small.copy_to(narrow);
        assert_eq!((narrow.calls()[0], narrow.calls()[30], narrow.calls()[31]), (1, 9, FULL.into()));
        for _ in u16::from(FULL) + 1..MANY {
            assert!(is_fast(number, 31) && narrow.next_width(31).is_none());
        }
        assert!(!is_fast(number, 31), "it is to become wide");
        assert!(narrow.add(31) && matches!(narrow.next_width(31), Some(Width::Wide)));

        let number = room.take(Width::Wide).unwrap();
        let wide = Octave::at(arena, number).unwrap();
        narrow.copy_to(wide);
        assert!(wide.add(31) && wide.next_width(31).is_none() && is_fast(number, 31));
        let calls = wide.calls();
        assert_eq!((calls[0], calls[30], calls[31]), (1, 9, u64::from(MANY) + 2));
        assert_eq!(calls.iter().sum::<u64>(), u64::from(MANY) + 12);
        for octave in [small, narrow, wide] {
            octave.reset();
            assert_eq!(octave.calls(), [0; BUCKETS]);
        }
    }

    /// A busy process has thousands of octaves with a few calls in many buckets, and more for as long as it runs.
    #[test]
    fn few_calls_in_many_buckets_stay_small() {
        let small = Octave::at(arena::base().unwrap(), Room::default().take(Width::Small).unwrap()).unwrap();
        for _ in 1..FULL {
            for bucket in 0..BUCKETS {
                assert!(small.add(bucket) && small.next_width(bucket).is_none());
            }
        }
        assert_eq!(small.calls(), [u64::from(FULL) - 1; BUCKETS]);
        assert!(!small.add(BUCKETS), "there is no such bucket");
    }

    #[test]
    fn full_counters_stay() {
        let narrow =
            Octave::at(arena::base().unwrap(), Room::default().take(Width::Narrow).unwrap()).unwrap();
        assert!((0..u16::MAX).all(|_| narrow.add(3)) && !narrow.add(3));
        assert_eq!(narrow.calls()[3], u64::from(u16::MAX));
    }
}

//! Calls in an octave of a record's histogram, in one of three widths. Calls take outlying durations for as long as a
//! process runs, so an octave begins as a *list* of a few calls, becomes *narrow* counters when that is full, and *wide*
//! ones once a bucket has many calls. With wide counters for each octave, the memory of a busy process would grow for
//! hours. In a web server whose every method was timed, seven octaves of ten had at most fifteen calls.
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
/// Begins the number of a list. The rest is its place, in smaller parts.
const LIST: u32 = 0b11 << 30;
/// The bits of a place.
const PLACE: u32 = !LIST;
/// Bytes of a narrow octave.
const NARROW_BYTES: usize = BUCKETS * size_of::<AtomicU16>();
/// Bytes of a list: the number of calls, and the bucket of each.
const LIST_BYTES: usize = 16;
/// Calls of a bucket with which a narrow octave becomes wide.
const MANY: u16 = 1 << 12;

const _: () = assert!(BUCKETS * size_of::<AtomicU64>() == arena::UNIT);
const _: () = assert!(arena::BUDGET / LIST_BYTES <= PLACE as usize);

/// The calls of an octave.
#[derive(Clone, Copy)]
pub(super) enum Octave {
    List(&'static [AtomicU8; LIST_BYTES]),
    Narrow(&'static [AtomicU16; BUCKETS]),
    Wide(&'static [AtomicU64; BUCKETS]),
}

/// Widths of octaves, ascending.
#[derive(Clone, Copy)]
pub(super) enum Width {
    List,
    Narrow,
    Wide,
}

/// Room for further octaves in units that a thread has begun. Zeroed memory stands for none.
#[derive(Default)]
pub(super) struct Room {
    list: Cell<u32>,
    narrow: Cell<u32>,
}

impl Room {
    /// Returns the number of a new octave; None if no memory is left. Only on the owner's thread.
    pub(super) fn take(&self, width: Width) -> Option<u32> {
        let unit = || arena::take(UnitPurpose::Octave);
        match width {
            Width::List => Some(LIST | take_part(&self.list, LIST_BYTES, unit)?),
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

/// Adds a call to a bucket in the ordinary case. Returns false without doing anything if there is no octave, a list, or
/// one that is to become wide. Only on the owner's thread.
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
    if number == 0 || number >= LIST {
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
                NARROW..LIST => {
                    Octave::Narrow(arena.add((number & PLACE) as usize * NARROW_BYTES).cast().as_ref())
                }
                LIST.. => Octave::List(arena.add((number & PLACE) as usize * LIST_BYTES).cast().as_ref()),
            }
        })
    }

    /// Returns the calls in each bucket.
    pub(super) fn calls(self) -> [u64; BUCKETS] {
        let mut calls = [0; BUCKETS];
        match self {
            Octave::List(list) => {
                for bucket in listed(list) {
                    if let Some(calls) = calls.get_mut(bucket) {
                        *calls += 1;
                    }
                }
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
            Octave::List([number, buckets @ ..]) => {
                let calls = number.load(Ordering::Relaxed);
                let Some(place) = buckets.get(usize::from(calls)) else { return false };
                place.store(bucket as u8, Ordering::Relaxed);
                // After the bucket, for readers.
                number.store(calls + 1, Ordering::Release);
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
            Octave::List(list) => (listed(list).count() == LIST_BYTES - 1).then_some(Width::Narrow),
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
            Octave::List(_) => (),
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
            Octave::List([number, ..]) => number.store(0, Ordering::Relaxed),
            Octave::Narrow(counts) => counts.iter().for_each(|count| count.store(0, Ordering::Relaxed)),
            Octave::Wide(counts) => counts.iter().for_each(|count| count.store(0, Ordering::Relaxed)),
        }
    }
}

/// Iterates over the buckets of a list's calls.
fn listed([number, buckets @ ..]: &[AtomicU8; LIST_BYTES]) -> impl Iterator<Item = usize> {
    let calls = usize::from(number.load(Ordering::Acquire));
    buckets.iter().take(calls).map(|bucket| usize::from(bucket.load(Ordering::Relaxed)))
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
        assert_eq!(take_part(&Cell::new(0), LIST_BYTES, || None), None);
        assert_eq!(take_part(&Cell::new(0), LIST_BYTES, || Some(3)), Some(48));
    }

    #[test]
    fn wider_octaves_take_over_the_calls() {
        let arena = arena::base().unwrap();
        let room = Room::default();
        // SAFETY: the octave exists, or the number stands for none.
        let is_fast = |number, bucket| unsafe { add_fast(arena, number, bucket) };
        assert!(!is_fast(0, 31) && Octave::at(arena, 0).is_none());

        let number = room.take(Width::List).unwrap();
        let list = Octave::at(arena, number).unwrap();
        for call in 1..LIST_BYTES {
            assert!(list.next_width(31).is_none() && !is_fast(number, 31));
            assert!(list.add(if call == 1 { 0 } else { 31 }));
        }
        assert!(matches!(list.next_width(31), Some(Width::Narrow)) && !list.add(31), "it is full");

        let number = room.take(Width::Narrow).unwrap();
        let narrow = Octave::at(arena, number).unwrap();
        list.copy_to(narrow);
        assert_eq!((narrow.calls()[0], narrow.calls()[31]), (1, LIST_BYTES as u64 - 2));
        for _ in LIST_BYTES - 1..usize::from(MANY) {
            assert!(is_fast(number, 31) && narrow.next_width(31).is_none());
        }
        assert!(!is_fast(number, 31), "it is to become wide");
        assert!(narrow.add(31) && matches!(narrow.next_width(31), Some(Width::Wide)));

        let number = room.take(Width::Wide).unwrap();
        let wide = Octave::at(arena, number).unwrap();
        narrow.copy_to(wide);
        assert!(wide.add(31) && wide.next_width(31).is_none() && is_fast(number, 31));
        let calls = wide.calls();
        assert_eq!((calls[0], calls[31], calls.iter().sum()), (1, u64::from(MANY) + 2, u64::from(MANY) + 3));
        for octave in [list, narrow, wide] {
            octave.reset();
            assert_eq!(octave.calls(), [0; BUCKETS]);
        }
    }

    #[test]
    fn full_counters_stay() {
        let narrow =
            Octave::at(arena::base().unwrap(), Room::default().take(Width::Narrow).unwrap()).unwrap();
        assert!((0..u16::MAX).all(|_| narrow.add(3)) && !narrow.add(3));
        assert_eq!(narrow.calls()[3], u64::from(u16::MAX));
    }
}

//! Where calls of a slot come from, by thread: a small table of return addresses with the number of calls from each. It
//! is a chain of units of the arena, of 15 entries each. A hash of the address says where in a unit to look, and at how many
//! entries at most; where these are others' the next unit is looked at. So most methods cost one comparison, and those with
//! the most sites a dozen.
//!
//! Only the owner writes. What finds no place is counted all the same, as *others*.

use super::super::arena::{self, For};
use super::super::blocks::{MAX_SLOTS, Slot};
use super::super::reserve::reserve;
use super::super::steps::STEP;
use super::{Timer, add, all};
use crate::sync::long_work;
use redial_protocol::limits::MAX_CALL_SITES;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Entries of a unit.
const ENTRIES: usize = 15;
/// Entries of a unit that an address may be in.
const WINDOW: usize = 4;

/// A return address, 0 where there is none, and calls from there.
#[repr(C)]
struct Entry {
    address: AtomicUsize,
    calls: AtomicU64,
}

#[repr(C)]
struct Unit {
    /// Calls that have no entry; of the first unit of a chain.
    others: AtomicU64,
    /// The next unit; 0 where there is none.
    next: AtomicU32,
    /// Entries in use in the whole chain; of its first unit.
    used: AtomicU32,
    entries: [Entry; ENTRIES],
}

const _: () = assert!(size_of::<Unit>() == arena::UNIT);

/// Calls of threads that have no memory for their numbers.
static OTHERS: [AtomicU64; MAX_SLOTS as usize] = [const { AtomicU64::new(0) }; MAX_SLOTS as usize];

/// Counts the places that threads saw first.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Where it is the same as before, no thread saw a place since that it had not seen.
pub fn places_seen() -> u64 {
    SEEN.load(Ordering::Relaxed)
}

/// Counts a call of which no more is known than its slot.
pub fn add_other(slot: Slot) {
    if let Some(others) = OTHERS.get(slot.0 as usize) {
        others.fetch_add(1, Ordering::Relaxed);
    }
}

/// Where an address is looked for in the first unit; [`next_place`] in those that follow.
#[inline(always)]
fn first_place(address: usize) -> u64 {
    (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline(always)]
fn next_place(place: u64) -> u64 {
    place.rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Unit {
    /// The entries that an address may be in.
    #[inline(always)]
    fn window(&self, place: u64) -> impl Iterator<Item = &Entry> {
        let first = (((place >> 32) * ENTRIES as u64) >> 32) as usize;
        (first..first + WINDOW)
            .filter_map(|at| self.entries.get(if at < ENTRIES { at } else { at - ENTRIES }))
    }

    fn reset(&self) {
        self.others.store(0, Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        for entry in &self.entries {
            entry.calls.store(0, Ordering::Relaxed);
            entry.address.store(0, Ordering::Relaxed);
        }
    }
}

/// Where a thread's chains begin: the number of a unit for each slot, 0 where there is none. Made with the first of them.
#[derive(Default)]
#[repr(transparent)]
pub(super) struct Chains {
    first: AtomicPtr<AtomicU32>,
}

impl Chains {
    /// The first unit of a slot's chain, of a slot below [`MAX_SLOTS`].
    #[inline(always)]
    fn of(&self, arena: NonNull<u8>, slot_offset: usize) -> Option<&'static Unit> {
        let first = self.first.load(Ordering::Acquire);
        // SAFETY: the list has MAX_SLOTS entries, and is never given back.
        let number = (!first.is_null()).then(|| unsafe { &*first.byte_add(slot_offset / 2) })?;
        following(arena, number)
    }

    /// The same, made where there is none; None where no memory is left. On the owner's thread.
    #[cold]
    fn of_new(&self, arena: NonNull<u8>, slot_offset: usize) -> Option<&'static Unit> {
        if self.first.load(Ordering::Relaxed).is_null() {
            let first = reserve(MAX_SLOTS as usize * size_of::<AtomicU32>())?;
            self.first.store(first.as_ptr().cast(), Ordering::Release);
        }
        let first = self.first.load(Ordering::Relaxed);
        let entry = |offset: usize| {
            // SAFETY: as in `of`; the list's pages are whole ones.
            unsafe { &*first.byte_add(offset) }
        };
        let offset = slot_offset / 2;
        if entry(offset).load(Ordering::Relaxed) == 0 {
            // A page of the list is there once something is written to it.
            let page = offset / STEP * STEP;
            let is_empty = |offset: usize| entry(offset).load(Ordering::Relaxed) == 0;
            let costs =
                if (page..page + STEP).step_by(size_of::<AtomicU32>()).all(is_empty) { STEP } else { 0 };
            if !arena::charge(costs) {
                return None;
            }
            if following_or_fresh(arena, entry(offset)).is_none() {
                arena::discharge(costs);
            }
        }
        following(arena, entry(offset))
    }
}

impl Timer {
    /// Counts where a call comes from: `address`, or 0 where that is not known. False where there is no place for it yet, and
    /// nothing was done.
    ///
    /// # Safety
    /// On the thread that owns the timer; `slot_offset` is that of a slot below [`MAX_SLOTS`].
    #[inline(always)]
    pub unsafe fn called_from(&self, slot_offset: usize, address: usize) -> bool {
        let Some(first) = self.chains.of(self.arena, slot_offset) else { return false };
        let (mut unit, mut place) = (first, first_place(address));
        loop {
            if let Some(entry) =
                unit.window(place).find(|entry| entry.address.load(Ordering::Relaxed) == address)
            {
                // An empty entry has address 0, as have calls from nobody knows where.
                add(if address == 0 { &first.others } else { &entry.calls }, 1);
                return true;
            }
            match following(self.arena, &unit.next) {
                Some(next) => (unit, place) = (next, next_place(place)),
                None if first.used.load(Ordering::Relaxed) >= MAX_CALL_SITES as u32 => {
                    add(&first.others, 1);
                    return true;
                }
                None => return false,
            }
        }
    }

    /// As [`Timer::called_from`], where a place is to be made first.
    ///
    /// # Safety
    /// As [`Timer::called_from`].
    #[cold]
    pub unsafe fn called_from_new(&self, slot_offset: usize, address: usize) {
        let Some(first) = self.chains.of_new(self.arena, slot_offset) else {
            return add_other(Slot((slot_offset / size_of::<AtomicU64>()) as u32));
        };
        if address == 0 || first.used.load(Ordering::Relaxed) >= MAX_CALL_SITES as u32 {
            return add(&first.others, 1);
        }
        let (mut unit, mut place) = (first, first_place(address));
        loop {
            let known = |entry: &&Entry| [0, address].contains(&entry.address.load(Ordering::Relaxed));
            if let Some(entry) = unit.window(place).find(known) {
                if entry.address.load(Ordering::Relaxed) == 0 {
                    first.used.store(first.used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    entry.address.store(address, Ordering::Release);
                    SEEN.fetch_add(1, Ordering::Relaxed);
                }
                return add(&entry.calls, 1);
            }
            match following_or_fresh(self.arena, &unit.next) {
                Some(next) => (unit, place) = (next, next_place(place)),
                None => return add(&first.others, 1),
            }
        }
    }

    /// A slot's units.
    fn sites(&self, slot: Slot) -> impl Iterator<Item = &'static Unit> {
        let known = (slot.0 < MAX_SLOTS).then_some(slot.0 as usize * size_of::<AtomicU64>());
        let first = known.and_then(|offset| self.chains.of(self.arena, offset));
        std::iter::successors(first, |unit| following(self.arena, &unit.next))
    }
}

/// The unit that a number stands for.
#[inline(always)]
fn following(arena: NonNull<u8>, number: &AtomicU32) -> Option<&'static Unit> {
    let number = number.load(Ordering::Acquire) as usize;
    // SAFETY: units handed out are within the arena, as large as a `Unit`, zeros at first, which is a valid one, and never
    // given back; only atomics are in it.
    (number != 0).then(|| unsafe { arena.add(number * arena::UNIT).cast::<Unit>().as_ref() })
}

#[cold]
fn following_or_fresh(arena: NonNull<u8>, number: &AtomicU32) -> Option<&'static Unit> {
    if number.load(Ordering::Relaxed) == 0 {
        number.store(arena::take(For::Sites)?, Ordering::Release);
    }
    following(arena, number)
}

/// Forgets what is known of a slot; its chains stay. Nobody runs its code any more.
pub(super) fn reset(slot: Slot) {
    if let Some(others) = OTHERS.get(slot.0 as usize) {
        others.store(0, Ordering::Relaxed);
    }
    all().flat_map(|timer| timer.sites(slot)).for_each(Unit::reset);
}

/// Where the calls of a slot came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Calls by return address.
    pub calls: HashMap<usize, u64>,
    /// Calls from other places.
    pub others: u64,
}

/// Adds up what all threads know; it takes the longer the more there are: under no lock that others wait for.
pub fn sites(slot: Slot) -> Sites {
    long_work();
    let mut sites = Sites::default();
    for unit in all().flat_map(|timer| timer.sites(slot)) {
        sites.others += unit.others.load(Ordering::Relaxed);
        for entry in &unit.entries {
            let address = entry.address.load(Ordering::Acquire);
            if address != 0 {
                *sites.calls.entry(address).or_default() += entry.calls.load(Ordering::Relaxed);
            }
        }
    }
    sites.others += OTHERS.get(slot.0 as usize).map_or(0, |others| others.load(Ordering::Relaxed));
    sites
}

//! Call sites of a slot, by thread: a small table of return addresses with the number of calls from each. It is
//! a chain of arena units with 15 entries each. A hash of the address gives its position in a unit and the few
//! entries to examine; if others occupy these, the search continues in the next unit. Most methods need one
//! comparison, and those with the most call sites about a dozen.
//!
//! Only the owner writes. Calls without a place are also counted, as *others*.

use super::record::add;
use super::slot_table::{self, SlotTable};
use crate::probes::arena::{self, UnitPurpose};
use crate::probes::blocks::{MAX_SLOTS, Slot};
use redial_protocol::limits::MAX_CALL_SITES;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Entries per unit.
const ENTRIES: usize = 15;
/// Number of entries in a unit where an address may be.
const WINDOW: usize = 4;

/// A return address, 0 if unused, and the number of calls from there.
#[repr(C)]
pub(super) struct SiteEntry {
    pub(super) address: AtomicUsize,
    pub(super) calls: AtomicU64,
}

#[repr(C)]
pub(super) struct Unit {
    /// Calls without an entry; only in the first unit of a chain.
    pub(super) others: AtomicU64,
    /// Offset of the next unit in the arena; 0 if there is none.
    pub(super) next: AtomicU32,
    /// Number of used entries in the whole chain; only in its first unit.
    pub(super) used: AtomicU32,
    pub(super) entries: [SiteEntry; ENTRIES],
}

const _: () = assert!(size_of::<Unit>() == arena::UNIT);

/// Calls of threads that have no memory for call sites.
pub(super) static OTHERS: [AtomicU64; MAX_SLOTS as usize] = [const { AtomicU64::new(0) }; MAX_SLOTS as usize];

/// Number of call sites that were new to a thread.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Returns a value that stays the same while no thread sees a new call site.
pub fn places_seen() -> u64 {
    SEEN.load(Ordering::Relaxed)
}

/// Counts a call of which only the slot is known.
pub fn add_other(slot: Slot) {
    if let Some(others) = OTHERS.get(slot.0 as usize) {
        others.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the search position of an address in the first unit; [`next_place`] returns it for the following
/// units.
#[inline(always)]
fn first_place(address: usize) -> u64 {
    (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn next_place(place: u64) -> u64 {
    place.rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the first entry to examine in a unit, below [`ENTRIES`].
#[inline(always)]
fn first_entry(place: u64) -> usize {
    (((place >> 32) * ENTRIES as u64) >> 32) as usize
}

impl Unit {
    /// Iterates over the entries where an address may be.
    fn window(&self, place: u64) -> impl Iterator<Item = &SiteEntry> {
        let first = first_entry(place);
        (first..first + WINDOW)
            .filter_map(|at| self.entries.get(if at < ENTRIES { at } else { at - ENTRIES }))
    }

    pub(super) fn reset(&self) {
        self.others.store(0, Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        for entry in &self.entries {
            entry.calls.store(0, Ordering::Relaxed);
            entry.address.store(0, Ordering::Relaxed);
        }
    }
}

/// Starts of a thread's chains: the offset of a unit for each slot, 0 if there is none.
#[repr(transparent)]
pub(super) struct Chains {
    first: SlotTable,
}

impl Chains {
    /// Returns the first unit of the chain of a slot.
    ///
    /// # Safety
    /// `slot_offset` is that of a slot below [`MAX_SLOTS`].
    #[inline(always)]
    unsafe fn of(&self, arena: NonNull<u8>, slot_offset: usize) -> Option<&'static Unit> {
        // SAFETY: the caller's contract.
        following(arena, unsafe { self.first.entry(arena, slot_offset) })
    }

    /// Like [`Chains::of`], but creates the chain if necessary; None if no memory is left. Only on the owner's
    /// thread.
    ///
    /// # Safety
    /// As [`Chains::of`].
    #[cold]
    unsafe fn of_new(&self, arena: NonNull<u8>, slot_offset: usize) -> Option<&'static Unit> {
        // SAFETY: the caller's contract.
        following_or_fresh(arena, unsafe { self.first.entry_or_new(arena, slot_offset, UnitPurpose::Sites)? })
    }

    /// Counts the call site `address`, or 0 if it is unknown. If there is no place for it yet, returns false
    /// without doing anything.
    ///
    /// # Safety
    /// On the thread that owns the chains; `slot_offset` is that of a slot below [`MAX_SLOTS`].
    #[inline(always)]
    pub(super) unsafe fn called_from(&self, arena: NonNull<u8>, slot_offset: usize, address: usize) -> bool {
        // SAFETY: the caller's contract.
        let Some(first) = (unsafe { self.of(arena, slot_offset) }) else { return false };
        match first.entries.get(first_entry(first_place(address))) {
            Some(entry) if entry.address.load(Ordering::Relaxed) == address && address != 0 => {
                add(&entry.calls, 1);
                true
            }
            _ => called_from_chain(first, arena, address),
        }
    }

    /// Like [`Chains::called_from`], but creates the place first.
    ///
    /// # Safety
    /// As [`Chains::called_from`].
    #[cold]
    pub(super) unsafe fn called_from_new(&self, arena: NonNull<u8>, slot_offset: usize, address: usize) {
        // SAFETY: the caller's contract.
        let Some(first) = (unsafe { self.of_new(arena, slot_offset) }) else {
            return add_other(Slot((slot_offset / size_of::<AtomicU64>()) as u32));
        };
        if address == 0 || first.used.load(Ordering::Relaxed) >= MAX_CALL_SITES as u32 {
            return add(&first.others, 1);
        }
        let (mut unit, mut place) = (first, first_place(address));
        loop {
            let known = |entry: &&SiteEntry| [0, address].contains(&entry.address.load(Ordering::Relaxed));
            if let Some(entry) = unit.window(place).find(known) {
                if entry.address.load(Ordering::Relaxed) == 0 {
                    first.used.store(first.used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    entry.address.store(address, Ordering::Release);
                    SEEN.fetch_add(1, Ordering::Relaxed);
                }
                return add(&entry.calls, 1);
            }
            match following_or_fresh(arena, &unit.next) {
                Some(next) => (unit, place) = (next, next_place(place)),
                None => return add(&first.others, 1),
            }
        }
    }

    /// Iterates over a slot's units.
    pub(super) fn units(&self, arena: NonNull<u8>, slot: Slot) -> impl Iterator<Item = &'static Unit> {
        // SAFETY: the slot exists.
        let first = slot_table::offset(slot).and_then(|offset| unsafe { self.of(arena, offset) });
        std::iter::successors(first, move |unit| following(arena, &unit.next))
    }
}

/// Counts a call site whose entry is not the first to examine, as [`Chains::called_from`] does. A function of its own,
/// so that the usual call saves no registers.
#[inline(never)]
fn called_from_chain(first: &Unit, arena: NonNull<u8>, address: usize) -> bool {
    let (mut unit, mut place) = (first, first_place(address));
    loop {
        let known = unit.window(place).find(|entry| entry.address.load(Ordering::Relaxed) == address);
        if let Some(entry) = known {
            // An empty entry has address 0, and so do calls from unknown sites.
            add(if address == 0 { &first.others } else { &entry.calls }, 1);
            return true;
        }
        match following(arena, &unit.next) {
            Some(next) => (unit, place) = (next, next_place(place)),
            None if first.used.load(Ordering::Relaxed) >= MAX_CALL_SITES as u32 => {
                add(&first.others, 1);
                return true;
            }
            None => return false,
        }
    }
}

/// Returns the unit at this offset.
#[inline(always)]
fn following(arena: NonNull<u8>, offset: &AtomicU32) -> Option<&'static Unit> {
    let offset = offset.load(Ordering::Acquire) as usize;
    // SAFETY: allocated units are within the arena, as large as a `Unit`, zeroed at first, which is a valid
    // one, and never given back; they contain only atomics.
    (offset != 0).then(|| unsafe { arena.add(offset).cast::<Unit>().as_ref() })
}

#[cold]
fn following_or_fresh(arena: NonNull<u8>, offset: &AtomicU32) -> Option<&'static Unit> {
    if offset.load(Ordering::Relaxed) == 0 {
        offset.store(arena::take_offset(UnitPurpose::Sites, 1)?, Ordering::Release);
    }
    following(arena, offset)
}

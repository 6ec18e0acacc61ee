//! Table from slots to offsets of units in the arena, of one thread. It has two levels, so that it takes memory in
//! proportion to the slots that the thread uses. Only the owner writes.

use crate::probes::arena::{self, UnitPurpose};
use crate::probes::blocks::{MAX_SLOTS, Slot};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Entries per page. With 1,024, each new thread of a server with 72,000 slots took half a MiB for pages.
const ENTRIES: usize = 256;
const PAGES: usize = MAX_SLOTS as usize / ENTRIES;

type Page = [AtomicU32; ENTRIES];

/// Zeroed memory is a table without entries.
#[repr(C)]
pub(super) struct SlotTable {
    /// Offset of each page in the arena. Those without entries are the zeros at its beginning.
    pages: [AtomicU32; PAGES],
}

const _: () = assert!(size_of::<Page>() <= arena::ZEROS);

impl SlotTable {
    /// Returns the entry of a slot, zero unless [`SlotTable::entry_or_new`] made one.
    ///
    /// # Safety
    /// `arena` is the arena's base, and `slot_offset` is that of a slot below [`MAX_SLOTS`].
    #[inline(always)]
    pub(super) unsafe fn entry(&self, arena: NonNull<u8>, slot_offset: usize) -> &AtomicU32 {
        let slot = slot_offset / size_of::<AtomicU64>();
        // SAFETY: the caller's contract; pages are in the arena and never given back.
        unsafe {
            let page = self.pages.get_unchecked(slot / ENTRIES).load(Ordering::Acquire);
            arena.add(page as usize).cast::<AtomicU32>().add(slot % ENTRIES).as_ref()
        }
    }

    /// Like [`SlotTable::entry`], but creates the page if necessary; None if no memory is left. Only on the owner's
    /// thread.
    ///
    /// # Safety
    /// As [`SlotTable::entry`].
    pub(super) unsafe fn entry_or_new(
        &self,
        arena: NonNull<u8>,
        slot_offset: usize,
        purpose: UnitPurpose,
    ) -> Option<&AtomicU32> {
        let page = self.pages.get(slot_offset / size_of::<AtomicU64>() / ENTRIES)?;
        if page.load(Ordering::Relaxed) == 0 {
            let units = size_of::<Page>().div_ceil(arena::UNIT) as u32;
            page.store(arena::take_offset(purpose, units)?, Ordering::Release);
        }
        // SAFETY: the caller's contract.
        Some(unsafe { self.entry(arena, slot_offset) })
    }
}

/// Returns the offset of a slot; None if there is no such slot.
pub(super) fn offset(slot: Slot) -> Option<usize> {
    (slot.0 < MAX_SLOTS).then_some(slot.0 as usize * size_of::<AtomicU64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_memory_for_used_pages_only() {
        let arena = arena::base().unwrap();
        let table = arena::take_zeroed::<SlotTable>(UnitPurpose::Sites).unwrap();
        // SAFETY: zeroed memory that is never given back.
        let table = unsafe { table.as_ref() };
        let last = offset(Slot(MAX_SLOTS - 1)).unwrap();
        // SAFETY: the offsets are those of slots.
        unsafe {
            assert_eq!(table.entry(arena, last).load(Ordering::Relaxed), 0);
            let entry = table.entry_or_new(arena, last, UnitPurpose::Sites).unwrap();
            entry.store(7, Ordering::Relaxed);
            let neighbour = table.entry_or_new(arena, last - 8, UnitPurpose::Sites).unwrap();
            assert_eq!(std::ptr::from_ref(entry).addr() - std::ptr::from_ref(neighbour).addr(), 4);
            assert_eq!(table.entry(arena, last).load(Ordering::Relaxed), 7);
            let of_no_page = table.entry(arena, 0);
            assert_eq!(of_no_page.load(Ordering::Relaxed), 0);
            assert_eq!(std::ptr::from_ref(of_no_page).addr(), arena.addr().get());
            assert_eq!(offset(Slot(MAX_SLOTS)), None);
        }
    }
}

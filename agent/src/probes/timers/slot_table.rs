//! Table from slots to entries of one thread. It has two levels, so that it takes memory in proportion to the slots
//! that the thread uses. Pages without entries are one shared page of zeros. Only the owner writes.

use super::record::Record;
use crate::probes::arena::{self, UnitPurpose};
use crate::probes::blocks::{MAX_SLOTS, Slot};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Entries per page.
const ENTRIES: usize = 1024;
const PAGES: usize = MAX_SLOTS as usize / ENTRIES;

type Page<T> = [T; ENTRIES];

/// An entry, for which zeroed memory is a valid value.
pub(super) trait Entry: Sized + 'static {
    /// The page of slots without entries.
    fn nothing() -> &'static Page<Self>;
}

impl Entry for AtomicPtr<Record> {
    fn nothing() -> &'static Page<Self> {
        static NOTHING: Page<AtomicPtr<Record>> = [const { AtomicPtr::new(std::ptr::null_mut()) }; ENTRIES];
        &NOTHING
    }
}

impl Entry for AtomicU32 {
    fn nothing() -> &'static Page<Self> {
        static NOTHING: Page<AtomicU32> = [const { AtomicU32::new(0) }; ENTRIES];
        &NOTHING
    }
}

#[repr(C)]
pub(super) struct SlotTable<T: Entry> {
    pages: [AtomicPtr<Page<T>>; PAGES],
}

impl<T: Entry> SlotTable<T> {
    /// Makes a table without entries in zeroed memory.
    pub(super) fn clear(&self) {
        for page in &self.pages {
            page.store(std::ptr::from_ref(T::nothing()).cast_mut(), Ordering::Relaxed);
        }
    }

    /// Returns the entry of a slot, zero unless [`SlotTable::entry_or_new`] made one.
    ///
    /// # Safety
    /// The table was cleared, and `slot_offset` is that of a slot below [`MAX_SLOTS`].
    #[inline(always)]
    pub(super) unsafe fn entry(&self, slot_offset: usize) -> &T {
        let slot = slot_offset / size_of::<AtomicU64>();
        // SAFETY: the caller's contract; pages are never given back.
        unsafe {
            let page = self.pages.get_unchecked(slot / ENTRIES).load(Ordering::Acquire);
            (*page).get_unchecked(slot % ENTRIES)
        }
    }

    /// Like [`SlotTable::entry`], but creates the page if necessary; None if no memory is left. Only on the owner's
    /// thread.
    ///
    /// # Safety
    /// As [`SlotTable::entry`].
    pub(super) unsafe fn entry_or_new(&self, slot_offset: usize, purpose: UnitPurpose) -> Option<&T> {
        let page = self.pages.get(slot_offset / size_of::<AtomicU64>() / ENTRIES)?;
        if std::ptr::eq(page.load(Ordering::Relaxed), T::nothing()) {
            page.store(arena::take_zeroed::<Page<T>>(purpose)?.as_ptr(), Ordering::Release);
        }
        // SAFETY: the caller's contract.
        Some(unsafe { self.entry(slot_offset) })
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
        let table = arena::take_zeroed::<SlotTable<AtomicU32>>(UnitPurpose::Sites).unwrap();
        // SAFETY: zeroed memory that is never given back.
        let table = unsafe { table.as_ref() };
        table.clear();
        let last = offset(Slot(MAX_SLOTS - 1)).unwrap();
        let page = size_of::<Page<AtomicU32>>();
        // SAFETY: the offsets are those of slots.
        unsafe {
            assert_eq!(table.entry(last).load(Ordering::Relaxed), 0);
            let entry = table.entry_or_new(last, UnitPurpose::Sites).unwrap();
            entry.store(7, Ordering::Relaxed);
            let neighbour = table.entry_or_new(last - 8, UnitPurpose::Sites).unwrap();
            assert_eq!(std::ptr::from_ref(entry).addr() - std::ptr::from_ref(neighbour).addr(), 4);
            assert!(page >= ENTRIES * 4 && table.entry(last).load(Ordering::Relaxed) == 7);
            assert_eq!((table.entry(0).load(Ordering::Relaxed), offset(Slot(MAX_SLOTS))), (0, None));
        }
    }
}

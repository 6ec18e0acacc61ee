//! Finds the counter block of the running thread by the address of its stack. A table leads from stack pages to
//! blocks; instrumented bodies read it themselves, without a call. A page of memory belongs to one thread's
//! stack at a time, so it leads to that thread's block; the CLR runs managed code only on the thread's own
//! stack.
//!
//! There are two levels: regions of a gibibyte of address space, then pages of 4 KiB. A page where no thread
//! counts yet leads to null; then the body calls the helper, which enters the page. A thread's pages are
//! removed before it dies.

use super::address_space::{allocate, release};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Bits of an address within a page.
pub const PAGE_BITS: u32 = 12;
/// Bits of an address within a region, which is an entry of the first level.
pub const REGION_BITS: u32 = 30;
/// Number of entries of the first level, minus one. Addresses of programs have 47 bits; higher bits are
/// ignored.
pub const REGION_MASK: usize = (1 << 17) - 1;
/// Number of entries of a second level, minus one.
pub const PAGE_MASK: usize = (1 << (REGION_BITS - PAGE_BITS)) - 1;

/// Maximum distance of a page from the pages that a thread has entered; calls on pages further away go through
/// the helper. It bounds the search when the thread dies.
const NEAR: usize = (64 << 20) >> PAGE_BITS;
const REGION_BYTES: usize = (PAGE_MASK + 1) * size_of::<Page>();

/// Base of the block that a stack page leads to.
type Page = AtomicPtr<AtomicU64>;

struct Table {
    /// First pages of the second levels.
    regions: &'static [AtomicPtr<Page>],
    /// Second level of every region without stacks: nulls.
    nobody: *mut Page,
}

// SAFETY: `nobody` points to atomics that are never freed.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

static TABLE: OnceLock<Option<Table>> = OnceLock::new();

/// Returns the address of the first level; None if the system refuses memory.
pub fn table() -> Option<usize> {
    the_table().map(|table| table.regions.as_ptr().addr())
}

/// Returns the minimum number of bytes that the table uses, once it exists.
pub fn touched_bytes() -> usize {
    TABLE.get().map_or(0, |_| (REGION_MASK + 1) * size_of::<AtomicPtr<Page>>())
}

fn the_table() -> Option<&'static Table> {
    let make = || {
        let first = allocate((REGION_MASK + 1) * size_of::<AtomicPtr<Page>>())?;
        let nobody = allocate(REGION_BYTES)?.cast::<Page>().as_ptr();
        // SAFETY: zeroed memory of that size, aligned to a page and never given back; zero is an atomic null
        // pointer.
        let regions = unsafe {
            std::slice::from_raw_parts(first.cast::<AtomicPtr<Page>>().as_ptr().cast_const(), REGION_MASK + 1)
        };
        regions.iter().for_each(|region| region.store(nobody, Ordering::Relaxed));
        Some(Table { regions, nobody })
    };
    TABLE.get_or_init(make).as_ref()
}

impl Table {
    /// Returns the entry of a page. None if its region has no second level and `make` is false, or if memory is
    /// refused.
    fn page(&self, number: usize, make: bool) -> Option<&'static Page> {
        let region = self.regions.get(number >> (REGION_BITS - PAGE_BITS) & REGION_MASK)?;
        let mut pages = region.load(Ordering::Acquire);
        if pages == self.nobody {
            if !make {
                return None;
            }
            let fresh = allocate(REGION_BYTES)?;
            let fresh_pages = fresh.cast::<Page>().as_ptr();
            match region.compare_exchange(pages, fresh_pages, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => pages = fresh_pages,
                Err(other) => {
                    // SAFETY: it was reserved just above and not published.
                    unsafe { release(fresh, REGION_BYTES) };
                    pages = other;
                }
            }
        }
        // SAFETY: a second level has PAGE_MASK + 1 entries, is aligned, and is never given back.
        Some(unsafe { &*pages.add(number & PAGE_MASK) })
    }
}

/// The pages of one thread's stack that lead to its block; only for the thread itself.
#[derive(Default)]
pub struct Pages {
    /// Lowest and highest entered page.
    entered: Cell<Option<(usize, usize)>>,
}

impl Pages {
    /// Makes the page of `address`, which is on this thread's stack, lead to `base`, its block.
    pub fn enter(&self, address: usize, base: NonNull<AtomicU64>) {
        let page = address >> PAGE_BITS;
        let (low, high) = self.entered.get().unwrap_or((page, page));
        if page.saturating_add(NEAR) < low || page > high.saturating_add(NEAR) {
            return;
        }
        if let Some(entry) = the_table().and_then(|table| table.page(page, true)) {
            entry.store(base.as_ptr(), Ordering::Relaxed);
            self.entered.set(Some((low.min(page), high.max(page))));
        }
    }

    /// Removes the pages that lead to `base`. The thread calls it before it ends, since another thread's stack may
    /// use the addresses then.
    pub fn leave(&self, base: NonNull<AtomicU64>) {
        let (Some(table), Some((low, high))) = (the_table(), self.entered.take()) else { return };
        for entry in (low..=high).filter_map(|page| table.page(page, false)) {
            // Pages of other threads may lie in between.
            if entry.load(Ordering::Relaxed) == base.as_ptr() {
                entry.store(std::ptr::null_mut(), Ordering::Relaxed);
            }
        }
    }
}

/// Returns the block that an address leads to, in the same way as instrumented bodies.
#[cfg(test)]
pub fn look_up(address: usize) -> *mut AtomicU64 {
    let page =
        |table: &Table| table.page(address >> PAGE_BITS, false).map(|page| page.load(Ordering::Relaxed));
    the_table().and_then(page).unwrap_or(std::ptr::null_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> NonNull<AtomicU64> {
        NonNull::from(Box::leak(Box::new(AtomicU64::new(0))))
    }

    #[test]
    fn pages_lead_to_their_block_until_left() {
        let (mine, other) = (block(), block());
        let (my_pages, other_pages) = (Pages::default(), Pages::default());
        // Across the border of two regions, with another thread's page in between.
        let border = 77usize << REGION_BITS;
        my_pages.enter(border - 4096, mine);
        my_pages.enter(border + 4096 + 123, mine);
        other_pages.enter(border, other);
        let block_at = |address| look_up(address);
        assert_eq!(block_at(border - 1), mine.as_ptr());
        assert_eq!(block_at(border + 4096), mine.as_ptr());
        assert_eq!(block_at(border + 4095), other.as_ptr());
        assert!(block_at(border + 2 * 4096).is_null() && block_at(border - 4097).is_null());
        my_pages.leave(mine);
        assert!(block_at(border - 1).is_null() && block_at(border + 4096).is_null());
        assert_eq!(block_at(border), other.as_ptr());
    }

    #[test]
    fn ignores_stacks_far_from_the_threads_own() {
        let (pages, base) = (Pages::default(), block());
        let here = 78usize << REGION_BITS;
        pages.enter(here, base);
        for far in [here + (NEAR << PAGE_BITS) + 4096, here - (NEAR << PAGE_BITS) - 4096, usize::MAX, 0] {
            pages.enter(far, base);
            assert!(look_up(far).is_null());
        }
        // A stack that grows page by page is followed.
        pages.enter(here - (NEAR << PAGE_BITS), base);
        pages.enter(here - (NEAR << PAGE_BITS) - 4096, base);
        assert_eq!(look_up(here - (NEAR << PAGE_BITS) - 1), base.as_ptr());
    }

    #[test]
    fn longer_addresses_stay_within_the_table() {
        assert!(table().is_some());
        assert!(look_up(usize::MAX).is_null() && look_up(1 << 56).is_null());
    }
}

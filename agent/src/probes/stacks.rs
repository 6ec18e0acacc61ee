//! Which block the running thread counts in, told by where its stack is: a table from stack pages to blocks that
//! instrumented bodies read themselves, without a call. A page of memory is part of one thread's stack at a time, so
//! what it leads to is that thread's own block; the CLR runs managed code on no other stack than the thread's.
//!
//! Two levels: a gibibyte of address space each, then pages of 4 KiB. Where nobody counts yet a page leads to null, and
//! the body calls the leaf, which enters the page. A thread's pages are taken out before it dies.

use super::reserve::{release, reserve};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Bits of an address within a page.
pub const PAGE_BITS: u32 = 12;
/// Bits of an address within what an entry of the first level stands for.
pub const REGION_BITS: u32 = 30;
/// Entries of the first level, less one. Addresses of programs have 47 bits; what more there is is not looked at.
pub const REGION_MASK: usize = (1 << 17) - 1;
/// Entries of a second level, less one.
pub const PAGE_MASK: usize = (1 << (REGION_BITS - PAGE_BITS)) - 1;

/// A page further than this from those a thread has entered is not entered: its calls go through the leaf. It bounds
/// what has to be looked through when the thread dies.
const NEAR: usize = (64 << 20) >> PAGE_BITS;
const REGION_BYTES: usize = (PAGE_MASK + 1) * size_of::<Page>();

/// Base of the block that a page of a stack leads to.
type Page = AtomicPtr<AtomicU64>;

struct Table {
    /// First pages of the second levels.
    regions: &'static [AtomicPtr<Page>],
    /// The second level of every region without stacks: nulls.
    nobody: *mut Page,
}

// SAFETY: `nobody` points to atomics that live for ever.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

static TABLE: OnceLock<Option<Table>> = OnceLock::new();

/// Address of the first level; None when the system refuses memory.
pub fn table() -> Option<usize> {
    the_table().map(|table| table.regions.as_ptr().addr())
}

/// Bytes it uses at least, once it is there.
pub fn touched_bytes() -> usize {
    TABLE.get().map_or(0, |_| (REGION_MASK + 1) * size_of::<AtomicPtr<Page>>())
}

fn the_table() -> Option<&'static Table> {
    let make = || {
        let first = reserve((REGION_MASK + 1) * size_of::<AtomicPtr<Page>>())?;
        let nobody = reserve(REGION_BYTES)?.cast::<Page>().as_ptr();
        // SAFETY: zeros of that size, aligned to a page, that are never given back; zero is an atomic null pointer.
        let regions = unsafe {
            std::slice::from_raw_parts(first.cast::<AtomicPtr<Page>>().as_ptr().cast_const(), REGION_MASK + 1)
        };
        regions.iter().for_each(|region| region.store(nobody, Ordering::Relaxed));
        Some(Table { regions, nobody })
    };
    TABLE.get_or_init(make).as_ref()
}

impl Table {
    /// The entry of a page; None while its region has no second level and `make` is not given, or memory is refused.
    fn page(&self, number: usize, make: bool) -> Option<&'static Page> {
        let region = self.regions.get(number >> (REGION_BITS - PAGE_BITS) & REGION_MASK)?;
        let mut pages = region.load(Ordering::Acquire);
        if pages == self.nobody {
            if !make {
                return None;
            }
            let fresh = reserve(REGION_BYTES)?;
            let fresh_pages = fresh.cast::<Page>().as_ptr();
            match region.compare_exchange(pages, fresh_pages, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => pages = fresh_pages,
                Err(other) => {
                    // SAFETY: it was reserved just above and was not published.
                    unsafe { release(fresh, REGION_BYTES) };
                    pages = other;
                }
            }
        }
        // SAFETY: a second level has PAGE_MASK + 1 entries, is aligned, and is never given back.
        Some(unsafe { &*pages.add(number & PAGE_MASK) })
    }
}

/// The pages of one thread's stack that lead to its block. Takes them out when dropped, on the thread itself, before
/// another thread's stack can be where its stack was.
pub struct Pages {
    base: NonNull<AtomicU64>,
    /// Lowest and highest page entered.
    entered: Cell<Option<(usize, usize)>>,
}

impl Pages {
    /// Nothing entered yet of what shall lead to `base`.
    pub fn new(base: NonNull<AtomicU64>) -> Pages {
        Pages { base, entered: Cell::new(None) }
    }

    /// Makes the page of `address`, which is on this thread's stack, lead to the block.
    pub fn enter(&self, address: usize) {
        let page = address >> PAGE_BITS;
        let (low, high) = self.entered.get().unwrap_or((page, page));
        if page.saturating_add(NEAR) < low || page > high.saturating_add(NEAR) {
            return;
        }
        if let Some(entry) = the_table().and_then(|table| table.page(page, true)) {
            entry.store(self.base.as_ptr(), Ordering::Relaxed);
            self.entered.set(Some((low.min(page), high.max(page))));
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let (Some(table), Some((low, high))) = (the_table(), self.entered.get()) else { return };
        for entry in (low..=high).filter_map(|page| table.page(page, false)) {
            // Between them may lie what is not this thread's.
            if entry.load(Ordering::Relaxed) == self.base.as_ptr() {
                entry.store(std::ptr::null_mut(), Ordering::Relaxed);
            }
        }
    }
}

/// The block an address leads to, as instrumented bodies find it.
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
    fn pages_lead_to_their_block_until_it_is_dropped() {
        let (mine, other) = (Pages::new(block()), Pages::new(block()));
        // Over the border of two regions, with another's page between.
        let border = 77usize << REGION_BITS;
        mine.enter(border - 4096);
        mine.enter(border + 4096 + 123);
        other.enter(border);
        let led = |address| look_up(address);
        assert_eq!(led(border - 1), mine.base.as_ptr());
        assert_eq!(led(border + 4096), mine.base.as_ptr());
        assert_eq!(led(border + 4095), other.base.as_ptr());
        assert!(led(border + 2 * 4096).is_null() && led(border - 4097).is_null());
        drop(mine);
        assert!(led(border - 1).is_null() && led(border + 4096).is_null());
        assert_eq!(led(border), other.base.as_ptr());
    }

    #[test]
    fn a_stack_far_from_the_thread_s_own_is_not_entered() {
        let pages = Pages::new(block());
        let here = 78usize << REGION_BITS;
        pages.enter(here);
        for far in [here + (NEAR << PAGE_BITS) + 4096, here - (NEAR << PAGE_BITS) - 4096, usize::MAX, 0] {
            pages.enter(far);
            assert!(look_up(far).is_null());
        }
        // A stack that grows page by page is followed.
        pages.enter(here - (NEAR << PAGE_BITS));
        pages.enter(here - (NEAR << PAGE_BITS) - 4096);
        assert_eq!(look_up(here - (NEAR << PAGE_BITS) - 1), pages.base.as_ptr());
    }

    #[test]
    fn addresses_of_more_bits_stay_within_the_table() {
        assert!(table().is_some());
        assert!(look_up(usize::MAX).is_null() && look_up(1 << 56).is_null());
    }
}

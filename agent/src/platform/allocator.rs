//! The agent's allocator: the system's, counted. On Linux each large block is a mapping of its own, which returns to the
//! system when it is freed: glibc keeps freed blocks of megabytes in each thread's arena, inside the host.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use super::large_blocks as mapped;

/// Bytes in blocks of the C library, with an estimate of its own share.
static SMALL: AtomicUsize = AtomicUsize::new(0);
/// The most that [`SMALL`] has been since the last trim. It rises and falls by megabytes between two looks.
static SMALL_PEAK: AtomicUsize = AtomicUsize::new(0);
/// Bytes in mapped blocks.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

#[cfg(test)]
thread_local! {
    /// Blocks that this thread took.
    pub static ALLOCATIONS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Returns the bytes of the agent's heap in use, with freed blocks that it keeps.
pub fn heap_bytes() -> usize {
    SMALL.load(Ordering::Relaxed) + MAPPED.load(Ordering::Relaxed) + mapped::kept_bytes()
}

/// Returns the bytes that the C library may keep of blocks which the agent has freed since the last trim.
pub fn untrimmed_bytes() -> usize {
    SMALL_PEAK.load(Ordering::Relaxed).saturating_sub(SMALL.load(Ordering::Relaxed))
}

/// Returns freed blocks that the agent kept for later ones to the system.
pub fn release_kept_blocks() {
    mapped::release_kept();
}

/// Returns free memory of the C library's heap to the system, the host's included; its arenas are locked one after the other
/// meanwhile. Returns the time that it took. Only glibc needs it.
pub fn trim_heap() -> Duration {
    let begun = Instant::now();
    SMALL_PEAK.store(SMALL.load(Ordering::Relaxed), Ordering::Relaxed);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called at any time, by any thread (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0)
    };
    begun.elapsed()
}

/// Returns the bytes that a block of this size takes from its heap: glibc's header and rounding, or whole pages.
fn taken(layout: Layout) -> usize {
    const HEADER: usize = 8;
    const UNIT: usize = 16;
    if mapped::is_mapped(layout) {
        layout.size().next_multiple_of(mapped::PAGE)
    } else {
        layout.size().saturating_add(HEADER).next_multiple_of(UNIT).max(2 * UNIT)
    }
}

fn add(layout: Layout) {
    let bytes = taken(layout);
    if mapped::is_mapped(layout) {
        MAPPED.fetch_add(bytes, Ordering::Relaxed);
        return;
    }
    let all = SMALL.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if all > SMALL_PEAK.load(Ordering::Relaxed) {
        SMALL_PEAK.fetch_max(all, Ordering::Relaxed);
    }
}

fn subtract(layout: Layout) {
    let counter = if mapped::is_mapped(layout) { &MAPPED } else { &SMALL };
    counter.fetch_sub(taken(layout), Ordering::Relaxed);
}

fn counted(block: *mut u8, layout: Layout) -> *mut u8 {
    if !block.is_null() {
        add(layout);
        #[cfg(test)]
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    }
    block
}

// SAFETY: every block comes from System or from mmap, which both meet the contract, and the layout that the caller
// must repeat decides which of them gets it back.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if mapped::is_mapped(layout) {
            return counted(mapped::map(layout.size()), layout);
        }
        // SAFETY: the caller's contract.
        counted(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if mapped::is_mapped(layout) {
            return counted(mapped::map_zeroed(layout.size()), layout);
        }
        // SAFETY: the caller's contract.
        counted(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        subtract(layout);
        if mapped::is_mapped(layout) {
            // SAFETY: `map` made the block with this size.
            unsafe { mapped::unmap(block, layout.size()) };
        } else {
            // SAFETY: the caller's contract.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees a valid size.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let moved = match (mapped::is_mapped(layout), mapped::is_mapped(new)) {
            // SAFETY: the caller's contract.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            // SAFETY: `map` made the block with the old size; nobody uses the old address any more.
            (true, true) => unsafe { mapped::remap(block, layout.size(), size) },
            // SAFETY: both blocks hold the copied bytes and do not overlap.
            _ => unsafe {
                let moved = self.alloc(new);
                if !moved.is_null() {
                    std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                return moved;
            },
        };
        if !moved.is_null() {
            add(new);
            subtract(layout);
        }
        moved
    }
}

#[cfg(not(target_os = "linux"))]
mod mapped {
    use std::alloc::Layout;
    use std::ptr::null_mut;

    /// Unused: no block is mapped.
    pub const PAGE: usize = 4 << 10;

    /// Returns false: other systems' allocators return large blocks themselves.
    pub fn is_mapped(_: Layout) -> bool {
        false
    }

    /// Returns 0.
    pub fn kept_bytes() -> usize {
        0
    }

    /// Does nothing.
    pub fn release_kept() {}

    /// Maps nothing.
    pub fn map(_: usize) -> *mut u8 {
        null_mut()
    }

    /// Maps nothing.
    pub fn map_zeroed(_: usize) -> *mut u8 {
        null_mut()
    }

    /// Does nothing.
    ///
    /// # Safety
    /// Always safe.
    pub unsafe fn unmap(_: *mut u8, _: usize) {}

    /// Changes nothing.
    ///
    /// # Safety
    /// Always safe.
    pub unsafe fn remap(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        null_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn blocks_keep_their_bytes_across_the_limit() {
        use crate::platform::large_blocks::LARGE;
        let mut bytes: Vec<u8> = (0..200).collect();
        for size in [LARGE - 1, LARGE, 5 * LARGE, LARGE + 1, LARGE - 1, 200] {
            bytes.resize(size, 0);
            bytes.shrink_to_fit();
            assert!(bytes.iter().take(200).copied().eq(0..200), "{size}");
            assert!(bytes.iter().skip(200).all(|byte| *byte == 0), "{size}");
        }
        assert!(vec![0u64; LARGE].iter().all(|number| *number == 0));
    }

    /// Other tests of this process may allocate a little meanwhile.
    #[test]
    fn heap_counts_blocks_until_they_are_freed() {
        const SIZE: usize = 64 << 20;
        let before = heap_bytes();
        let mut block = vec![1u8; SIZE];
        assert!((SIZE..SIZE + SIZE / 4).contains(&(heap_bytes() - before)));
        block.reserve_exact(SIZE);
        assert!((2 * SIZE..3 * SIZE).contains(&(heap_bytes() - before)));
        drop(block);
        let small: Vec<Box<[u8; 100]>> = (0..100_000).map(|_| Box::new([1; 100])).collect();
        assert!((10_000_000..16_000_000).contains(&(heap_bytes() - before)));
        drop(small);
        assert!(heap_bytes() < before + SIZE / 4);
    }

    /// As above, other tests may allocate a little.
    #[test]
    fn freed_blocks_count_until_the_next_trim() {
        let small: Vec<Box<[u8; 100]>> = (0..100_000).map(|_| Box::new([1; 100])).collect();
        drop(small);
        assert!(untrimmed_bytes() >= 10_000_000);
        trim_heap();
        assert!(untrimmed_bytes() < 4_000_000);
    }
}

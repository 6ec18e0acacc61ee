//! The agent's allocator on Linux: the system's, except that each large block is a mapping of its own, which returns to
//! the system when it is freed. glibc keeps freed blocks of megabytes in each thread's arena, inside the host.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// Blocks of this size or more are mapped.
const LARGE: usize = 256 << 10;
/// Alignment of every mapping, bytes: the smallest page that Linux has.
const PAGE: usize = 4 << 10;

#[cfg(test)]
thread_local! {
    /// Blocks that this thread took.
    pub static ALLOCATIONS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Whether a block of this size is a mapping. Depends on nothing else that `realloc` changes.
fn is_mapped(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

/// Maps a zeroed block; null if the system refuses.
fn map(size: usize) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the system's choice (mmap(2)).
    let block = unsafe { libc::mmap(null_mut(), size, access, kind, -1, 0) };
    if block == libc::MAP_FAILED { null_mut() } else { block.cast() }
}

// SAFETY: every block comes from System or from mmap, which both meet the contract, and the layout that the caller
// must repeat decides which of them gets it back.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        #[cfg(test)]
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        if is_mapped(layout.size(), layout.align()) {
            return map(layout.size());
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout.size(), layout.align()) {
            return map(layout.size());
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_mapped(layout.size(), layout.align()) {
            // SAFETY: `map` made the block with this size.
            unsafe { libc::munmap(block.cast(), layout.size()) };
        } else {
            // SAFETY: the caller's contract.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_mapped(layout.size(), layout.align()), is_mapped(size, layout.align())) {
            // SAFETY: the caller's contract.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            (true, true) => {
                // SAFETY: `map` made the block with the old size; nobody uses the old address any more.
                let moved = unsafe { libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
                if moved == libc::MAP_FAILED { null_mut() } else { moved.cast() }
            }
            // SAFETY: the caller guarantees a valid size; both blocks hold the copied bytes and do not overlap.
            _ => unsafe {
                let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !moved.is_null() {
                    std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_bytes_across_the_limit() {
        let mut bytes: Vec<u8> = (0..200).collect();
        for size in [LARGE - 1, LARGE, 5 * LARGE, LARGE + 1, LARGE - 1, 200] {
            bytes.resize(size, 0);
            bytes.shrink_to_fit();
            assert!(bytes.iter().take(200).copied().eq(0..200), "{size}");
            assert!(bytes.iter().skip(200).all(|byte| *byte == 0), "{size}");
        }
        assert!(vec![0u64; LARGE].iter().all(|number| *number == 0));
    }
}

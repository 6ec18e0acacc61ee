//! Large blocks of the agent's heap, each a mapping of its own. A few freed ones are kept for the next of their size, until
//! a session ends or has nothing to do: every page of a listing takes four, and a new mapping costs a page fault for each
//! 4 KiB and a lock of the host's whole address space.

use std::alloc::Layout;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Blocks of this size or more are mapped. When only those from a megabyte on were, 28 MiB stayed in a host after
/// hostile clients.
pub const LARGE: usize = 64 << 10;
/// Alignment of every mapping, bytes: the smallest page that Linux has.
pub const PAGE: usize = 4 << 10;
/// Freed blocks kept of each size class: 64, 128, 256 and 512 KiB. Together 2.5 MiB.
const KEPT: [usize; 4] = [4, 4, 3, 2];
const MOST_KEPT: usize = 4;

/// Kept blocks by class; null where there is none.
static SHELVES: [[AtomicPtr<u8>; MOST_KEPT]; KEPT.len()] =
    [const { [const { AtomicPtr::new(null_mut()) }; MOST_KEPT] }; KEPT.len()];
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a block is a mapping. Depends on nothing else that `realloc` changes.
pub fn is_mapped(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

/// Returns the bytes of freed blocks that are kept.
pub fn kept_bytes() -> usize {
    KEPT_BYTES.load(Ordering::Relaxed)
}

/// Returns the kept blocks to the system.
pub fn release_kept() {
    for (class, shelf) in SHELVES.iter().enumerate() {
        for place in shelf {
            let block = place.swap(null_mut(), Ordering::AcqRel);
            if !block.is_null() {
                KEPT_BYTES.fetch_sub(LARGE << class, Ordering::Relaxed);
                // SAFETY: a mapping of this class, which was freed and is on no shelf any more.
                unsafe { unmap_now(block, LARGE << class) };
            }
        }
    }
}

/// Returns the size class of a block; None if it is too large to be kept.
fn class(size: usize) -> Option<usize> {
    let class = size.div_ceil(LARGE).next_power_of_two().ilog2() as usize;
    (class < KEPT.len()).then_some(class)
}

/// Returns the size of the mapping for a block.
fn mapping(size: usize) -> usize {
    class(size).map_or(size, |class| LARGE << class)
}

fn shelf(class: usize) -> impl Iterator<Item = &'static AtomicPtr<u8>> {
    let most = KEPT.get(class).copied().unwrap_or(0);
    SHELVES.get(class).into_iter().flatten().take(most)
}

/// Takes a kept block for this size; null if there is none.
fn take_kept(size: usize) -> *mut u8 {
    let Some(class) = class(size) else { return null_mut() };
    let taken =
        shelf(class).map(|place| place.swap(null_mut(), Ordering::AcqRel)).find(|block| !block.is_null());
    if taken.is_some() {
        KEPT_BYTES.fetch_sub(LARGE << class, Ordering::Relaxed);
    }
    taken.unwrap_or(null_mut())
}

/// Keeps a freed block; false if there is no place for it.
fn keep(block: *mut u8, size: usize) -> bool {
    let Some(class) = class(size) else { return false };
    // First: who takes the block at once subtracts its bytes.
    KEPT_BYTES.fetch_add(LARGE << class, Ordering::Relaxed);
    let is_kept = shelf(class).any(|place| {
        place.load(Ordering::Relaxed).is_null()
            && place.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    if !is_kept {
        KEPT_BYTES.fetch_sub(LARGE << class, Ordering::Relaxed);
    }
    is_kept
}

/// Maps a block; null if the system refuses.
pub fn map(size: usize) -> *mut u8 {
    let kept = take_kept(size);
    if kept.is_null() { map_new(size) } else { kept }
}

/// Maps a zeroed block; null if the system refuses.
pub fn map_zeroed(size: usize) -> *mut u8 {
    let kept = take_kept(size);
    if kept.is_null() {
        return map_new(size);
    }
    // SAFETY: the mapping has at least this size, and nobody else has it.
    unsafe { kept.write_bytes(0, size) };
    kept
}

fn map_new(size: usize) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the system's choice (mmap(2)).
    let block = unsafe { libc::mmap(null_mut(), mapping(size), access, kind, -1, 0) };
    if block == libc::MAP_FAILED { null_mut() } else { block.cast() }
}

/// Frees a block.
///
/// # Safety
/// [`map`], [`map_zeroed`] or [`remap`] made it with this size, and nobody uses it any more.
pub unsafe fn unmap(block: *mut u8, size: usize) {
    if !keep(block, size) {
        // SAFETY: the caller's contract.
        unsafe { unmap_now(block, mapping(size)) };
    }
}

/// # Safety
/// `block` is a mapping of this many bytes that nobody uses any more.
unsafe fn unmap_now(block: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe { libc::munmap(block.cast(), bytes) };
}

/// Changes the size of a block; null if the system refuses, and then it stays.
///
/// # Safety
/// As for [`unmap`].
pub unsafe fn remap(block: *mut u8, size: usize, new: usize) -> *mut u8 {
    if mapping(size) == mapping(new) {
        return block;
    }
    let kept = take_kept(new);
    if !kept.is_null() {
        // SAFETY: both mappings have at least the copied bytes, and they are different ones; the rest is the caller's
        // contract.
        unsafe {
            kept.copy_from_nonoverlapping(block, size.min(new));
            unmap(block, size);
        }
        return kept;
    }
    // SAFETY: the caller's contract.
    let moved = unsafe { libc::mremap(block.cast(), mapping(size), mapping(new), libc::MREMAP_MAYMOVE) };
    if moved == libc::MAP_FAILED { null_mut() } else { moved.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_blocks() {
        assert_eq!([1, LARGE, LARGE + 1, 2 * LARGE].map(class), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!([8 * LARGE, 8 * LARGE + 1].map(class), [Some(3), None]);
        assert_eq!([LARGE + 1, 8 * LARGE, 9 * LARGE].map(mapping), [2 * LARGE, 8 * LARGE, 9 * LARGE]);
        assert!(KEPT.iter().all(|most| *most <= MOST_KEPT));
    }

    /// Other tests of this process may take kept blocks meanwhile, but each returns at most what there is room for.
    #[test]
    fn kept_blocks_are_bounded_and_zeroed_again() {
        const SIZE: usize = 3 * LARGE;
        let blocks: Vec<_> = (0..100).map(|_| vec![7u8; SIZE]).collect();
        drop(blocks);
        let most: usize = KEPT.iter().enumerate().map(|(class, most)| most * (LARGE << class)).sum();
        assert!(kept_bytes() <= most);
        for _ in 0..10 {
            let zeroed = vec![0u8; SIZE];
            assert!(zeroed.iter().all(|byte| *byte == 0));
        }
        release_kept();
        assert!(kept_bytes() <= most);
    }
}

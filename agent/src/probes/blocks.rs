//! Per-thread counter blocks. A block is a reservation of address space with a `u64` for every slot; its pages
//! exist once touched. Only the owning thread writes to a block, so counting is a plain increment, exact and
//! free of contention. When the thread dies, the block keeps its numbers and goes to the next new thread. So
//! the sum over all blocks is always correct, and nothing has to be summed at thread exit.
//!
//! Claiming a block takes no lock: blocks form a list that only grows, and a flag says whether one is owned.

use super::address_space::{release, reserve};
use crate::sync::long_work;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Index of a dialled copy's counter in every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Number of slots, 8 bytes each. On Unix a block uses only the touched part of its 2 MiB. Windows charges the
/// whole block to the process's commit, so there a block is 512 KiB.
pub const MAX_SLOTS: u32 = if cfg!(windows) { 1 << 16 } else { 1 << 18 };

/// The last slot, which belongs to no copy: the cost of a call is measured there.
pub const MEASUREMENT_SLOT: Slot = Slot(MAX_SLOTS - 1);

/// One thread's counters.
pub struct Block {
    counters: NonNull<AtomicU64>,
    owned: AtomicBool,
    next: *const Block,
}

static HEAD: AtomicPtr<Block> = AtomicPtr::new(std::ptr::null_mut());
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
/// Shared by threads that cannot own a block (memory refused, or past their own destructors): exact but slow.
static SHARED: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

impl Block {
    /// Returns the address of the first counter, for the helper.
    pub fn base(&self) -> NonNull<AtomicU64> {
        self.counters
    }

    /// Releases the block for another thread. Its numbers stay.
    pub fn release(&self) {
        self.owned.store(false, Ordering::Release);
    }

    fn claim(&self) -> bool {
        self.owned.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

fn all() -> impl Iterator<Item = &'static Block> {
    let mut at: *const Block = HEAD.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: list nodes are leaked boxes, published with Release and never freed.
        let block = unsafe { at.as_ref() }?;
        at = block.next;
        Some(block)
    })
}

/// Returns a block for the calling thread, recycled if possible; None if the system refuses memory.
pub fn acquire() -> Option<&'static Block> {
    if let Some(block) = all().find(|block| block.claim()) {
        return Some(block);
    }
    let counters = reserve(RESERVATION)?.cast();
    let block = Box::leak(Box::new(Block { counters, owned: AtomicBool::new(true), next: std::ptr::null() }));
    loop {
        let head = HEAD.load(Ordering::Acquire);
        block.next = head;
        if HEAD.compare_exchange(head, block, Ordering::Release, Ordering::Relaxed).is_ok() {
            BLOCKS.fetch_add(1, Ordering::Relaxed);
            return Some(block);
        }
    }
}

/// Returns the counters of a run of slots in the block at `base`; None if `first` is too close to the end.
pub(super) fn run<'a, const N: usize>(base: NonNull<AtomicU64>, first: Slot) -> Option<&'a [AtomicU64; N]> {
    let first = first.0 as usize;
    // SAFETY: bases are live reservations of MAX_SLOTS counters that are never given back; the run is within.
    (first + N <= MAX_SLOTS as usize).then(|| unsafe { base.add(first).cast().as_ref() })
}

/// Visits a run of slots in every block. The argument is true for the run that threads without a block share.
pub(super) fn each_run<const N: usize>(first: Slot, mut visit: impl FnMut(&[AtomicU64; N], bool)) {
    long_work();
    let shared = NonNull::new(SHARED.load(Ordering::Acquire));
    let bases = all().map(|block| (block.counters, false)).chain(shared.map(|base| (base, true)));
    for (base, shared) in bases {
        if let Some(run) = run(base, first) {
            visit(run, shared);
        }
    }
}

/// Adds to a slot for a thread without a block.
pub fn add_shared(slot: Slot, more: u64) {
    let mut base = SHARED.load(Ordering::Acquire);
    if base.is_null() {
        let Some(fresh) = reserve(RESERVATION) else { return };
        let counters = fresh.cast().as_ptr();
        match SHARED.compare_exchange(std::ptr::null_mut(), counters, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => base = counters,
            Err(other) => {
                // SAFETY: it was reserved just above and not published.
                unsafe { release(fresh, RESERVATION) };
                base = other;
            }
        }
    }
    if slot.0 < MAX_SLOTS {
        // SAFETY: `base` is a live reservation of MAX_SLOTS counters and the slot is within it.
        unsafe { &*base.add(slot.0 as usize) }.fetch_add(more, Ordering::Relaxed);
    }
}

/// Sums each slot over every block into `sums` (same length as `slots`). A call counted meanwhile is in this
/// sum or in the next; none is lost.
pub fn sum(slots: &[Slot], sums: &mut Vec<u64>) {
    long_work();
    sums.clear();
    sums.resize(slots.len(), 0);
    let shared = SHARED.load(Ordering::Acquire);
    let bases = all().map(|b| b.counters.as_ptr()).chain((!shared.is_null()).then_some(shared));
    for base in bases {
        for (slot, sum) in slots.iter().zip(sums.iter_mut()) {
            if slot.0 < MAX_SLOTS {
                // SAFETY: every base is a live reservation of MAX_SLOTS counters; untouched pages read as zero.
                *sum += unsafe { &*base.add(slot.0 as usize) }.load(Ordering::Relaxed);
            }
        }
    }
}

/// Returns the number of blocks made: at most one per thread alive at the same time.
pub fn count() -> usize {
    BLOCKS.load(Ordering::Relaxed)
}

/// Returns the bytes of counters that may have been touched with this many slots in use: whole pages, in every
/// block.
pub fn touched_bytes(slots: u64) -> usize {
    const PAGE: usize = 4096;
    count() * (slots as usize * size_of::<u64>()).div_ceil(PAGE) * PAGE
}

const RESERVATION: usize = MAX_SLOTS as usize * size_of::<AtomicU64>();

//! Per-thread counter blocks. A block is a reservation of address space with a `u64` for every slot, of which the
//! part that is in use is committed. Only the owning thread writes to a block, so counting is a plain increment,
//! exact and free of contention. When the thread dies, the block keeps its numbers and goes to the next new
//! thread. So the sum over all blocks is always correct, and nothing has to be summed at thread exit.
//!
//! Claiming a block takes no lock and nothing from the heap: blocks form a list that only grows, each begins with
//! its own entry, and a flag says whether one is owned.

use super::address_space::{self, PAGE};
use super::stack_pages::Pages;
use super::thread_list::{ThreadItem, ThreadList};
use crate::sync::long_work;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Index of a dialled copy's counter in every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Maximum number of slots, 8 bytes each; see [`capacity`].
pub const MAX_SLOTS: u32 = 1 << 18;
/// Slots of a process with little address space.
const MIN_SLOTS: u32 = 1 << 12;

/// The slot that belongs to no copy: the cost of a call is measured there. Those of copies follow.
pub const MEASUREMENT_SLOT: Slot = Slot(0);

/// Threads whose blocks fit into [`PART_OF_SPACE`] of a limited address space.
const THREADS: u64 = 1024;
const PART_OF_SPACE: u64 = 16;

/// Slots that blocks have room for from the start. (Tests use slots that nobody assigned.)
const FIRST_ROOM: u32 = if cfg!(test) { 1 << 13 } else { 1 };

/// One thread's counters, at the beginning of its reservation. They follow.
#[repr(C, align(64))]
pub struct Block {
    owned: AtomicBool,
    /// Whether its owner is refused memory for times.
    pub(super) untimed: Cell<bool>,
    /// Number of open counters from the first on.
    open: AtomicU32,
    /// The first of the open counters before the end.
    open_from: AtomicU32,
    /// Number of counters, open or not.
    end: u32,
    /// Pages of its owner's stack that lead to it.
    pub(super) pages: Pages,
    next: AtomicPtr<Block>,
}

impl ThreadItem for Block {
    fn owned(&self) -> &AtomicBool {
        &self.owned
    }

    fn next(&self) -> &AtomicPtr<Block> {
        &self.next
    }
}

static BLOCKS: ThreadList<Block> = ThreadList::new();
/// Shared by threads that cannot own a block (memory refused, or at their very end): exact but slow.
static SHARED: AtomicPtr<Block> = AtomicPtr::new(std::ptr::null_mut());
/// Number of counters that are open in every block, from the first and before the end.
static ROOM: AtomicU32 = AtomicU32::new(FIRST_ROOM);
static ROOM_AT_END: AtomicU32 = AtomicU32::new(0);

/// Returns the number of slots of this process. Where the address space is limited, there are fewer, so that
/// blocks of many threads fit.
pub fn capacity() -> u32 {
    static CAPACITY: AtomicU32 = AtomicU32::new(0);
    let known = CAPACITY.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let capacity = address_space::limit().map_or(MAX_SLOTS, fitting);
    // The limit may change; the first answer stays.
    match CAPACITY.compare_exchange(0, capacity, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => capacity,
        Err(first) => first,
    }
}

/// Returns the number of slots that fits into a limited address space.
fn fitting(limit: u64) -> u32 {
    let slots = limit / PART_OF_SPACE / THREADS / size_of::<AtomicU64>() as u64;
    let slots = u32::try_from(slots).unwrap_or(MAX_SLOTS).clamp(MIN_SLOTS, MAX_SLOTS);
    1 << slots.ilog2()
}

/// Bytes of a block.
fn reservation() -> usize {
    (size_of::<Block>() + capacity() as usize * size_of::<AtomicU64>()).next_multiple_of(PAGE)
}

/// Bytes to open for this many counters: powers of two, so that blocks seldom grow.
fn stretch(bytes: usize) -> usize {
    bytes.next_power_of_two().max(PAGE).min(reservation())
}

impl Block {
    /// Makes a block that nobody knows yet, owned by the calling thread.
    fn new() -> Option<NonNull<Block>> {
        let bytes = reservation();
        let address = address_space::reserve(bytes)?;
        let first = stretch(size_of::<Block>());
        // SAFETY: within the reservation.
        if !unsafe { address_space::commit(address, first) } {
            // SAFETY: nobody has its address.
            unsafe { address_space::release(address, bytes) };
            return None;
        }
        let block = address.cast::<Block>();
        let entry = Block {
            owned: AtomicBool::new(true),
            untimed: Cell::new(false),
            open: AtomicU32::new(counters_in(first - size_of::<Block>())),
            open_from: AtomicU32::new(capacity()),
            end: capacity(),
            pages: Pages::default(),
            next: AtomicPtr::new(std::ptr::null_mut()),
        };
        // SAFETY: it is open, large enough and aligned to a page.
        unsafe { block.write(entry) };
        Some(block)
    }

    /// Returns the address of the first counter, for the helper.
    pub fn base(&self) -> NonNull<AtomicU64> {
        // SAFETY: the counters follow the entry in the same reservation.
        unsafe { NonNull::from(self).add(1).cast() }
    }

    /// Returns the block whose first counter this is.
    ///
    /// # Safety
    /// It came from [`Block::base`].
    pub(super) unsafe fn with_base(base: *const AtomicU64) -> &'static Block {
        // SAFETY: the entry precedes the counters, and blocks are never given back.
        unsafe { &*base.cast::<Block>().sub(1) }
    }

    /// Releases the block for another thread. Its numbers stay.
    pub fn release(&self) {
        self.untimed.set(false);
        self.owned.store(false, Ordering::Release);
    }

    /// Returns the counter of a slot; None if it is not open.
    fn counter(&self, slot: Slot) -> Option<&AtomicU64> {
        self.run::<1>(slot).map(|[counter]| counter)
    }

    /// Returns the counters of a run of slots; None if they are not open.
    pub(super) fn run<const N: usize>(&self, first: Slot) -> Option<&[AtomicU64; N]> {
        let end = first.0.checked_add(N as u32).filter(|end| *end <= self.end)?;
        let is_open =
            end <= self.open.load(Ordering::Acquire) || first.0 >= self.open_from.load(Ordering::Acquire);
        // SAFETY: the counters are open, and what is open stays so.
        is_open.then(|| unsafe { self.base().add(first.0 as usize).cast().as_ref() })
    }

    /// Returns whether the counter of a slot is open.
    pub(super) fn is_open(&self, slot: Slot) -> bool {
        self.counter(slot).is_some()
    }

    /// Counts one call; only for the owner. False if the slot is not open.
    pub(super) fn count(&self, slot: Slot) -> bool {
        let counter = self.counter(slot);
        if let Some(counter) = counter {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        counter.is_some()
    }

    /// Returns the bytes of its first page and of those with counters that are not zero: nobody writes zeros.
    fn touched_bytes(&self) -> usize {
        let open = self.open.load(Ordering::Acquire).min(ROOM.load(Ordering::SeqCst));
        let from = self
            .open_from
            .load(Ordering::Acquire)
            .max(self.end.saturating_sub(ROOM_AT_END.load(Ordering::SeqCst)));
        let counters = |first: u32, end: u32| {
            // SAFETY: the counters are open, and what is open stays so.
            unsafe {
                let first_counter = self.base().add(first as usize).as_ptr();
                std::slice::from_raw_parts(first_counter.cast_const(), end.saturating_sub(first) as usize)
            }
        };
        let is_touched =
            |page: &&[AtomicU64]| page.iter().any(|counter| counter.load(Ordering::Relaxed) != 0);
        let first = PAGE.saturating_sub(size_of::<Block>()) / size_of::<AtomicU64>();
        let rest = counters(open.min(first as u32), open).chunks(PAGE / size_of::<AtomicU64>());
        let at_end = counters(from.max(open), self.end).chunks(PAGE / size_of::<AtomicU64>());
        (1 + rest.chain(at_end).filter(is_touched).count()) * PAGE
    }

    /// Opens as many counters as every block has; false if the system refuses.
    fn open_room(&self) -> bool {
        let (room, at_end) = (ROOM.load(Ordering::SeqCst), ROOM_AT_END.load(Ordering::SeqCst));
        let (start, all) = (NonNull::from(self).cast::<u8>(), reservation());
        // Two threads may open the same memory; that changes nothing.
        if room > self.open.load(Ordering::Acquire) {
            let bytes = stretch(size_of::<Block>() + room as usize * size_of::<AtomicU64>());
            // SAFETY: within the reservation.
            if !unsafe { address_space::commit(start, bytes) } {
                return false;
            }
            self.open.fetch_max(counters_in(bytes - size_of::<Block>()), Ordering::AcqRel);
        }
        let from = self.end - at_end;
        if from < self.open_from.load(Ordering::Acquire) {
            // The last page may have room for more than the last counter.
            let bytes = stretch(at_end as usize * size_of::<AtomicU64>() + PAGE);
            // SAFETY: within the reservation.
            if !unsafe { address_space::commit(start.add(all - bytes), bytes) } {
                return false;
            }
            self.open_from.fetch_min(from, Ordering::AcqRel);
        }
        true
    }
}

fn counters_in(bytes: usize) -> u32 {
    capacity().min((bytes / size_of::<AtomicU64>()) as u32)
}

fn all() -> impl Iterator<Item = &'static Block> {
    BLOCKS.all()
}

fn shared() -> Option<&'static Block> {
    // SAFETY: published complete, and never given back.
    unsafe { SHARED.load(Ordering::Acquire).as_ref() }
}

/// Returns a block for the calling thread, recycled if possible; None if the system refuses memory.
pub fn acquire() -> Option<&'static Block> {
    let block = match BLOCKS.claim() {
        Some(block) => block,
        // SAFETY: complete, never given back, and nobody else knows it.
        None => unsafe { BLOCKS.append(Block::new()?) },
    };
    // A thread that made room since the block was made may not have seen it.
    if !block.open_room() {
        block.release();
        return None;
    }
    Some(block)
}

/// Makes room in every block, present and future, for this many slots, and this many at the end. Call it before any
/// body uses them, on one thread only. False if the system refuses the memory.
pub fn make_room(slots: u32, at_end: u32) -> bool {
    let limit = |slots: u32| slots.min(capacity());
    // First: a block made meanwhile sees these values, or is seen below.
    let before = ROOM.fetch_max(limit(slots), Ordering::SeqCst);
    let before_at_end = ROOM_AT_END.fetch_max(limit(at_end), Ordering::SeqCst);
    let has_room = shared_or_new().is_some_and(Block::open_room) && all().all(Block::open_room);
    if !has_room {
        // Nobody else raises them. Future threads need no more room than before.
        ROOM.store(before, Ordering::SeqCst);
        ROOM_AT_END.store(before_at_end, Ordering::SeqCst);
    }
    has_room
}

fn shared_or_new() -> Option<&'static Block> {
    if let Some(shared) = shared() {
        return Some(shared);
    }
    let fresh = Block::new()?;
    if SHARED
        .compare_exchange(std::ptr::null_mut(), fresh.as_ptr(), Ordering::AcqRel, Ordering::Relaxed)
        .is_err()
    {
        // SAFETY: another thread was faster; nobody knows this one.
        unsafe { address_space::release(fresh.cast(), reservation()) };
    }
    shared()
}

/// Visits a run of slots in every block. The argument is true for the run that threads without a block share.
pub(super) fn each_run<const N: usize>(first: Slot, mut visit: impl FnMut(&[AtomicU64; N], bool)) {
    long_work();
    let blocks = all().map(|block| (block, false)).chain(shared().map(|block| (block, true)));
    for (block, shared) in blocks {
        if let Some(run) = block.run(first) {
            visit(run, shared);
        }
    }
}

/// Adds to a slot for a thread without a block. Whoever assigned the slot has made room for it, so nothing is lost.
pub fn add_shared(slot: Slot, more: u64) {
    let shared = shared_or_new().filter(|shared| shared.open_room());
    if let Some(counter) = shared.and_then(|shared| shared.counter(slot)) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

/// Sums each slot over every block into `sums` (same length as `slots`). A call counted meanwhile is in this
/// sum or in the next; none is lost.
pub fn sum(slots: &[Slot], sums: &mut Vec<u64>) {
    long_work();
    sums.clear();
    sums.resize(slots.len(), 0);
    for block in all().chain(shared()) {
        for (slot, sum) in slots.iter().zip(sums.iter_mut()) {
            // A block without room for a slot has counted nothing there.
            *sum += block.counter(*slot).map_or(0, |counter| counter.load(Ordering::Relaxed));
        }
    }
}

/// Returns the number of blocks made: at most one per thread alive at the same time.
#[cfg(test)]
pub fn count() -> usize {
    all().count()
}

/// Returns the bytes of the pages that counters were written to, in every block. Most threads call few of the dialled methods.
pub fn touched_bytes() -> usize {
    long_work();
    all().chain(shared()).map(Block::touched_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_address_space_has_fewer_slots() {
        assert_eq!((fitting(0), fitting(u64::MAX)), (MIN_SLOTS, MAX_SLOTS));
        assert_eq!((fitting(4 << 30), fitting(5 << 30), fitting(64 << 30)), (1 << 15, 1 << 15, MAX_SLOTS));
    }

    #[test]
    fn pages_without_calls_take_nothing() {
        let block = Block::new().unwrap();
        // SAFETY: it is never given back.
        let block = unsafe { block.as_ref() };
        assert!(block.open_room() && block.open.load(Ordering::Relaxed) >= FIRST_ROOM);
        assert_eq!(block.touched_bytes(), PAGE);
        for (slot, pages) in [(0, 1), (FIRST_ROOM - 1, 2), (FIRST_ROOM - 2, 2), (FIRST_ROOM / 2, 3)] {
            assert!(block.count(Slot(slot)));
            assert_eq!(block.touched_bytes(), pages * PAGE, "slot {slot}");
        }
    }

    #[test]
    fn every_block_has_room_for_assigned_slots() {
        let (last, first_run) = (Slot(FIRST_ROOM * 2), Slot(capacity() - 12));
        let early = acquire().unwrap();
        assert!(!early.count(last) && early.run::<12>(first_run).is_none());
        assert!(make_room(last.0 + 1, 12));
        let late = acquire().unwrap();
        for block in [early, late] {
            assert!(block.count(last) && block.run::<12>(first_run).is_some());
            assert!(block.run::<12>(Slot(capacity() - 11)).is_none());
            block.release();
        }
        add_shared(last, 3);
        add_shared(first_run, 1);
        let mut sums = Vec::new();
        sum(&[last, first_run, Slot(u32::MAX)], &mut sums);
        assert_eq!(sums, [5, 1, 0]);
    }
}

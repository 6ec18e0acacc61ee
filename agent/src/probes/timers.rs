//! What threads know of timed calls: each has a *timer*, which only it writes to. A stack of frames says which calls it is
//! in, from the outermost inwards; a record a slot has what became of those that ended. When a thread dies its timer keeps
//! its records and serves the next thread, as blocks do, so sums over all timers are the truth.
//!
//! A frame is known by the address of a variable in the stack frame of the call it stands for. Stacks grow downwards, so
//! whatever stands at or below a frame that begins, or below one that ends, is of calls that were unwound in ways that
//! nobody was told of: it is given up, and the thread's account is in order again.

use super::arena::{self, For};
use super::blocks::{MAX_SLOTS, Slot};
use super::clock::{self, Clock};
use super::histogram::{self, BUCKETS, OCTAVES};
use super::lacks::{self, Lacks};
use super::steps::{STEP, Steps};
use super::thrown::Thrown;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

mod alarm;
pub mod sites;
mod sums;

pub use alarm::lower_alarms;
pub use sums::{Sums, Taken, fill, reset, sum, sums, taken};

/// Calls within calls that a thread can be timed in, one more; deeper ones are only counted.
pub(super) const MAX_FRAMES: usize = 1 << 17;
/// How often, in ticks, the collector is let in by runtimes that cannot stop a thread in a leaf: every ten microseconds or so.
pub(super) const LET_IN: u64 = 1 << 15;

/// What a thread knows of the calls of one slot, in ticks.
#[repr(C, align(64))]
struct Record {
    /// Timed calls that began.
    entered: AtomicU64,
    /// Those of them that are over; where they are all but the one that ends it is an outermost activation.
    ended: AtomicU64,
    exceptions: AtomicU64,
    /// Outermost activations.
    total: AtomicU64,
    /// Without dialled callees.
    own: AtomicU64,
    max: AtomicU64,
    /// Calls that are over without having been timed.
    given_up: AtomicU64,
    /// What takes no longer is nothing out of the ordinary: as `max`, or less where a condition has it looked at (`alarm`).
    usual: AtomicU64,
    /// How long the call took that ended last and is in no bucket yet, or [`NONE`]. No place in memory that is written to may
    /// depend on a reading of the counter that was only just asked for: that costs 3 ns.
    pending: AtomicU64,
    /// The histogram's octaves, units of the arena; 0 where there is none yet.
    octaves: [AtomicU32; OCTAVES],
}

const _: () = assert!(size_of::<Record>() == arena::UNIT);
const _: () = assert!(BUCKETS * size_of::<AtomicU64>() == arena::UNIT);

/// No call: longer than any.
const NONE: u64 = u64::MAX;

/// A call under way.
#[repr(C)]
struct Frame {
    address: usize,
    record: *const Record,
    start: u64,
    /// Ticks in dialled callees.
    children: u64,
}

/// One thread's account.
#[repr(C)]
pub struct Timer {
    /// The innermost frame; the lowest one stands for no call. Written after everything else that a call changes.
    top: AtomicPtr<Frame>,
    bottom: *mut Frame,
    /// The last one that there is room for so far.
    last: Cell<*mut Frame>,
    /// The owner's counters of calls.
    counters: Cell<*const AtomicU64>,
    /// A pointer a slot.
    records: NonNull<AtomicPtr<Record>>,
    arena: NonNull<u8>,
    /// When the latest call began. Written after the frame that stands for it.
    latest: AtomicU64,
    /// When the collector was let in last.
    let_in: Cell<u64>,
    frames: Steps,
    table: Steps,
    owned: AtomicBool,
    /// The system's number of the owner's thread.
    thread: Cell<u32>,
    thrown: Thrown,
    chains: sites::Chains,
    next: *const Timer,
}

const RECORDS_BYTES: usize = MAX_SLOTS as usize * size_of::<AtomicPtr<Record>>();
const FRAMES_BYTES: usize = MAX_FRAMES * size_of::<Frame>();
/// Whether memory must be asked for before it is touched: elsewhere a table's pages come as they are, and only those
/// that records are entered in count.
const IN_ADVANCE: bool = cfg!(windows);

/// The last frame that there is room for.
fn last_of(frames: &Steps) -> *mut Frame {
    frames.base().cast::<Frame>().as_ptr().wrapping_add(frames.open() / size_of::<Frame>() - 1)
}

/// See [`Timer::mark`].
pub(super) type Mark = (u64, usize);

static HEAD: AtomicPtr<Timer> = AtomicPtr::new(std::ptr::null_mut());

/// Slots that every timer's table has room for, where the system charges for room that nobody uses.
static ROOM: AtomicU32 = AtomicU32::new(0);

/// Adds to a number that only this thread writes.
#[inline(always)]
fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// Every timer, those without a thread included.
pub(super) fn all() -> impl Iterator<Item = &'static Timer> {
    let mut at: *const Timer = HEAD.load(Ordering::SeqCst);
    std::iter::from_fn(move || {
        // SAFETY: list nodes are leaked boxes, published with Release and never freed.
        let timer = unsafe { at.as_ref() }?;
        at = timer.next;
        Some(timer)
    })
}

impl Timer {
    /// A timer for the calling thread, whose calls are counted at `counters`: a recycled one, else a new one; None when
    /// memory for times is used up, or the system refuses some.
    pub fn acquire(counters: NonNull<AtomicU64>) -> Option<&'static Timer> {
        let claim = |timer: &&Timer| {
            timer.owned.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let timer = match all().find(claim) {
            Some(timer) => timer,
            None => Timer::publish(Timer::new()?),
        };
        // Whoever made room since it was made may not have seen it.
        if !timer.takes_slots(ROOM.load(Ordering::SeqCst)) {
            timer.owned.store(false, Ordering::Release);
            return None;
        }
        timer.counters.set(counters.as_ptr());
        timer.thread.set(crate::platform::thread_id());
        Some(timer)
    }

    fn new() -> Option<Timer> {
        let arena = arena::base()?;
        let (table, frames) = (Steps::new(RECORDS_BYTES)?, Steps::new(FRAMES_BYTES)?);
        if !frames.open_to(STEP) {
            return None;
        }
        let bottom = frames.base().cast::<Frame>().as_ptr();
        // SAFETY: it is open; nothing is as high as the lowest frame's address.
        unsafe { (*bottom).address = usize::MAX };
        Some(Timer {
            top: AtomicPtr::new(bottom),
            bottom,
            last: Cell::new(last_of(&frames)),
            counters: Cell::new(std::ptr::null()),
            records: table.base().cast(),
            arena,
            latest: AtomicU64::new(0),
            let_in: Cell::new(0),
            frames,
            table,
            owned: AtomicBool::new(true),
            thread: Cell::new(0),
            thrown: Thrown::default(),
            chains: sites::Chains::default(),
            next: std::ptr::null(),
        })
    }

    fn publish(timer: Timer) -> &'static Timer {
        let timer = Box::leak(Box::new(timer));
        loop {
            let head = HEAD.load(Ordering::Acquire);
            timer.next = head;
            if HEAD.compare_exchange(head, timer, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return timer;
            }
        }
    }

    /// Gives the timer to the next thread that asks. Calls under way never end: they are given up.
    pub fn release(&self) {
        // SAFETY: the owner's thread, as everything below `Timer` but the sums. No frame is left that may be closed.
        unsafe {
            self.give_up_below(usize::MAX);
            self.frames.close_to(STEP);
        }
        self.thrown.clear();
        self.last.set(last_of(&self.frames));
        self.owned.store(false, Ordering::Release);
    }

    /// Makes room for deeper calls: twice as many. False where that is too deep, or no memory is left.
    #[cold]
    fn deepen(&self, slot_offset: usize) -> bool {
        let wanted = (self.frames.open() * 2).min(FRAMES_BYTES);
        let enough = self.frames.open() < FRAMES_BYTES;
        if enough && self.frames.open_to(wanted) {
            self.last.set(last_of(&self.frames));
            return true;
        }
        lacks::note(slot_offset, if enough { Lacks::Memory } else { Lacks::Deep });
        false
    }

    /// Whether there is room for the entries of so many slots.
    fn takes_slots(&self, slots: u32) -> bool {
        !IN_ADVANCE || self.table.open_to(slots as usize * size_of::<AtomicPtr<Record>>())
    }

    /// Bytes that a slot's entry costs: those of its page in the table, if it is the first one there.
    fn entry_costs(&self, slot_offset: usize) -> usize {
        let page = slot_offset / STEP * STEP;
        // SAFETY: the table's pages are whole ones, and the slot is below MAX_SLOTS.
        let is_empty =
            |offset| unsafe { self.records.byte_add(offset).as_ref() }.load(Ordering::Relaxed).is_null();
        let is_first =
            !IN_ADVANCE && (page..page + STEP).step_by(size_of::<AtomicPtr<Record>>()).all(is_empty);
        if is_first { STEP } else { 0 }
    }

    /// A new record of a slot; None where no memory is left.
    #[cold]
    fn fresh_record(&self, slot_offset: usize) -> Option<NonNull<Record>> {
        let costs = self.entry_costs(slot_offset);
        if !arena::charge(costs) {
            return None;
        }
        let Some(unit) = arena::take(For::Record) else {
            arena::discharge(costs);
            return None;
        };
        // SAFETY: the unit is in the arena; the slot is below MAX_SLOTS.
        unsafe {
            let record = self.arena.add(unit as usize * arena::UNIT).cast::<Record>();
            record.as_ref().pending.store(NONE, Ordering::Relaxed);
            self.records.byte_add(slot_offset).as_ref().store(record.as_ptr(), Ordering::Release);
            Some(record)
        }
    }

    /// Where it is the same as before, no call began or ended since. Between two that begin the stack only shrinks, and all
    /// that a call changes is written before the stack is; so this tells every change, read in the order it is written in.
    pub(super) fn mark(&self) -> Mark {
        (self.latest.load(Ordering::Acquire), self.top.load(Ordering::Acquire).addr())
    }

    /// Timed calls of a slot that began and that ended, as far as this thread has a record of it.
    pub(super) fn begun_and_ended(&self, slot: Slot) -> Option<(u64, u64)> {
        let record = self.record(slot)?;
        Some((record.entered.load(Ordering::Relaxed), record.ended.load(Ordering::Relaxed)))
    }

    /// A call begins: counts it, and times it where everything for that is there. False otherwise, and nothing was done.
    ///
    /// # Safety
    /// On the thread that owns the timer; `slot_offset` is that of a slot below [`MAX_SLOTS`]; `frame` is a variable in
    /// the stack frame of the call.
    #[inline(always)]
    pub unsafe fn enter<C: Clock>(&self, slot_offset: usize, frame: *mut usize) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        // SAFETY: the slot is below MAX_SLOTS; `top` is always one of the frames.
        let (record, stale) = unsafe {
            let record = self.records.byte_add(slot_offset).as_ref().load(Ordering::Relaxed);
            (record, (*top).address <= frame.addr())
        };
        if record.is_null() || stale || top == self.last.get() {
            return false;
        }
        // SAFETY: as above; the counters are those of the owner's block, with as many slots.
        unsafe {
            add(&*self.counters.get().byte_add(slot_offset), 1);
            self.push::<C>(top, &*record, frame);
        }
        true
    }

    /// # Safety
    /// As [`Timer::enter`]; `top` is the innermost frame, and there is room for another.
    #[inline(always)]
    unsafe fn push<C: Clock>(&self, top: *mut Frame, record: &Record, frame: *mut usize) {
        add(&record.entered, 1);
        let top = top.wrapping_add(1);
        self.top.store(top, Ordering::Release);
        // SAFETY: the caller's contract.
        unsafe {
            (*top).address = frame.addr();
            (*top).record = record;
            (*top).children = 0;
            // Last, so that what this does itself is not in it.
            let now = C::ticks();
            (*top).start = now;
            // After `top`: see `mark`.
            self.latest.store(C::distinct(now, &self.latest), Ordering::Release);
        }
    }

    /// Whether it is time to let the collector in, where it cannot stop a thread in a leaf.
    pub fn lets_in(&self) -> bool {
        let now = self.latest.load(Ordering::Relaxed);
        let due = now.wrapping_sub(self.let_in.get()) >= LET_IN;
        if due {
            self.let_in.set(now);
        }
        due
    }

    /// As [`Timer::enter`], for a call of a slot that this thread has no record of yet, or with frames to be given up.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    pub unsafe fn enter_slowly<C: Clock>(&self, slot_offset: usize, frame: *mut usize) {
        // SAFETY: the caller's contract.
        unsafe {
            add(&*self.counters.get().byte_add(slot_offset), 1);
            self.give_up_below(frame.addr().saturating_add(1));
            let known = NonNull::new(self.records.byte_add(slot_offset).as_ref().load(Ordering::Relaxed));
            let Some(record) = known.or_else(|| self.fresh_record(slot_offset)) else {
                return lacks::note(slot_offset, Lacks::Memory);
            };
            let record = record.as_ref();
            let top = self.top.load(Ordering::Relaxed);
            if top != self.last.get() || self.deepen(slot_offset) {
                self.push::<C>(top, record, frame);
            }
        }
    }

    /// A call that returns ends at `now`, where nothing about it is out of the ordinary. False otherwise, and nothing was done.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    #[inline(always)]
    pub unsafe fn leave(&self, frame: *const usize, now: u64) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        // SAFETY: `top` is always one of the frames, and one with that address is that of a call, so it has a record; an octave's
        // unit is in the arena.
        unsafe {
            if (*top).address != frame.addr() {
                return false;
            }
            let record = &*(*top).record;
            // What seems to end before it began looks very long.
            let took = now.wrapping_sub((*top).start);
            if took > record.usual.load(Ordering::Relaxed) {
                return false;
            }
            let (octave, bucket) = histogram::place_short(record.pending.load(Ordering::Relaxed));
            let Some(octave) = record.octaves.get(octave) else { return false };
            let unit = octave.load(Ordering::Relaxed);
            if unit == 0 {
                return false;
            }
            add(self.bucket(unit, bucket), 1);
            record.pending.store(took, Ordering::Release);
            self.close(top, record, took);
        }
        true
    }

    /// A call ends at `now`, by an exception if `thrown`. Calls that did not begin here are left alone.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    pub unsafe fn leave_slowly(&self, slot_offset: usize, frame: *const usize, now: u64, thrown: bool) {
        // SAFETY: the caller's contract; `top` is one of the frames, and one with that address, a call's, has a record.
        let (top, record, took) = unsafe {
            self.give_up_below(frame.addr());
            let top = self.top.load(Ordering::Relaxed);
            if (*top).address != frame.addr() {
                return;
            }
            (top, &*(*top).record, clock::between((*top).start, now))
        };
        self.look_at(slot_offset, record, (now, took), thrown);
        let before = record.pending.load(Ordering::Relaxed);
        if before != NONE
            && let Some(bucket) = self.bucket_of(slot_offset, record, before)
        {
            add(bucket, 1);
        }
        // So that there is room for it once it has to go there.
        let _ = self.bucket_of(slot_offset, record, took);
        record.pending.store(took, Ordering::Release);
        // SAFETY: as above.
        unsafe { self.close(top, record, took) };
    }

    /// Where calls that took so long are counted; None where memory ran out.
    fn bucket_of(&self, slot_offset: usize, record: &Record, took: u64) -> Option<&AtomicU64> {
        let (octave, bucket) = histogram::place(took);
        let octave = record.octaves.get(octave)?;
        let unit = match octave.load(Ordering::Relaxed) {
            0 => fresh_octave(slot_offset, octave)?,
            unit => unit,
        };
        // SAFETY: the unit is in the arena.
        Some(unsafe { self.bucket(unit, bucket) })
    }

    /// # Safety
    /// The unit is one of the arena's, and an octave's; the bucket is below [`BUCKETS`].
    #[inline(always)]
    unsafe fn bucket(&self, unit: u32, bucket: usize) -> &AtomicU64 {
        // SAFETY: the caller's contract.
        unsafe { &*self.arena.as_ptr().add(unit as usize * arena::UNIT).cast::<AtomicU64>().add(bucket) }
    }

    /// The innermost call is over.
    ///
    /// # Safety
    /// On the thread that owns the timer; `top` is its frame, with that record.
    #[inline(always)]
    unsafe fn close(&self, top: *mut Frame, record: &Record, took: u64) {
        // SAFETY: below the frame of a call there is another.
        let outer = unsafe {
            add(&record.own, took.saturating_sub((*top).children));
            let outer = top.sub(1);
            (*outer).children = (*outer).children.wrapping_add(took);
            outer
        };
        let ended = record.ended.load(Ordering::Relaxed).wrapping_add(1);
        if ended >= record.entered.load(Ordering::Relaxed) {
            add(&record.total, took);
        }
        // Late: whoever reads it finds everything else at least as far.
        record.ended.store(ended, Ordering::Release);
        self.top.store(outer, Ordering::Release);
    }

    /// Takes frames with addresses below this from the stack, as if their calls had not been timed.
    ///
    /// # Safety
    /// On the thread that owns the timer.
    #[cold]
    unsafe fn give_up_below(&self, address: usize) {
        // SAFETY: frames from the one above the bottom to the top are those of calls, with their records.
        unsafe {
            loop {
                let top = self.top.load(Ordering::Relaxed);
                if top == self.bottom || (*top).address >= address {
                    return;
                }
                let record = &*(*top).record;
                let ended = record.ended.load(Ordering::Relaxed);
                // Of a slot that was given to another method meanwhile it was forgotten that this call began.
                if record.entered.load(Ordering::Relaxed) > ended {
                    add(&record.given_up, 1);
                    record.ended.store(ended + 1, Ordering::Release);
                }
                self.top.store(top.sub(1), Ordering::Release);
            }
        }
    }

    fn record(&self, slot: Slot) -> Option<&Record> {
        if slot.0 >= MAX_SLOTS {
            return None;
        }
        // SAFETY: the table has MAX_SLOTS entries; records are published with Release and never given back.
        unsafe { self.records.add(slot.0 as usize).as_ref().load(Ordering::Acquire).as_ref() }
    }
}

fn fresh_octave(slot_offset: usize, octave: &AtomicU32) -> Option<u32> {
    let unit = arena::take(For::Octave);
    match unit {
        Some(unit) => octave.store(unit, Ordering::Release),
        None => lacks::note(slot_offset, Lacks::Buckets),
    }
    unit
}

/// Has every thread's list of records take so many slots, before any of them is timed; false when memory for that is used
/// up, or refused.
pub fn make_room(slots: u32) -> bool {
    let slots = slots.min(MAX_SLOTS);
    // First: a timer that is made meanwhile sees it, or is seen below.
    let before = ROOM.fetch_max(slots, Ordering::SeqCst);
    let there = all().all(|timer| timer.takes_slots(slots));
    if !there {
        // Nobody else raises it. Threads to come need no more than there was before.
        ROOM.store(before, Ordering::SeqCst);
    }
    there
}

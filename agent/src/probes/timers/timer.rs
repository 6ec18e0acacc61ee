//! One thread's timer: its stack of frames, its records, and the operations of probe helpers on them.

use super::alarm::{self, EndedCall};
use super::frame_stack::{FrameStack, NoFrames};
use super::octave::{self, Octave, Room, Width};
use super::record::{Frame, NONE, Record, add};
use super::site_chains::{Chains, Unit};
use super::slot_table::{self, SlotTable};
use super::traced_calls::TracedCalls;
use crate::probes::arena::{self, UnitPurpose};
use crate::probes::blocks::{Block, Slot};
use crate::probes::clock::{self, Clock};
use crate::probes::exception_stack::{ExceptionEvent, ExceptionStack};
use crate::probes::histogram;
use crate::probes::missing_data::{self, MissingData};
use crate::probes::stack_walk::BodyFrame;
use crate::probes::thread_list::{ThreadItem, ThreadList};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Interval in ticks at which the collector is let in on runtimes that cannot stop a thread in a helper: about
/// every ten microseconds.
pub(crate) const GC_POLL_INTERVAL: u64 = 1 << 15;

/// Times of one thread. Zeroed memory is nearly one (see [`Timer::new`]).
#[repr(C)]
pub struct Timer {
    /// The innermost frame; the lowest one stands for no call. Written after everything else that a call
    /// changes.
    pub(super) top: AtomicPtr<Frame>,
    /// The last frame that there is room for so far.
    pub(super) last: Cell<*mut Frame>,
    /// The owner's counters of calls.
    counters: Cell<*const AtomicU64>,
    arena: NonNull<u8>,
    /// Beginning of the latest call. Written after its frame.
    latest: AtomicU64,
    /// Last time when the collector was let in.
    gc_poll: Cell<u64>,
    owned: AtomicBool,
    /// Operating-system id of the owner's thread.
    thread: Cell<u32>,
    room: Room,
    pub(super) traced: TracedCalls,
    pub(super) thrown: ExceptionStack,
    chains: Chains,
    next: AtomicPtr<Timer>,
    /// Offsets of its records.
    records: SlotTable,
    pub(super) frames: FrameStack,
}

/// See [`Timer::mark`].
pub(crate) type Mark = (u64, usize);

impl ThreadItem for Timer {
    fn owned(&self) -> &AtomicBool {
        &self.owned
    }

    fn next(&self) -> &AtomicPtr<Timer> {
        &self.next
    }
}

static TIMERS: ThreadList<Timer> = ThreadList::new();

/// Iterates over every timer, including those without a thread.
pub(crate) fn all() -> impl Iterator<Item = &'static Timer> {
    TIMERS.all()
}

impl Timer {
    /// Returns a timer for the calling thread, which owns the block; recycled if possible.
    /// None if the memory for times is used up or the system refuses.
    pub fn acquire(block: &Block) -> Option<&'static Timer> {
        let timer = match TIMERS.claim() {
            Some(timer) => timer,
            // SAFETY: complete, never given back, and nobody else knows it.
            None => unsafe { TIMERS.append(Timer::new()?) },
        };
        timer.counters.set(block.base().as_ptr());
        timer.thread.set(crate::platform::thread_id());
        Some(timer)
    }

    /// Makes a timer that nobody knows yet, owned by the calling thread.
    fn new() -> Option<NonNull<Timer>> {
        let arena = arena::base()?;
        let timer = arena::take_zeroed::<Timer>(UnitPurpose::Record)?;
        // SAFETY: zeroed memory of its size that is never given back. Zeros are valid in all fields but `arena`.
        unsafe {
            (&raw mut (*timer.as_ptr()).arena).write(arena);
            let timer = timer.as_ref();
            let bottom = timer.frames.bottom();
            // No address is above that of the lowest frame.
            (*bottom).address = usize::MAX;
            timer.top.store(bottom, Ordering::Relaxed);
            timer.last.set(timer.frames.last());
            timer.owned.store(true, Ordering::Relaxed);
        }
        Some(timer)
    }

    /// Returns the block of the thread that owns the timer; only for that thread.
    pub fn block(&self) -> &'static Block {
        // SAFETY: set by `acquire`, before anyone knows the timer of its thread.
        unsafe { Block::with_base(self.counters.get()) }
    }

    /// Releases the timer for another thread. Calls in flight never end: they are given up.
    pub fn release(&self) {
        // SAFETY: on the owner's thread, like everything in `Timer` except the sums.
        unsafe { self.give_up_below(usize::MAX) };
        self.frames.give_back();
        self.traced.give_back();
        self.thrown.clear();
        self.top.store(self.frames.bottom(), Ordering::Release);
        self.last.set(self.frames.last());
        self.owned.store(false, Ordering::Release);
    }

    /// Returns the innermost frame, after making room for another. None if that is too deep or no memory is left.
    fn top_with_room(&self, slot_offset: usize) -> Option<*mut Frame> {
        let top = self.top.load(Ordering::Relaxed);
        if top != self.last.get() {
            return Some(top);
        }
        let depth = top.addr() - self.frames.bottom().addr();
        match self.frames.deepen() {
            Ok(()) => {
                let top = self.frames.bottom().wrapping_byte_add(depth);
                self.last.set(self.frames.last());
                self.top.store(top, Ordering::Release);
                Some(top)
            }
            Err(NoFrames::Deep) => {
                missing_data::note(slot_offset, MissingData::Deep);
                None
            }
            Err(NoFrames::Memory) => {
                missing_data::note(slot_offset, MissingData::Memory);
                None
            }
        }
    }

    /// Returns the record of a slot, made if necessary; None if no memory is left.
    ///
    /// # Safety
    /// On the thread that owns the timer; `slot_offset` is that of a slot below `MAX_SLOTS`.
    unsafe fn record_or_new(&self, slot_offset: usize) -> Option<&Record> {
        // SAFETY: the caller's contract.
        let entry = unsafe { self.records.entry_or_new(self.arena, slot_offset, UnitPurpose::Record)? };
        if entry.load(Ordering::Relaxed) == 0 {
            let offset = arena::take_offset(UnitPurpose::Record, 1)?;
            self.record_at(offset)?.pending.store(NONE, Ordering::Relaxed);
            entry.store(offset, Ordering::Release);
        }
        self.record_at(entry.load(Ordering::Relaxed))
    }

    /// Returns the record at this offset in the arena, which is an entry of the table; None if it is 0.
    #[inline(always)]
    fn record_at(&self, offset: u32) -> Option<&Record> {
        // SAFETY: entries are 0 or offsets of units, which are as large as a record, zeroed at first, which is a valid
        // one, and never given back.
        (offset != 0).then(|| unsafe { self.arena.add(offset as usize).cast::<Record>().as_ref() })
    }

    /// Returns a value that stays the same only if no call has begun or ended. Between two beginnings the stack
    /// only shrinks, and a call writes everything else before the stack. So the value, read in the order of
    /// writing, shows every change.
    pub(crate) fn mark(&self) -> Mark {
        (self.latest.load(Ordering::Acquire), self.top.load(Ordering::Acquire).addr())
    }

    /// Returns how many timed calls of a slot began and ended, if this thread has a record of it.
    pub(crate) fn begun_and_ended(&self, slot: Slot) -> Option<(u64, u64)> {
        let record = self.record(slot)?;
        Some((record.entered.load(Ordering::Relaxed), record.ended.load(Ordering::Relaxed)))
    }

    /// Begins a call: counts it, and times it if everything for that is in place. Otherwise returns false
    /// without doing anything.
    ///
    /// # Safety
    /// On the thread that owns the timer; `slot_offset` is that of a slot below `MAX_SLOTS`; `frame` is a
    /// variable in the stack frame of the call.
    #[inline(always)]
    pub unsafe fn enter<C: Clock>(&self, slot_offset: usize, frame: *mut usize) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        // SAFETY: the slot is below MAX_SLOTS; `top` is always one of the frames.
        let (offset, stale) = unsafe {
            let offset = self.records.entry(self.arena, slot_offset).load(Ordering::Relaxed);
            (offset, (*top).address <= frame.addr())
        };
        let Some(record) = self.record_at(offset) else { return false };
        if stale || top == self.last.get() {
            return false;
        }
        // SAFETY: as above; the counters are those of the owner's block, with as many slots.
        unsafe {
            add(&*self.counters.get().byte_add(slot_offset), 1);
            self.push::<C>(top, record, frame);
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
            // Last, so that the time does not include this function's own work.
            let now = C::ticks();
            (*top).start = now;
            // After `top`: see `mark`.
            self.latest.store(C::distinct(now, &self.latest), Ordering::Release);
        }
    }

    /// Returns whether it is time to let the collector in, on runtimes that cannot stop a thread in a helper.
    pub fn needs_gc_poll(&self) -> bool {
        let now = self.latest.load(Ordering::Relaxed);
        let due = now.wrapping_sub(self.gc_poll.get()) >= GC_POLL_INTERVAL;
        if due {
            self.gc_poll.set(now);
        }
        due
    }

    /// Starts the clock of the innermost call anew. Ignores calls that did not begin here.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    pub unsafe fn restart<C: Clock>(&self, frame: *const usize) {
        let top = self.top.load(Ordering::Relaxed);
        // SAFETY: `top` is always one of the frames.
        unsafe {
            if (*top).address == frame.addr() {
                (*top).start = C::ticks();
            }
        }
    }

    /// Like [`Timer::enter`], for a call of a slot without a record on this thread, or with frames to give up.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    pub unsafe fn enter_slowly<C: Clock>(&self, slot_offset: usize, frame: *mut usize) {
        // SAFETY: the caller's contract.
        unsafe {
            add(&*self.counters.get().byte_add(slot_offset), 1);
            self.give_up_below(frame.addr().saturating_add(1));
            let Some(record) = self.record_or_new(slot_offset) else {
                return missing_data::note(slot_offset, MissingData::Memory);
            };
            if let Some(top) = self.top_with_room(slot_offset) {
                self.push::<C>(top, record, frame);
            }
        }
    }

    /// Ends a call that returns at `now`, in the ordinary case. Otherwise returns false without doing anything.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    #[inline(always)]
    pub unsafe fn leave(&self, frame: *const usize, now: u64) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        // SAFETY: `top` is always one of the frames; one with that address belongs to a call, so it has a
        // record; the number is of one of its octaves.
        unsafe {
            if (*top).address != frame.addr() {
                return false;
            }
            let record = &*(*top).record;
            // A call that seems to end before it began looks very long.
            let took = now.wrapping_sub((*top).start);
            if took > record.usual.load(Ordering::Relaxed) {
                return false;
            }
            let (octave, bucket) = histogram::place_short(record.pending.load(Ordering::Relaxed));
            let Some(octave) = record.octaves.get(octave) else { return false };
            if !octave::add_fast(self.arena, octave.load(Ordering::Relaxed), bucket) {
                return false;
            }
            record.pending.store(took, Ordering::Release);
            self.close(top, record, took);
        }
        true
    }

    /// Ends a call at `now`, with an exception if `thrown`; `body` is its frame, if its stack is kept. Ignores calls that
    /// did not begin here.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    pub(in crate::probes) unsafe fn leave_slowly(
        &self,
        slot_offset: usize,
        frame: *const usize,
        (now, thrown): (u64, bool),
        body: Option<BodyFrame>,
    ) {
        // SAFETY: the caller's contract; `top` is one of the frames, and one with that address belongs to a
        // call and has a record.
        let (top, record, took) = unsafe {
            self.give_up_below(frame.addr());
            let top = self.top.load(Ordering::Relaxed);
            if (*top).address != frame.addr() {
                return;
            }
            (top, &*(*top).record, clock::between((*top).start, now))
        };
        let ended = EndedCall { now, took, thread: self.thread.get(), failed: thrown, body };
        alarm::examine(slot_offset, record, ended, || self.thrown.class());
        let before = record.pending.load(Ordering::Relaxed);
        if before != NONE {
            self.count_duration(slot_offset, record, before);
        }
        // Makes the octave now, so that it exists when the value moves there.
        let _ = self.octave_or_new(slot_offset, record, histogram::place(took).0);
        record.pending.store(took, Ordering::Release);
        // SAFETY: as above.
        unsafe { self.close(top, record, took) };
    }

    /// Counts a call in the histogram.
    fn count_duration(&self, slot_offset: usize, record: &Record, took: u64) {
        let (number, bucket) = histogram::place(took);
        let Some((entry, octave)) = self.octave_or_new(slot_offset, record, number) else { return };
        if !octave.add(bucket) {
            return missing_data::note(slot_offset, MissingData::Buckets);
        }
        if let Some(width) = octave.next_width(bucket)
            && let Some(number) = self.room.take(width)
            && let Some(wider) = Octave::at(self.arena, number)
        {
            octave.copy_to(wider);
            entry.store(number, Ordering::Release);
        }
    }

    /// Returns an octave of a record and the place of its number, made if necessary; None if memory ran out.
    fn octave_or_new<'a>(
        &self,
        slot_offset: usize,
        record: &'a Record,
        octave: usize,
    ) -> Option<(&'a AtomicU32, Octave)> {
        let entry = record.octaves.get(octave)?;
        if entry.load(Ordering::Relaxed) == 0 {
            let Some(number) = self.room.take(Width::Small) else {
                missing_data::note(slot_offset, MissingData::Buckets);
                return None;
            };
            entry.store(number, Ordering::Release);
        }
        Some((entry, Octave::at(self.arena, entry.load(Ordering::Relaxed))?))
    }

    /// Closes the innermost call.
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
        // Late, so that a reader finds everything else at least as recent.
        record.ended.store(ended, Ordering::Release);
        self.top.store(outer, Ordering::Release);
    }

    /// Removes frames with lower addresses from the stack, as if their calls had not been timed.
    ///
    /// # Safety
    /// On the thread that owns the timer.
    #[cold]
    unsafe fn give_up_below(&self, address: usize) {
        // SAFETY: the frames from the one above the bottom to the top belong to calls and have their records.
        unsafe {
            loop {
                let top = self.top.load(Ordering::Relaxed);
                if top == self.frames.bottom() || (*top).address >= address {
                    return;
                }
                let record = &*(*top).record;
                let ended = record.ended.load(Ordering::Relaxed);
                // If the slot went to another method meanwhile, the beginning of this call was forgotten.
                if record.entered.load(Ordering::Relaxed) > ended {
                    add(&record.given_up, 1);
                    record.ended.store(ended + 1, Ordering::Release);
                }
                self.top.store(top.sub(1), Ordering::Release);
            }
        }
    }

    pub(super) fn record(&self, slot: Slot) -> Option<&Record> {
        let offset = slot_table::offset(slot)?;
        // SAFETY: the slot exists.
        self.record_at(unsafe { self.records.entry(self.arena, offset) }.load(Ordering::Acquire))
    }

    /// Records an exception event that the runtime reports on the owner's thread, at `address` in its stack.
    pub fn record_exception(&self, event: ExceptionEvent, address: usize) {
        self.thrown.record(event, address);
    }

    /// Counts the call site `address`, or 0 if it is unknown. If there is no place for it yet, returns false
    /// without doing anything.
    ///
    /// # Safety
    /// On the thread that owns the timer; `slot_offset` is that of a slot below `MAX_SLOTS`.
    #[inline(always)]
    pub unsafe fn called_from(&self, slot_offset: usize, address: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.chains.called_from(self.arena, slot_offset, address) }
    }

    /// Like [`Timer::called_from`], but creates the place first.
    ///
    /// # Safety
    /// As [`Timer::called_from`].
    #[cold]
    pub unsafe fn called_from_new(&self, slot_offset: usize, address: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.chains.called_from_new(self.arena, slot_offset, address) };
    }

    /// Iterates over the units of a slot's chain of call sites.
    pub(super) fn sites(&self, slot: Slot) -> impl Iterator<Item = &'static Unit> {
        self.chains.units(self.arena, slot)
    }
}

/// Makes every thread check calls of a slot that take longer than `alarm`, from now on. A thread that raises
/// its alarm meanwhile sees the current condition.
pub fn lower_alarms(slot: Slot, alarm: u64) {
    if alarm == u64::MAX {
        // The next checked call raises it.
        return;
    }
    for record in all().filter_map(|timer| timer.record(slot)) {
        record.usual.fetch_min(alarm, Ordering::SeqCst);
    }
}

//! What threads know of timed calls: each has a *timer*, which only it writes to. A stack of frames says which calls it is
//! in, from the outermost inwards; a record a slot has what became of those that ended. When a thread dies its timer keeps
//! its records and serves the next thread, as blocks do, so sums over all timers are the truth.
//!
//! A frame is known by the address of a variable in the stack frame of the call it stands for. Stacks grow downwards, so
//! whatever stands at or below a frame that begins, or below one that ends, is of calls that were unwound in ways that
//! nobody was told of: it is given up, and the thread's account is in order again.

use super::arena::{self, For};
use super::blocks::{MAX_SLOTS, Slot};
use super::clock;
use super::histogram::{self, BUCKETS, Histogram, OCTAVES};
use super::reserve::{release, reserve};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Calls within calls that a thread can be timed in; deeper ones are only counted. Windows charges the room for them to
/// the process's commit, so there it is less.
const MAX_FRAMES: usize = if cfg!(windows) { 1 << 13 } else { 1 << 17 };
/// How often, in calls, the collector is let in by runtimes that cannot stop a thread in a leaf.
const LET_IN: u32 = 4096;

/// What a thread knows of the calls of one slot, in ticks.
#[repr(C, align(64))]
struct Record {
    /// Timed calls that began, without those given up.
    entered: AtomicU64,
    exits: AtomicU64,
    exceptions: AtomicU64,
    /// Outermost activations.
    total: AtomicU64,
    /// Without dialled callees.
    own: AtomicU64,
    max: AtomicU64,
    /// Activations under way.
    active: AtomicU64,
    _spare: AtomicU64,
    /// The histogram's octaves, units of the arena; 0 where there is none yet.
    octaves: [AtomicU32; OCTAVES],
}

const _: () = assert!(size_of::<Record>() == arena::UNIT);
const _: () = assert!(BUCKETS * size_of::<AtomicU64>() == arena::UNIT);

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
    /// The innermost frame; the lowest one stands for no call.
    top: Cell<*mut Frame>,
    bottom: *mut Frame,
    last: *mut Frame,
    /// The owner's counters of calls.
    counters: Cell<*const AtomicU64>,
    /// A pointer a slot.
    records: NonNull<AtomicPtr<Record>>,
    arena: NonNull<u8>,
    enters: Cell<u32>,
    owned: AtomicBool,
    next: *const Timer,
}

const RECORDS_BYTES: usize = MAX_SLOTS as usize * size_of::<AtomicPtr<Record>>();
const FRAMES_BYTES: usize = MAX_FRAMES * size_of::<Frame>();

static HEAD: AtomicPtr<Timer> = AtomicPtr::new(std::ptr::null_mut());

/// What is missing of a slot's times, by bits.
static LACKS: [AtomicU8; MAX_SLOTS as usize] = [const { AtomicU8::new(0) }; MAX_SLOTS as usize];
const LACKS_BUCKETS: u8 = 1;
/// Calls that were only counted.
pub(super) const LACKS_CALLS: u8 = 2;

pub(super) fn note_lack(slot_offset: usize, lack: u8) {
    if let Some(lacks) = LACKS.get(slot_offset / size_of::<u64>()) {
        // Read first: threads that all lack the same share the line.
        if lacks.load(Ordering::Relaxed) & lack == 0 {
            lacks.fetch_or(lack, Ordering::Relaxed);
        }
    }
}

/// Adds to a number that only this thread writes.
#[inline(always)]
fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

fn all() -> impl Iterator<Item = &'static Timer> {
    let mut at: *const Timer = HEAD.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: list nodes are leaked boxes, published with Release and never freed.
        let timer = unsafe { at.as_ref() }?;
        at = timer.next;
        Some(timer)
    })
}

impl Timer {
    /// A timer for the calling thread, whose calls are counted at `counters`: a recycled one, else a new one; None when
    /// the system refuses memory.
    pub fn acquire(counters: NonNull<AtomicU64>) -> Option<&'static Timer> {
        let claim = |timer: &&Timer| {
            timer.owned.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let timer = match all().find(claim) {
            Some(timer) => timer,
            None => Timer::publish(Timer::new()?),
        };
        timer.counters.set(counters.as_ptr());
        Some(timer)
    }

    fn new() -> Option<Timer> {
        let arena = arena::base()?;
        let records = reserve(RECORDS_BYTES)?;
        let Some(frames) = reserve(FRAMES_BYTES) else {
            // SAFETY: it was reserved just above, and nobody has its address.
            unsafe { release(records, RECORDS_BYTES) };
            return None;
        };
        let bottom = frames.cast::<Frame>().as_ptr();
        // SAFETY: the reservation holds MAX_FRAMES frames; nothing is as high as the lowest one's address.
        unsafe { (*bottom).address = usize::MAX };
        Some(Timer {
            top: Cell::new(bottom),
            bottom,
            last: bottom.wrapping_add(MAX_FRAMES - 1),
            counters: Cell::new(std::ptr::null()),
            records: records.cast(),
            arena,
            enters: Cell::new(0),
            owned: AtomicBool::new(true),
            next: std::ptr::null(),
        })
    }

    fn publish(timer: Timer) -> &'static Timer {
        let timer = Box::leak(Box::new(timer));
        loop {
            let head = HEAD.load(Ordering::Acquire);
            timer.next = head;
            if HEAD.compare_exchange(head, timer, Ordering::Release, Ordering::Relaxed).is_ok() {
                return timer;
            }
        }
    }

    /// Gives the timer to the next thread that asks. Calls under way never end: they are given up.
    pub fn release(&self) {
        // SAFETY: the owner's thread, as everything below `Timer` but the sums.
        unsafe { self.give_up_below(usize::MAX) };
        self.owned.store(false, Ordering::Release);
    }

    /// A call begins: counts it, and times it where everything for that is there. False otherwise, and nothing was done.
    ///
    /// # Safety
    /// On the thread that owns the timer; `slot_offset` is that of a slot below [`MAX_SLOTS`]; `frame` is a variable in
    /// the stack frame of the call.
    #[inline(always)]
    pub unsafe fn enter(&self, slot_offset: usize, frame: *mut usize) -> bool {
        let top = self.top.get();
        // SAFETY: the slot is below MAX_SLOTS; `top` is always one of the frames.
        let (record, stale) = unsafe {
            let record = self.records.byte_add(slot_offset).as_ref().load(Ordering::Relaxed);
            (record, (*top).address <= frame.addr())
        };
        if record.is_null() || stale || top == self.last {
            return false;
        }
        // SAFETY: as above; the counters are those of the owner's block, with as many slots.
        unsafe {
            add(&*self.counters.get().byte_add(slot_offset), 1);
            self.push(&*record, frame);
        }
        true
    }

    /// # Safety
    /// As [`Timer::enter`]; there is room for a frame.
    #[inline(always)]
    unsafe fn push(&self, record: &Record, frame: *mut usize) {
        add(&record.entered, 1);
        add(&record.active, 1);
        let enters = self.enters.get().wrapping_add(1);
        self.enters.set(enters);
        let top = self.top.get().wrapping_add(1);
        self.top.set(top);
        // SAFETY: the caller's contract.
        unsafe {
            *frame = usize::from(enters.is_multiple_of(LET_IN));
            (*top).address = frame.addr();
            (*top).record = record;
            (*top).children = 0;
            // Last, so that what this does itself is not in it.
            (*top).start = clock::ticks();
        }
    }

    /// As [`Timer::enter`], for a call of a slot that this thread has no record of yet, or with frames to be given up.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    pub unsafe fn enter_slowly(&self, slot_offset: usize, frame: *mut usize) {
        // SAFETY: the caller's contract.
        unsafe {
            add(&*self.counters.get().byte_add(slot_offset), 1);
            self.give_up_below(frame.addr().saturating_add(1));
            let entry = self.records.byte_add(slot_offset).as_ref();
            let mut record = entry.load(Ordering::Relaxed);
            if record.is_null()
                && let Some(unit) = arena::take(For::Record)
            {
                record = self.arena.add(unit as usize * arena::UNIT).cast().as_ptr();
                entry.store(record, Ordering::Release);
            }
            match record.as_ref().filter(|_| self.top.get() != self.last) {
                Some(record) => self.push(record, frame),
                None => note_lack(slot_offset, LACKS_CALLS),
            }
        }
    }

    /// A call ends at `now`, by an exception if `thrown`. Calls that did not begin here are left alone.
    ///
    /// # Safety
    /// As [`Timer::enter`].
    #[inline(always)]
    pub unsafe fn leave(&self, slot_offset: usize, frame: *const usize, now: u64, thrown: bool) {
        // SAFETY: `top` is always one of the frames.
        if unsafe { (*self.top.get()).address } != frame.addr() {
            // SAFETY: the caller's contract.
            unsafe { self.give_up_below(frame.addr()) };
            // SAFETY: as above.
            if unsafe { (*self.top.get()).address } != frame.addr() {
                return;
            }
        }
        // SAFETY: the top frame is that of a call, so it has a record, and a frame below it.
        let (record, took) = unsafe {
            let top = self.top.get();
            let took = now.saturating_sub((*top).start);
            let record = &*(*top).record;
            add(&record.own, took.saturating_sub((*top).children));
            let outer = top.sub(1);
            (*outer).children = (*outer).children.wrapping_add(took);
            self.top.set(outer);
            (record, took)
        };
        let active = record.active.load(Ordering::Relaxed).wrapping_sub(1);
        record.active.store(active, Ordering::Relaxed);
        if active == 0 {
            add(&record.total, took);
        }
        if took > record.max.load(Ordering::Relaxed) {
            record.max.store(took, Ordering::Relaxed);
        }
        if thrown {
            add(&record.exceptions, 1);
        }
        self.enter_bucket(slot_offset, record, took);
        // Last: whoever reads it finds everything else at least as far.
        record.exits.store(record.exits.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    #[inline(always)]
    fn enter_bucket(&self, slot_offset: usize, record: &Record, took: u64) {
        let (octave, bucket) = histogram::place(took);
        let Some(unit) = record.octaves.get(octave) else { return };
        let mut number = unit.load(Ordering::Relaxed);
        if number == 0 {
            number = fresh_octave(slot_offset, unit);
            if number == 0 {
                return;
            }
        }
        // SAFETY: the unit is in the arena, an array of BUCKETS counts.
        add(
            unsafe {
                &*self.arena.as_ptr().add(number as usize * arena::UNIT).cast::<AtomicU64>().add(bucket)
            },
            1,
        );
    }

    /// Takes frames with addresses below this from the stack, as if their calls had not been timed.
    ///
    /// # Safety
    /// On the thread that owns the timer.
    #[cold]
    unsafe fn give_up_below(&self, address: usize) {
        // SAFETY: frames from the one above the bottom to the top are those of calls, with their records.
        unsafe {
            while self.top.get() != self.bottom && (*self.top.get()).address < address {
                let record = &*(*self.top.get()).record;
                record
                    .active
                    .store(record.active.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
                record
                    .entered
                    .store(record.entered.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
                self.top.set(self.top.get().sub(1));
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

#[cold]
fn fresh_octave(slot_offset: usize, octave: &AtomicU32) -> u32 {
    match arena::take(For::Octave) {
        Some(unit) => {
            octave.store(unit, Ordering::Release);
            unit
        }
        None => {
            note_lack(slot_offset, LACKS_BUCKETS);
            0
        }
    }
}

/// What all threads know of a slot's calls, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Calls under way.
    pub in_flight: u64,
    /// Calls that ended.
    pub exits: u64,
    /// Those of them that ended by an exception.
    pub exceptions: u64,
    /// In outermost activations of each thread.
    pub total: u64,
    /// The same without dialled callees, recursion included once.
    pub own: u64,
    /// The longest call.
    pub max: u64,
}

/// What is missing of a slot's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lacks {
    /// Nothing.
    #[default]
    Nothing,
    /// Calls are missing from its histogram, for which there was no memory left.
    Buckets,
    /// Calls are missing altogether, and were only counted: too deep, or there was no memory left.
    Calls,
}

impl Lacks {
    /// One sentence, without a final period; None where nothing is missing.
    pub fn sentence(self) -> Option<&'static str> {
        match self {
            Lacks::Nothing => None,
            Lacks::Buckets => Some(
                "there are no percentiles: the agent's memory for them is used up in this process (`redial status --agent`)",
            ),
            Lacks::Calls => Some(
                "some of its calls are only counted: they were too many within one another, or the agent's memory for times \
                 is used up",
            ),
        }
    }
}

/// What is missing of a slot's times.
pub fn lacks(slot: Slot) -> Lacks {
    match LACKS.get(slot.0 as usize).map_or(0, |lacks| lacks.load(Ordering::Relaxed)) {
        0 => Lacks::Nothing,
        LACKS_BUCKETS => Lacks::Buckets,
        _ => Lacks::Calls,
    }
}

/// Adds a slot's records up; calls that begin or end meanwhile are in this sum or in the next one.
pub fn sum(slot: Slot) -> Sums {
    let mut sums = Sums::default();
    for record in all().filter_map(|timer| timer.record(slot)) {
        // First: what began is read later, so it is at least as much.
        let exits = record.exits.load(Ordering::Acquire);
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        sums.exits += exits;
        sums.in_flight += of(&record.entered).saturating_sub(exits);
        sums.exceptions += of(&record.exceptions);
        sums.total = sums.total.saturating_add(of(&record.total));
        sums.own = sums.own.saturating_add(of(&record.own));
        sums.max = sums.max.max(of(&record.max));
    }
    sums
}

/// Adds a slot's histograms up, into `histogram`, which is emptied first.
pub fn fill(slot: Slot, histogram: &mut Histogram) {
    histogram.clear();
    let Some(base) = arena::base() else { return };
    for record in all().filter_map(|timer| timer.record(slot)) {
        for (octave, unit) in record.octaves.iter().enumerate() {
            let unit = unit.load(Ordering::Acquire) as usize;
            if unit == 0 {
                continue;
            }
            // SAFETY: as in `enter_bucket`.
            let counts = unsafe {
                std::slice::from_raw_parts(base.add(unit * arena::UNIT).cast::<AtomicU64>().as_ptr(), BUCKETS)
            };
            for (bucket, count) in counts.iter().enumerate() {
                histogram.add(octave, bucket, count.load(Ordering::Relaxed));
            }
        }
    }
}

/// A slot's times, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Sums.
    pub sums: Sums,
    /// 50, 90 and 99 of a hundred calls took at most so long; None of no calls, and where some are not in the histogram.
    pub percentiles: Option<[u64; 3]>,
}

/// The times of a slot, read with the memory of `histogram`.
pub fn taken(slot: Slot, histogram: &mut Histogram) -> Taken {
    let sums = sum(slot);
    fill(slot, histogram);
    let at_most = |per_mille| histogram.quantile(per_mille).map(|ticks| ticks.min(sums.max));
    let all = || Some([at_most(500)?, at_most(900)?, at_most(990)?]);
    Taken { sums, percentiles: (lacks(slot) == Lacks::Nothing).then(all).flatten() }
}

/// Forgets what is known of a slot. Nobody runs its code any more.
pub fn reset(slot: Slot) {
    let Some(base) = arena::base() else { return };
    if let Some(lacks) = LACKS.get(slot.0 as usize) {
        lacks.store(0, Ordering::Relaxed);
    }
    for record in all().filter_map(|timer| timer.record(slot)) {
        let numbers =
            [&record.entered, &record.exits, &record.exceptions, &record.total, &record.own, &record.max];
        numbers.iter().for_each(|number| number.store(0, Ordering::Relaxed));
        for unit in
            record.octaves.iter().map(|unit| unit.load(Ordering::Acquire) as usize).filter(|unit| *unit != 0)
        {
            // SAFETY: as in `enter_bucket`.
            let counts = unsafe {
                std::slice::from_raw_parts(base.add(unit * arena::UNIT).cast::<AtomicU64>().as_ptr(), BUCKETS)
            };
            counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
    }
}

/// Bytes of frames and tables that threads touched at least.
pub fn touched_bytes(slots: u64) -> usize {
    const PAGE: usize = 4096;
    all().count() * (PAGE + (slots as usize * size_of::<usize>()).div_ceil(PAGE) * PAGE)
}

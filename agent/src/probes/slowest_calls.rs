//! The slowest calls of a slot among those that met its condition. Each slot has one list for all threads, in
//! units of the arena, created when a call is first recorded. Time is divided into periods of five minutes. The
//! list keeps the [`MAX_REPORTED`] longest calls of the current period and of the one before; the
//! [`MAX_REPORTED`] longest of both are reported.
//!
//! Threads write without a lock and never wait: one exchange claims an entry, and a thread that finds it
//! claimed looks for another. A call that finds none after several tries is dropped and counted.

use super::arena::{self, UnitPurpose};
use super::blocks::Slot;
use super::clock;
use super::conditions::SlotCondition;
use super::exception_stack::ExceptionClass;
use super::stack_walk::{BodyFrame, CallStack};
use redial_protocol::limits::MAX_STACK_FRAMES;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// Number of calls reported for a slot.
pub const MAX_REPORTED: usize = 16;
/// Length of a period.
pub const PERIOD: Duration = Duration::from_secs(300);
/// Twice [`MAX_REPORTED`], and some more for threads that write at the same moment.
const ENTRIES: usize = 2 * MAX_REPORTED + 8;
/// Number of attempts to find an entry.
const TRIES: usize = 16;
/// Units per list.
const UNITS: u32 = (size_of::<CallList>() / arena::UNIT) as u32;
/// Value instead of a type's token: the call ended with an exception of unknown type.
const UNKNOWN: u32 = 1;
/// Bits of a duration in `CallList::floor`; longer durations have no floor.
const FLOOR: u32 = 48;

/// Ticks per period; 0 until there is a list.
static PERIOD_TICKS: AtomicU64 = AtomicU64::new(0);
/// Number of stacks kept so far.
static STACKS: AtomicU64 = AtomicU64::new(0);
/// A surplus list, from two threads that made one at the same time.
static SPARE: AtomicU32 = AtomicU32::new(0);

/// A recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptCall {
    /// Time of its end, Unix time in milliseconds.
    pub ended_ms: u64,
    /// Duration in ticks.
    pub took: u64,
    /// Operating-system id of its thread.
    pub thread: u32,
    /// Whether it ended with an exception.
    pub failed: bool,
    /// Class of the exception, if known.
    pub class: Option<ExceptionClass>,
    /// Its callers; empty unless stacks are kept, and without memory for them.
    pub stack: CallStack,
}

/// Contents of a slot's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowestCalls {
    /// Calls, longest first.
    pub calls: Vec<KeptCall>,
    /// Calls that met the condition since it was set.
    pub met: u64,
    /// Calls among them that were dropped for lack of memory, or of an entry that no other thread was writing.
    pub missed: u64,
}

#[repr(C)]
struct CallEntry {
    /// Upper half: number of writes, odd during a write. Lower half: the thread's id.
    state: AtomicU64,
    /// Upper half: the condition's generation. Lower half: the period.
    stamp: AtomicU64,
    took: AtomicU64,
    ended_ms: AtomicU64,
    module: AtomicU64,
    /// Upper half: the module's generation. Lower half: the type's token, [`UNKNOWN`], or 0 for a call that
    /// returned.
    class: AtomicU64,
    /// Upper half: number of return addresses. Lower half: the unit for them; 0 before the first stack here.
    stack: AtomicU64,
}

/// Return addresses in a unit of their own.
type StackUnit = [AtomicU64; MAX_STACK_FRAMES];
const _: () = assert!(size_of::<StackUnit>() == arena::UNIT);

#[repr(C)]
struct CallList {
    /// Duration below which calls are not among the longest, tagged with the last bits of one generation and
    /// period.
    floor: AtomicU64,
    /// Generation of the calls that are counted.
    generation: AtomicU32,
    _spare: AtomicU32,
    met: AtomicU64,
    missed: AtomicU64,
    _rest: [AtomicU64; 4],
    entries: [CallEntry; ENTRIES],
}

const _: () = assert!(size_of::<CallList>() == 9 * arena::UNIT);

/// Age of an entry relative to the current period.
#[derive(PartialEq, Eq)]
enum EntryAge {
    Present,
    Before,
    Void,
}

/// Place for a new call.
enum EntrySearch<'a> {
    /// This entry, unless its state changes.
    At(&'a CallEntry, u64),
    /// None: enough calls are longer than this.
    Nowhere(u64),
    /// Others are writing.
    Busy,
}

fn age(stamp: u64, now: u64) -> EntryAge {
    match (stamp >> 32 == now >> 32, (now as u32).wrapping_sub(stamp as u32) as i32) {
        // The counters of different processors may differ a little.
        (true, ..=0) => EntryAge::Present,
        (true, 1) => EntryAge::Before,
        _ => EntryAge::Void,
    }
}

fn stamp(generation: u32, ticks: u64) -> u64 {
    let period = ticks.checked_div(PERIOD_TICKS.load(Ordering::Relaxed)).unwrap_or(0);
    // No call has generation 0, so memory that was never written is void.
    u64::from(generation) << 32 | u64::from(period as u32)
}

/// Sets the length of a period; must be called before the first condition is set.
pub(super) fn begin(ns_per_tick: f64) {
    let ticks = (PERIOD.as_nanos() as f64 / ns_per_tick) as u64;
    let _ = PERIOD_TICKS.compare_exchange(0, ticks.max(1), Ordering::Relaxed, Ordering::Relaxed);
}

/// Enters a call that ended at `now` ticks, for the condition of this generation. Walks its stack from `body`, if that is
/// known and the call is among the longest.
pub(super) fn enter(
    of_slot: &SlotCondition,
    generation: u32,
    now: u64,
    call: KeptCall,
    body: Option<BodyFrame>,
) -> bool {
    let Some(list) = list(of_slot).or_else(|| fresh(of_slot)) else { return false };
    list.enter(stamp(generation, now), call, body);
    true
}

fn list(of_slot: &SlotCondition) -> Option<&'static CallList> {
    at(of_slot.list.load(Ordering::Acquire))
}

/// Returns the unit of a stack.
fn stack_unit(unit: u32) -> Option<&'static StackUnit> {
    let base = arena::made().filter(|_| unit != 0)?;
    // SAFETY: a unit of the arena, as large as this, zeroed at first, that is never given back.
    Some(unsafe { base.add(unit as usize * arena::UNIT).cast::<StackUnit>().as_ref() })
}

fn at(unit: u32) -> Option<&'static CallList> {
    let base = arena::made().filter(|_| unit != 0)?;
    // SAFETY: from this unit on, a whole list was taken from the arena, zeroed, and is never given back.
    Some(unsafe { base.add(unit as usize * arena::UNIT).cast::<CallList>().as_ref() })
}

fn fresh(of_slot: &SlotCondition) -> Option<&'static CallList> {
    let unit = match SPARE.swap(0, Ordering::AcqRel) {
        0 => arena::take_several(UnitPurpose::SlowestCalls, UNITS)?,
        spare => spare,
    };
    match of_slot.list.compare_exchange(0, unit, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => at(unit),
        Err(theirs) => {
            // If there already is a surplus list, this one is lost.
            let _ = SPARE.compare_exchange(0, unit, Ordering::AcqRel, Ordering::Relaxed);
            at(theirs)
        }
    }
}

impl CallList {
    fn enter(&self, stamp: u64, call: KeptCall, body: Option<BodyFrame>) {
        if !self.begin((stamp >> 32) as u32) {
            // The thread was delayed; its condition is outdated.
            return;
        }
        self.met.fetch_add(1, Ordering::Relaxed);
        let floor = self.floor.load(Ordering::Relaxed);
        if floor >> FLOOR == tag(stamp) && call.took <= floor & ((1 << FLOOR) - 1) {
            return;
        }
        let call = KeptCall { stack: body.map(CallStack::of).unwrap_or_default(), ..call };
        for _ in 0..TRIES {
            match self.place(stamp, call.took) {
                EntrySearch::At(entry, state) if entry.write(state, stamp, &call) => return,
                EntrySearch::Nowhere(floor) if floor >> FLOOR == 0 => {
                    return self.floor.store(tag(stamp) << FLOOR | floor, Ordering::Relaxed);
                }
                EntrySearch::Nowhere(_) => return,
                EntrySearch::At(..) | EntrySearch::Busy => std::hint::spin_loop(),
            }
        }
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Resets the counts at the first call of a generation. Returns false if a later one has begun.
    fn begin(&self, generation: u32) -> bool {
        let before = self.generation.load(Ordering::Acquire);
        if generation.wrapping_sub(before) as i32 > 0
            && self
                .generation
                .compare_exchange(before, generation, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            self.met.store(0, Ordering::Relaxed);
            self.missed.store(0, Ordering::Relaxed);
        }
        generation.wrapping_sub(self.generation.load(Ordering::Acquire)) as i32 >= 0
    }

    /// Finds a place. An entry is replaced only if enough calls of its period are longer, all of them complete,
    /// so that it would not be reported any more.
    fn place(&self, stamp: u64, took: u64) -> EntrySearch<'_> {
        let (mut present, mut before) = ((0, None), (0, None));
        for entry in &self.entries {
            let state = entry.state.load(Ordering::Acquire);
            if is_written(state) {
                continue;
            }
            let theirs = entry.took.load(Ordering::Relaxed);
            let (number, shortest) = match age(entry.stamp.load(Ordering::Relaxed), stamp) {
                EntryAge::Void => return EntrySearch::At(entry, state),
                EntryAge::Present => &mut present,
                EntryAge::Before => &mut before,
            };
            *number += 1;
            if shortest.is_none_or(|(_, _, shortest)| theirs < shortest) {
                *shortest = Some((entry, state, theirs));
            }
        }
        match (before, present) {
            ((number, Some((entry, state, _))), _) if number > MAX_REPORTED => EntrySearch::At(entry, state),
            (_, (number, Some((entry, state, shortest)))) if number > MAX_REPORTED => {
                if took > shortest {
                    EntrySearch::At(entry, state)
                } else {
                    EntrySearch::Nowhere(shortest)
                }
            }
            _ => EntrySearch::Busy,
        }
    }
}

/// Returns the last bits of a generation and period: enough to distinguish successive ones.
fn tag(stamp: u64) -> u64 {
    (stamp >> 32).wrapping_mul(31).wrapping_add(stamp) & 0xFFFF
}

fn is_written(state: u64) -> bool {
    state >> 32 & 1 == 1
}

impl CallEntry {
    /// Writes a call to this entry, unless another thread has done so since `state` was read.
    fn write(&self, state: u64, stamp: u64, call: &KeptCall) -> bool {
        let writing = state.wrapping_add(1 << 32);
        if self.state.compare_exchange(state, writing, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        fence(Ordering::Release);
        let class = call.class.unwrap_or_default();
        let token = match (call.failed, call.class) {
            (false, _) => 0,
            (true, None) => UNKNOWN,
            (true, Some(class)) => class.token,
        };
        self.stamp.store(stamp, Ordering::Relaxed);
        self.took.store(call.took, Ordering::Relaxed);
        self.ended_ms.store(call.ended_ms, Ordering::Relaxed);
        self.module.store(class.module as u64, Ordering::Relaxed);
        self.class.store(u64::from(class.generation) << 32 | u64::from(token), Ordering::Relaxed);
        self.write_stack(&call.stack);
        let count = writing.wrapping_add(1 << 32) & !0xFFFF_FFFF;
        self.state.store(count | u64::from(call.thread), Ordering::Release);
        true
    }

    /// Writes a stack to the entry's unit, taken at the first one. Without memory the entry has none.
    fn write_stack(&self, stack: &CallStack) {
        let addresses = stack.addresses();
        let unit = match self.stack.load(Ordering::Relaxed) as u32 {
            0 if !addresses.is_empty() => arena::take(UnitPurpose::SlowestCalls).unwrap_or_default(),
            unit => unit,
        };
        let places = stack_unit(unit).into_iter().flatten();
        let count =
            places.zip(addresses).map(|(place, address)| place.store(*address as u64, Ordering::Relaxed));
        let count = count.count() as u64;
        self.stack.store(count << 32 | u64::from(unit), Ordering::Relaxed);
        if count > 0 {
            STACKS.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read_stack(&self) -> CallStack {
        let stack = self.stack.load(Ordering::Relaxed);
        let places = stack_unit(stack as u32).into_iter().flatten();
        places.take((stack >> 32) as usize).map(|place| place.load(Ordering::Relaxed) as usize).collect()
    }

    /// Returns the call, unless it is void or being written.
    fn read(&self, now: u64) -> Option<KeptCall> {
        for _ in 0..TRIES {
            let state = self.state.load(Ordering::Acquire);
            let of = |field: &AtomicU64| field.load(Ordering::Relaxed);
            let (stamp, took, ended_ms) = (of(&self.stamp), of(&self.took), of(&self.ended_ms));
            let (module, class) = (of(&self.module) as usize, of(&self.class));
            let stack = self.read_stack();
            fence(Ordering::Acquire);
            if is_written(state) || self.state.load(Ordering::Relaxed) != state {
                std::hint::spin_loop();
                continue;
            }
            if age(stamp, now) == EntryAge::Void {
                return None;
            }
            let (token, generation) = (class as u32, (class >> 32) as u32);
            let class = (token > UNKNOWN).then_some(ExceptionClass { module, token, generation });
            let (thread, failed) = (state as u32, token != 0);
            return Some(KeptCall { ended_ms, took, thread, failed, class, stack });
        }
        None
    }
}

/// Returns the number of stacks kept so far, over all slots.
pub fn stacks_kept() -> u64 {
    STACKS.load(Ordering::Relaxed)
}

/// Returns the slowest calls of a slot for its current condition.
pub fn read(slot: Slot) -> SlowestCalls {
    let of_slot = SlotCondition::at(slot.0 as usize * size_of::<AtomicU64>());
    let Some((of_slot, list)) = of_slot.and_then(|of_slot| Some((of_slot, list(of_slot)?))) else {
        return SlowestCalls::default();
    };
    let generation = of_slot.generation();
    if list.generation.load(Ordering::Acquire) != generation {
        return SlowestCalls::default();
    }
    let now = stamp(generation, clock::ticks());
    let mut calls: Vec<KeptCall> = list.entries.iter().filter_map(|entry| entry.read(now)).collect();
    calls.sort_by_key(|call| (std::cmp::Reverse(call.took), call.ended_ms));
    calls.truncate(MAX_REPORTED);
    SlowestCalls { calls, met: list.met.load(Ordering::Relaxed), missed: list.missed.load(Ordering::Relaxed) }
}

#[cfg(test)]
mod tests {
    use super::super::condition_setter;
    use super::super::time_helper::tests::{call, ticking};
    use super::*;
    use redial_protocol::order::TimeOptions;

    fn kept(took: u64) -> KeptCall {
        KeptCall { ended_ms: took, took, thread: 7, failed: false, class: None, stack: CallStack::default() }
    }

    fn list() -> &'static CallList {
        at(arena::base().and_then(|_| arena::take_several(UnitPurpose::SlowestCalls, UNITS)).unwrap())
            .unwrap()
    }

    /// Returns the longest durations at a moment, in the same way as [`read`].
    fn longest_at(list: &CallList, now: u64) -> Vec<u64> {
        let mut all: Vec<u64> =
            list.entries.iter().filter_map(|entry| entry.read(now)).map(|call| call.took).collect();
        all.sort_unstable_by_key(|took| std::cmp::Reverse(*took));
        all.truncate(MAX_REPORTED);
        all
    }

    fn of(generation: u64, period: u64) -> u64 {
        generation << 32 | period
    }

    #[test]
    fn reports_the_longest_calls_of_two_periods() {
        let list = list();
        // In a scrambled order: 7 is coprime to 1009.
        let calls = || (1..=1008_u64).map(|number| number * 7 % 1009);
        calls().for_each(|took| list.enter(of(1, 5), kept(took), None));
        let longest: Vec<u64> = (0..16).map(|less| 1008 - less).collect();
        assert_eq!(longest_at(list, of(1, 5)), longest);
        assert_eq!(longest_at(list, of(1, 6)), longest, "in the next period as well");
        calls().for_each(|took| list.enter(of(1, 6), kept(took / 2), None));
        assert_eq!(longest_at(list, of(1, 6)), longest);
        let mut halves: Vec<u64> = calls().map(|took| took / 2).collect();
        halves.sort_unstable_by_key(|took| std::cmp::Reverse(*took));
        assert_eq!(longest_at(list, of(1, 7)), halves[..16], "older periods are void");
        assert!(longest_at(list, of(1, 8)).is_empty() && longest_at(list, of(2, 7)).is_empty());
        assert_eq!((list.met.load(Ordering::Relaxed), list.missed.load(Ordering::Relaxed)), (2016, 0));
        list.enter(of(2, 7), kept(3), None);
        assert_eq!((longest_at(list, of(2, 7)), list.met.load(Ordering::Relaxed)), (vec![3], 1));
    }

    #[test]
    fn concurrent_threads_lose_no_reported_call() {
        let list = list();
        const EACH: u64 = 20_000;
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    // The longest calls of all come from every thread.
                    (0..EACH).for_each(|number| {
                        list.enter(of(1, 1), kept((number * 13 % EACH) * 8 + thread), None)
                    });
                });
            }
        });
        let missed = list.missed.load(Ordering::Relaxed);
        assert_eq!(list.met.load(Ordering::Relaxed), 8 * EACH);
        let longest: Vec<u64> = (0..16).map(|less| EACH * 8 - 1 - less).collect();
        let longest_at = longest_at(list, of(1, 1));
        assert_eq!(longest_at.len(), 16);
        assert!(
            longest.iter().filter(|took| !longest_at.contains(took)).count() as u64 <= missed,
            "{longest_at:?}, {missed}"
        );
    }

    #[test]
    fn conditions_apply_to_running_threads_at_once() {
        let slot = Slot(160);
        let wait = || ticking(2_000_000);
        let set = |slower_than_ns, failed_only| {
            condition_setter::set(
                slot,
                TimeOptions { slower_than_ns, failed_only, ..TimeOptions::default() },
            );
        };
        let took = || read(slot).calls.iter().map(|call| call.failed).collect::<Vec<_>>();
        // The same thread throughout: its alarm is at its longest call.
        call(slot.0, &mut 0, || wait() && wait());
        assert_eq!(read(slot), SlowestCalls::default());
        set(Some(1_000_000), false);
        call(slot.0, &mut 0, wait);
        call(slot.0, &mut 0, || true);
        assert_eq!((took(), read(slot).met), (vec![false], 1), "shorter than its longest");
        assert_eq!(read(slot).calls[0].thread, crate::platform::thread_id());
        set(None, true);
        assert_eq!(read(slot), SlowestCalls::default(), "calls recorded for another condition are void");
        call(slot.0, &mut 0, wait);
        call(slot.0, &mut 0, || false);
        assert_eq!(took(), [true]);
        set(Some(1_000_000), true);
        call(slot.0, &mut 0, || false);
        call(slot.0, &mut 0, || !wait());
        call(slot.0, &mut 0, wait);
        assert_eq!((took(), read(slot).met), (vec![true], 1));
        set(None, false);
        call(slot.0, &mut 0, || !wait());
        assert_eq!(read(slot), SlowestCalls::default());
    }
}

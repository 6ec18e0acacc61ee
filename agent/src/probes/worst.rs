//! The worst calls of a slot, among those for which its condition holds: one list a slot for all threads, in units of the
//! arena, taken when a first call is kept. Time is cut into periods of five minutes; kept are the [`TOLD`] longest calls of the
//! present period and those of the one before, and told are the [`TOLD`] longest of them all.
//!
//! Threads write without a lock and never wait: an entry is claimed by one exchange, and whoever finds it claimed looks
//! for another. A call that finds none after some tries is left out and counted.

use super::arena::{self, For};
use super::blocks::Slot;
use super::clock;
use super::conditions::OfSlot;
use super::thrown::Class;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// Calls told of a slot.
pub const TOLD: usize = 16;
/// How long a period is.
pub const PERIOD: Duration = Duration::from_secs(300);
/// Twice [`TOLD`], and some for threads that write at the same moment.
const ENTRIES: usize = 2 * TOLD + 8;
/// Times that an entry is looked for.
const TRIES: usize = 16;
/// Units of a list.
const UNITS: u32 = (size_of::<List>() / arena::UNIT) as u32;
/// In the place of a type's token: the call ended by an exception of a type that is not known.
const UNKNOWN: u32 = 1;
/// Bits of a duration in `List::floor`; longer ones have no floor.
const FLOOR: u32 = 48;

/// Ticks of a period; 0 until there is a list.
static PERIOD_TICKS: AtomicU64 = AtomicU64::new(0);
/// A list that two threads made at once, and one of them did not need.
static SPARE: AtomicU32 = AtomicU32::new(0);

/// A call that was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When it ended, Unix time in milliseconds.
    pub ended_ms: u64,
    /// Ticks.
    pub took: u64,
    /// The system's number of its thread.
    pub thread: u32,
    /// Whether an exception ended it.
    pub failed: bool,
    /// Of which class, where that is known.
    pub class: Option<Class>,
}

/// What a slot's list tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// The longest first.
    pub calls: Vec<Kept>,
    /// Calls for which the condition held since it stands.
    pub met: u64,
    /// Those of them that were left out for want of memory, or of an entry that no other thread was writing to.
    pub missed: u64,
}

#[repr(C)]
struct Entry {
    /// How often it was written, odd meanwhile; below it the thread's number.
    state: AtomicU64,
    /// The condition's generation; below it the period.
    stamp: AtomicU64,
    took: AtomicU64,
    ended_ms: AtomicU64,
    module: AtomicU64,
    /// The module's generation; below it the type's token, [`UNKNOWN`], or 0 for a call that returned.
    class: AtomicU64,
}

#[repr(C)]
struct List {
    /// Of one generation and period (their last bits, on top): shorter calls are none of the longest.
    floor: AtomicU64,
    /// The generation whose calls are counted.
    generation: AtomicU32,
    _spare: AtomicU32,
    met: AtomicU64,
    missed: AtomicU64,
    _rest: [AtomicU64; 4],
    entries: [Entry; ENTRIES],
    _end: [AtomicU64; 8],
}

const _: () = assert!(size_of::<List>() == 8 * arena::UNIT);

/// What an entry is to the period that is written in.
#[derive(PartialEq, Eq)]
enum Age {
    Present,
    Before,
    Void,
}

/// Where a call may be entered.
enum Place<'a> {
    /// Here, unless its state changes.
    At(&'a Entry, u64),
    /// Nowhere: there are enough that are longer than this.
    Nowhere(u64),
    /// Others are writing.
    Busy,
}

fn age(stamp: u64, now: u64) -> Age {
    match (stamp >> 32 == now >> 32, (now as u32).wrapping_sub(stamp as u32) as i32) {
        // Counters of processors may differ a little.
        (true, ..=0) => Age::Present,
        (true, 1) => Age::Before,
        _ => Age::Void,
    }
}

fn stamp(generation: u32, ticks: u64) -> u64 {
    let period = ticks.checked_div(PERIOD_TICKS.load(Ordering::Relaxed)).unwrap_or(0);
    // Generation 0 stamps nothing: memory that was never written is void.
    u64::from(generation) << 32 | u64::from(period as u32)
}

/// Makes periods known, before the first condition stands.
pub(super) fn begin(ns_per_tick: f64) {
    let ticks = (PERIOD.as_nanos() as f64 / ns_per_tick) as u64;
    let _ = PERIOD_TICKS.compare_exchange(0, ticks.max(1), Ordering::Relaxed, Ordering::Relaxed);
}

/// Enters a call that ended at `now` ticks, for the condition of this generation.
pub(super) fn enter(of_slot: &OfSlot, generation: u32, now: u64, call: &Kept) -> bool {
    let Some(list) = list(of_slot).or_else(|| fresh(of_slot)) else { return false };
    list.enter(stamp(generation, now), call);
    true
}

fn list(of_slot: &OfSlot) -> Option<&'static List> {
    at(of_slot.list.load(Ordering::Acquire))
}

fn at(unit: u32) -> Option<&'static List> {
    let base = arena::made().filter(|_| unit != 0)?;
    // SAFETY: so many units from this one on were taken from the arena for a list, all zeros, and are never given back.
    Some(unsafe { base.add(unit as usize * arena::UNIT).cast::<List>().as_ref() })
}

fn fresh(of_slot: &OfSlot) -> Option<&'static List> {
    let unit = match SPARE.swap(0, Ordering::AcqRel) {
        0 => arena::take_several(For::Kept, UNITS)?,
        spare => spare,
    };
    match of_slot.list.compare_exchange(0, unit, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => at(unit),
        Err(theirs) => {
            // Where there is a spare one already, one is lost.
            let _ = SPARE.compare_exchange(0, unit, Ordering::AcqRel, Ordering::Relaxed);
            at(theirs)
        }
    }
}

impl List {
    fn enter(&self, stamp: u64, call: &Kept) {
        if !self.begin((stamp >> 32) as u32) {
            // The thread was held up: the condition it looked at has gone.
            return;
        }
        self.met.fetch_add(1, Ordering::Relaxed);
        let floor = self.floor.load(Ordering::Relaxed);
        if floor >> FLOOR == tag(stamp) && call.took <= floor & ((1 << FLOOR) - 1) {
            return;
        }
        for _ in 0..TRIES {
            match self.place(stamp, call.took) {
                Place::At(entry, state) if entry.write(state, stamp, call) => return,
                Place::Nowhere(floor) if floor >> FLOOR == 0 => {
                    return self.floor.store(tag(stamp) << FLOOR | floor, Ordering::Relaxed);
                }
                Place::Nowhere(_) => return,
                Place::At(..) | Place::Busy => std::hint::spin_loop(),
            }
        }
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts anew where this is the first call of a generation. False where a later one has begun.
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

    /// An entry is given up only where so many of its period are longer, all of them seen at rest, that it is told no more.
    fn place(&self, stamp: u64, took: u64) -> Place<'_> {
        let (mut present, mut before) = ((0, None), (0, None));
        for entry in &self.entries {
            let state = entry.state.load(Ordering::Acquire);
            if is_written(state) {
                continue;
            }
            let theirs = entry.took.load(Ordering::Relaxed);
            let (number, shortest) = match age(entry.stamp.load(Ordering::Relaxed), stamp) {
                Age::Void => return Place::At(entry, state),
                Age::Present => &mut present,
                Age::Before => &mut before,
            };
            *number += 1;
            if shortest.is_none_or(|(_, _, shortest)| theirs < shortest) {
                *shortest = Some((entry, state, theirs));
            }
        }
        match (before, present) {
            ((number, Some((entry, state, _))), _) if number > TOLD => Place::At(entry, state),
            (_, (number, Some((entry, state, shortest)))) if number > TOLD => {
                if took > shortest {
                    Place::At(entry, state)
                } else {
                    Place::Nowhere(shortest)
                }
            }
            _ => Place::Busy,
        }
    }
}

/// The last bits of a generation and period: enough to tell one from the next.
fn tag(stamp: u64) -> u64 {
    (stamp >> 32).wrapping_mul(31).wrapping_add(stamp) & 0xFFFF
}

fn is_written(state: u64) -> bool {
    state >> 32 & 1 == 1
}

impl Entry {
    /// Writes a call here, unless another thread did since `state` was read.
    fn write(&self, state: u64, stamp: u64, call: &Kept) -> bool {
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
        let count = writing.wrapping_add(1 << 32) & !0xFFFF_FFFF;
        self.state.store(count | u64::from(call.thread), Ordering::Release);
        true
    }

    /// The call, unless it is void by now, or written all the while.
    fn read(&self, now: u64) -> Option<Kept> {
        for _ in 0..TRIES {
            let state = self.state.load(Ordering::Acquire);
            let of = |field: &AtomicU64| field.load(Ordering::Relaxed);
            let (stamp, took, ended_ms) = (of(&self.stamp), of(&self.took), of(&self.ended_ms));
            let (module, class) = (of(&self.module) as usize, of(&self.class));
            fence(Ordering::Acquire);
            if is_written(state) || self.state.load(Ordering::Relaxed) != state {
                std::hint::spin_loop();
                continue;
            }
            if age(stamp, now) == Age::Void {
                return None;
            }
            let (token, generation) = (class as u32, (class >> 32) as u32);
            let class = (token > UNKNOWN).then_some(Class { module, token, generation });
            return Some(Kept { ended_ms, took, thread: state as u32, failed: token != 0, class });
        }
        None
    }
}

/// The worst calls of a slot for the condition that stands.
pub fn read(slot: Slot) -> Worst {
    let of_slot = OfSlot::at(slot.0 as usize * size_of::<AtomicU64>());
    let Some((of_slot, list)) = of_slot.and_then(|of_slot| Some((of_slot, list(of_slot)?))) else {
        return Worst::default();
    };
    let generation = of_slot.generation();
    if list.generation.load(Ordering::Acquire) != generation {
        return Worst::default();
    }
    let now = stamp(generation, clock::ticks());
    let mut calls: Vec<Kept> = list.entries.iter().filter_map(|entry| entry.read(now)).collect();
    calls.sort_by_key(|call| (std::cmp::Reverse(call.took), call.ended_ms));
    calls.truncate(TOLD);
    Worst { calls, met: list.met.load(Ordering::Relaxed), missed: list.missed.load(Ordering::Relaxed) }
}

#[cfg(test)]
mod tests {
    use super::super::conditions;
    use super::super::time_leaf::tests::{call, ticking};
    use super::*;
    use redial_protocol::order::TimeOptions;

    fn kept(took: u64) -> Kept {
        Kept { ended_ms: took, took, thread: 7, failed: false, class: None }
    }

    fn list() -> &'static List {
        at(arena::base().and_then(|_| arena::take_several(For::Kept, UNITS)).unwrap()).unwrap()
    }

    /// The longest at a moment, as [`read`] has them.
    fn told(list: &List, now: u64) -> Vec<u64> {
        let mut all: Vec<u64> =
            list.entries.iter().filter_map(|entry| entry.read(now)).map(|call| call.took).collect();
        all.sort_unstable_by_key(|took| std::cmp::Reverse(*took));
        all.truncate(TOLD);
        all
    }

    fn of(generation: u64, period: u64) -> u64 {
        generation << 32 | period
    }

    #[test]
    fn the_longest_of_this_period_and_the_last_are_told() {
        let list = list();
        // In an order of no order: 7 is prime to 1009.
        let calls = || (1..=1008_u64).map(|number| number * 7 % 1009);
        calls().for_each(|took| list.enter(of(1, 5), &kept(took)));
        let longest: Vec<u64> = (0..16).map(|less| 1008 - less).collect();
        assert_eq!(told(list, of(1, 5)), longest);
        assert_eq!(told(list, of(1, 6)), longest, "in the next period as well");
        calls().for_each(|took| list.enter(of(1, 6), &kept(took / 2)));
        assert_eq!(told(list, of(1, 6)), longest);
        let mut halves: Vec<u64> = calls().map(|took| took / 2).collect();
        halves.sort_unstable_by_key(|took| std::cmp::Reverse(*took));
        assert_eq!(told(list, of(1, 7)), halves[..16], "what an older period has is void");
        assert!(told(list, of(1, 8)).is_empty() && told(list, of(2, 7)).is_empty());
        assert_eq!((list.met.load(Ordering::Relaxed), list.missed.load(Ordering::Relaxed)), (2016, 0));
        list.enter(of(2, 7), &kept(3));
        assert_eq!((told(list, of(2, 7)), list.met.load(Ordering::Relaxed)), (vec![3], 1));
    }

    #[test]
    fn threads_lose_nothing_that_is_told() {
        let list = list();
        const EACH: u64 = 20_000;
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    // The longest of all come from every thread.
                    (0..EACH)
                        .for_each(|number| list.enter(of(1, 1), &kept((number * 13 % EACH) * 8 + thread)));
                });
            }
        });
        let missed = list.missed.load(Ordering::Relaxed);
        assert_eq!(list.met.load(Ordering::Relaxed), 8 * EACH);
        let longest: Vec<u64> = (0..16).map(|less| EACH * 8 - 1 - less).collect();
        let told = told(list, of(1, 1));
        assert_eq!(told.len(), 16);
        assert!(
            longest.iter().filter(|took| !told.contains(took)).count() as u64 <= missed,
            "{told:?}, {missed}"
        );
    }

    #[test]
    fn a_condition_holds_for_running_threads_and_is_taken_away() {
        let slot = Slot(160);
        let wait = || ticking(2_000_000);
        let set = |slower_than_ns, failed_only| {
            conditions::set(slot, TimeOptions { slower_than_ns, failed_only, callers: false });
        };
        let took = || read(slot).calls.iter().map(|call| call.failed).collect::<Vec<_>>();
        // One thread all along: its alarm stood at its longest call.
        call(slot.0, &mut 0, || wait() && wait());
        assert_eq!(read(slot), Worst::default());
        set(Some(1_000_000), false);
        call(slot.0, &mut 0, wait);
        call(slot.0, &mut 0, || true);
        assert_eq!((took(), read(slot).met), (vec![false], 1), "shorter than its longest");
        assert_eq!(read(slot).calls[0].thread, crate::platform::thread_id());
        set(None, true);
        assert_eq!(read(slot), Worst::default(), "what was kept for another condition is void");
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
        assert_eq!(read(slot), Worst::default());
    }
}

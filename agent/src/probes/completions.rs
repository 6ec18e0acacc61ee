//! The account of one async method: calls begun and completed, in flight, and how long they take to complete.
//!
//! No call is looked at singly. Of `begun` calls with the sum of their beginnings, and `completed` ones with the sum of
//! their completions, those in flight are the difference, and
//!
//! ```text
//! waited = sum of completions + in flight × now − sum of beginnings
//! ```
//!
//! is the time that all calls together have been in flight (the area under their number). Divided by the completed ones it is
//! Little's law (mean latency = mean number in flight / completions a second), and the time on test of life tables: exact as
//! soon as none is in flight; until then too long, as a mean of those that have completed, by what those in flight have taken
//! so far, and so none the better for calls that hang.
//!
//! Only what a timed body runs is seen, so an account has *stretches*, from a dial to *time* to the next turn down. Calls
//! that had begun before a stretch show when more complete than began: so many, and as if they had begun with it. Calls
//! under way at its end count with what they took until then.
#![forbid(unsafe_code)]

use super::async_leaf::{self, Noted};
use super::blocks::Slot;
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What an account says. Times are ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// Calls seen to begin.
    pub starts: u64,
    /// Calls seen to complete.
    pub completions: u64,
    /// Calls begun, and not completed.
    pub in_flight: u64,
    /// Those of all that had begun before they could be seen to.
    pub before: u64,
    /// Ticks that all of them were in flight together.
    pub waited: u64,
}

/// From a dial to time to the next turn down.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Where it is noted, and what was noted there before.
    slots: Slot,
    base: Noted,
    since: u64,
    until: Option<u64>,
    /// How many more were seen to complete than to begin, at most.
    before: u64,
}

impl Stretch {
    fn read(&mut self, noted: Noted, now: u64) -> Completions {
        let Noted { begun, begun_at, completed, completed_at } = noted.since(self.base);
        self.before = self.before.max(completed.saturating_sub(begun));
        let all = begun.saturating_add(self.before);
        let in_flight = all.saturating_sub(completed);
        let until = self.until.unwrap_or(now);
        let waited = completed_at
            .wrapping_add(in_flight.wrapping_mul(until))
            .wrapping_sub(begun_at)
            .wrapping_sub(self.before.wrapping_mul(self.since));
        // A clock that jumps makes nothing of it less than nothing, or more than all the time there was.
        let longest = all.saturating_mul(now.saturating_sub(self.since));
        let waited = if (waited as i64) < 0 { 0 } else { waited.min(longest) };
        Completions {
            starts: begun,
            completions: completed,
            in_flight,
            before: self.before,
            waited: async_leaf::ticks(waited),
        }
    }
}

#[derive(Default)]
struct State {
    /// Of stretches that are over.
    past: Completions,
    stretch: Option<Stretch>,
    /// Counts the stretches.
    number: u64,
}

/// One async method's account, shared by its own row and that of its `MoveNext`. Leaves know nothing of it.
pub struct Account {
    /// MethodDef token of the async method.
    pub method: u32,
    /// MethodDef token of the `MoveNext` that does its work.
    pub move_next: u32,
    /// A pattern for exactly that.
    pub pattern: Box<str>,
    /// Whether calls are seen to begin and complete now, or as soon as they are made.
    open: AtomicBool,
    state: Mutex<State>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl Account {
    /// One of which nothing was seen.
    pub fn new(method: u32, move_next: u32, pattern: &str) -> Arc<Account> {
        let pattern = pattern.into();
        Arc::new(Account {
            method,
            move_next,
            pattern,
            open: AtomicBool::new(false),
            state: Mutex::default(),
        })
    }

    /// Whether calls are seen to complete.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Says that [`Account::begin`] follows. True where it did not stand open.
    pub fn opens(&self) -> bool {
        !self.open.swap(true, Ordering::AcqRel)
    }

    /// Before a body is asked for that notes in the run of slots at `slots`, where none such is the present one. Adds up what
    /// threads noted.
    pub fn begin(&self, slots: Slot) {
        let (base, now) = (async_leaf::noted(slots), async_leaf::now());
        let mut state = lock(&self.state);
        if !self.open.load(Ordering::Acquire) {
            // Its module went meanwhile, and the slots may be another's.
            return;
        }
        if let Some(stretch) = &mut state.stretch {
            if stretch.until.is_none() {
                return;
            }
            let over = stretch.read(base, now);
            let past = &mut state.past;
            past.starts += over.starts;
            past.completions += over.completions;
            past.before += over.before;
            past.waited = past.waited.saturating_add(over.waited);
        }
        state.stretch = Some(Stretch { slots, base, since: now, until: None, before: 0 });
        state.number += 1;
    }

    /// The body is no more the present one. True where it was. Adds nothing up, and waits for nobody who does.
    pub fn close(&self) -> bool {
        if !self.open.swap(false, Ordering::AcqRel) {
            return false;
        }
        let now = async_leaf::now();
        if let Some(stretch) = &mut lock(&self.state).stretch {
            stretch.until.get_or_insert(now);
        }
        true
    }

    /// The last numbers stay, and its slots may be another's: nobody runs the body any more.
    pub fn finish(&self) {
        self.close();
        let last = self.read();
        let mut state = lock(&self.state);
        if let Some(last) = last {
            state.past = Completions { in_flight: 0, ..last };
        }
        state.stretch = None;
    }

    /// What it says; None where nothing was ever to be seen. Adds up what threads noted: under no lock that others wait for.
    pub fn read(&self) -> Option<Completions> {
        let (past, stretch, number) = {
            let state = lock(&self.state);
            (state.past, state.stretch, state.number)
        };
        if number == 0 {
            return None;
        }
        let Some(mut stretch) = stretch else { return Some(past) };
        let noted = async_leaf::noted(stretch.slots);
        let now = self.told_so_far(number, &mut stretch);
        let of = stretch.read(noted, now);
        let mut state = lock(&self.state);
        let same = state.number == number;
        if let Some(kept) = state.stretch.as_mut().filter(|_| same) {
            kept.before = kept.before.max(of.before);
        }
        drop(state);
        Some(Completions {
            starts: past.starts + of.starts,
            completions: past.completions + of.completions,
            in_flight: of.in_flight,
            before: past.before + of.before,
            waited: past.waited.saturating_add(of.waited),
        })
    }

    /// What others found out of the stretch meanwhile; the present time, which is later than all that was noted.
    fn told_so_far(&self, number: u64, stretch: &mut Stretch) -> u64 {
        let state = lock(&self.state);
        if let Some(kept) = state.stretch.filter(|_| state.number == number) {
            stretch.before = kept.before;
        }
        async_leaf::now()
    }
}

#[cfg(test)]
mod tests {
    use super::super::async_leaf::tests::{call_begins, call_completes};
    use super::*;

    const OF: fn(u64, u64, u64, u64) -> Noted =
        |begun, begun_at, completed, completed_at| Noted { begun, begun_at, completed, completed_at };

    fn stretch(since: u64) -> Stretch {
        Stretch { slots: Slot(0), base: Noted::default(), since, until: None, before: 0 }
    }

    #[test]
    fn what_calls_take_is_exact_once_none_is_in_flight() {
        // From 100 to 150, from 110 to 130 and from 120 on.
        let mut of = stretch(100);
        let some = of.read(OF(3, 330, 2, 280), 200);
        assert_eq!((some.in_flight, some.waited), (1, 64 * (50 + 20 + 80)));
        let all = of.read(OF(3, 330, 3, 490), 900);
        assert_eq!((all.in_flight, all.before, all.waited), (0, 0, 64 * (50 + 20 + 90)));
    }

    #[test]
    fn calls_begun_before_are_found_as_they_complete_and_count_from_the_beginning() {
        let mut of = stretch(1000);
        // Two complete that were not seen to begin, at 1100 and 1300; then one begins at 1400.
        let first = of.read(OF(0, 0, 2, 2400), 1350);
        assert_eq!((first.in_flight, first.before, first.waited), (0, 2, 64 * (100 + 300)));
        let then = of.read(OF(1, 1400, 2, 2400), 1500);
        assert_eq!((then.in_flight, then.before, then.waited), (1, 2, 64 * (100 + 300 + 100)));
    }

    #[test]
    fn sums_that_come_round_and_clocks_that_jump_do_no_harm() {
        let base = OF(7, u64::MAX - 10, 7, u64::MAX - 5);
        let mut of = Stretch { base, ..stretch(40) };
        let read = of.read(OF(9, 90, 9, 140), 100);
        assert_eq!((read.starts, read.completions, read.waited), (2, 2, 64 * 45));
        // Completed before it began, by a clock that went back; and never after now.
        assert_eq!(stretch(100).read(OF(1, 500, 1, 200), 600).waited, 0);
        assert_eq!(stretch(100).read(OF(1, 100, 1, 9_000), 300).waited, 64 * 200);
    }

    #[test]
    fn a_stretch_ends_with_what_was_taken_until_then_and_the_next_begins_anew() {
        let account = Account::new(0x0600_0001, 0x0600_0002, "A!B.C");
        let slots = Slot(5100);
        assert_eq!(account.read(), None);
        assert!(account.opens() && !account.opens() && account.is_open());
        account.begin(slots);
        (0..3).for_each(|_| call_begins(slots));
        call_completes(slots);
        account.begin(slots);
        let one = account.read().unwrap();
        assert_eq!((one.starts, one.completions, one.in_flight, one.before), (3, 1, 2, 0));
        assert!(account.close() && !account.close());
        let closed = account.read().unwrap();
        assert_eq!(account.read(), Some(closed), "no time passes for it");
        // One of the old body's calls completes.
        call_completes(slots);
        assert_eq!(account.read().map(|read| (read.completions, read.in_flight)), Some((2, 1)));
        // The other one does where it is not seen; of two that began so one completes after the next dial.
        assert!(account.opens());
        account.begin(slots);
        let anew = account.read().unwrap();
        assert_eq!((anew.starts, anew.completions, anew.in_flight, anew.before), (3, 2, 0, 0));
        call_completes(slots);
        let seen = account.read().unwrap();
        assert_eq!((seen.starts, seen.completions, seen.in_flight, seen.before), (3, 3, 0, 1));
        assert!(seen.waited >= closed.waited);
        account.finish();
        call_begins(slots);
        assert_eq!(account.read(), Some(seen), "the slots are another's");
    }
}

//! Totals of one async method: calls begun, completed and in flight, and the time they take to complete.
//!
//! No call is tracked individually. From the number of `begun` calls with the sum of their start times, and the
//! number of `completed` calls with the sum of their completion times, the calls in flight are the difference,
//! and
//!
//! ```text
//! waited = sum of completions + in flight × now − sum of beginnings
//! ```
//!
//! is the total time that all calls have been in flight (the area under their number). Divided by the completed
//! calls it is Little's law (mean latency = mean number in flight / completions per second), and the "time on
//! test" of life tables. It is exact when no call is in flight. Until then it is too long as a mean of the
//! completed calls, by the time of those in flight so far; so hanging calls make it worse, never better.
//!
//! Only timed bodies are seen, so the totals consist of *stretches*, each from a dial to *time* until the next
//! turn down. Calls that began before a stretch show when more calls complete than began; they count as begun
//! with the stretch. Calls in flight at its end count with their time until then.
#![forbid(unsafe_code)]

use super::async_helper::{self, AsyncSums};
use super::blocks::Slot;
use super::trace::async_calls::AsyncLink;
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Values of the totals. Times are ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// Calls whose beginning was seen.
    pub starts: u64,
    /// Calls whose completion was seen.
    pub completions: u64,
    /// Calls begun and not completed.
    pub in_flight: u64,
    /// Calls among all that began before they could be seen.
    pub before: u64,
    /// Total ticks that all of them were in flight.
    pub waited: u64,
}

/// A period from a dial to *time* until the next turn down.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Slots of the notes, and their values before the stretch.
    slots: Slot,
    base: AsyncSums,
    since: u64,
    until: Option<u64>,
    /// Largest excess of completions over beginnings so far.
    before: u64,
}

impl Stretch {
    fn read(&mut self, noted: AsyncSums, now: u64) -> Completions {
        let AsyncSums { begun, begun_at, completed, completed_at } = noted.since(self.base);
        self.before = self.before.max(completed.saturating_sub(begun));
        let all = begun.saturating_add(self.before);
        let in_flight = all.saturating_sub(completed);
        let until = self.until.unwrap_or(now);
        let waited = completed_at
            .wrapping_add(in_flight.wrapping_mul(until))
            .wrapping_sub(begun_at)
            .wrapping_sub(self.before.wrapping_mul(self.since));
        // Even if the clock jumps, the result is neither negative nor longer than the time of the stretch.
        let longest = all.saturating_mul(now.saturating_sub(self.since));
        let waited = if (waited as i64) < 0 { 0 } else { waited.min(longest) };
        Completions {
            starts: begun,
            completions: completed,
            in_flight,
            before: self.before,
            waited: async_helper::ticks(waited),
        }
    }
}

#[derive(Default)]
struct AccountState {
    /// Totals of finished stretches.
    past: Completions,
    stretch: Option<Stretch>,
    /// Number of stretches.
    number: u64,
}

/// Totals of one async method, shared by its own row and that of its `MoveNext`. Helpers do not know it.
pub struct Account {
    /// MethodDef token of the async method.
    pub method: u32,
    /// MethodDef token of the `MoveNext` that does the work.
    pub move_next: u32,
    /// Pattern for exactly that `MoveNext`.
    pub pattern: Box<str>,
    /// Whether beginnings and completions of calls are recorded, now or as soon as they happen.
    open: AtomicBool,
    state: Mutex<AccountState>,
    /// Set once its calls were traced.
    link: OnceLock<&'static AsyncLink>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl Account {
    /// Returns totals without any calls.
    pub fn new(method: u32, move_next: u32, pattern: &str) -> Arc<Account> {
        let pattern = pattern.into();
        Arc::new(Account {
            method,
            move_next,
            pattern,
            open: AtomicBool::new(false),
            state: Mutex::default(),
            link: OnceLock::new(),
        })
    }

    /// Returns what its traced bodies have in common. They hold its address, so it is never freed.
    pub fn link(&self, make: impl FnOnce() -> AsyncLink) -> &'static AsyncLink {
        self.link.get_or_init(|| Box::leak(Box::new(make())))
    }

    /// Returns whether completions are recorded.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Announces that [`Account::begin`] follows. Returns whether the account was closed.
    pub fn opens(&self) -> bool {
        !self.open.swap(true, Ordering::AcqRel)
    }

    /// Begins a stretch; must be called before requesting a body that records in the run of slots at `slots`,
    /// if no such body is current. Sums over all threads.
    pub fn begin(&self, slots: Slot) {
        let (base, now) = (async_helper::noted(slots), async_helper::now());
        let mut state = lock(&self.state);
        if !self.open.load(Ordering::Acquire) {
            // The module was unloaded meanwhile, and the slots may belong to another.
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

    /// Ends the stretch, since its body is no longer current. Returns whether there was one. Sums nothing, and
    /// waits for nobody who does.
    pub fn close(&self) -> bool {
        if !self.open.swap(false, Ordering::AcqRel) {
            return false;
        }
        let now = async_helper::now();
        if let Some(stretch) = &mut lock(&self.state).stretch {
            stretch.until.get_or_insert(now);
        }
        true
    }

    /// Freezes the last numbers; the slots may then belong to another. The body must not run any more.
    pub fn finish(&self) {
        self.close();
        let last = self.read();
        let mut state = lock(&self.state);
        if let Some(last) = last {
            state.past = Completions { in_flight: 0, ..last };
        }
        state.stretch = None;
    }

    /// Returns the values; None if nothing was ever recorded. Sums over all threads, so do not call it under a
    /// lock that others wait for.
    pub fn read(&self) -> Option<Completions> {
        let (past, stretch, number) = {
            let state = lock(&self.state);
            (state.past, state.stretch, state.number)
        };
        if number == 0 {
            return None;
        }
        let Some(mut stretch) = stretch else { return Some(past) };
        let noted = async_helper::noted(stretch.slots);
        let now = self.merge_excess(number, &mut stretch);
        let current = stretch.read(noted, now);
        let mut state = lock(&self.state);
        let same = state.number == number;
        if let Some(kept) = state.stretch.as_mut().filter(|_| same) {
            kept.before = kept.before.max(current.before);
        }
        drop(state);
        Some(Completions {
            starts: past.starts + current.starts,
            completions: past.completions + current.completions,
            in_flight: current.in_flight,
            before: past.before + current.before,
            waited: past.waited.saturating_add(current.waited),
        })
    }

    /// Takes in the excess that others found meanwhile, and returns the current time, which is later than all
    /// records.
    fn merge_excess(&self, number: u64, stretch: &mut Stretch) -> u64 {
        let state = lock(&self.state);
        if let Some(kept) = state.stretch.filter(|_| state.number == number) {
            stretch.before = kept.before;
        }
        async_helper::now()
    }
}

#[cfg(test)]
mod tests {
    use super::super::async_helper::tests::{call_begins, call_completes};
    use super::*;

    const NOTED: fn(u64, u64, u64, u64) -> AsyncSums =
        |begun, begun_at, completed, completed_at| AsyncSums { begun, begun_at, completed, completed_at };

    fn stretch(since: u64) -> Stretch {
        Stretch { slots: Slot(0), base: AsyncSums::default(), since, until: None, before: 0 }
    }

    #[test]
    fn waiting_time_is_exact_when_none_is_in_flight() {
        // From 100 to 150, from 110 to 130, and from 120 on.
        let mut stretch = stretch(100);
        let some = stretch.read(NOTED(3, 330, 2, 280), 200);
        assert_eq!((some.in_flight, some.waited), (1, 64 * (50 + 20 + 80)));
        let all = stretch.read(NOTED(3, 330, 3, 490), 900);
        assert_eq!((all.in_flight, all.before, all.waited), (0, 0, 64 * (50 + 20 + 90)));
    }

    #[test]
    fn earlier_calls_count_from_the_start_of_the_stretch() {
        let mut stretch = stretch(1000);
        // Two calls complete whose beginning was not seen, at 1100 and 1300; then one begins at 1400.
        let first = stretch.read(NOTED(0, 0, 2, 2400), 1350);
        assert_eq!((first.in_flight, first.before, first.waited), (0, 2, 64 * (100 + 300)));
        let then = stretch.read(NOTED(1, 1400, 2, 2400), 1500);
        assert_eq!((then.in_flight, then.before, then.waited), (1, 2, 64 * (100 + 300 + 100)));
    }

    #[test]
    fn tolerates_wrapping_sums_and_clock_jumps() {
        let base = NOTED(7, u64::MAX - 10, 7, u64::MAX - 5);
        let mut shifted = Stretch { base, ..stretch(40) };
        let read = shifted.read(NOTED(9, 90, 9, 140), 100);
        assert_eq!((read.starts, read.completions, read.waited), (2, 2, 64 * 45));
        // Completed before it began, because the clock went back; and never after now.
        assert_eq!(stretch(100).read(NOTED(1, 500, 1, 200), 600).waited, 0);
        assert_eq!(stretch(100).read(NOTED(1, 100, 1, 9_000), 300).waited, 64 * 200);
    }

    #[test]
    fn stretches_end_and_restart_correctly() {
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
        // A call of the old body completes.
        call_completes(slots);
        assert_eq!(account.read().map(|read| (read.completions, read.in_flight)), Some((2, 1)));
        // The other call completes unseen; of two calls that began this way, one completes after the next dial.
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

//! Native helpers that a timed `MoveNext` calls in addition to those of `time_helper`: one when a call of the
//! async method begins, one when it completes.
//!
//! Calling convention C, two native integers; the first is the byte offset of the first of [`SLOTS`] slots in a
//! block. The slots contain numbers of calls and sums of the times when they began and completed. Only the
//! owning thread writes them. Summed over all threads they give the calls in flight and the time that calls
//! have taken (`completions`).
#![forbid(unsafe_code)]

use super::blocks::{self, Slot};
use super::clock;
use super::count_helper::thread_block;
use super::thread_timer::timer;
use super::timers::Timer;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Consecutive slots of one async method.
pub const SLOTS: u32 = 6;
/// Position of the numbers about beginnings and completions: a count and two alternating sums each.
const BEGUN: usize = 0;
const COMPLETED: usize = 3;
/// Sums have units of 64 ticks and wrap: ten thousand calls in flight for months do not overflow.
const SHIFT: u32 = 6;
/// Maximum attempts at a consistent reading of a count and its sum.
const TRIES: usize = 1000;

type Run = [AtomicU64; SLOTS as usize];

/// Returns the address of the helper that begins a call.
pub fn begin() -> usize {
    redial_async_begin as *const () as usize
}

/// Returns the address of the helper that completes a call.
pub fn complete() -> usize {
    redial_async_complete as *const () as usize
}

/// Returns the current time in the unit of the sums.
pub fn now() -> u64 {
    clock::ticks() >> SHIFT
}

/// Converts a time of the sums to ticks.
pub fn ticks(of: u64) -> u64 {
    of.saturating_mul(1 << SHIFT)
}

extern "C" fn redial_async_begin(offset: usize, _: usize) {
    note(offset, BEGUN);
}

extern "C" fn redial_async_complete(offset: usize, _: usize) {
    note(offset, COMPLETED);
}

fn note(offset: usize, which: usize) {
    let now = now();
    crate::guard::guard_always((), || {
        let first = Slot((offset / size_of::<AtomicU64>()) as u32);
        // Nearly every thread has a timer by now, which is found faster.
        let block = timer().map(Timer::block).or_else(thread_block);
        let run = block.and_then(|block| block.run::<{ SLOTS as usize }>(first));
        if !run.is_some_and(|run| add(run, which, now)) {
            // Several threads write the shared slots, so there is only one sum, which may be ahead of its count
            // for a moment.
            blocks::add_shared(Slot(first.0 + which as u32 + 1), now);
            blocks::add_shared(Slot(first.0 + which as u32), 1);
        }
    });
}

/// Adds one call; only for the owner. Of the two sums, the one that belongs to the current count stays until
/// the count changes.
fn add(run: &Run, which: usize, now: u64) -> bool {
    let Some([number, even, odd]) = run.get(which..which + 3) else { return false };
    let before = number.load(Ordering::Relaxed);
    let (sum, next) = if before.is_multiple_of(2) { (even, odd) } else { (odd, even) };
    // A reader that sees the write below also sees that the count has changed since that sum was current.
    fence(Ordering::Release);
    next.store(sum.load(Ordering::Relaxed).wrapping_add(now), Ordering::Relaxed);
    number.store(before.wrapping_add(1), Ordering::Release);
    true
}

/// Reads a count and its sum.
fn read(run: &Run, which: usize, shared: bool) -> (u64, u64) {
    let Some([number, even, odd]) = run.get(which..which + 3) else { return (0, 0) };
    let mut read = (0, 0);
    for _ in 0..TRIES {
        let before = number.load(Ordering::Acquire);
        let sum = if shared || before.is_multiple_of(2) { even } else { odd };
        read = (before, sum.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        if number.load(Ordering::Relaxed) == before {
            break;
        }
    }
    read
}

/// Totals over all threads; sums wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncSums {
    /// Number of calls begun.
    pub begun: u64,
    /// Sum of their times.
    pub begun_at: u64,
    /// Number of calls completed.
    pub completed: u64,
    /// Sum of their times.
    pub completed_at: u64,
}

impl AsyncSums {
    /// Returns the difference from an earlier reading.
    pub fn since(self, earlier: AsyncSums) -> AsyncSums {
        AsyncSums {
            begun: self.begun.wrapping_sub(earlier.begun),
            begun_at: self.begun_at.wrapping_sub(earlier.begun_at),
            completed: self.completed.wrapping_sub(earlier.completed),
            completed_at: self.completed_at.wrapping_sub(earlier.completed_at),
        }
    }
}

/// Sums the run of slots that begins at `first` over all threads. Completions come first, so that no completion
/// is seen without its beginning. Takes longer with more threads, so do not call it under a lock that others
/// wait for.
pub fn noted(first: Slot) -> AsyncSums {
    let sum = |which| {
        let (mut number, mut sum) = (0_u64, 0_u64);
        blocks::each_run(first, |run, shared| {
            let (more, at) = read(run, which, shared);
            (number, sum) = (number.wrapping_add(more), sum.wrapping_add(at));
        });
        (number, sum)
    };
    let (completed, completed_at) = sum(COMPLETED);
    let (begun, begun_at) = sum(BEGUN);
    AsyncSums { begun, begun_at, completed, completed_at }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Begins a call in the run at `first`.
    pub fn call_begins(first: Slot) {
        clock::begin();
        redial_async_begin(first.0 as usize * 8, 0);
    }

    /// Completes a call.
    pub fn call_completes(first: Slot) {
        redial_async_complete(first.0 as usize * 8, 0);
    }

    #[test]
    fn counts_and_sums_are_consistent_during_writes() {
        let first = Slot(5000);
        let (stop, from) = (AtomicBool::new(false), {
            clock::begin();
            now()
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        call_begins(first);
                        call_completes(first);
                    }
                });
            }
            while noted(first).begun == 0 {
                std::thread::yield_now();
            }
            for _ in 0..2000 {
                let noted = noted(first);
                let until = now();
                assert!(noted.completed <= noted.begun);
                // Whenever the sums were read, each lies between the start time and now, times its count.
                for (number, at) in [(noted.begun, noted.begun_at), (noted.completed, noted.completed_at)] {
                    let of_all = |each: u64| u128::from(each) * u128::from(number);
                    let at_least = of_all(from) as u64;
                    let spread = at.wrapping_sub(at_least);
                    assert!(u128::from(spread) <= of_all(until - from), "{number} at {at}");
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let noted = noted(first);
        assert!(noted.begun == noted.completed && noted.begun > 0);
    }

    #[test]
    fn calls_across_threads_add_up() {
        let first = Slot(5010);
        let on_threads = |action: fn(Slot)| {
            let threads: Vec<_> =
                (0..8).map(|_| std::thread::spawn(move || (0..125).for_each(|_| action(first)))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        };
        on_threads(call_begins);
        let before = noted(first);
        assert_eq!((before.begun, before.completed, before.completed_at), (1000, 0, 0));
        on_threads(call_completes);
        let after = noted(first);
        assert_eq!((after.begun, after.begun_at, after.completed), (1000, before.begun_at, 1000));
        assert!(after.completed_at.wrapping_sub(after.begun_at) as i64 >= 0);
    }

    #[test]
    fn counts_threads_past_their_destructors() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                call_begins(Slot(5020));
                call_completes(Slot(5020));
            }
        }
        thread_local!(static LATE: Late = const { Late });
        std::thread::spawn(|| {
            LATE.with(|_| ());
            call_begins(Slot(5020));
        })
        .join()
        .unwrap();
        let noted = noted(Slot(5020));
        assert_eq!((noted.begun, noted.completed), (2, 1));
        assert!(noted.completed_at > 0 && noted.completed_at <= noted.begun_at);
    }
}

//! The native leaves that a timed `MoveNext` calls beside those of `time_leaf`: one when a call of the async method begins,
//! one when it completes. C calling convention, two native integers, of which the first is the byte offset of the first of
//! [`SLOTS`] slots in a block: numbers of calls, and sums of when they began and completed. Only the thread writes its own;
//! over all threads they add up to calls in flight, and to the time that calls have taken (`completions`).
#![forbid(unsafe_code)]

use super::blocks::{self, Slot};
use super::clock;
use super::leaf::with_owner;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Slots that one async method takes, one behind the other.
pub const SLOTS: u32 = 6;
/// Where in them is what is known of beginnings, and of completions: each a number, and two sums that take turns.
const BEGUN: usize = 0;
const COMPLETED: usize = 3;
/// Sums are of times in 64 ticks each, wrapping: ten thousand calls in flight for months do not come round.
const SHIFT: u32 = 6;
/// Readings of a number and its sum that may be overtaken in a row.
const TRIES: usize = 1000;

type Run = [AtomicU64; SLOTS as usize];

/// Address of the leaf that begins a call.
pub fn begin() -> usize {
    redial_async_begin as *const () as usize
}

/// Address of the leaf that completes a call.
pub fn complete() -> usize {
    redial_async_complete as *const () as usize
}

/// The present time as these sums have it.
pub fn now() -> u64 {
    clock::ticks() >> SHIFT
}

/// Ticks that such a time is.
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
        let is_there = first.0 <= blocks::MAX_SLOTS - SLOTS;
        let done = is_there
            && with_owner(|owner| {
                let run = owner.and_then(|owner| blocks::run::<{ SLOTS as usize }>(owner.base(), first));
                run.is_some_and(|run| add(run, which, now))
            });
        if !done && is_there {
            // By several threads, so the sum is one and may be ahead of its number for a moment.
            blocks::add_shared(Slot(first.0 + which as u32 + 1), now);
            blocks::add_shared(Slot(first.0 + which as u32), 1);
        }
    });
}

/// One more, by the owner. Of the two sums the one that goes with the present number stays until the number is the next.
fn add(run: &Run, which: usize, now: u64) -> bool {
    let Some([number, even, odd]) = run.get(which..which + 3) else { return false };
    let before = number.load(Ordering::Relaxed);
    let (sum, next) = if before.is_multiple_of(2) { (even, odd) } else { (odd, even) };
    // Whoever reads what is written below sees that the number is another than when that sum was its own.
    fence(Ordering::Release);
    next.store(sum.load(Ordering::Relaxed).wrapping_add(now), Ordering::Relaxed);
    number.store(before.wrapping_add(1), Ordering::Release);
    true
}

/// A number and its sum.
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

/// What all threads together noted; sums wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Calls begun.
    pub begun: u64,
    /// When, added up.
    pub begun_at: u64,
    /// Calls completed.
    pub completed: u64,
    /// When, added up.
    pub completed_at: u64,
}

impl Noted {
    /// What came since an earlier reading.
    pub fn since(self, earlier: Noted) -> Noted {
        Noted {
            begun: self.begun.wrapping_sub(earlier.begun),
            begun_at: self.begun_at.wrapping_sub(earlier.begun_at),
            completed: self.completed.wrapping_sub(earlier.completed),
            completed_at: self.completed_at.wrapping_sub(earlier.completed_at),
        }
    }
}

/// Adds up the run of slots that begins at `first`: completions first, so that none is seen of a call that was not seen to
/// begin. As long as there are threads, so under no lock that others wait for.
pub fn noted(first: Slot) -> Noted {
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
    Noted { begun, begun_at, completed, completed_at }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A call begins in the run at `first`.
    pub fn call_begins(first: Slot) {
        clock::begin();
        redial_async_begin(first.0 as usize * 8, 0);
    }

    /// A call completes.
    pub fn call_completes(first: Slot) {
        redial_async_complete(first.0 as usize * 8, 0);
    }

    #[test]
    fn numbers_and_sums_fit_whoever_writes_meanwhile() {
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
                // Each number of times lies between then and now, whatever moment it was read at.
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
    fn calls_that_begin_on_one_thread_and_complete_on_another_add_up() {
        let first = Slot(5010);
        let on_threads = |what: fn(Slot)| {
            let threads: Vec<_> =
                (0..8).map(|_| std::thread::spawn(move || (0..125).for_each(|_| what(first)))).collect();
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
    fn a_thread_past_its_destructors_is_counted_as_well() {
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

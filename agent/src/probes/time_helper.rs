//! Native helpers that a timed body calls. Calling convention C, two native integers: the slot's byte offset in
//! a block, and the address of a variable in the body's stack frame, which identifies the call. They never
//! block, take no lock of the process and nothing from its heap.
//!
//! They find the thread's timer through `thread_timer`.

use super::blocks::{self, Slot};
use super::clock::{self, Clock, Counter, Monotonic};
use super::count_helper::{thread_block, thread_timer};
use super::missing_data::{self, MissingData};
use super::stack_walk::BodyFrame;
use super::thread_timer::timer;

use std::sync::atomic::AtomicU64;

/// The helpers for the chosen clock.
#[derive(Clone, Copy)]
pub struct TimeHelpers {
    /// Begins a call.
    pub enter: unsafe extern "C" fn(usize, *mut usize),
    /// Begins a call, and sets the variable if the body should let the garbage collector in.
    pub enter_with_gc_poll: unsafe extern "C" fn(usize, *mut usize),
    /// Starts the clock of the call anew, after the body has let the collector in.
    pub restart: unsafe extern "C" fn(usize, *mut usize),
    /// Ends a call that returns.
    pub leave: unsafe extern "C" fn(usize, *mut usize),
    /// Ends a call that an exception leaves.
    pub fault: unsafe extern "C" fn(usize, *mut usize),
}

/// Returns the helpers; the first use chooses the clock.
pub fn helpers() -> TimeHelpers {
    clock::begin();
    if clock::is_counter() { by::<Counter>() } else { by::<Monotonic>() }
}

/// Returns a function that makes a timed, empty call on the calling thread. Must not run inside another call.
pub(super) fn calls_of_nothing(slot: Slot) -> impl Fn() {
    let helpers = helpers();
    let offset = slot.0 as usize * size_of::<AtomicU64>();
    move || {
        let mut variable = 0_usize;
        let frame = &raw mut variable;
        // SAFETY: the slot is valid, and the variable on this thread's stack outlives the call.
        unsafe {
            (helpers.enter)(offset, frame);
            (helpers.leave)(offset, frame);
        }
    }
}

/// # Safety
/// As [`super::timers::Timer::enter`].
pub(super) unsafe extern "C" fn enter<C: Clock>(slot_offset: usize, frame: *mut usize) {
    match timer() {
        // SAFETY: the caller's contract; the timer is the thread's own.
        Some(timer) if unsafe { timer.enter::<C>(slot_offset, frame) } => (),
        // SAFETY: the same.
        _ => unsafe { enter_slowly::<C>(slot_offset, frame) },
    }
}

/// # Safety
/// As [`super::timers::Timer::enter`].
pub(super) unsafe extern "C" fn enter_with_gc_poll<C: Clock>(slot_offset: usize, frame: *mut usize) {
    match timer() {
        // SAFETY: the caller's contract; the timer is the thread's own, and the variable belongs to the body.
        Some(timer) if unsafe { timer.enter::<C>(slot_offset, frame) } => unsafe {
            frame.write(usize::from(timer.needs_gc_poll()));
        },
        // SAFETY: the same.
        _ => unsafe { enter_slowly::<C>(slot_offset, frame) },
    }
}

/// # Safety
/// As [`super::timers::Timer::enter`].
#[cold]
#[inline(never)]
unsafe extern "C" fn enter_slowly<C: Clock>(slot_offset: usize, frame: *mut usize) {
    crate::guard::guard_always((), || {
        // SAFETY: the body's own variable. Written before anything can fail.
        unsafe { frame.write(1) };
        let slot = Slot((slot_offset / size_of::<AtomicU64>()) as u32);
        let block = thread_block().filter(|block| block.is_open(slot));
        if let Some(timer) = block.and_then(thread_timer) {
            // SAFETY: the caller's contract; the timer is this thread's.
            return unsafe { timer.enter_slowly::<C>(slot_offset, frame) };
        }
        missing_data::note(slot_offset, MissingData::Memory);
        if !block.is_some_and(|block| block.count(slot)) {
            blocks::add_shared(slot, 1);
        }
    });
}

/// # Safety
/// As [`super::timers::Timer::enter`].
unsafe extern "C" fn restart<C: Clock>(_: usize, frame: *mut usize) {
    if let Some(timer) = timer() {
        // SAFETY: the caller's contract; the timer is the thread's own.
        unsafe { timer.restart::<C>(frame) };
    }
}

/// # Safety
/// As [`super::timers::Timer::enter`].
unsafe extern "C" fn leave<C: Clock>(slot_offset: usize, frame: *mut usize) {
    let now = C::ticks();
    match timer() {
        // SAFETY: the caller's contract; the timer is the thread's own.
        Some(timer) if unsafe { timer.leave(frame, now) } => (),
        // SAFETY: the same.
        _ => unsafe { leave_slowly(slot_offset, frame, (now, false), None) },
    }
}

/// # Safety
/// As [`super::timers::Timer::enter`].
unsafe extern "C" fn fault<C: Clock>(slot_offset: usize, frame: *mut usize) {
    let now = C::ticks();
    // SAFETY: the caller's contract.
    unsafe { leave_slowly(slot_offset, frame, (now, true), None) };
}

/// Ends a call at a time, with an exception or not. `body` is its frame, if its stack is kept.
///
/// # Safety
/// As [`super::timers::Timer::enter`].
#[cold]
#[inline(never)]
pub(super) unsafe fn leave_slowly(
    slot_offset: usize,
    frame: *mut usize,
    (now, thrown): (u64, bool),
    body: Option<BodyFrame>,
) {
    crate::guard::guard_always((), || {
        if let Some(timer) = timer() {
            // SAFETY: the caller's contract; the timer is the thread's own.
            unsafe { timer.leave_slowly(slot_offset, frame, (now, thrown), body) };
        }
    });
}

const fn by<C: Clock>() -> TimeHelpers {
    TimeHelpers {
        enter: enter::<C>,
        enter_with_gc_poll: enter_with_gc_poll::<C>,
        restart: restart::<C>,
        leave: leave::<C>,
        fault: fault::<C>,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::arena::used_bytes;
    use super::super::histogram::Histogram;
    use super::super::timers::{self, TimeSums};
    use super::*;
    use std::time::Duration;

    /// Makes a call of `slot` whose stack frame has its variable at `frame`.
    pub fn call(slot: u32, frame: &mut usize, body: impl FnOnce() -> bool) {
        stay(slot, frame);
        let returns = body();
        end(slot, frame, returns);
    }

    /// Begins a call without ending it.
    pub fn stay(slot: u32, frame: &mut usize) {
        // SAFETY: this thread's own variable, and a slot below MAX_SLOTS.
        unsafe { (helpers().enter)(slot as usize * 8, frame) };
    }

    /// Ends a call.
    fn end(slot: u32, frame: &mut usize, returns: bool) {
        let helper = if returns { helpers().leave } else { helpers().fault };
        // SAFETY: as in `stay`.
        unsafe { helper(slot as usize * 8, frame) };
    }

    /// Spends this many nanoseconds.
    pub fn ticking(ns: u64) -> bool {
        let begun = std::time::Instant::now();
        while (begun.elapsed().as_nanos() as u64) < ns {}
        true
    }

    fn calls(slot: u32) -> u64 {
        let mut sums = Vec::new();
        blocks::sum(&[Slot(slot)], &mut sums);
        sums[0]
    }

    fn pause(ms: u64) -> bool {
        std::thread::sleep(Duration::from_millis(ms));
        true
    }

    fn ms(ticks: u64) -> f64 {
        ticks as f64 * clock::ns_per_tick() / 1e6
    }

    #[test]
    fn counts_calls_exits_and_exceptions_over_threads() {
        let slot = 101;
        let thread = |number: u64| {
            std::thread::spawn(move || {
                let mut frame = 0;
                (0..1000).for_each(|index| call(slot, &mut frame, || index % 10 != number % 10));
            })
        };
        let threads: Vec<_> = (0..40).map(thread).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it counts"));
        let sums = timers::sum(Slot(slot));
        assert_eq!((calls(slot), sums.exits, sums.exceptions, sums.in_flight), (40_000, 40_000, 4_000, 0));
        assert!(
            sums.own == sums.total
                && sums.max <= sums.total
                && missing_data::of(Slot(slot)) == MissingData::Nothing
        );
        let mut histogram = Histogram::default();
        timers::fill_histogram(Slot(slot), &mut histogram);
        let (lowest, highest) = (histogram.quantile(0).unwrap(), histogram.quantile(1000).unwrap());
        assert!(lowest <= highest && highest as f64 <= sums.max as f64 * 1.02 + 1.0);
        timers::reset(Slot(slot));
        assert_eq!(timers::sum(Slot(slot)), TimeSums::default());
        timers::fill_histogram(Slot(slot), &mut histogram);
        assert_eq!(histogram.quantile(500), None);
    }

    #[test]
    fn own_time_excludes_callees_and_recursion_counts_once() {
        let (caller, callee) = (103, 104);
        std::thread::spawn(move || {
            // Frames from high to low, as on a stack.
            let mut frames = [0; 4];
            let [inner, second, first, outer] = &mut frames;
            call(caller, outer, || {
                pause(20);
                call(callee, first, || {
                    pause(10);
                    call(callee, second, || pause(10));
                    true
                });
                call(callee, inner, || pause(5));
                true
            });
        })
        .join()
        .unwrap();
        let (caller, callee) = (timers::sum(Slot(caller)), timers::sum(Slot(callee)));
        assert_eq!((caller.exits, callee.exits), (1, 3));
        assert_eq!(callee.own, callee.total, "recursive calls count their time once");
        assert_eq!(caller.own + callee.total, caller.total);
        assert!(ms(caller.own) >= 20.0 * 0.99 && ms(callee.total) >= 25.0 * 0.99);
        assert!(ms(callee.max) >= 20.0 * 0.99 && callee.max < callee.total);
    }

    #[test]
    fn gives_up_frames_that_were_unwound_unseen() {
        let (lost, seen) = (105, 106);
        std::thread::spawn(move || {
            let mut frames = [0_usize; 3];
            let [deepest, deep, outer] = &mut frames;
            call(seen, outer, || {
                // Their ends are never reported.
                stay(lost, deep);
                stay(lost, deepest);
                assert_eq!(timers::sum(Slot(lost)).in_flight, 2);
                // Another call in the place of the first of them.
                call(seen, deep, || true);
                assert_eq!(timers::sum(Slot(lost)).in_flight, 0);
                stay(lost, deep);
                true
            });
            // A call that did not begin does not end either.
            end(lost, deep, true);
        })
        .join()
        .unwrap();
        let lost_sums = timers::sum(Slot(lost));
        assert_eq!((calls(lost), lost_sums.exits, lost_sums.in_flight), (3, 0, 0));
        assert_eq!((timers::sum(Slot(seen)).exits, timers::sum(Slot(seen)).in_flight), (2, 0));
    }

    #[test]
    fn dying_threads_leave_no_call_in_flight() {
        let slot = 107;
        let (begun, wait) = std::sync::mpsc::channel();
        let (go, held) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut frame = 0_usize;
            stay(slot, &mut frame);
            begun.send(()).unwrap();
            held.recv().unwrap();
        });
        wait.recv().unwrap();
        assert_eq!(timers::sum(Slot(slot)).in_flight, 1);
        go.send(()).unwrap();
        thread.join().unwrap();
        let sums = timers::sum(Slot(slot));
        assert_eq!((calls(slot), sums.exits, sums.in_flight, sums.total), (1, 0, 0, 0));
    }

    #[test]
    fn lets_the_collector_in_after_some_time() {
        std::thread::spawn(|| {
            let mut frame = 0_usize;
            let mut begin = || {
                // SAFETY: as in `stay`.
                unsafe { (helpers().enter_with_gc_poll)(108 * 8, &mut frame) };
                let needs_gc_poll = frame == 1;
                end(108, &mut frame, true);
                needs_gc_poll
            };
            assert!(begin(), "the first call of a thread");
            let mut after = |ticks: u64| {
                let from = clock::ticks();
                while clock::ticks() - from < ticks {}
                begin()
            };
            assert!(after(timers::GC_POLL_INTERVAL) && after(timers::GC_POLL_INTERVAL));
            // However slow the machine is: of immediate calls, one lets the collector in only if much time
            // passed before.
            assert!((0..1000).any(|_| !after(0)));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn letting_the_collector_in_takes_no_time_of_the_call() {
        std::thread::spawn(|| {
            let mut frame = 0_usize;
            stay(111, &mut frame);
            pause(20);
            let restarted = clock::ticks();
            // SAFETY: as in `stay`.
            unsafe { (helpers().restart)(111 * 8, &mut frame) };
            end(111, &mut frame, true);
            let sums = timers::sum(Slot(111));
            assert!(sums.exits == 1 && sums.max <= clock::ticks() - restarted, "{sums:?}");
            // There is nothing to restart.
            // SAFETY: as in `stay`.
            unsafe { (helpers().restart)(111 * 8, &mut frame) };
            assert_eq!(timers::sum(Slot(111)), sums);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn memory_of_deep_calls_is_returned_at_thread_exit() {
        const DEEP: usize = 20_000;
        let run = || {
            let mut frames = vec![0_usize; DEEP];
            frames.iter_mut().rev().for_each(|frame| stay(110, frame));
            let deep = used_bytes();
            frames.iter_mut().for_each(|frame| end(110, frame, true));
            deep
        };
        let before = used_bytes();
        let deep = std::thread::spawn(run).join().unwrap();
        assert_eq!(
            (timers::sum(Slot(110)).exits, missing_data::of(Slot(110))),
            (DEEP as u64, MissingData::Nothing)
        );
        assert!(deep - before >= DEEP * 32, "{before} became {deep}");
        let after = used_bytes();
        // What remains: a page of frames, a page of the list of records, a record and its histogram.
        assert!(
            !cfg!(target_os = "linux") || after - before <= 64 << 10,
            "{before} became {deep} and {after}"
        );
        // The next thread can be as deep.
        std::thread::spawn(run).join().unwrap();
        assert_eq!(timers::sum(Slot(110)).exits, 2 * DEEP as u64);
    }

    #[test]
    fn calls_beyond_the_depth_limit_are_only_counted() {
        let slot = 109;
        std::thread::Builder::new()
            .stack_size(64 << 20)
            .spawn(move || {
                let mut frames = vec![0_usize; 140_000];
                frames.iter_mut().rev().for_each(|frame| stay(slot, frame));
                frames.iter_mut().for_each(|frame| end(slot, frame, true));
            })
            .unwrap()
            .join()
            .unwrap();
        let sums = timers::sum(Slot(slot));
        assert_eq!(
            (calls(slot), sums.in_flight, missing_data::of(Slot(slot))),
            (140_000, 0, MissingData::Deep)
        );
        assert_eq!(sums.exits, (timers::MAX_FRAMES - 1) as u64);
    }
}

//! The native leaves that a timing body calls, C calling convention, two native integers: the slot's byte offset in a
//! block, and the address of a variable in the body's stack frame, by which the call is known. They never block and take no
//! lock; the first timed call on a thread makes its timer.
//!
//! How a leaf finds the thread's timer is as in `leaf`.

use super::blocks::{self, Slot};
use super::clock::{self, Clock, Counter, Monotonic};
use super::lacks::{self, Lacks};
use super::leaf::with_owner;
use super::timers::Timer;

use std::sync::atomic::AtomicU64;

/// The leaves for the clock that was chosen.
#[derive(Clone, Copy)]
pub struct Leaves {
    /// Begins a call.
    pub enter: unsafe extern "C" fn(usize, *mut usize),
    /// The same, and says in the variable whether the body should let the collector in.
    pub enter_letting_in: unsafe extern "C" fn(usize, *mut usize),
    /// Ends a call which returns.
    pub leave: unsafe extern "C" fn(usize, *mut usize),
    /// Ends a call which an exception leaves.
    pub fault: unsafe extern "C" fn(usize, *mut usize),
}

/// Those leaves; the clock is chosen at the first use.
pub fn leaves() -> Leaves {
    clock::begin();
    if clock::is_counter() { by::<Counter>() } else { by::<Monotonic>() }
}

/// Timed calls of the calling thread that do nothing. Not from within another.
pub(super) fn calls_of_nothing(slot: Slot) -> impl Fn() {
    let leaves = leaves();
    let offset = slot.0 as usize * size_of::<AtomicU64>();
    move || {
        let mut variable = 0_usize;
        let frame = &raw mut variable;
        // SAFETY: the slot is one of those there are, and the variable on this thread's stack outlives the call.
        unsafe {
            (leaves.enter)(offset, frame);
            (leaves.leave)(offset, frame);
        }
    }
}

/// # Safety
/// As [`Timer::enter`].
pub(super) unsafe extern "C" fn enter<C: Clock>(slot_offset: usize, frame: *mut usize) {
    match timer() {
        // SAFETY: the caller's contract; the timer is the thread's own.
        Some(timer) if unsafe { timer.enter::<C>(slot_offset, frame) } => (),
        // SAFETY: the same.
        _ => unsafe { enter_slowly::<C>(slot_offset, frame) },
    }
}

/// # Safety
/// As [`Timer::enter`].
pub(super) unsafe extern "C" fn enter_letting_in<C: Clock>(slot_offset: usize, frame: *mut usize) {
    match timer() {
        // SAFETY: the caller's contract; the timer is the thread's own, and the variable the body's.
        Some(timer) if unsafe { timer.enter::<C>(slot_offset, frame) } => unsafe {
            frame.write(usize::from(timer.lets_in()));
        },
        // SAFETY: the same.
        _ => unsafe { enter_slowly::<C>(slot_offset, frame) },
    }
}

/// # Safety
/// As [`Timer::enter`].
#[cold]
#[inline(never)]
unsafe extern "C" fn enter_slowly<C: Clock>(slot_offset: usize, frame: *mut usize) {
    crate::guard::guard_always((), || {
        // SAFETY: the body's own variable. Written before anything can fail.
        unsafe { frame.write(1) };
        let slot = Slot((slot_offset / size_of::<AtomicU64>()) as u32);
        let known = slot.0 < blocks::MAX_SLOTS;
        let done = with_owner(|owner| {
            let Some(owner) = owner.filter(|_| known) else { return false };
            match owner.timer() {
                // SAFETY: the caller's contract; the timer is this thread's.
                Some(timer) => unsafe { timer.enter_slowly::<C>(slot_offset, frame) },
                None => {
                    lacks::note(slot_offset, Lacks::Memory);
                    owner.count(slot);
                }
            }
            true
        });
        if !done {
            lacks::note(slot_offset, Lacks::Memory);
            blocks::add_shared(slot, 1);
        }
    });
}

/// # Safety
/// As [`Timer::enter`].
unsafe extern "C" fn leave<C: Clock>(slot_offset: usize, frame: *mut usize) {
    let now = C::ticks();
    match timer() {
        // SAFETY: the caller's contract; the timer is the thread's own.
        Some(timer) if unsafe { timer.leave(frame, now) } => (),
        // SAFETY: the same.
        _ => unsafe { leave_slowly(slot_offset, frame, now, false) },
    }
}

/// # Safety
/// As [`Timer::enter`].
unsafe extern "C" fn fault<C: Clock>(slot_offset: usize, frame: *mut usize) {
    let now = C::ticks();
    // SAFETY: the caller's contract.
    unsafe { leave_slowly(slot_offset, frame, now, true) };
}

/// # Safety
/// As [`Timer::enter`].
#[cold]
#[inline(never)]
unsafe extern "C" fn leave_slowly(slot_offset: usize, frame: *mut usize, now: u64, thrown: bool) {
    crate::guard::guard_always((), || {
        if let Some(timer) = timer() {
            // SAFETY: the caller's contract; the timer is the thread's own.
            unsafe { timer.leave_slowly(slot_offset, frame, now, thrown) };
        }
    });
}

const fn by<C: Clock>() -> Leaves {
    Leaves {
        enter: enter::<C>,
        enter_letting_in: enter_letting_in::<C>,
        leave: leave::<C>,
        fault: fault::<C>,
    }
}

/// The calling thread's timer.
#[inline(always)]
pub fn timer() -> Option<&'static Timer> {
    // SAFETY: timers are never freed; a pointer set on this thread is its own, and taken out before it is given away.
    unsafe { native::timer().as_ref() }
}

/// Where a thread finds its timer, see `leaf`.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod native {
    use super::Timer;

    std::arch::global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".p2align 3",
        ".globl redial_timer",
        ".hidden redial_timer",
        ".type redial_timer, @object",
        "redial_timer: .zero 8",
        ".size redial_timer, 8",
        ".popsection",
    );

    #[inline(always)]
    pub fn timer() -> *const Timer {
        let timer;
        // SAFETY: reads the thread's own variable, whose distance from `fs` the loader has entered.
        unsafe {
            std::arch::asm!(
                "mov {timer}, qword ptr [rip + redial_timer@GOTTPOFF]",
                "mov {timer}, qword ptr fs:[{timer}]",
                timer = out(reg) timer,
                options(readonly, nostack, preserves_flags)
            );
        }
        timer
    }

    pub fn set_timer(timer: *const Timer) {
        // SAFETY: as above, writes it.
        unsafe {
            std::arch::asm!(
                "mov {place}, qword ptr [rip + redial_timer@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {timer}",
                place = out(reg) _,
                timer = in(reg) timer,
                options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod native {
    use super::Timer;
    use std::cell::Cell;

    thread_local! {
        static TIMER: Cell<*const Timer> = const { Cell::new(std::ptr::null()) };
    }

    #[inline(always)]
    pub fn timer() -> *const Timer {
        TIMER.get()
    }

    pub fn set_timer(timer: *const Timer) {
        TIMER.set(timer);
    }
}

pub(super) use native::set_timer;

#[cfg(test)]
pub(crate) mod tests {
    use super::super::arena::used_bytes;
    use super::super::histogram::Histogram;
    use super::super::timers::{self, Sums};
    use super::*;
    use std::time::Duration;

    /// A call of `slot` whose stack frame has its variable at `frame`.
    pub fn call(slot: u32, frame: &mut usize, body: impl FnOnce() -> bool) {
        stay(slot, frame);
        let returns = body();
        end(slot, frame, returns);
    }

    /// One that does not end.
    pub fn stay(slot: u32, frame: &mut usize) {
        // SAFETY: this thread's own, and below MAX_SLOTS.
        unsafe { (leaves().enter)(slot as usize * 8, frame) };
    }

    /// The end of one.
    fn end(slot: u32, frame: &mut usize, returns: bool) {
        let leaf = if returns { leaves().leave } else { leaves().fault };
        // SAFETY: as in `stay`.
        unsafe { leaf(slot as usize * 8, frame) };
    }

    /// Passes so many nanoseconds.
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
    fn calls_exits_and_exceptions_are_exact_over_threads() {
        let slot = 101;
        let thread = |number: u64| {
            std::thread::spawn(move || {
                let mut frame = 0;
                (0..1000).for_each(|turn| call(slot, &mut frame, || turn % 10 != number % 10));
            })
        };
        let threads: Vec<_> = (0..40).map(thread).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it counts"));
        let sums = timers::sum(Slot(slot));
        assert_eq!((calls(slot), sums.exits, sums.exceptions, sums.in_flight), (40_000, 40_000, 4_000, 0));
        assert!(
            sums.own == sums.total && sums.max <= sums.total && lacks::lacks(Slot(slot)) == Lacks::Nothing
        );
        let mut histogram = Histogram::default();
        timers::fill(Slot(slot), &mut histogram);
        let (lowest, highest) = (histogram.quantile(0).unwrap(), histogram.quantile(1000).unwrap());
        assert!(lowest <= highest && highest as f64 <= sums.max as f64 * 1.02 + 1.0);
        timers::reset(Slot(slot));
        assert_eq!(timers::sum(Slot(slot)), Sums::default());
        timers::fill(Slot(slot), &mut histogram);
        assert_eq!(histogram.quantile(500), None);
    }

    #[test]
    fn callees_are_no_part_of_a_caller_s_own_time_and_recursion_is_taken_once() {
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
        assert_eq!(callee.own, callee.total, "who calls itself has the time once");
        assert_eq!(caller.own + callee.total, caller.total);
        assert!(ms(caller.own) >= 20.0 * 0.99 && ms(callee.total) >= 25.0 * 0.99);
        assert!(ms(callee.max) >= 20.0 * 0.99 && callee.max < callee.total);
    }

    #[test]
    fn frames_that_were_unwound_unseen_are_given_up() {
        let (lost, seen) = (105, 106);
        std::thread::spawn(move || {
            let mut frames = [0_usize; 3];
            let [deepest, deep, outer] = &mut frames;
            call(seen, outer, || {
                // Their ends are never told.
                stay(lost, deep);
                stay(lost, deepest);
                assert_eq!(timers::sum(Slot(lost)).in_flight, 2);
                // Another call at the place of the first of them.
                call(seen, deep, || true);
                assert_eq!(timers::sum(Slot(lost)).in_flight, 0);
                stay(lost, deep);
                true
            });
            // A call that did not begin is no call that ends.
            end(lost, deep, true);
        })
        .join()
        .unwrap();
        let lost_sums = timers::sum(Slot(lost));
        assert_eq!((calls(lost), lost_sums.exits, lost_sums.in_flight), (3, 0, 0));
        assert_eq!((timers::sum(Slot(seen)).exits, timers::sum(Slot(seen)).in_flight), (2, 0));
    }

    #[test]
    fn a_thread_that_dies_in_a_call_leaves_none_under_way() {
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
    fn a_body_lets_the_collector_in_when_time_has_passed() {
        std::thread::spawn(|| {
            let mut frame = 0_usize;
            let mut begin = || {
                // SAFETY: as in `stay`.
                unsafe { (leaves().enter_letting_in)(108 * 8, &mut frame) };
                let lets_in = frame == 1;
                end(108, &mut frame, true);
                lets_in
            };
            assert!(begin(), "the first call of a thread");
            let mut after = |ticks: u64| {
                let from = clock::ticks();
                while clock::ticks() - from < ticks {}
                begin()
            };
            assert!(after(timers::LET_IN) && after(timers::LET_IN));
            // However slow the machine: of calls at once one lets it in only where much time passed before.
            assert!((0..1000).any(|_| !after(0)));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_deep_calls_need_is_counted_and_goes_back_when_the_thread_dies() {
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
        assert_eq!((timers::sum(Slot(110)).exits, lacks::lacks(Slot(110))), (DEEP as u64, Lacks::Nothing));
        assert!(deep - before >= DEEP * 32, "{before} became {deep}");
        let after = used_bytes();
        // A frame's page, one of the list of records, a record and its histogram are left.
        assert!(
            !cfg!(target_os = "linux") || after - before <= 64 << 10,
            "{before} became {deep} and {after}"
        );
        // The next thread can be as deep.
        std::thread::spawn(run).join().unwrap();
        assert_eq!(timers::sum(Slot(110)).exits, 2 * DEEP as u64);
    }

    #[test]
    fn depths_past_the_limit_are_counted_and_said() {
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
        assert_eq!((calls(slot), sums.in_flight, lacks::lacks(Slot(slot))), (140_000, 0, Lacks::Deep));
        assert_eq!(sums.exits, (timers::MAX_FRAMES - 1) as u64);
    }
}

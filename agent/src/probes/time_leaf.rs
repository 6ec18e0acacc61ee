//! The native leaves that a timing body calls, C calling convention, two native integers: the slot's byte offset in a
//! block, and the address of a variable in the body's stack frame, by which the call is known. They never block and take no
//! lock; the first timed call on a thread makes its timer. [`enter`] leaves 1 in the variable when the body should let the
//! collector in, else 0.
//!
//! How a leaf finds the thread's timer is as in `leaf`.

use super::lacks::{self, Lacks};
use super::leaf::with_owner;
use super::timers::Timer;
use super::{blocks, clock};
use blocks::Slot;
use std::sync::atomic::AtomicU64;

/// Address of the leaf that begins a call.
pub fn enter() -> usize {
    redial_enter as *const () as usize
}

/// Address of the leaf that ends a call which returns.
pub fn leave() -> usize {
    redial_leave as *const () as usize
}

/// Address of the leaf that ends a call which an exception leaves.
pub fn fault() -> usize {
    redial_fault as *const () as usize
}

/// Address of a leaf that does nothing: on the way into it a thread can be stopped.
pub fn let_in() -> usize {
    redial_let_in as *const () as usize
}

extern "C" fn redial_let_in(_: usize, _: usize) {}

/// A timed call of the calling thread that does nothing. Not from within another.
pub(super) fn call_of_nothing(slot: Slot) {
    let mut variable = 0_usize;
    let frame = &raw mut variable;
    let offset = slot.0 as usize * size_of::<AtomicU64>();
    // SAFETY: the slot is one of those there are, and the variable on this thread's stack outlives the call.
    unsafe {
        redial_enter(offset, frame);
        redial_leave(offset, frame);
    }
}

/// # Safety
/// As [`Timer::enter`]; `timer` is the thread's own.
unsafe extern "C" fn redial_enter_timed(slot_offset: usize, frame: *mut usize, timer: &Timer) {
    // SAFETY: the caller's contract.
    if !unsafe { timer.enter(slot_offset, frame) } {
        // SAFETY: the same.
        unsafe { redial_enter_slow(slot_offset, frame) };
    }
}

/// # Safety
/// As [`Timer::enter`].
unsafe extern "C" fn redial_enter_slow(slot_offset: usize, frame: *mut usize) {
    crate::guard::guard_always((), || {
        // SAFETY: the body's own variable. Written before anything can fail.
        unsafe { frame.write(1) };
        let slot = Slot((slot_offset / size_of::<AtomicU64>()) as u32);
        let known = slot.0 < blocks::MAX_SLOTS;
        let done = with_owner(|owner| {
            let Some(owner) = owner.filter(|_| known) else { return false };
            match owner.timer() {
                // SAFETY: the caller's contract; the timer is this thread's.
                Some(timer) => unsafe { timer.enter_slowly(slot_offset, frame) },
                None => {
                    lacks::note(slot_offset, Lacks::Memory);
                    owner.count(slot);
                }
            }
            true
        });
        if !done {
            lacks::note(slot_offset, Lacks::Memory);
            blocks::add_shared(slot);
        }
    });
}

/// # Safety
/// As [`Timer::leave`]; `timer` is the thread's own.
unsafe extern "C" fn redial_leave_timed(slot_offset: usize, frame: *const usize, timer: &Timer) {
    let now = clock::ticks();
    // SAFETY: the caller's contract.
    unsafe { timer.leave(slot_offset, frame, now, false) };
}

/// # Safety
/// As [`Timer::leave`]; `timer` is the thread's own.
unsafe extern "C" fn redial_fault_timed(slot_offset: usize, frame: *const usize, timer: &Timer) {
    let now = clock::ticks();
    // SAFETY: the caller's contract.
    unsafe { timer.leave(slot_offset, frame, now, true) };
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod native {
    use super::Timer;

    std::arch::global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".p2align 3",
        ".type redial_timer, @object",
        "redial_timer: .zero 8",
        ".size redial_timer, 8",
        ".popsection",
        ".pushsection .text.redial_time,\"ax\",@progbits",
        ".macro redial_with_timer name, known, unknown",
        ".p2align 5",
        ".globl \\name",
        ".type \\name, @function",
        "\\name:",
        "  mov rdx, qword ptr [rip + redial_timer@GOTTPOFF]",
        "  mov rdx, qword ptr fs:[rdx]",
        "  test rdx, rdx",
        "  je \\unknown",
        "  jmp \\known",
        ".size \\name, . - \\name",
        ".endm",
        "redial_with_timer redial_enter, {enter}, {slow}",
        "redial_with_timer redial_leave, {leave}, {nothing}",
        "redial_with_timer redial_fault, {fault}, {nothing}",
        ".globl redial_set_timer",
        ".type redial_set_timer, @function",
        "redial_set_timer:",
        "  mov rax, qword ptr [rip + redial_timer@GOTTPOFF]",
        "  mov qword ptr fs:[rax], rdi",
        "  ret",
        ".size redial_set_timer, . - redial_set_timer",
        ".popsection",
        enter = sym super::redial_enter_timed,
        slow = sym super::redial_enter_slow,
        leave = sym super::redial_leave_timed,
        fault = sym super::redial_fault_timed,
        nothing = sym super::redial_let_in,
    );

    unsafe extern "C" {
        pub fn redial_enter(slot_offset: usize, frame: *mut usize);
        pub fn redial_leave(slot_offset: usize, frame: *const usize);
        pub fn redial_fault(slot_offset: usize, frame: *const usize);
        pub safe fn redial_set_timer(timer: *const Timer);
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod native {
    use super::Timer;
    use std::cell::Cell;

    thread_local! {
        static TIMER: Cell<*const Timer> = const { Cell::new(std::ptr::null()) };
    }

    /// The calling thread's timer.
    fn timer() -> Option<&'static Timer> {
        // SAFETY: timers are never freed; a pointer set on this thread is its own, and taken out before it is given away.
        unsafe { TIMER.get().as_ref() }
    }

    pub unsafe extern "C" fn redial_enter(slot_offset: usize, frame: *mut usize) {
        match timer() {
            // SAFETY: the caller's contract.
            Some(timer) => unsafe { super::redial_enter_timed(slot_offset, frame, timer) },
            // SAFETY: the same.
            None => unsafe { super::redial_enter_slow(slot_offset, frame) },
        }
    }

    pub unsafe extern "C" fn redial_leave(slot_offset: usize, frame: *const usize) {
        if let Some(timer) = timer() {
            // SAFETY: the caller's contract.
            unsafe { super::redial_leave_timed(slot_offset, frame, timer) };
        }
    }

    pub unsafe extern "C" fn redial_fault(slot_offset: usize, frame: *const usize) {
        if let Some(timer) = timer() {
            // SAFETY: the caller's contract.
            unsafe { super::redial_fault_timed(slot_offset, frame, timer) };
        }
    }

    pub fn redial_set_timer(timer: *const Timer) {
        TIMER.set(timer);
    }
}

pub(super) use native::redial_set_timer as set_timer;
use native::{redial_enter, redial_fault, redial_leave};

#[cfg(test)]
pub(crate) mod tests {
    use super::super::arena::used_bytes;
    use super::super::histogram::Histogram;
    use super::super::timers::{self, Sums};
    use super::*;
    use std::time::Duration;

    /// A call of `slot` whose stack frame has its variable at `frame`.
    pub fn call(slot: u32, frame: &mut usize, body: impl FnOnce() -> bool) {
        clock::begin();
        let frame = std::ptr::from_mut(frame);
        // SAFETY: this thread's own, and below MAX_SLOTS.
        unsafe { redial_enter(slot as usize * 8, frame) };
        match body() {
            // SAFETY: the same.
            true => unsafe { redial_leave(slot as usize * 8, frame) },
            // SAFETY: the same.
            false => unsafe { redial_fault(slot as usize * 8, frame) },
        }
    }

    /// One that does not end.
    pub fn stay(slot: u32, frame: &mut usize) {
        clock::begin();
        // SAFETY: as in `call`.
        unsafe { redial_enter(slot as usize * 8, frame) };
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
                // SAFETY: as in `call`; their ends are never told.
                unsafe {
                    redial_enter(lost as usize * 8, deep);
                    redial_enter(lost as usize * 8, deepest);
                }
                assert_eq!(timers::sum(Slot(lost)).in_flight, 2);
                // Another call at the place of the first of them.
                call(seen, deep, || true);
                assert_eq!(timers::sum(Slot(lost)).in_flight, 0);
                // SAFETY: as above.
                unsafe { redial_enter(lost as usize * 8, deep) };
                true
            });
            // SAFETY: as above. A call that did not begin is no call that ends.
            unsafe { redial_leave(lost as usize * 8, deep) };
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
            clock::begin();
            // SAFETY: as in `call`.
            unsafe { redial_enter(slot as usize * 8, &mut frame) };
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
    fn a_body_lets_the_collector_in_every_so_often() {
        std::thread::spawn(|| {
            let (mut frame, mut let_in) = (0_usize, 0);
            for _ in 0..3 * 4096 {
                call(108, &mut frame, || true);
                let_in += frame;
            }
            // The first call of a thread does as well.
            assert_eq!(let_in, 3 + usize::from(let_in == 4));
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
            for frame in frames.iter_mut() {
                // SAFETY: as in `call`.
                unsafe { redial_leave(110 * 8, frame) };
            }
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
                clock::begin();
                for frame in frames.iter_mut().rev() {
                    // SAFETY: as in `call`.
                    unsafe { redial_enter(slot as usize * 8, frame) };
                }
                for frame in frames.iter_mut() {
                    // SAFETY: the same.
                    unsafe { redial_leave(slot as usize * 8, frame) };
                }
            })
            .unwrap()
            .join()
            .unwrap();
        let sums = timers::sum(Slot(slot));
        assert_eq!((calls(slot), sums.in_flight, lacks::lacks(Slot(slot))), (140_000, 0, Lacks::Deep));
        assert_eq!(sums.exits, (timers::MAX_FRAMES - 1) as u64);
    }
}

//! Helpers that end a timed call and keep its stack, if it is among the slowest calls. They pass the body's frame pointer
//! to the slow path of the usual ones (`time_helper`).

use super::time_helper::TimeHelpers;

/// Returns these helpers with ends that keep stacks. For bodies with a frame pointer (see [`super::callers`]).
pub fn with_stacks(helpers: TimeHelpers) -> TimeHelpers {
    native::with_stacks(helpers)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod native {
    use super::super::clock::{self, Clock, Counter, Monotonic};
    use super::super::stack_walk::BodyFrame;
    use super::super::thread_timer::timer;
    use super::super::time_helper::{TimeHelpers, leave_slowly};
    use std::arch::naked_asm;

    pub(super) fn with_stacks(helpers: TimeHelpers) -> TimeHelpers {
        if clock::is_counter() { by::<Counter>(helpers) } else { by::<Monotonic>(helpers) }
    }

    fn by<C: Clock>(helpers: TimeHelpers) -> TimeHelpers {
        TimeHelpers { leave: leave::<C>, fault: fault::<C>, ..helpers }
    }

    /// # Safety
    /// As `Timer::enter`.
    #[unsafe(naked)]
    unsafe extern "C" fn leave<C: Clock>(slot_offset: usize, frame: *mut usize) {
        // The body's frame pointer becomes the third argument.
        naked_asm!("mov rdx, rbp", "jmp {returned}", returned = sym returned::<C>)
    }

    /// # Safety
    /// As `Timer::enter`.
    #[unsafe(naked)]
    unsafe extern "C" fn fault<C: Clock>(slot_offset: usize, frame: *mut usize) {
        naked_asm!("mov rdx, rbp", "jmp {thrown}", thrown = sym thrown::<C>)
    }

    /// # Safety
    /// As `Timer::enter`; `pointer` is the frame pointer of the method that owns `frame`.
    unsafe extern "C" fn returned<C: Clock>(slot_offset: usize, frame: *mut usize, pointer: usize) {
        let now = C::ticks();
        match timer() {
            // SAFETY: the caller's contract; the timer is the thread's own.
            Some(timer) if unsafe { timer.leave(frame, now) } => (),
            // SAFETY: the same.
            _ => unsafe { leave_slowly(slot_offset, frame, (now, false), body(frame, pointer)) },
        }
    }

    /// # Safety
    /// As [`returned`].
    unsafe extern "C" fn thrown<C: Clock>(slot_offset: usize, frame: *mut usize, pointer: usize) {
        let now = C::ticks();
        // SAFETY: the caller's contract.
        unsafe { leave_slowly(slot_offset, frame, (now, true), body(frame, pointer)) };
    }

    fn body(frame: *const usize, pointer: usize) -> Option<BodyFrame> {
        Some(BodyFrame { variable: frame.addr(), pointer })
    }
}

/// Elsewhere there are no stacks.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod native {
    use super::super::time_helper::TimeHelpers;

    pub(super) fn with_stacks(helpers: TimeHelpers) -> TimeHelpers {
        helpers
    }
}

//! The thread-local pointer to a thread's timer, read in the same way as in `count_helper`.

use super::timers::Timer;

/// Returns the calling thread's timer.
#[inline(always)]
pub fn timer() -> Option<&'static Timer> {
    // SAFETY: timers are never freed; a pointer set on this thread is its own, and is removed before the timer
    // goes to another.
    unsafe { native::timer().as_ref() }
}

/// Thread-local storage of the timer's address; see `count_helper`.
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
        // SAFETY: reads the thread's own variable, whose distance from `fs` the loader has filled in.
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
        // SAFETY: as above, but writes it.
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

//! Helpers that begin a timed call whose caller is counted. They count the call site and then continue like the
//! usual ones (`time_helper`), whose clock starts after that.
//!
//! A timed body has a try region and makes indirect calls, and both make the JIT give it a frame pointer. On
//! Unix the frame pointer points to the saved one of the caller, and the return address is next to it (the JIT
//! keeps frames chained there for native debuggers). The body calls the helper directly, with no stub between,
//! so at the entry of the helper the register is the body's. The value must be above the variable whose address
//! identifies the call, and not far from it. Otherwise nothing is read, and the caller is unknown.

pub use super::timers::call_sites::{Sites, places_seen, sites};

/// Whether callers can be identified on this platform.
pub const KNOWN: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

pub(super) use native::calls_of_nothing;
pub use native::helpers;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod native {
    use super::super::blocks::Slot;
    use super::super::clock::{self, Clock, Counter, Monotonic};
    use super::super::count_helper::{thread_block, thread_timer};
    use super::super::thread_timer::timer;
    use super::super::time_helper::{self, TimeHelpers, enter, enter_with_gc_poll};
    use super::super::timers::call_sites::add_other;
    use std::arch::naked_asm;
    use std::sync::atomic::AtomicU64;

    /// Maximum assumed size of a frame.
    const MAX_FRAME: usize = 1 << 20;

    /// Returns the helpers for the chosen clock.
    pub fn helpers() -> TimeHelpers {
        let usual = time_helper::helpers();
        if clock::is_counter() { by::<Counter>(usual) } else { by::<Monotonic>(usual) }
    }

    fn by<C: Clock>(usual: TimeHelpers) -> TimeHelpers {
        TimeHelpers { enter: enter_called::<C>, enter_with_gc_poll: enter_called_letting_in::<C>, ..usual }
    }

    /// # Safety
    /// As `Timer::enter`.
    #[unsafe(naked)]
    unsafe extern "C" fn enter_called<C: Clock>(slot_offset: usize, frame: *mut usize) {
        // The caller's frame pointer becomes the third argument.
        naked_asm!("mov rdx, rbp", "jmp {called}", called = sym called::<C>)
    }

    /// # Safety
    /// As `Timer::enter`.
    #[unsafe(naked)]
    unsafe extern "C" fn enter_called_letting_in<C: Clock>(slot_offset: usize, frame: *mut usize) {
        naked_asm!("mov rdx, rbp", "jmp {called}", called = sym called_letting_in::<C>)
    }

    /// # Safety
    /// As `Timer::enter`; `pointer` is the frame pointer of the method that owns `frame`.
    unsafe extern "C" fn called<C: Clock>(slot_offset: usize, frame: *mut usize, pointer: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            count(slot_offset, frame, pointer);
            enter::<C>(slot_offset, frame);
        }
    }

    /// # Safety
    /// As [`called`].
    unsafe extern "C" fn called_letting_in<C: Clock>(slot_offset: usize, frame: *mut usize, pointer: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            count(slot_offset, frame, pointer);
            enter_with_gc_poll::<C>(slot_offset, frame);
        }
    }

    /// # Safety
    /// As [`called`].
    #[inline(always)]
    unsafe fn count(slot_offset: usize, frame: *const usize, pointer: usize) {
        // SAFETY: the caller's contract.
        let address = unsafe { return_address(frame, pointer) };
        match timer() {
            // SAFETY: the caller's contract; the timer is the thread's own.
            Some(timer) if unsafe { timer.called_from(slot_offset, address) } => (),
            _ => count_slowly(slot_offset, address),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_slowly(slot_offset: usize, address: usize) {
        crate::guard::guard_always((), || {
            let slot = Slot((slot_offset / size_of::<AtomicU64>()) as u32);
            match thread_block().filter(|block| block.is_open(slot)).and_then(thread_timer) {
                // SAFETY: the timer is this thread's, and the slot is valid.
                Some(timer) => unsafe { timer.called_from_new(slot_offset, address) },
                None => add_other(slot),
            }
        });
    }

    /// Returns the return address of the call with this frame pointer; 0 if the pointer is implausible.
    ///
    /// # Safety
    /// `frame` is a variable in the stack frame of a method that called a helper.
    #[inline(always)]
    unsafe fn return_address(frame: *const usize, pointer: usize) -> usize {
        let size = pointer.wrapping_sub(frame.addr());
        if size.wrapping_sub(1) >= MAX_FRAME || !pointer.is_multiple_of(size_of::<usize>()) {
            return 0;
        }
        // SAFETY: the pointer is above a variable of that method's frame, in which the JIT keeps a frame
        // pointer. So it is the method's, and the return address is next to the pointer saved there.
        unsafe { frame.byte_add(size).add(1).read() }
    }

    /// Calls a helper with a frame pointer.
    ///
    /// # Safety
    /// As the helper.
    #[unsafe(naked)]
    unsafe extern "C" fn in_frame(
        slot_offset: usize,
        frame: *mut usize,
        pointer: *const usize,
        helper: unsafe extern "C" fn(usize, *mut usize),
    ) {
        naked_asm!("push rbp", "mov rbp, rdx", "call rcx", "pop rbp", "ret")
    }

    /// Returns a function that makes a timed, empty call on the calling thread, which appears to come from
    /// `address`, with or without counting its caller. Must not run inside another call.
    pub fn calls_of_nothing(slot: Slot, address: usize, counted: bool) -> impl Fn() {
        let helpers = if counted { helpers() } else { time_helper::helpers() };
        let offset = slot.0 as usize * size_of::<AtomicU64>();
        move || {
            // As in a method's frame: a variable, the saved register, the return address.
            let mut stack = [0, 0, address];
            let frame = stack.as_mut_ptr();
            // SAFETY: the slot is valid, and the variables on this thread's stack outlive the call.
            unsafe {
                in_frame(offset, frame, frame.add(1), helpers.enter);
                (helpers.leave)(offset, frame);
            }
        }
    }

    /// Makes a timed call on the calling thread in whose frame the register holds another value.
    #[cfg(test)]
    pub fn call_with_pointer(slot: Slot, pointer: usize) {
        let mut frame = 0;
        let offset = slot.0 as usize * size_of::<AtomicU64>();
        let (helpers, pointer) = (helpers(), std::ptr::without_provenance(pointer));
        // SAFETY: as in `calls_of_nothing`.
        unsafe {
            in_frame(offset, &raw mut frame, pointer, helpers.enter_with_gc_poll);
            (helpers.leave)(offset, &raw mut frame);
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod native {
    use super::super::blocks::Slot;
    use super::super::time_helper;

    /// The usual helpers.
    pub use time_helper::helpers;

    pub fn calls_of_nothing(slot: Slot, _address: usize, _counted: bool) -> impl Fn() {
        time_helper::calls_of_nothing(slot)
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::super::blocks::{self, Slot};
    use super::super::timers;
    use super::*;
    use redial_protocol::limits::MAX_CALL_SITES;
    use std::collections::HashMap;

    /// Makes calls on a new thread, given as addresses and numbers of calls.
    fn calls(slot: Slot, from: Vec<(usize, u64)>) {
        let run = move || {
            for (address, number) in from {
                let call = calls_of_nothing(slot, address, true);
                (0..number).for_each(|_| call());
            }
        };
        std::thread::spawn(run).join().unwrap();
    }

    fn counted(slot: Slot) -> u64 {
        let mut sums = Vec::new();
        blocks::sum(&[slot], &mut sums);
        sums[0]
    }

    #[test]
    fn counts_calls_by_return_address_over_threads() {
        let slot = Slot(180);
        let sites = || (1..=40).map(|at| (0x7f00_1000 + at * 3, at as u64));
        (0..3).for_each(|_| calls(slot, sites().collect()));
        let reported = super::sites(slot);
        assert_eq!(reported.others, 0);
        assert_eq!(reported.calls, sites().map(|(at, calls)| (at, 3 * calls)).collect::<HashMap<_, _>>());
        assert_eq!((counted(slot), timers::sum(slot).exits), (3 * 820, 3 * 820));
        timers::reset(slot);
        assert_eq!(super::sites(slot), Sites::default());
        calls(slot, vec![(0x1000, 2)]);
        assert_eq!(super::sites(slot).calls, HashMap::from([(0x1000, 2)]));
    }

    #[test]
    fn calls_from_further_sites_are_counted_together() {
        let slot = Slot(181);
        let all: Vec<(usize, u64)> = (1..=500).map(|at| (at * 0x40, 2)).collect();
        calls(slot, [all.clone(), all].concat());
        let reported = super::sites(slot);
        assert_eq!(reported.calls.len(), MAX_CALL_SITES);
        assert!(reported.calls.values().all(|calls| *calls == 4), "{reported:?}");
        assert_eq!(reported.others, (500 - MAX_CALL_SITES as u64) * 4);
        assert_eq!(counted(slot), 2000);
    }

    #[test]
    fn ignores_implausible_frame_pointers() {
        let slot = Slot(182);
        calls(slot, vec![(0, 3), (0x4000, 1), (0, 3)]);
        let reported = super::sites(slot);
        assert_eq!((reported.others, reported.calls), (6, HashMap::from([(0x4000, 1)])));
        for pointer in [0, 8, usize::MAX, usize::MAX - 7] {
            std::thread::spawn(move || native::call_with_pointer(slot, pointer)).join().unwrap();
        }
        assert_eq!((super::sites(slot).others, counted(slot)), (10, 11));
    }
}

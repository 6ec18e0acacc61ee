//! The leaves with which a timed call begins whose callers are counted: they count where the call comes from, then go on as the
//! usual ones do (`time_leaf`), whose clock starts after that.
//!
//! A timed body has a try region and makes indirect calls, either of which has the JIT give it a frame pointer; on Unix
//! that points to the one saved before it, and the return address stands behind it (the JIT keeps frames chained there, for
//! native debuggers). The leaf is called by the body itself, with no stub between, so at its entry the register is the body's.
//! Where it cannot be (it must lie above the variable by whose address the call is known, and not far), nothing is read, and
//! the caller is not known.

pub use super::timers::sites::{Sites, places_seen, sites};

/// Whether callers can be told here.
pub const KNOWN: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

pub(super) use native::calls_of_nothing;
pub use native::leaves;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod native {
    use super::super::blocks::{self, Slot};
    use super::super::clock::{self, Clock, Counter, Monotonic};
    use super::super::leaf::with_owner;
    use super::super::time_leaf::{self, Leaves, enter, enter_letting_in, timer};
    use super::super::timers::sites::add_other;
    use std::arch::naked_asm;
    use std::sync::atomic::AtomicU64;

    /// A frame is taken to be no larger.
    const MAX_FRAME: usize = 1 << 20;

    /// The leaves for the clock that was chosen.
    pub fn leaves() -> Leaves {
        let usual = time_leaf::leaves();
        if clock::is_counter() { by::<Counter>(usual) } else { by::<Monotonic>(usual) }
    }

    fn by<C: Clock>(usual: Leaves) -> Leaves {
        Leaves { enter: enter_called::<C>, enter_letting_in: enter_called_letting_in::<C>, ..usual }
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
    /// As `Timer::enter`; `pointer` is the frame pointer of the method that has `frame`.
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
            enter_letting_in::<C>(slot_offset, frame);
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
            let done = with_owner(|owner| {
                let timer = owner.filter(|_| slot.0 < blocks::MAX_SLOTS).and_then(|owner| owner.timer());
                // SAFETY: the timer is this thread's, and the slot is one.
                timer.map(|timer| unsafe { timer.called_from_new(slot_offset, address) }).is_some()
            });
            if !done {
                add_other(slot);
            }
        });
    }

    /// Where a call returns to whose frame pointer this is; 0 where it cannot be its.
    ///
    /// # Safety
    /// `frame` is a variable in the stack frame of a method that called a leaf.
    #[inline(always)]
    unsafe fn return_address(frame: *const usize, pointer: usize) -> usize {
        let size = pointer.wrapping_sub(frame.addr());
        if size.wrapping_sub(1) >= MAX_FRAME || !pointer.is_multiple_of(size_of::<usize>()) {
            return 0;
        }
        // SAFETY: above a variable of that method's frame, in which the JIT keeps a frame pointer: so it is the method's, and
        // what stands behind the one saved there is the address that it returns to.
        unsafe { frame.byte_add(size).add(1).read() }
    }

    /// Calls a leaf with a frame pointer.
    ///
    /// # Safety
    /// As the leaf.
    #[unsafe(naked)]
    unsafe extern "C" fn in_frame(
        slot_offset: usize,
        frame: *mut usize,
        pointer: *const usize,
        leaf: unsafe extern "C" fn(usize, *mut usize),
    ) {
        naked_asm!("push rbp", "mov rbp, rdx", "call rcx", "pop rbp", "ret")
    }

    /// Timed calls of the calling thread that do nothing and come from `address`, with their caller counted or not. Not from
    /// within another.
    pub fn calls_of_nothing(slot: Slot, address: usize, counted: bool) -> impl Fn() {
        let leaves = if counted { leaves() } else { time_leaf::leaves() };
        let offset = slot.0 as usize * size_of::<AtomicU64>();
        move || {
            // As in a method's frame: a variable, what stood in the register, the return address.
            let mut stack = [0, 0, address];
            let frame = stack.as_mut_ptr();
            // SAFETY: the slot is one of those there are, and the variables on this thread's stack outlive the call.
            unsafe {
                in_frame(offset, frame, frame.add(1), leaves.enter);
                (leaves.leave)(offset, frame);
            }
        }
    }

    /// A timed call of the calling thread in whose frame the register holds something else.
    #[cfg(test)]
    pub fn call_with_pointer(slot: Slot, pointer: usize) {
        let mut frame = 0;
        let offset = slot.0 as usize * size_of::<AtomicU64>();
        let (leaves, pointer) = (leaves(), std::ptr::without_provenance(pointer));
        // SAFETY: as in `calls_of_nothing`.
        unsafe {
            in_frame(offset, &raw mut frame, pointer, leaves.enter_letting_in);
            (leaves.leave)(offset, &raw mut frame);
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod native {
    use super::super::blocks::Slot;
    use super::super::time_leaf;

    /// The usual ones.
    pub use time_leaf::leaves;

    pub fn calls_of_nothing(slot: Slot, _address: usize, _counted: bool) -> impl Fn() {
        time_leaf::calls_of_nothing(slot)
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::super::blocks::{self, Slot};
    use super::super::timers;
    use super::*;
    use redial_protocol::limits::MAX_CALL_SITES;
    use std::collections::HashMap;

    /// Calls on a thread of its own: addresses, and how often from there.
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
    fn calls_are_counted_by_where_they_return_to_over_threads() {
        let slot = Slot(180);
        let sites = || (1..=40).map(|at| (0x7f00_1000 + at * 3, at as u64));
        (0..3).for_each(|_| calls(slot, sites().collect()));
        let told = super::sites(slot);
        assert_eq!(told.others, 0);
        assert_eq!(told.calls, sites().map(|(at, calls)| (at, 3 * calls)).collect::<HashMap<_, _>>());
        assert_eq!((counted(slot), timers::sum(slot).exits), (3 * 820, 3 * 820));
        timers::reset(slot);
        assert_eq!(super::sites(slot), Sites::default());
        calls(slot, vec![(0x1000, 2)]);
        assert_eq!(super::sites(slot).calls, HashMap::from([(0x1000, 2)]));
    }

    #[test]
    fn what_comes_from_more_places_is_counted_together() {
        let slot = Slot(181);
        let all: Vec<(usize, u64)> = (1..=500).map(|at| (at * 0x40, 2)).collect();
        calls(slot, [all.clone(), all].concat());
        let told = super::sites(slot);
        assert_eq!(told.calls.len(), MAX_CALL_SITES);
        assert!(told.calls.values().all(|calls| *calls == 4), "{told:?}");
        assert_eq!(told.others, (500 - MAX_CALL_SITES as u64) * 4);
        assert_eq!(counted(slot), 2000);
    }

    #[test]
    fn a_frame_pointer_that_cannot_be_one_is_not_followed() {
        let slot = Slot(182);
        calls(slot, vec![(0, 3), (0x4000, 1), (0, 3)]);
        let told = super::sites(slot);
        assert_eq!((told.others, told.calls), (6, HashMap::from([(0x4000, 1)])));
        for pointer in [0, 8, usize::MAX, usize::MAX - 7] {
            std::thread::spawn(move || native::call_with_pointer(slot, pointer)).join().unwrap();
        }
        assert_eq!((super::sites(slot).others, counted(slot)), (10, 11));
    }
}

//! Native helpers that a traced body calls, besides those of a timed one. Calling convention C, two native integers.
//!
//! Their order in a body: `begin`, which returns the call's entry through the body's variable (0: this call is not
//! captured); the arguments, stored by the body or by a helper that captures; `decide`, if a condition depends on them,
//! which may end the capture; the timer's begin; `arguments_complete`. At
//! the end: the timer's end; the result; `end`. After an exception: the timer's end; `end_thrown`.

use super::area::{self, ThreadArea};
use super::entry::{Entry, PLACES, TracedMethod};
use super::{call_stack, objects, strings};
use crate::probes::count_helper::{thread_block, thread_timer};
use crate::probes::thread_timer::timer;
use std::sync::OnceLock;

/// The helpers of traced bodies, as addresses for the IL.
#[derive(Clone, Copy, Debug)]
pub struct TraceHelpers {
    /// `(address of the TracedMethod, address of the body's variable for the entry)`.
    pub begin: usize,
    /// `(entry plus number of the place, address of a variable that refers to the string)`.
    pub capture_string: usize,
    /// `(entry plus number of the place, address of a variable that refers to the object)`.
    pub capture_object: usize,
    /// `(entry plus number of the place, address of a typed reference to a variable of the body)`.
    pub capture_typed: usize,
    /// `(entry plus number of the place, address of a typed reference)`.
    pub capture_by_ref: usize,
    /// `(entry, address of the body's variable for the entry)`.
    pub decide: usize,
    /// `(entry, address of the timer's variable)`.
    pub arguments_complete: usize,
    /// The same, and captures the stack. For bodies with a frame pointer.
    pub arguments_complete_with_stack: usize,
    /// `(entry, address of the timer's variable)`.
    pub end: usize,
    /// `(entry, address of the timer's variable)`.
    pub end_thrown: usize,
    /// As `end`, and captures the stack of a call that is kept. For bodies with a frame pointer.
    pub end_with_stack: usize,
    /// As `end_thrown`, and captures the stack of a call that is kept.
    pub end_thrown_with_stack: usize,
}

/// Returns the helpers.
pub fn helpers() -> TraceHelpers {
    TraceHelpers {
        begin: begin as *const () as usize,
        capture_string: strings::capture_string as *const () as usize,
        capture_object: objects::capture_object as *const () as usize,
        capture_typed: objects::capture_typed as *const () as usize,
        capture_by_ref: objects::capture_by_ref as *const () as usize,
        decide: decide as *const () as usize,
        arguments_complete: arguments_complete as *const () as usize,
        arguments_complete_with_stack: with_stack::arguments_complete as *const () as usize,
        end: end as *const () as usize,
        end_thrown: end_thrown as *const () as usize,
        end_with_stack: with_stack::end as *const () as usize,
        end_thrown_with_stack: with_stack::end_thrown as *const () as usize,
    }
}

/// # Safety
/// Called by a body of the method; `variable` is a variable in its stack frame.
unsafe extern "C" fn begin(method: &'static TracedMethod, variable: *mut usize) {
    let area = timer().and_then(|timer| timer.area());
    // SAFETY: the caller's contract; the area is the thread's own.
    unsafe {
        let entry = match area {
            Some(area) => area.begin(method, variable),
            None => begin_slowly(method, variable),
        };
        variable.write(entry.map_or(0, |entry| entry.expose_provenance()));
    }
}

/// # Safety
/// As [`begin`].
#[cold]
#[inline(never)]
unsafe fn begin_slowly(method: &'static TracedMethod, variable: *const usize) -> Option<*mut Entry> {
    crate::guard::guard_always(None, || {
        let timer = thread_block().and_then(thread_timer)?;
        let Some(area) = timer.area_or_new() else {
            method.no_room.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            return None;
        };
        // SAFETY: the caller's contract; the area is the thread's own.
        unsafe { area.begin(method, variable) }
    })
}

/// # Safety
/// Called by a body with the entry of its `begin` and the address of the variable that holds it.
unsafe extern "C" fn decide(entry: *mut Entry, variable: *mut usize) {
    let Some(area) = timer().and_then(|timer| timer.area()) else { return };
    // SAFETY: the caller's contract; the area is the thread's own.
    unsafe {
        if !area.is_wanted_at_entry(entry) {
            area.cancel(entry);
            variable.write(0);
        }
    }
}

/// # Safety
/// Called by a body with the entry of its `begin` and the address of its timer's variable.
unsafe extern "C" fn arguments_complete(entry: *mut Entry, frame: *const usize) {
    let (start, depth) = timer().map_or((0, 0), |timer| timer.innermost(frame));
    // SAFETY: the caller's contract.
    unsafe { area::arguments_complete(entry, start, depth) };
}

/// Helpers whose third argument is the frame pointer of the body that calls them.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod with_stack {
    use super::{Entry, call_stack, finish};
    use std::arch::naked_asm;

    /// # Safety
    /// As [`super::arguments_complete`].
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn arguments_complete(entry: *mut Entry, frame: *const usize) {
        naked_asm!("mov rdx, rbp", "jmp {complete}", complete = sym complete)
    }

    /// # Safety
    /// As [`super::end`].
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn end(entry: *mut Entry, frame: *const usize) {
        naked_asm!("mov rdx, rbp", "jmp {ended}", ended = sym returned)
    }

    /// # Safety
    /// As [`super::end`].
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn end_thrown(entry: *mut Entry, frame: *const usize) {
        naked_asm!("mov rdx, rbp", "jmp {ended}", ended = sym thrown)
    }

    unsafe extern "C" fn complete(entry: *mut Entry, frame: *const usize, pointer: usize) {
        // SAFETY: the contract of `arguments_complete`.
        unsafe {
            call_stack::capture(entry, frame, pointer);
            super::arguments_complete(entry, frame);
        }
    }

    unsafe extern "C" fn returned(entry: *mut Entry, frame: *const usize, pointer: usize) {
        // SAFETY: the contract of `end`.
        unsafe { finish(entry, frame, false, Some(pointer)) };
    }

    unsafe extern "C" fn thrown(entry: *mut Entry, frame: *const usize, pointer: usize) {
        // SAFETY: the contract of `end_thrown`.
        unsafe { finish(entry, frame, true, Some(pointer)) };
    }
}

/// Orders that ask for stacks are refused here.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod with_stack {
    pub(super) use super::{arguments_complete, end, end_thrown};
}

/// # Safety
/// As [`arguments_complete`], after the timer's end.
unsafe extern "C" fn end(entry: *mut Entry, frame: *const usize) {
    // SAFETY: the caller's contract.
    unsafe { finish(entry, frame, false, None) };
}

/// # Safety
/// As [`end`].
unsafe extern "C" fn end_thrown(entry: *mut Entry, frame: *const usize) {
    // SAFETY: the caller's contract.
    unsafe { finish(entry, frame, true, None) };
}

/// # Safety
/// As [`end`].
#[inline(always)]
unsafe fn finish(entry: *mut Entry, frame: *const usize, thrown: bool, pointer: Option<usize>) {
    let Some(timer) = timer() else { return };
    let Some(area) = timer.area() else { return };
    // SAFETY: the caller's contract; the area is the thread's own.
    unsafe {
        let thrown = thrown.then(|| timer.thrown());
        area::set_end(entry, timer.latest_ended(frame), thrown.map(|(class, _)| class));
        if let Some((_, number)) = thrown {
            area.add_exception(entry, number);
        }
        if area.is_wanted_at_exit(entry) {
            if let Some(pointer) = pointer {
                call_stack::capture(entry, frame, pointer);
            }
            ThreadArea::end(area, entry);
        } else {
            area.cancel(entry);
        }
    }
}

/// Returns a function that captures an empty call with four values, as a body does beside the timer's helpers; None if
/// memory is refused. At most `u32::MAX` calls are captured.
pub(in crate::probes) fn captures_of_nothing() -> Option<impl Fn()> {
    const VALUES: usize = 4;
    static MEASURED: OnceLock<TracedMethod> = OnceLock::new();
    let method = MEASURED.get_or_init(|| TracedMethod::new(0, VALUES, 0));
    let area = ThreadArea::unlisted(method, u32::MAX)?;
    Some(move || {
        let variable = 0_usize;
        // SAFETY: nobody else knows the area, and the variable on this thread's stack outlives the call.
        unsafe {
            if let Some(entry) = area.begin(method, &raw const variable) {
                for place in 0..VALUES {
                    entry.byte_add(PLACES + place * size_of::<u64>()).cast::<usize>().write_volatile(place);
                }
                area::arguments_complete(entry, 0, 0);
                area::set_end(entry, Some((0, 0)), None);
                area.end(entry);
                area.forget();
            }
        }
    })
}

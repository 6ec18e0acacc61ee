//! Follows calls of async methods from their start to their completion.
//!
//! The start of an async method calls `MoveNext` of its state machine on the same thread. That first step finds the entry
//! of the traced start on the thread's stack of calls and gives it a number. When the step ends and the call waits, the
//! object that carries it gets the same number ([`object_header`]). Every later step, on any thread, reads the number from
//! that object. At the completion, the step captures the result or exception in an entry of its own with that number, and
//! the collector joins the two.
//!
//! A later step may begin before the first one has marked the object. Then it marks the object itself, and the first step
//! takes its number over.

mod followed;
mod link;
mod object_header;

pub use followed::{end, is_given_up, steps_of};
pub use link::AsyncLink;

use super::area::{ThreadArea, set_end};
use super::entry::{Entry, TracedMethod};
use crate::guard::guard_always;
use crate::probes::clock;
use crate::probes::count_helper::{thread_block, thread_timer};
use crate::probes::thread_timer::timer;
use followed::{find, is_unfollowed, unfollowed_number};
use object_header::Marking;

/// The helpers of a traced `MoveNext`, as addresses for its IL. Each is called like managed code, so that no object moves
/// meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct StepHelpers {
    /// `(AsyncLink, address of the step's variable)`: the first step begins.
    pub first: usize,
    /// `(AsyncLink, address of the step's variable)`: another step begins. The variable has the address of the variable with
    /// the machine.
    pub next: usize,
    /// `(TracedMethod, address of the entry's variable)`: the call completes. The variable has the address of the step's
    /// variable; afterwards it has the entry for the result, or 0.
    pub completes: usize,
    /// `(entry, address of the timer's variable)`: the result is captured.
    pub completed: usize,
    /// `(entry, address of the timer's variable)`: an exception completed the call.
    pub failed: usize,
    /// `(step, address of the timer's variable)`: a step ends, before the timer's end.
    pub ended: usize,
    /// `(step, address of the variable with the machine)`: the same step has ended, after `ended`.
    pub first_ended: usize,
}

/// Returns the helpers.
pub fn helpers() -> StepHelpers {
    StepHelpers {
        first: first as *const () as usize,
        next: next as *const () as usize,
        completes: completes as *const () as usize,
        completed: completed as *const () as usize,
        failed: failed as *const () as usize,
        ended: ended as *const () as usize,
        first_ended: first_ended as *const () as usize,
    }
}

/// A step of a call, as its variable holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nobody wants to know.
    Ignored,
    /// The first step of the call with this number.
    First(u32),
    /// A later step of it.
    Later(u32),
    /// The first step of a call that is left out; the address of the [`AsyncLink`].
    FirstLeftOut(usize),
    /// A step of a call whose beginning was not seen.
    Unseen,
    /// The step in which the call with this number completed.
    Completed(u32),
}

const KIND_BITS: u32 = 3;
const LEFT_OUT: usize = 3;
const _: () = assert!(align_of::<AsyncLink>() >= 1 << KIND_BITS);

impl Step {
    fn word(self) -> usize {
        let (kind, number) = match self {
            Step::Ignored => (0, 0),
            Step::First(number) => (1, number),
            Step::Later(number) => (2, number),
            // Its alignment leaves these bits free.
            Step::FirstLeftOut(link) => return link | LEFT_OUT,
            Step::Unseen => (4, 0),
            Step::Completed(number) => (5, number),
        };
        (number as usize) << KIND_BITS | kind
    }

    fn of_word(word: usize) -> Step {
        let number = (word >> KIND_BITS) as u32;
        match word & ((1 << KIND_BITS) - 1) {
            1 => Step::First(number),
            2 => Step::Later(number),
            LEFT_OUT => Step::FirstLeftOut(word & !((1 << KIND_BITS) - 1)),
            4 => Step::Unseen,
            5 => Step::Completed(number),
            _ => Step::Ignored,
        }
    }
}

impl Step {
    /// Returns the method if it is a first step that has not completed its call.
    fn first_of(self) -> Option<&'static AsyncLink> {
        match self {
            Step::First(number) => find(number)?.link(),
            Step::FirstLeftOut(link) => {
                let link: *const AsyncLink = std::ptr::with_exposed_provenance(link);
                // SAFETY: `first` wrote the address, and links are never freed.
                unsafe { link.as_ref() }
            }
            _ => None,
        }
    }
}

/// # Safety
/// Called by a body of the method's `MoveNext` with a variable in its frame.
unsafe extern "C" fn first(link: &'static AsyncLink, step: *mut usize) {
    let number = guard_always(None, || {
        let area = timer().and_then(|timer| timer.area())?;
        // SAFETY: the caller's contract; the area is the thread's own.
        unsafe { area.claim_start(link, step) }
    });
    let is = match number {
        Some(number) => Step::First(number),
        None if link.starts_traced() => Step::FirstLeftOut(std::ptr::from_ref(link).expose_provenance()),
        None => Step::Unseen,
    };
    if is != Step::Unseen {
        link.begin_start();
    }
    // SAFETY: the caller's contract.
    unsafe { step.write(is.word()) };
}

/// # Safety
/// As [`first`]; the variable has the address of the one with the machine.
unsafe extern "C" fn next(link: &'static AsyncLink, step: *mut usize) {
    let is = guard_always(Step::Ignored, || {
        // SAFETY: the caller's contract: a reference into the machine, while no object moves.
        let is = unsafe {
            let machine = std::ptr::with_exposed_provenance::<usize>(step.read()).read();
            link.carrier(machine).map_or(Step::Unseen, |carrier| next_step(link, carrier))
        };
        if let Step::Later(number) = is
            && let Some(call) = find(number)
        {
            call.begin_step();
        }
        if is != Step::Ignored {
            // Exceptions that the step throws are kept there.
            own_area();
        }
        is
    });
    // SAFETY: the caller's contract.
    unsafe { step.write(is.word()) };
}

/// # Safety
/// The object that carries a call of the method, while no object moves.
unsafe fn next_step(link: &'static AsyncLink, carrier: *const u8) -> Step {
    // SAFETY: the caller's contract.
    let marked = || unsafe { object_header::number(carrier) };
    match marked() {
        // Its first step may still run and not have marked it.
        Marking::None if link.is_starting() => {
            let Some(number) = followed::begin(link) else { return Step::Ignored };
            // SAFETY: the caller's contract.
            let now = unsafe { object_header::give_number(carrier, number) };
            if now != Marking::Number(number) {
                end(number);
            }
            step_of(link, now)
        }
        // Its first step may have marked it since.
        Marking::None => step_of(link, marked()),
        known => step_of(link, known),
    }
}

/// Returns a step of the call whose object is marked so.
fn step_of(link: &AsyncLink, marking: Marking) -> Step {
    match marking {
        Marking::Number(number) if is_unfollowed(number) => Step::Ignored,
        Marking::Number(number) => match find(number) {
            Some(call) if call.is_of(link) => Step::Later(number),
            Some(_) => Step::Ignored,
            None => Step::Unseen,
        },
        Marking::None | Marking::InUse => Step::Unseen,
    }
}

/// # Safety
/// Called by a body of a `MoveNext` before it completes its task; the entry's variable has the address of the step's.
unsafe extern "C" fn completes(method: &'static TracedMethod, variable: *mut usize) {
    let entry = guard_always(None, || {
        // SAFETY: the caller's contract.
        let step: *mut usize = unsafe { std::ptr::with_exposed_provenance_mut(variable.read()) };
        // SAFETY: the caller's contract.
        let is = Step::of_word(unsafe { step.read() });
        if let Some(link) = is.first_of() {
            link.end_start();
        }
        let number = match is {
            Step::First(number) | Step::Later(number) => number,
            Step::Unseen => 0,
            Step::Ignored | Step::FirstLeftOut(_) | Step::Completed(_) => {
                // SAFETY: the caller's contract.
                unsafe { step.write(Step::Ignored.word()) };
                return None;
            }
        };
        // SAFETY: the caller's contract.
        unsafe { step.write(Step::Completed(number).word()) };
        if find(number).is_some() && is_given_up(number) {
            end(number);
            return None;
        }
        let area = own_area()?;
        if number == 0 {
            if method.condition().is_some() {
                // It may concern the arguments.
                area.own_grant(method)?.count_undecided();
                return None;
            }
            if !area.take_grant(method) {
                return None;
            }
        }
        // SAFETY: the caller's contract; the area is the thread's own.
        unsafe {
            let entry = area.push(method, variable)?;
            (*entry).async_number = number;
            Some(entry)
        }
    });
    // SAFETY: the caller's contract.
    unsafe { variable.write(entry.map_or(0, |entry| entry.expose_provenance())) };
}

/// Returns the area of the thread, made if necessary.
fn own_area() -> Option<&'static ThreadArea> {
    timer().or_else(|| thread_block().and_then(thread_timer))?.area_or_new()
}

/// # Safety
/// Called by a body with the entry that it got from [`completes`].
unsafe extern "C" fn completed(entry: *mut Entry, frame: *const usize) {
    // SAFETY: the caller's contract.
    unsafe { complete(entry, frame, false) };
}

/// # Safety
/// As [`completed`], in the handler of the exception.
unsafe extern "C" fn failed(entry: *mut Entry, frame: *const usize) {
    // SAFETY: the caller's contract.
    unsafe { complete(entry, frame, true) };
}

/// # Safety
/// As [`completed`].
unsafe fn complete(entry: *mut Entry, frame: *const usize, failed: bool) {
    guard_always((), || {
        let Some(timer) = timer() else { return };
        let Some(area) = timer.area() else { return };
        let now = clock::ticks();
        // SAFETY: the caller's contract; the area is the thread's own.
        unsafe {
            let caught = failed.then(|| timer.caught());
            set_end(entry, Some((now, step_ticks(frame, now))), caught.map(|(class, _)| class));
            if let Some((_, number)) = caught {
                area.add_exception(entry, number);
            }
            ThreadArea::end(area, entry);
        }
    });
}

/// Returns the ticks since the step of this frame began.
fn step_ticks(frame: *const usize, now: u64) -> u64 {
    match timer().map_or(0, |timer| timer.innermost(frame).0) {
        0 => 0,
        start => clock::between(start, now),
    }
}

/// # Safety
/// Called by a body at the end of a step.
unsafe extern "C" fn ended(step: usize, frame: *const usize) {
    if let Step::First(number) | Step::Later(number) = Step::of_word(step)
        && let Some(call) = find(number)
    {
        call.end_step(step_ticks(frame, clock::ticks()));
    }
}

/// # Safety
/// Called by a body at the end of a step; the second variable refers to the machine.
unsafe extern "C" fn first_ended(step: usize, machine: *const usize) {
    guard_always((), || {
        let step = Step::of_word(step);
        let Some(link) = step.first_of() else { return };
        let number = match step {
            Step::First(number) => Some(number),
            _ => None,
        };
        // SAFETY: the caller's contract: a reference to the machine, while no object moves.
        let machine = unsafe { machine.read() };
        // SAFETY: as above; the area is the thread's own.
        unsafe {
            let carrier = link.first_carrier(machine);
            let wanted = number.unwrap_or_else(unfollowed_number);
            let marking = carrier.map(|carrier| object_header::give_number(carrier, wanted));
            match (marking, number) {
                (Some(Marking::Number(now)), Some(number)) if now == number => {}
                (Some(Marking::Number(now)), number) => {
                    // A later step was faster.
                    let other = find(now).filter(|call| call.is_of(link));
                    match (other, number) {
                        (Some(other), Some(number)) => take_over(number, now, other),
                        (Some(other), None) => other.give_up(),
                        (None, Some(number)) => unfollow(number),
                        (None, None) => {}
                    }
                }
                (_, Some(number)) => unfollow(number),
                (_, None) => {}
            }
        }
        link.end_start();
    });
}

/// Gives the call that began under one number another one.
///
/// # Safety
/// On the thread on which the call began, while its start is in flight.
unsafe fn take_over(number: u32, now: u32, other: &followed::FollowedCall) {
    if let Some(before) = find(number) {
        other.take_over(before);
    }
    // SAFETY: the caller's contract.
    unsafe { renumber(number, now) };
    end(number);
}

/// Stops following a call.
///
/// # Safety
/// As [`take_over`].
unsafe fn unfollow(number: u32) {
    // SAFETY: the caller's contract.
    unsafe { renumber(number, 0) };
    end(number);
}

/// # Safety
/// As [`take_over`].
unsafe fn renumber(number: u32, now: u32) {
    if let Some(area) = timer().and_then(|timer| timer.area()) {
        // SAFETY: the caller's contract; the area is the thread's own.
        unsafe { area.renumber(number, now) };
    }
}

impl ThreadArea {
    /// Finds the traced start of an async method whose first step begins, and gives it a number; None if it is not captured
    /// or too many calls are in flight.
    ///
    /// # Safety
    /// On the thread that owns the area; `variable` is a variable in the stack frame of the step.
    unsafe fn claim_start(&self, link: &'static AsyncLink, variable: *const usize) -> Option<u32> {
        // SAFETY: offsets of entries; the lowest one has the highest variable. Methods are never freed.
        unsafe {
            let mut at = self.top();
            while (*self.entry(at)).variable <= variable.addr() {
                at = (*self.entry(at)).below;
            }
            let entry = self.entry(at);
            let method = &*(*entry).method;
            let is_start = method.starts().is_some_and(|of| std::ptr::eq(of, link));
            if !is_start || (*entry).async_number != 0 {
                return None;
            }
            let number = followed::begin(link)?;
            find(number)?.begin_step();
            (*entry).async_number = number;
            Some(number)
        }
    }

    /// Changes the number of the innermost start that has it.
    ///
    /// # Safety
    /// On the thread that owns the area.
    unsafe fn renumber(&self, number: u32, now: u32) {
        let mut at = self.top();
        while at != 0 {
            let entry = self.entry(at);
            // SAFETY: offsets of entries, which lie above those below them.
            unsafe {
                if (*entry).async_number == number {
                    (*entry).async_number = now;
                    return;
                }
                at = (*entry).below;
            }
        }
    }
}

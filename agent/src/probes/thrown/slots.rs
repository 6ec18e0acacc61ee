//! Places for single exceptions, from their throw until the collector takes them. Claiming one takes no lock; if all are
//! in use, the exception is counted only.

use crate::probes::exception_chain::{CAPPED, ExceptionChain, message};
use crate::probes::exception_stack::ExceptionClass;
use redial_protocol::trace::Value;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Places tried for an exception.
const TRIES: usize = 16;

/// Phases of a place, in the lower half of its state. The upper half is its number, which changes with each exception.
const FREE: u64 = 0;
/// One thread writes it.
const WRITING: u64 = 1;
/// Its method is not known yet.
const PENDING: u64 = 2;
/// The collector may take it.
const READY: u64 = 3;

/// An exception at its throw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throw {
    /// Index of its class.
    pub class: u32,
    /// Index of the method that throws it; None: the runtime named none.
    pub method: Option<u32>,
    /// Unix time, nanoseconds.
    pub unix_ns: u64,
    /// The system's number of the thread.
    pub thread: u32,
    /// Whether it was thrown before.
    pub rethrown: bool,
    /// Whether the rate allows it.
    pub within_rate: bool,
}

/// An exception that the collector takes.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenException {
    /// The throw.
    pub throw: Throw,
    /// Its message.
    pub message: Value,
    /// Classes and messages of its inner exceptions.
    pub inner: Vec<(ExceptionClass, Value)>,
}

/// A claimed place: its index and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    index: u32,
    number: u32,
}

struct Slot {
    state: AtomicU64,
    /// Unix time of the throw, nanoseconds, for a look without taking the place.
    unix_ns: AtomicU64,
    throw: Cell<Throw>,
    /// Whether the chain has the message.
    has_message: Cell<bool>,
    chain: ExceptionChain,
}

// SAFETY: only the thread that set the phase WRITING, or that sees READY as the only collector, uses the cells; the
// state's acquire and release order their uses.
unsafe impl Sync for Slot {}

/// The places.
pub struct Slots {
    slots: Box<[Slot]>,
    /// Where the next exception looks first.
    next: AtomicUsize,
}

fn state(number: u32, phase: u64) -> u64 {
    u64::from(number) << 32 | phase
}

fn phase(state: u64) -> u64 {
    state & u64::from(u32::MAX)
}

impl Slots {
    pub(super) fn new(capacity: usize) -> Slots {
        let slot = |_| Slot {
            state: AtomicU64::new(0),
            unix_ns: AtomicU64::new(0),
            throw: Cell::default(),
            has_message: Cell::new(false),
            chain: ExceptionChain::default(),
        };
        Slots { slots: (0..capacity).map(slot).collect(), next: AtomicUsize::new(0) }
    }

    /// Returns the bytes of this many places.
    pub(super) fn bytes(capacity: usize) -> usize {
        capacity * size_of::<Slot>()
    }

    /// Writes an exception to a free place. `class` returns the class of an inner exception.
    ///
    /// # Safety
    /// In the callback that passes the exception, so that no object moves.
    pub(super) unsafe fn write(
        &self,
        throw: Throw,
        exception: *const u8,
        class: impl Fn(usize) -> ExceptionClass,
    ) -> Option<Claim> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        (0..TRIES).find_map(|place| {
            let index = first.wrapping_add(place) % self.slots.len();
            let slot = self.slots.get(index)?;
            let before = slot.state.load(Ordering::Relaxed);
            if phase(before) != FREE {
                return None;
            }
            let number = ((before >> 32) as u32).wrapping_add(1);
            slot.enter(before, state(number, WRITING))?;
            slot.throw.set(throw);
            slot.unix_ns.store(throw.unix_ns, Ordering::Relaxed);
            // SAFETY: the caller's contract; the phase is WRITING.
            slot.has_message.set(unsafe { slot.chain.capture(exception, &class) });
            slot.state.store(state(number, PENDING), Ordering::Release);
            Some(Claim { index: index as u32, number })
        })
    }

    /// Adds the method to a pending exception, and lets the collector take it if it `is_shown`. False if the collector
    /// took it before.
    pub(super) fn finish(&self, claim: Claim, method: Option<u32>, is_shown: bool) -> bool {
        let Some(slot) = self.slots.get(claim.index as usize) else { return false };
        if slot.enter(state(claim.number, PENDING), state(claim.number, WRITING)).is_none() {
            return false;
        }
        slot.throw.set(Throw { method, ..slot.throw.get() });
        slot.state.store(state(claim.number, if is_shown { READY } else { FREE }), Ordering::Release);
        true
    }

    /// Takes the exceptions that are ready, oldest first, and those pending since before `oldest_ns`, whose method will
    /// not be known. Called by one thread at a time.
    pub fn drain(&self, oldest_ns: u64) -> (Vec<TakenException>, Vec<Throw>) {
        let (mut ready, mut unfinished) = (Vec::new(), Vec::new());
        for slot in &self.slots {
            let before = slot.state.load(Ordering::Acquire);
            let is_ready = phase(before) == READY;
            // Its thread must find a pending one untouched.
            let is_old = || phase(before) == PENDING && slot.unix_ns.load(Ordering::Relaxed) < oldest_ns;
            let writing = before & !u64::from(u32::MAX) | WRITING;
            if !(is_ready || is_old()) || slot.enter(before, writing).is_none() {
                continue;
            }
            let throw = slot.throw.get();
            if !is_ready {
                unfinished.push(throw);
            }
            if is_ready || throw.within_rate {
                // SAFETY: the phase is WRITING.
                ready.push(unsafe { slot.taken(throw) });
            }
            slot.state.store(before & !u64::from(u32::MAX) | FREE, Ordering::Release);
        }
        ready.sort_by_key(|taken| taken.throw.unix_ns);
        (ready, unfinished)
    }
}

impl Slot {
    /// Moves from one state to another; None if it is in neither.
    fn enter(&self, from: u64, to: u64) -> Option<()> {
        self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).ok().map(drop)
    }

    /// # Safety
    /// No other thread uses the place.
    unsafe fn taken(&self, throw: Throw) -> TakenException {
        if !self.has_message.get() {
            return TakenException { throw, message: CAPPED, inner: Vec::new() };
        }
        // SAFETY: the caller's contract.
        let mut links = unsafe { self.chain.links() };
        let outermost = links.next().map_or(CAPPED, |(link, units)| message(&link, units));
        let inner = links.map(|(link, units)| (link.class, message(&link, units))).collect();
        TakenException { throw, message: outermost, inner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throw(class: u32, unix_ns: u64, within_rate: bool) -> Throw {
        Throw { class, unix_ns, within_rate, ..Throw::default() }
    }

    fn write(slots: &Slots, throw: Throw) -> Option<Claim> {
        // SAFETY: in tests no offset is set, so the exception is not read.
        unsafe { slots.write(throw, std::ptr::null(), |_| ExceptionClass::default()) }
    }

    #[test]
    fn exceptions_are_taken_once_their_method_is_known() {
        let slots = Slots::new(8);
        let first = write(&slots, throw(1, 10, true)).expect("free");
        let second = write(&slots, throw(2, 5, true)).expect("free");
        assert_eq!(slots.drain(0).0, []);
        assert!(slots.finish(first, Some(7), true) && slots.finish(second, None, true));
        let taken: Vec<_> = slots.drain(0).0.iter().map(|one| (one.throw.class, one.throw.method)).collect();
        assert_eq!(taken, [(2, None), (1, Some(7))], "oldest first");
        assert!(!slots.finish(first, Some(8), true), "it is gone");
        let hidden = write(&slots, throw(3, 20, false)).expect("free");
        assert!(slots.finish(hidden, Some(1), false));
        assert_eq!(slots.drain(0).0, []);
    }

    #[test]
    fn exceptions_whose_method_never_comes_are_taken_in_the_end() {
        let slots = Slots::new(4);
        let claims: Vec<_> = (0..4).filter_map(|at| write(&slots, throw(at, 10, at % 2 == 0))).collect();
        assert_eq!((claims.len(), write(&slots, throw(9, 11, true))), (4, None), "all are in use");
        assert_eq!(slots.drain(10), (vec![], vec![]));
        let (taken, unfinished) = slots.drain(11);
        assert_eq!((taken.len(), unfinished.len()), (2, 4));
        assert!(!slots.finish(claims[0], Some(1), true), "it was counted without a method");
        assert!(write(&slots, throw(9, 11, true)).is_some());
    }
}

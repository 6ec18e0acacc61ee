//! The followed calls: a fixed table of those in flight. Their numbers are hash codes of the objects that carry them from
//! one step to the next.

use super::link::AsyncLink;
use super::object_header::HASH_BITS;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Followed calls in flight at most.
const CALLS: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 14;
/// Bits of a number that tell earlier calls of a place from later ones.
const GENERATION_MASK: u32 = (1 << (HASH_BITS - 1 - INDEX_BITS)) - 1;
/// Numbers of calls that are not followed have this bit.
const UNFOLLOWED: u32 = 1 << (HASH_BITS - 1);
/// Places that are tried for a new call.
const TRIES: usize = 16;

const FREE: u32 = 0;
const FOLLOWED: u32 = 1;
const GIVEN_UP: u32 = 2;
const STATE_BITS: u32 = 2;

static PLACES: [FollowedCall; CALLS] = [const { FollowedCall::new() }; CALLS];
static NEXT: AtomicU32 = AtomicU32::new(0);
static UNFOLLOWED_CALLS: AtomicU32 = AtomicU32::new(0);

/// A call that is followed to its completion.
#[derive(Debug)]
pub struct FollowedCall {
    /// Generation and state.
    state: AtomicU32,
    steps: AtomicU32,
    /// Ticks in which the call ran.
    running: AtomicU64,
    link: AtomicPtr<AsyncLink>,
}

impl FollowedCall {
    const fn new() -> FollowedCall {
        FollowedCall {
            state: AtomicU32::new(0),
            steps: AtomicU32::new(0),
            running: AtomicU64::new(0),
            link: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Counts a step that begins.
    pub(super) fn begin_step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the ticks of a step that ends. The next one may have begun before.
    pub(super) fn end_step(&self, ticks: u64) {
        self.running.fetch_add(ticks, Ordering::Relaxed);
    }

    /// Returns the steps so far and the ticks that they took.
    pub(super) fn steps(&self) -> (u32, u64) {
        (self.steps.load(Ordering::Relaxed), self.running.load(Ordering::Relaxed))
    }

    /// Adds the steps of the same call under another number.
    pub(super) fn take_over(&self, other: &FollowedCall) {
        let (steps, running) = other.steps();
        self.steps.fetch_add(steps, Ordering::Relaxed);
        self.running.fetch_add(running, Ordering::Relaxed);
    }

    /// Whether a method's call is still followed.
    pub(super) fn is_of(&self, link: &AsyncLink) -> bool {
        self.state.load(Ordering::Acquire) & ((1 << STATE_BITS) - 1) == FOLLOWED
            && std::ptr::eq(self.link.load(Ordering::Relaxed), link)
    }

    /// Returns its method.
    pub(super) fn link(&self) -> Option<&'static AsyncLink> {
        // SAFETY: null or a link; those are never freed.
        unsafe { self.link.load(Ordering::Relaxed).as_ref() }
    }

    /// Stops following it. Its place becomes free once its completion was seen.
    pub(super) fn give_up(&self) {
        let state = self.state.load(Ordering::Relaxed);
        let _ = self.state.compare_exchange(
            (state & !((1 << STATE_BITS) - 1)) | FOLLOWED,
            (state & !((1 << STATE_BITS) - 1)) | GIVEN_UP,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

/// Returns the number of a new call of a method; None if too many are in flight.
pub(super) fn begin(link: &'static AsyncLink) -> Option<u32> {
    for _ in 0..TRIES {
        let index = NEXT.fetch_add(1, Ordering::Relaxed) as usize % CALLS;
        let place = PLACES.get(index)?;
        let state = place.state.load(Ordering::Relaxed);
        let generation = ((state >> STATE_BITS) + 1) & GENERATION_MASK;
        // Number 0 is no number.
        if state & ((1 << STATE_BITS) - 1) != FREE || index == 0 {
            continue;
        }
        let taken = generation << STATE_BITS | GIVEN_UP;
        if place.state.compare_exchange(state, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            place.steps.store(0, Ordering::Relaxed);
            place.running.store(0, Ordering::Relaxed);
            place.link.store(std::ptr::from_ref(link).cast_mut(), Ordering::Relaxed);
            place.state.store(generation << STATE_BITS | FOLLOWED, Ordering::Release);
            return Some(generation << INDEX_BITS | index as u32);
        }
    }
    None
}

/// Returns a number for an object whose call is not followed.
pub(super) fn unfollowed_number() -> u32 {
    UNFOLLOWED | UNFOLLOWED_CALLS.fetch_add(1, Ordering::Relaxed) & (UNFOLLOWED - 1)
}

/// Whether a number is one of [`unfollowed_number`].
pub(super) fn is_unfollowed(number: u32) -> bool {
    number & UNFOLLOWED != 0
}

/// Returns the call with a number, if its place has no later one.
pub fn find(number: u32) -> Option<&'static FollowedCall> {
    if number == 0 || is_unfollowed(number) {
        return None;
    }
    let place = PLACES.get(number as usize % CALLS)?;
    let state = place.state.load(Ordering::Acquire);
    (state >> STATE_BITS == number >> INDEX_BITS && state & ((1 << STATE_BITS) - 1) != FREE).then_some(place)
}

/// Whether the call with a number was given up.
pub fn is_given_up(number: u32) -> bool {
    find(number).is_none_or(|call| call.state.load(Ordering::Relaxed) & ((1 << STATE_BITS) - 1) == GIVEN_UP)
}

/// Returns the steps so far of the call with a number, and the ticks that they took.
pub fn steps_of(number: u32) -> (u32, u64) {
    find(number).map_or((0, 0), FollowedCall::steps)
}

/// Frees the place of a call that has completed or that nobody waits for any more.
pub fn end(number: u32) {
    if let Some(place) = find(number) {
        place.state.store(number >> INDEX_BITS << STATE_BITS | FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ended_calls_are_unknown() {
        static LINK: AsyncLink = AsyncLink::of_struct(Some(0));
        static OTHER: AsyncLink = AsyncLink::of_struct(None);
        let number = begin(&LINK).expect("there is room");
        let call = find(number).expect("it is in flight");
        assert!(call.is_of(&LINK) && !call.is_of(&OTHER) && !is_given_up(number));
        for ticks in [30, 12] {
            call.begin_step();
            call.end_step(ticks);
        }
        assert_eq!(steps_of(number), (2, 42));
        call.give_up();
        assert!(!call.is_of(&LINK) && is_given_up(number));
        end(number);
        assert!(find(number).is_none() && is_given_up(number));
        // The same place, a later call.
        let again = std::iter::repeat_with(|| begin(&LINK)).flatten().take(2 * CALLS).inspect(|other| {
            assert_ne!(*other, number);
            if *other as usize % CALLS != number as usize % CALLS {
                end(*other);
            }
        });
        let again = again.take_while(|other| *other as usize % CALLS != number as usize % CALLS).count();
        assert!(again < 2 * CALLS && find(number).is_none());
        assert!(is_unfollowed(unfollowed_number()) && find(unfollowed_number()).is_none());
    }
}

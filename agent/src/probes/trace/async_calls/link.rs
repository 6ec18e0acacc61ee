//! One async method: what its start and its `MoveNext` have in common, and where the object is that carries its calls.

use crate::platform::read_memory;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The object that carries a call lies at most this far before the builder in it.
const MAX_DISTANCE: usize = 4096;
/// Places in a builder where the object may be.
const PLACES: [u32; 3] = [0, 8, 16];
/// The place is unknown.
const UNKNOWN: u32 = u32::MAX;

/// What the start of an async method and its `MoveNext` have in common. Bodies hold its address, so it is never freed.
///
/// Before a call waits for the first time, the builder in the state machine puts the machine into an object, which carries
/// the call from then on, and refers to it. A state machine that is a class carries the call itself.
#[derive(Debug)]
#[repr(align(8))]
pub struct AsyncLink {
    /// Calls in their first step.
    starting: AtomicU32,
    /// Whether the method itself is traced, so that calls whose beginning is not known were left out.
    starts_traced: AtomicBool,
    /// Whether the state machine is a class.
    is_class: bool,
    /// Offset of the reference to the object in the builder.
    place: AtomicU32,
    /// Whether the object was found there.
    is_confirmed: AtomicBool,
    /// Whether the place differs from call to call.
    varies: bool,
}

impl AsyncLink {
    /// For a state machine that is a struct. `place`: offset in the builder of its reference to the object, as far as known.
    pub const fn of_struct(place: Option<u32>) -> AsyncLink {
        let place = match place {
            Some(place) => place,
            None => UNKNOWN,
        };
        AsyncLink {
            starting: AtomicU32::new(0),
            starts_traced: AtomicBool::new(false),
            is_class: false,
            place: AtomicU32::new(place),
            is_confirmed: AtomicBool::new(false),
            varies: false,
        }
    }

    /// For a struct whose builder's layout depends on type arguments.
    pub const fn of_varying_struct() -> AsyncLink {
        AsyncLink { varies: true, ..AsyncLink::of_struct(None) }
    }

    /// For a state machine that is a class.
    pub const fn of_class() -> AsyncLink {
        AsyncLink { is_class: true, ..AsyncLink::of_struct(None) }
    }

    /// Whether the state machine is a class.
    pub fn is_class(&self) -> bool {
        self.is_class
    }

    /// Sets whether the method itself is traced.
    pub fn set_starts_traced(&self, traced: bool) {
        self.starts_traced.store(traced, Ordering::Relaxed);
    }

    /// Whether the method itself is traced.
    pub(super) fn starts_traced(&self) -> bool {
        self.starts_traced.load(Ordering::Relaxed)
    }

    /// Notes that a call begins its first step.
    pub(super) fn begin_start(&self) {
        self.starting.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that the first step of a call is over, or that its completion has begun.
    pub(super) fn end_start(&self) {
        self.starting.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether a call may be in its first step.
    pub(super) fn is_starting(&self) -> bool {
        self.starting.load(Ordering::Acquire) > 0
    }

    /// Returns the object that carries a call, in a later step: the builder lies within it.
    ///
    /// # Safety
    /// `machine` is the address of the builder in the state machine, or of the machine if it is a class, while no object moves.
    pub(super) unsafe fn carrier(&self, machine: usize) -> Option<*const u8> {
        if self.is_class {
            return Some(std::ptr::with_exposed_provenance(machine));
        }
        if self.is_confirmed.load(Ordering::Acquire) {
            let object = self.at(machine)?;
            // A builder of another form, or a call that is in its first step again.
            return is_within(machine, object).then(|| std::ptr::with_exposed_provenance(object));
        }
        let around = |place: &u32| {
            let object = word(machine + *place as usize)?;
            (is_within(machine, object) && is_object(object)).then_some(object)
        };
        let expected = Some(self.place.load(Ordering::Relaxed)).filter(|place| *place != UNKNOWN);
        let expected = expected.filter(|place| around(place).is_some());
        // Another object may lie a little before the one that holds the builder.
        let place = expected
            .or_else(|| PLACES.into_iter().filter(|place| around(place).is_some()).max_by_key(around))?;
        if self.varies {
            return word(machine + place as usize).map(std::ptr::with_exposed_provenance);
        }
        self.place.store(place, Ordering::Relaxed);
        self.is_confirmed.store(true, Ordering::Release);
        Some(std::ptr::with_exposed_provenance(self.at(machine)?))
    }

    /// Returns the object that will carry a call after its first step; None if the call does not wait.
    ///
    /// # Safety
    /// As [`AsyncLink::carrier`], but the machine may be on the stack.
    pub(super) unsafe fn first_carrier(&self, machine: usize) -> Option<*const u8> {
        if self.is_class {
            return Some(std::ptr::with_exposed_provenance(machine));
        }
        if self.varies {
            let words = PLACES.into_iter().filter_map(|place| word(machine + place as usize));
            return words
                .into_iter()
                .find(|object| is_object(*object))
                .map(std::ptr::with_exposed_provenance);
        }
        let object = self.at(machine)?;
        let is_sound = self.is_confirmed.load(Ordering::Acquire) || is_object(object);
        (object != 0 && is_sound).then(|| std::ptr::with_exposed_provenance(object))
    }

    fn at(&self, machine: usize) -> Option<usize> {
        match self.place.load(Ordering::Relaxed) {
            UNKNOWN => None,
            place => {
                let at: *const usize = std::ptr::with_exposed_provenance(machine + place as usize);
                // SAFETY: within the builder, for the place was found or is that of a known builder.
                Some(unsafe { at.read() })
            }
        }
    }
}

fn is_within(machine: usize, object: usize) -> bool {
    machine.checked_sub(object).is_some_and(|distance| (8..MAX_DISTANCE).contains(&distance))
}

/// Whether memory looks like an object: a header and the address of a readable class.
fn is_object(object: usize) -> bool {
    object.is_multiple_of(size_of::<usize>())
        && object > MAX_DISTANCE
        && word(object - 8).is_some()
        && word(object).is_some_and(|class| {
            class > MAX_DISTANCE && class.is_multiple_of(size_of::<usize>()) && word(class).is_some()
        })
}

/// Reads a word that may not be readable.
fn word(address: usize) -> Option<usize> {
    let mut bytes = [0; size_of::<usize>()];
    read_memory(address, &mut bytes).then(|| usize::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A carrier: header, class, some field, then the builder: `before` words and the reference.
    fn carrier(before: usize) -> (Box<[usize; 8]>, usize) {
        let mut words = Box::new([0_usize; 8]);
        let at = |index: usize| std::ptr::from_ref(&words[index]).expose_provenance();
        let (object, class, builder) = (at(1), at(7), at(3));
        words[1] = class;
        words[3 + before] = object;
        (words, builder)
    }

    #[test]
    fn finds_the_object_around_a_builder() {
        for (before, place) in [(0, 0), (1, 8), (2, 16)] {
            let (words, builder) = carrier(before);
            let object = std::ptr::from_ref(&words[1]).cast::<u8>();
            let link = AsyncLink::of_struct(None);
            // SAFETY: memory of this test.
            unsafe {
                assert_eq!(link.first_carrier(builder), None, "the place is unknown");
                assert_eq!(link.carrier(builder), Some(object));
                assert_eq!(link.carrier(builder), Some(object), "confirmed");
                assert_eq!(link.first_carrier(builder), Some(object));
                assert_eq!(link.place.load(Ordering::Relaxed), place);
            }
        }
    }

    #[test]
    fn other_words_are_no_objects() {
        let (mut words, builder) = carrier(0);
        let link = AsyncLink::of_struct(Some(0));
        // SAFETY: memory of this test.
        unsafe {
            for wrong in [0, 1, 8, 0x0101, usize::MAX - 7, builder - 16 + 1] {
                words[3] = wrong;
                assert_eq!((link.carrier(builder), link.first_carrier(builder)), (None, None), "{wrong:x}");
            }
        }
        assert!(words[3] != 0);
    }
}

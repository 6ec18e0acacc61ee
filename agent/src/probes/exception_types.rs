//! Names of the types of exceptions, for conditions that compare them. A name is read in the callback that reports the first
//! exception of its class, and found without a lock when a call ends. All are forgotten when their module unloads.

use super::exception_stack::ExceptionClass;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Places, a power of two.
const PLACES: usize = 1 << 10;
/// Places in which a class may be.
const TRIES: usize = 8;
/// Names that are read in all, or could not be. They stay for ever, since a thread may use one while it is forgotten.
const MAX_READ: u32 = 8 << 10;

struct KnownType {
    module: usize,
    token: u32,
    /// None if it could not be read.
    name: Option<Box<str>>,
}

static KNOWN: [AtomicPtr<KnownType>; PLACES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; PLACES];
static READ: AtomicU32 = AtomicU32::new(0);
static WANTED: AtomicBool = AtomicBool::new(false);

/// Starts to read the names of thrown exceptions.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Whether names of thrown exceptions are read.
pub fn are_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Returns the name of a class; None if it was not read.
pub fn name_of(class: ExceptionClass) -> Option<&'static str> {
    entry(class)?.name.as_deref()
}

/// Reads the name of a class, unless that was tried before. In the callback that passes an exception.
pub fn learn(class: ExceptionClass, read: impl FnOnce() -> Option<String>) {
    if class == ExceptionClass::default() || entry(class).is_some() {
        return;
    }
    let Some(place) = places(class).find(|place| known(place).is_none()) else { return };
    if READ
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |read| (read < MAX_READ).then_some(read + 1))
        .is_err()
    {
        return;
    }
    let (module, token, name) = (class.module, class.token, read().map(String::into_boxed_str));
    let made = Box::into_raw(Box::new(KnownType { module, token, name }));
    if place.compare_exchange(std::ptr::null_mut(), made, Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: it was made above, and nobody else knows it.
        drop(unsafe { Box::from_raw(made) });
    }
}

/// Forgets the classes of a module that begins to unload.
pub fn forget(module: usize) {
    for place in &KNOWN {
        if known(place).is_some_and(|one| one.module == module) {
            place.store(std::ptr::null_mut(), Ordering::Release);
        }
    }
}

impl KnownType {
    fn is(&self, class: ExceptionClass) -> bool {
        (self.module, self.token) == (class.module, class.token)
    }
}

fn entry(class: ExceptionClass) -> Option<&'static KnownType> {
    places(class).filter_map(known).find(|one| one.is(class))
}

fn known(place: &AtomicPtr<KnownType>) -> Option<&'static KnownType> {
    // SAFETY: null, or a box that is never freed once it is here.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

fn places(class: ExceptionClass) -> impl Iterator<Item = &'static AtomicPtr<KnownType>> {
    let key = class.module as u64 ^ u64::from(class.token);
    let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
    (first..first + TRIES).filter_map(|place| KNOWN.get(place % PLACES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_once_until_their_module_unloads() {
        let class = |token| ExceptionClass { module: 0x7f00_1000, token, generation: token };
        for token in 1..=100 {
            learn(class(token), || Some(format!("Type{token}")));
        }
        assert_eq!(name_of(class(7)), Some("Type7"));
        learn(class(7), || unreachable!("it is known"));
        assert_eq!(name_of(ExceptionClass { generation: 9, ..class(7) }), Some("Type7"));
        learn(class(101), || None);
        assert_eq!(name_of(class(101)), None);
        learn(class(101), || unreachable!("it could not be read"));
        forget(0x7f00_1000);
        assert!((1..=100).all(|token| name_of(class(token)).is_none()));
        learn(class(7), || Some("Other".to_owned()));
        assert_eq!(name_of(class(7)), Some("Other"));
        learn(class(101), || Some("Readable".to_owned()));
        assert_eq!(name_of(class(101)), Some("Readable"));
        learn(ExceptionClass::default(), || unreachable!("an unknown class"));
    }
}

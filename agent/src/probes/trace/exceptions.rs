//! Messages of exceptions, with types and messages of their inner exceptions. Each thread keeps those of the latest few that
//! were thrown while calls were traced, until a traced call ends with one of them.

use super::entry::Entry;
use super::strings::{self, MAX_UNITS};
use crate::capture::record::{RecordKind, WORD};
use crate::probes::exception_stack::ExceptionClass;
use redial_protocol::limits::MAX_INNER_EXCEPTIONS;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU32, Ordering};

/// Exceptions that a thread keeps.
const KEPT: usize = 4;
/// UTF-16 units of an exception's message and those of its inner exceptions.
const UNITS: usize = 2 * MAX_UNITS;
/// Kept units of an exception that has no message.
const NO_MESSAGE: u32 = u32::MAX;

/// Offset of the message in exceptions; 0: exceptions are not captured.
static MESSAGE: AtomicU32 = AtomicU32::new(0);
/// Offset of the inner exception; 0: inner exceptions are not captured.
static INNER: AtomicU32 = AtomicU32::new(0);

/// Offsets of fields of `System.Exception`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionFields {
    /// `_message`.
    pub message: u32,
    /// `_innerException`; 0 if it was not found.
    pub inner: u32,
}

/// Starts to capture messages and inner exceptions.
pub fn capture_exceptions(fields: ExceptionFields) {
    INNER.store(fields.inner, Ordering::Relaxed);
    MESSAGE.store(fields.message, Ordering::Relaxed);
}

/// Exceptions that one thread keeps. Zeroed memory is none.
#[repr(C)]
pub(super) struct KeptExceptions([KeptException; KEPT]);

#[repr(C)]
struct KeptException {
    /// Number of the exception; 0 for none.
    number: Cell<u32>,
    /// Number of links.
    count: Cell<u32>,
    /// The exception, then its inner ones.
    links: [Cell<Link>; 1 + MAX_INNER_EXCEPTIONS],
    /// Units of all messages, one after another.
    units: UnsafeCell<[u16; UNITS]>,
}

/// An exception of a chain.
#[repr(C)]
#[derive(Clone, Copy)]
struct Link {
    /// Its class; meaningless for the outermost.
    class: ExceptionClass,
    /// Units of its whole message.
    length: u32,
    /// Units kept, or [`NO_MESSAGE`].
    kept: u32,
}

impl KeptExceptions {
    /// Keeps the exception with a number, instead of an earlier one. `class` returns the class of an inner exception.
    ///
    /// # Safety
    /// On the owner's thread, in the callback that passes the exception, so that no object moves.
    pub(super) unsafe fn keep(
        &self,
        number: u32,
        exception: *const u8,
        class: impl Fn(usize) -> ExceptionClass,
    ) {
        let Some(place) = self.0.get(number as usize % KEPT) else { return };
        place.number.set(0);
        let (message, inner) = (MESSAGE.load(Ordering::Relaxed), INNER.load(Ordering::Relaxed));
        if message == 0 {
            return;
        }
        let (mut object, mut used, mut count) = (exception, 0, 0);
        for link in &place.links {
            if object.is_null() {
                break;
            }
            let class = if count == 0 { ExceptionClass::default() } else { class(object.addr()) };
            // SAFETY: fields of an exception, and units within a string's length; only this thread uses the place.
            unsafe {
                let text = object.add(message as usize).cast::<*const u8>().read();
                let (length, kept) = match text.is_null() {
                    true => (0, NO_MESSAGE),
                    false => {
                        let (units, length) = strings::units(text);
                        let kept = (length as usize).min(MAX_UNITS).min(UNITS - used);
                        std::ptr::copy_nonoverlapping(units, place.units.get().cast::<u16>().add(used), kept);
                        used += kept;
                        (length, kept as u32)
                    }
                };
                link.set(Link { class, length, kept });
                object = match inner {
                    0 => std::ptr::null(),
                    inner => object.add(inner as usize).cast::<*const u8>().read(),
                };
            }
            count += 1;
        }
        place.count.set(count);
        place.number.set(number);
    }

    /// Adds the exception with a number to a call that it ends, if it is known and there is room: the record of its message,
    /// and for each inner exception its class and the record of its message.
    ///
    /// # Safety
    /// On the owner's thread; the entry is a call of it.
    pub(super) unsafe fn add(&self, entry: *mut Entry, number: u32) {
        let Some(place) = self.0.get(number as usize % KEPT) else { return };
        if number == 0 || place.number.get() != number {
            return;
        }
        // SAFETY: the entry has `capacity` bytes; only this thread writes it. The units are those that were kept.
        unsafe {
            let capacity = (*entry).limit();
            let first = (*entry).used as usize;
            let mut to = Writer { entry, used: first, capacity };
            let (mut units, mut written) = (place.units.get().cast::<u16>().cast_const(), 0_u16);
            for (number, link) in place.links.iter().take(place.count.get() as usize).enumerate() {
                let link = link.get();
                if !to.link((number > 0).then_some(link.class), link, units) {
                    break;
                }
                written += 1;
                units = units.add(if link.kept == NO_MESSAGE { 0 } else { link.kept as usize });
            }
            if written > 0 {
                (*entry).message = first as u32;
                (*entry).inner = written - 1;
                (*entry).used = to.used.next_multiple_of(4) as u32;
            }
        }
    }
}

/// Writes to the end of an entry.
struct Writer {
    entry: *mut Entry,
    used: usize,
    capacity: usize,
}

impl Writer {
    /// Writes a class, if there is one, and the record of a message; false, and nothing is written, if there is no room.
    ///
    /// # Safety
    /// The entry has `capacity` bytes, a multiple of four; `units` has as many as the link kept.
    unsafe fn link(&mut self, class: Option<ExceptionClass>, link: Link, units: *const u16) -> bool {
        let fixed = class.map_or(0, |_| size_of::<ExceptionClass>()) + 2 * WORD;
        let room = self.capacity.saturating_sub(self.used);
        if room < fixed {
            return false;
        }
        let kept = (link.kept as usize).min((room - fixed) / size_of::<u16>());
        // SAFETY: there is room; the caller's contract.
        unsafe {
            if let Some(class) = class {
                self.put(&raw const class, 1);
            }
            if link.kept == NO_MESSAGE {
                self.put(&RecordKind::Null.word(0), 1);
            } else {
                self.put(&RecordKind::String.word(kept as u32), 1);
                self.put(&link.length, 1);
                self.put(units, kept);
            }
        }
        true
    }

    /// # Safety
    /// There is room for `count` values, and `from` has as many.
    unsafe fn put<T>(&mut self, from: *const T, count: usize) {
        let bytes = count * size_of::<T>();
        // SAFETY: the caller's contract.
        unsafe {
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), self.entry.byte_add(self.used).cast(), bytes);
        }
        self.used += bytes;
    }
}

/// Reads the class of an inner exception at an offset in the bytes of a call, and moves the offset behind it.
pub fn inner_class(bytes: &[u8], at: &mut usize) -> Option<ExceptionClass> {
    let end = at.checked_add(size_of::<ExceptionClass>())?;
    let (module, rest) = bytes.get(*at..end)?.split_first_chunk()?;
    let (token, rest) = rest.split_first_chunk()?;
    let (generation, _) = rest.split_first_chunk()?;
    *at = end;
    Some(ExceptionClass {
        module: usize::from_ne_bytes(*module),
        token: u32::from_ne_bytes(*token),
        generation: u32::from_ne_bytes(*generation),
    })
}

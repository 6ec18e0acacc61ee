//! Messages of exceptions, with types and messages of their inner exceptions. Each thread keeps those of the latest few that
//! were thrown while calls were traced, until a traced call ends with one of them.

use super::entry::Entry;
use crate::capture::record::{RecordKind, WORD};
use crate::probes::exception_chain::{ExceptionChain, Link};
use crate::probes::exception_stack::ExceptionClass;
use std::cell::Cell;

/// Exceptions that a thread keeps.
const KEPT: usize = 4;

/// Exceptions that one thread keeps. Zeroed memory is none.
#[repr(C)]
pub(super) struct KeptExceptions([KeptException; KEPT]);

#[repr(C)]
struct KeptException {
    /// Number of the exception; 0 for none.
    number: Cell<u32>,
    chain: ExceptionChain,
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
        // SAFETY: the caller's contract; only this thread uses the place.
        if unsafe { place.chain.capture(exception, class) } {
            place.number.set(number);
        }
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
        // SAFETY: the entry has `capacity` bytes; only this thread writes it and the place.
        unsafe {
            let capacity = (*entry).limit();
            let first = (*entry).used as usize;
            let mut to = Writer { entry, used: first, capacity };
            let mut written = 0_u16;
            for (number, (link, units)) in place.chain.links().enumerate() {
                if !to.link((number > 0).then_some(link.class), link, units) {
                    break;
                }
                written += 1;
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
    /// The entry has `capacity` bytes, a multiple of four.
    unsafe fn link(&mut self, class: Option<ExceptionClass>, link: Link, units: &[u16]) -> bool {
        let fixed = class.map_or(0, |_| size_of::<ExceptionClass>()) + 2 * WORD;
        let room = self.capacity.saturating_sub(self.used);
        if room < fixed {
            return false;
        }
        let kept = units.len().min((room - fixed) / size_of::<u16>());
        // SAFETY: there is room; the caller's contract.
        unsafe {
            if let Some(class) = class {
                self.put(&raw const class, 1);
            }
            if link.kept().is_none() {
                self.put(&RecordKind::Null.word(0), 1);
            } else {
                self.put(&RecordKind::String.word(kept as u32), 1);
                self.put(&link.length, 1);
                self.put(units.as_ptr(), kept);
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

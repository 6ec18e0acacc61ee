//! Messages of exceptions. Each thread keeps those of the latest few that were thrown while calls were traced, until a
//! traced call ends with one of them.

use super::entry::Entry;
use super::strings::{self, MAX_UNITS};
use crate::capture::record::{RecordKind, WORD};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU32, Ordering};

/// Messages that a thread keeps.
const KEPT: usize = 4;

/// Offset of the message in exceptions; 0: messages are not captured.
static MESSAGE: AtomicU32 = AtomicU32::new(0);

/// Sets the offset of the message in exceptions, which starts to capture messages.
pub fn capture_messages(offset: u32) {
    MESSAGE.store(offset, Ordering::Relaxed);
}

/// The messages of one thread. Zeroed memory is none.
#[repr(C)]
pub(super) struct Messages([Message; KEPT]);

#[repr(C)]
struct Message {
    /// Number of the exception; 0 for none.
    number: Cell<u32>,
    /// Units of the whole message.
    length: Cell<u32>,
    kept: Cell<u32>,
    units: UnsafeCell<[u16; MAX_UNITS]>,
}

impl Messages {
    /// Keeps the message of the exception with a number, instead of that of an earlier one.
    ///
    /// # Safety
    /// On the owner's thread, in the callback that passes the exception, so that it does not move.
    pub(super) unsafe fn keep(&self, number: u32, exception: *const u8) {
        let offset = MESSAGE.load(Ordering::Relaxed) as usize;
        let Some(message) = self.0.get(number as usize % KEPT) else { return };
        message.number.set(0);
        if offset == 0 {
            return;
        }
        // SAFETY: the field of an exception, and units within a string's length; only this thread uses the messages.
        unsafe {
            let text = exception.add(offset).cast::<*const u8>().read();
            if text.is_null() {
                return;
            }
            let (units, length) = strings::units(text);
            let kept = (length as usize).min(MAX_UNITS);
            std::ptr::copy_nonoverlapping(units, message.units.get().cast::<u16>(), kept);
            message.length.set(length);
            message.kept.set(kept as u32);
        }
        message.number.set(number);
    }

    /// Adds the message of the exception with a number to a call that it ends, if it is known and there is room.
    ///
    /// # Safety
    /// On the owner's thread; the entry is a call of it.
    pub(super) unsafe fn add(&self, entry: *mut Entry, number: u32) {
        let Some(message) = self.0.get(number as usize % KEPT) else { return };
        if number == 0 || message.number.get() != number {
            return;
        }
        // SAFETY: the entry has `capacity` bytes; only this thread writes it.
        unsafe {
            let used = (*entry).used as usize;
            let room =
                ((*(*entry).method).capacity as usize).saturating_sub(used + 2 * WORD) / size_of::<u16>();
            let kept = (message.kept.get() as usize).min(room);
            if kept == 0 {
                return;
            }
            let to = entry.byte_add(used);
            to.cast::<u32>().write_unaligned(RecordKind::String.word(kept as u32));
            to.byte_add(WORD).cast::<u32>().write_unaligned(message.length.get());
            std::ptr::copy_nonoverlapping(
                message.units.get().cast::<u16>(),
                to.byte_add(2 * WORD).cast::<u16>(),
                kept,
            );
            (*entry).message = used as u32;
            (*entry).used = (used + 2 * WORD + kept * size_of::<u16>()).next_multiple_of(4) as u32;
        }
    }
}

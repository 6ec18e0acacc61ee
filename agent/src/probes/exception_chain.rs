//! An exception with its inner ones: their classes and messages, copied while the runtime reports the exception.

use super::exception_stack::ExceptionClass;
use super::trace::{MAX_UNITS, string_units};
use redial_protocol::limits::MAX_INNER_EXCEPTIONS;
use redial_protocol::trace::{OmittedReason, Value};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU32, Ordering};

/// UTF-16 units of an exception's message and those of its inner exceptions.
const UNITS: usize = 2 * MAX_UNITS;
/// Kept units of an exception that has no message.
const NO_MESSAGE: u32 = u32::MAX;

/// Offset of the message in exceptions; 0: exceptions are not captured.
static MESSAGE: AtomicU32 = AtomicU32::new(0);
/// Offset of the inner exception; 0: inner exceptions are not captured.
static INNER: AtomicU32 = AtomicU32::new(0);
/// Offset of the stack trace; 0: unknown.
static STACK_TRACE: AtomicU32 = AtomicU32::new(0);

/// Offsets of fields of `System.Exception`; 0 for those that were not found or may not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionFields {
    /// `_message`.
    pub message: u32,
    /// `_innerException`.
    pub inner: u32,
    /// `_stackTrace`.
    pub stack_trace: u32,
}

/// Starts to capture what these fields contain.
pub fn capture_exceptions(fields: ExceptionFields) {
    STACK_TRACE.store(fields.stack_trace, Ordering::Relaxed);
    INNER.store(fields.inner, Ordering::Relaxed);
    MESSAGE.store(fields.message, Ordering::Relaxed);
}

/// Whether an exception has a stack trace, as one that was thrown before.
///
/// # Safety
/// In the callback that passes the exception, so that no object moves.
pub(super) unsafe fn has_stack_trace(exception: *const u8) -> bool {
    let offset = STACK_TRACE.load(Ordering::Relaxed);
    // SAFETY: a field of an exception.
    offset != 0 && unsafe { !exception.add(offset as usize).cast::<*const u8>().read().is_null() }
}

/// An exception with its inner ones. Zeroed memory is none.
#[repr(C)]
pub(super) struct ExceptionChain {
    /// Number of links.
    count: Cell<u32>,
    /// The exception, then its inner ones.
    links: [Cell<Link>; 1 + MAX_INNER_EXCEPTIONS],
    /// Units of all messages, one after another.
    units: UnsafeCell<[u16; UNITS]>,
}

impl Default for ExceptionChain {
    fn default() -> ExceptionChain {
        ExceptionChain { count: Cell::new(0), links: Default::default(), units: UnsafeCell::new([0; UNITS]) }
    }
}

/// An exception of a chain.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    /// Its class; meaningless for the outermost.
    pub(super) class: ExceptionClass,
    /// Units of its whole message.
    pub(super) length: u32,
    /// Units kept, or [`NO_MESSAGE`].
    kept: u32,
}

impl Link {
    /// Returns the number of units that were kept; None if the exception has no message.
    pub(super) fn kept(&self) -> Option<usize> {
        (self.kept != NO_MESSAGE).then_some(self.kept as usize)
    }
}

impl ExceptionChain {
    /// Copies an exception over an earlier one; false if the host allows no messages. `class` returns the class of an inner
    /// exception.
    ///
    /// # Safety
    /// In the callback that passes the exception, so that no object moves; no other thread uses the chain.
    pub(super) unsafe fn capture(
        &self,
        exception: *const u8,
        class: impl Fn(usize) -> ExceptionClass,
    ) -> bool {
        self.count.set(0);
        let (message, inner) = (MESSAGE.load(Ordering::Relaxed), INNER.load(Ordering::Relaxed));
        if message == 0 {
            return false;
        }
        let (mut object, mut used, mut count) = (exception, 0, 0);
        for link in &self.links {
            if object.is_null() {
                break;
            }
            let class = if count == 0 { ExceptionClass::default() } else { class(object.addr()) };
            // SAFETY: fields of an exception, and units within a string's length; no other thread uses the chain.
            unsafe {
                let text = object.add(message as usize).cast::<*const u8>().read();
                let (length, kept) = match text.is_null() {
                    true => (0, NO_MESSAGE),
                    false => {
                        let (units, length) = string_units(text);
                        let kept = (length as usize).min(MAX_UNITS).min(UNITS - used);
                        std::ptr::copy_nonoverlapping(units, self.units.get().cast::<u16>().add(used), kept);
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
        self.count.set(count);
        true
    }

    /// Returns the exceptions, each with the units kept of its message.
    ///
    /// # Safety
    /// No other thread writes the chain while the result is used.
    pub(super) unsafe fn links(&self) -> impl Iterator<Item = (Link, &[u16])> {
        // SAFETY: the caller's contract.
        let mut rest: &[u16] = unsafe { &*self.units.get() };
        self.links.iter().take(self.count.get() as usize).map(move |link| {
            let link = link.get();
            let (units, more) = rest.split_at_checked(link.kept().unwrap_or(0)).unwrap_or_default();
            rest = more;
            (link, units)
        })
    }
}

/// Returns a message as a value.
pub(super) fn message(link: &Link, units: &[u16]) -> Value {
    match link.kept() {
        Some(_) => Value::String { units: units.to_vec(), length: link.length },
        None => Value::Null,
    }
}

/// The message of an exception that may not be read.
pub(super) const CAPPED: Value = Value::Omitted(OmittedReason::Capped);

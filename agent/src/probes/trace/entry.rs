//! Memory layout of a traced call, and the method that it belongs to.

use super::async_calls::AsyncLink;
use crate::capture::CallCondition;
use crate::capture::shape::MAX_DEPTH;
use crate::probes::exception_stack::ExceptionClass;
use redial_protocol::limits::MAX_STACK_FRAMES;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Calls a second of one method, unless its dial has another limit.
pub(super) const RATE: u64 = 1_000;
/// Alignment of entries: a pointer to one has room for the number of a place.
pub(super) const ALIGN: usize = 64;
/// Maximum bytes for the values of one call.
pub(super) const MAX_VALUE_BYTES: usize = 1 << 10;
/// Maximum number of objects that are looked into for one call.
pub(super) const MAX_DEREFERENCES: u32 = 64;
/// Offset of the first place of a value in an entry.
pub const PLACES: usize = size_of::<Entry>();
/// Duration of a call that was not timed.
pub(super) const UNTIMED: u64 = u64::MAX;

/// A method whose body is traced: the part that helpers use. The bodies hold its address, so it is never freed.
#[derive(Debug)]
pub struct TracedMethod {
    /// Number of its plan.
    pub plan: u32,
    /// Bytes of an entry without strings.
    pub(super) fixed: u32,
    /// Bytes of an entry at most.
    pub(super) capacity: u32,
    /// Values that helpers capture.
    pub(super) captures: u32,
    /// Objects within objects that are captured.
    pub(super) depth: AtomicU32,
    /// Calls that may be captured in a second.
    rate: AtomicU64,
    /// Calls that may still be captured. The collector refills it.
    pub(super) tokens: AtomicI64,
    /// Calls that a thread takes from `tokens` at a time.
    pub(super) at_once: AtomicU32,
    /// Dropped calls that no thread's area counts any more.
    pub(super) over_rate: AtomicU64,
    pub(super) no_room: AtomicU64,
    pub(super) undecided: AtomicU64,
    /// Decides which calls are kept, if not all.
    pub(super) condition: Option<CallCondition>,
    /// Bytes of an entry that values leave to the stack.
    pub(super) stack_bytes: u32,
    /// Its part in an async method.
    async_part: AsyncPart,
}

/// The part of a traced method in an async method.
#[derive(Clone, Copy, Debug, Default)]
pub enum AsyncPart {
    /// It is not async, or its calls are not followed.
    #[default]
    None,
    /// It starts the calls.
    Starts(&'static AsyncLink),
    /// It is the `MoveNext` that completes the calls.
    Completes(&'static AsyncLink),
}

impl TracedMethod {
    /// Returns a method with this many places for values, of which helpers capture `captures`.
    pub const fn new(plan: u32, places: usize, captures: usize) -> TracedMethod {
        let fixed = PLACES + places * size_of::<u64>();
        // Every call may end with a message.
        let most = if captures > 0 { MAX_VALUE_BYTES } else { MAX_VALUE_BYTES / 2 };
        let room = most.saturating_sub(places * size_of::<u64>());
        TracedMethod {
            plan,
            fixed: fixed as u32,
            capacity: (fixed + room).next_multiple_of(ALIGN) as u32,
            captures: captures as u32,
            depth: AtomicU32::new(MAX_DEPTH),
            rate: AtomicU64::new(RATE),
            tokens: AtomicI64::new(0),
            at_once: AtomicU32::new(1),
            over_rate: AtomicU64::new(0),
            no_room: AtomicU64::new(0),
            undecided: AtomicU64::new(0),
            condition: None,
            stack_bytes: 0,
            async_part: AsyncPart::None,
        }
    }
}

impl TracedMethod {
    /// Adds a condition on the calls that are kept.
    pub fn with_condition(self, condition: Option<CallCondition>) -> TracedMethod {
        TracedMethod { condition, ..self }
    }

    /// Makes room for the stack of each call if it is captured.
    pub fn with_stack(self, is_captured: bool) -> TracedMethod {
        let stack_bytes = if is_captured { (MAX_STACK_FRAMES * size_of::<u64>()) as u32 } else { 0 };
        TracedMethod { capacity: self.capacity + stack_bytes, stack_bytes, ..self }
    }

    /// Sets its part in an async method.
    pub fn with_async_part(self, async_part: AsyncPart) -> TracedMethod {
        TracedMethod { async_part, ..self }
    }

    /// Returns its part in an async method.
    pub fn async_part(&self) -> AsyncPart {
        self.async_part
    }

    /// Returns the async method whose calls it starts, if they are followed.
    pub(super) fn starts(&self) -> Option<&'static AsyncLink> {
        match self.async_part {
            AsyncPart::Starts(link) => Some(link),
            AsyncPart::None | AsyncPart::Completes(_) => None,
        }
    }

    /// Whether the stack of each call is captured.
    pub fn captures_stack(&self) -> bool {
        self.stack_bytes > 0
    }

    /// Returns the condition on the calls that are kept.
    pub fn condition(&self) -> Option<&CallCondition> {
        self.condition.as_ref()
    }

    /// Returns the condition, if captured bytes decide.
    #[inline(always)]
    pub(super) fn decides(&self) -> Option<&CallCondition> {
        self.condition.as_ref().filter(|condition| condition.needs_capture())
    }

    /// Sets the limits of later calls; without one, the usual limit.
    pub fn set_limits(&self, rate: Option<u32>, depth: Option<u8>) {
        let rate = rate.map_or(RATE, u64::from);
        self.rate.store(rate, Ordering::Relaxed);
        self.tokens.fetch_min(i64::try_from(rate).unwrap_or(i64::MAX), Ordering::Relaxed);
        self.depth.store(depth.map_or(MAX_DEPTH, u32::from), Ordering::Relaxed);
    }

    /// Returns the calls that may be captured in a second.
    pub fn rate(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }
}

/// A traced call, at the beginning of its bytes: places for values and then bytes of strings follow.
#[repr(C)]
pub(super) struct Entry {
    /// [`ENTERING`], then [`IN_FLIGHT`], then [`ENDED`]. Readers check it before and after.
    pub(super) state: AtomicU32,
    /// Bytes in use, with this header.
    pub(super) used: u32,
    /// Bytes in use when the arguments were complete.
    pub(super) with_arguments: u32,
    /// Offset of the entry below in the area's stack.
    pub(super) below: u32,
    pub(super) method: *const TracedMethod,
    /// Address of the body's variable, which identifies the call.
    pub(super) variable: usize,
    /// Number of the call on this area; changes with each.
    pub(super) number: AtomicU64,
    /// Beginning in ticks; 0 until it is known. Of a completion, when it happens.
    pub(super) start: AtomicU64,
    /// Duration in ticks, or [`UNTIMED`]. Of a completion, that of its step so far.
    pub(super) took: u64,
    pub(super) class: ExceptionClass,
    /// Number of timed calls around it.
    pub(super) depth: u32,
    /// Whether an exception ended it.
    pub(super) thrown: u16,
    /// Inner exceptions whose classes and messages follow the exception's message.
    pub(super) inner: u16,
    /// Objects that were looked into so far.
    pub(super) dereferences: u32,
    /// Values that helpers captured so far.
    pub(super) captured: u32,
    /// Offset of the record of the exception's message; 0 for none.
    pub(super) message: u32,
    /// Offset of the return addresses of its callers; 0 for none.
    pub(super) stack: u32,
    /// Their number.
    pub(super) frames: u32,
    /// Number of the async call that it starts or completes; 0 for none.
    pub(super) async_number: u32,
}

/// Bytes of a call's values that each value leaves to every later one.
const SHARE: usize = 48;

impl Entry {
    /// Counts one more value that a helper captures, and returns the end of the bytes that it may use.
    ///
    /// # Safety
    /// On the thread that owns the entry.
    pub(super) unsafe fn begin_value(&mut self) -> usize {
        self.captured += 1;
        // SAFETY: methods are never freed.
        let method = unsafe { &*self.method };
        let later = method.captures.saturating_sub(self.captured) as usize;
        // SAFETY: the caller's contract.
        unsafe { self.limit() }.saturating_sub(later * SHARE)
    }

    /// Returns the end of the bytes for values: those of a stack that is not captured yet are left out.
    ///
    /// # Safety
    /// On the thread that owns the entry.
    pub(super) unsafe fn limit(&self) -> usize {
        // SAFETY: methods are never freed.
        let method = unsafe { &*self.method };
        let reserved = if self.stack == 0 { method.stack_bytes } else { 0 };
        method.capacity.saturating_sub(reserved) as usize
    }
}

const _: () = assert!(PLACES.is_multiple_of(size_of::<u64>()));

/// The arguments are not complete.
pub(super) const ENTERING: u32 = 0;
/// The arguments are complete, and the call runs.
pub(super) const IN_FLIGHT: u32 = 1;
/// The call has ended; its result may be written.
pub(super) const ENDED: u32 = 2;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It has not.
    InFlight,
    /// It returned.
    Returned,
    /// An exception of this class left it; all zero if unknown.
    Thrown(ExceptionClass),
}

/// The async call that a call belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncProgress {
    /// Its number; 0 for none, or if its beginning was not seen.
    pub number: u32,
    /// Of a completion, the ticks of its step until then.
    pub last_step: u64,
}

/// A call as read from an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedCall {
    /// [`TracedMethod::plan`].
    pub plan: u32,
    /// Operating-system id of the thread.
    pub thread: u32,
    /// Beginning in ticks; 0 if unknown.
    pub start: u64,
    /// Duration in ticks; None while in flight, and if it was not timed.
    pub took: Option<u64>,
    /// Number of timed calls around it.
    pub depth: u32,
    /// How it ended.
    pub end: CallEnd,
    /// Offset of the record of the exception's message, if there is one.
    pub message: Option<u32>,
    /// Inner exceptions whose classes and messages follow it.
    pub inner: u32,
    /// Offset of the return addresses of its callers, eight bytes each, and their number.
    pub stack: (u32, u32),
    /// The async call that it starts or completes.
    pub async_call: AsyncProgress,
    /// The entry's bytes: offsets of values count from its beginning.
    pub bytes: Vec<u8>,
}

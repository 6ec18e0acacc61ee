//! A thread's area for traced calls.

use super::entry::{
    ALIGN, AsyncPart, AsyncProgress, CallEnd, ENDED, ENTERING, EndedCall, Entry, IN_FLIGHT, TracedMethod,
    UNTIMED,
};
use super::exceptions::KeptExceptions;
use super::grant::{GRANTS, Grant};
use crate::probes::address_space;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::thread_list::{ThreadItem, ThreadList};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Bytes of the stack of calls.
const STACK: usize = 24 << 10;
/// Bytes of a ring, a power of two.
const RING: usize = 32 << 10;
/// Bytes of the ring of each of the first [`LARGE_AREAS`]: few programs trace on more threads at once, and a burst of
/// calls with objects fills a small ring within a millisecond.
const LARGE_RING: usize = 256 << 10;
const LARGE_AREAS: usize = 64;
/// Bytes of a ring after which an empty one starts over, so that pages which no burst needs are never touched. The largest
/// entry fits.
const STARTS_OVER: usize = RING;
/// Bytes of an area before its ring.
const HEAD: usize = 32 << 10;
/// Maximum bytes of all areas.
const BUDGET: usize = 48 << 20;
/// Bytes before a call in the ring: its length and above it its thread's id, or [`SKIP`]. The area may have another owner
/// by the time the call is taken.
const PREFIX: usize = size_of::<u64>();
/// The rest of the ring before its beginning is unused.
const SKIP: u64 = u64::MAX;
/// Position of the thread's id in the prefix.
const THREAD: u32 = 32;

/// A thread's area. Only its owner writes, except `tail`: the collector moves it while it is below `head`, the owner while
/// the ring is empty.
#[repr(C)]
pub struct ThreadArea {
    next: AtomicPtr<ThreadArea>,
    owned: AtomicBool,
    /// Operating-system id of the owner's thread.
    thread: AtomicU32,
    /// Offset of the innermost entry on the stack.
    top: AtomicU32,
    /// Calls so far.
    numbers: Cell<u64>,
    /// Bytes ever written to the ring.
    head: AtomicU64,
    /// Bytes ever taken from it.
    tail: AtomicU64,
    /// Bytes of the ring that were ever written to.
    reached: AtomicUsize,
    grants: [Grant; GRANTS],
    exceptions: KeptExceptions,
    /// The ring follows the area in memory.
    ring: *mut u64,
    ring_bytes: usize,
    stack: Stack,
}

#[repr(C, align(64))]
struct Stack([u8; STACK]);

const _: () = assert!(size_of::<ThreadArea>() <= HEAD && ALIGN == align_of::<Stack>());
const _: () = assert!(PREFIX + STACK <= STARTS_OVER);

impl ThreadItem for ThreadArea {
    fn owned(&self) -> &AtomicBool {
        &self.owned
    }

    fn next(&self) -> &AtomicPtr<ThreadArea> {
        &self.next
    }
}

static AREAS: ThreadList<ThreadArea> = ThreadList::new();
static USED: AtomicUsize = AtomicUsize::new(0);
static LARGE: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes of all areas, without the parts of rings that no call has reached yet.
pub fn touched_bytes() -> usize {
    let unused: usize = areas().map(ThreadArea::unused_bytes).sum();
    USED.load(Ordering::Relaxed).saturating_sub(unused)
}

/// Iterates over every area, including those without a thread.
pub fn areas() -> impl Iterator<Item = &'static ThreadArea> {
    AREAS.all()
}

impl ThreadArea {
    /// Returns an area for the calling thread, recycled if possible; None if memory is used up or refused.
    pub(crate) fn acquire() -> Option<&'static ThreadArea> {
        let area = match AREAS.claim() {
            Some(area) => area,
            // SAFETY: complete, never given back, and nobody else knows it.
            None => unsafe { AREAS.append(ThreadArea::new()?) },
        };
        area.thread.store(crate::platform::thread_id(), Ordering::Relaxed);
        Some(area)
    }

    fn new() -> Option<NonNull<ThreadArea>> {
        let is_large = LARGE.fetch_add(1, Ordering::Relaxed) < LARGE_AREAS;
        let ring_bytes = if is_large { LARGE_RING } else { RING };
        let bytes = HEAD + ring_bytes;
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= BUDGET);
        USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        let Some(memory) = address_space::allocate(bytes) else {
            USED.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        };
        let area = memory.cast::<ThreadArea>();
        // SAFETY: zeroed memory of its size and alignment, and of the ring's behind it, that is never given back; zeros
        // are valid in all fields, and nobody else knows it yet. The lowest entry stands for no call: no address is
        // above its variable.
        unsafe {
            (*area.as_ptr()).ring = memory.as_ptr().add(HEAD).cast();
            (*area.as_ptr()).ring_bytes = ring_bytes;
            area.as_ref().owned.store(true, Ordering::Relaxed);
            let bottom = area.as_ref().entry(0);
            (*bottom).variable = usize::MAX;
            (*bottom).used = size_of::<Entry>() as u32;
            (*bottom).method = &raw const NO_METHOD;
        }
        Some(area)
    }

    /// Returns an area that belongs to no thread and that the collector does not know, with grants for `calls` calls of
    /// a method. It is never given back.
    pub(super) fn unlisted(method: &'static TracedMethod, calls: u32) -> Option<&'static ThreadArea> {
        let area = ThreadArea::new()?;
        // SAFETY: never given back; nobody else knows it.
        let area = unsafe { area.as_ref() };
        let grant = area.grant(method)?;
        grant.method.store(std::ptr::from_ref(method).cast_mut(), Ordering::Relaxed);
        grant.left.set(calls);
        Some(area)
    }

    /// Drops the calls in the ring. Only for an area that the collector does not know.
    pub(super) fn forget(&self) {
        self.tail.store(self.head.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Releases the area for another thread. Calls in flight never end.
    pub(crate) fn release(&self) {
        self.top.store(0, Ordering::Release);
        self.owned.store(false, Ordering::Release);
    }

    /// Returns the place of a method in the table of grants.
    #[inline(always)]
    pub(super) fn grant(&self, method: &TracedMethod) -> Option<&Grant> {
        self.grants.get(method.plan as usize % GRANTS)
    }

    /// Counts a call that had no room.
    #[cold]
    fn count_no_room(&self, method: &TracedMethod) {
        if let Some(grant) = self.own_grant(method) {
            grant.count_no_room();
        }
    }

    /// Returns the operating-system id of the owner's thread.
    pub(super) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Returns the offset of the innermost entry.
    pub(super) fn top(&self) -> u32 {
        self.top.load(Ordering::Acquire)
    }

    /// Returns the entry at an offset on the stack.
    #[inline(always)]
    pub(super) fn entry(&self, offset: u32) -> *mut Entry {
        self.stack.0.as_ptr().cast_mut().wrapping_add(offset as usize).cast()
    }

    /// Whether a whole entry of this many bytes may lie at an offset.
    pub(super) fn holds(offset: u32, bytes: usize) -> bool {
        (offset as usize).is_multiple_of(ALIGN) && offset as usize + bytes <= STACK
    }

    /// Begins a call: returns its entry, or None if it is not captured.
    ///
    /// # Safety
    /// On the thread that owns the area; `variable` is a variable in the stack frame of the call.
    #[inline(always)]
    pub(super) unsafe fn begin(
        &self,
        method: &'static TracedMethod,
        variable: *const usize,
    ) -> Option<*mut Entry> {
        // Otherwise it takes one once the call is known to be wanted.
        if method.decides().is_none() && !self.take_grant(method) {
            return None;
        }
        // SAFETY: the caller's contract.
        unsafe { self.push(method, variable) }
    }

    /// Puts an entry on the stack of calls; None if there is no room.
    ///
    /// # Safety
    /// As [`ThreadArea::begin`].
    #[inline(always)]
    pub(super) unsafe fn push(
        &self,
        method: &'static TracedMethod,
        variable: *const usize,
    ) -> Option<*mut Entry> {
        let mut top = self.top.load(Ordering::Relaxed);
        // SAFETY: `top` is the offset of an entry, and so is each `below`; the lowest one has the highest variable.
        // Between the innermost entry's end and the end of the stack there is nobody's memory but ours.
        unsafe {
            // Calls of frames that were left without notice.
            while (*self.entry(top)).variable <= variable.addr() {
                top = (*self.entry(top)).below;
            }
            // The call below may still grow: it does so once this one has ended.
            let at = top + (*self.entry(top)).used.next_multiple_of(ALIGN as u32);
            if at as usize + method.capacity as usize > STACK {
                self.count_no_room(method);
                return None;
            }
            let entry = self.entry(at);
            (*entry).state.store(ENTERING, Ordering::Relaxed);
            // A reader that sees any write below sees this one when it looks again.
            fence(Ordering::Release);
            let number = self.numbers.get().wrapping_add(1);
            self.numbers.set(number);
            (*entry).number.store(number, Ordering::Release);
            (*entry).used = method.fixed;
            (*entry).below = top;
            (*entry).method = method;
            (*entry).variable = variable.addr();
            (*entry).dereferences = 0;
            (*entry).captured = 0;
            (*entry).message = 0;
            (*entry).inner = 0;
            (*entry).stack = 0;
            (*entry).frames = 0;
            (*entry).async_number = 0;
            (*entry).start.store(0, Ordering::Relaxed);
            self.top.store(at, Ordering::Release);
            Some(entry)
        }
    }

    /// Takes the entry of a call that is not kept from the stack.
    ///
    /// # Safety
    /// As [`ThreadArea::end`].
    pub(super) unsafe fn cancel(&self, entry: *mut Entry) {
        // SAFETY: the caller's contract.
        let below = unsafe { (*entry).below };
        self.top.store(below, Ordering::Release);
    }

    /// Takes a call's entry from the stack and copies it into the ring.
    ///
    /// # Safety
    /// On the thread that owns the area; the entry came from [`ThreadArea::begin`] and was not ended.
    #[inline(always)]
    pub(super) unsafe fn end(&self, entry: *mut Entry) {
        // SAFETY: the caller's contract.
        let (used, below, method) = unsafe { ((*entry).used as usize, (*entry).below, &*(*entry).method) };
        self.top.store(below, Ordering::Release);
        let words = used.div_ceil(size_of::<u64>());
        let needed = PREFIX + words * size_of::<u64>();
        let (mut head, mut tail) = (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Acquire));
        let mut at = head as usize & (self.ring_bytes - 1);
        if tail == head && at >= STARTS_OVER {
            // The collector leaves the tail alone until the head is beyond it.
            head += (self.ring_bytes - at) as u64;
            (tail, at) = (head, 0);
            self.tail.store(tail, Ordering::Relaxed);
        }
        let skipped = if at + needed > self.ring_bytes { self.ring_bytes - at } else { 0 };
        let free = self.ring_bytes - (head - tail) as usize;
        if skipped + needed > free {
            return self.count_no_room(method);
        }
        let ring = self.ring;
        // SAFETY: the collector reads nothing beyond `head`, and the places fit: `at` is a multiple of 8 within the ring.
        // The entry has as many words, since its capacity is a multiple of 64.
        unsafe {
            let mut place = ring.add(at / 8);
            if skipped > 0 {
                place.write(SKIP);
                place = ring;
            }
            place.write(used as u64 | u64::from(self.thread()) << THREAD);
            std::ptr::copy_nonoverlapping(entry.cast::<u64>(), place.add(1), words);
        }
        self.head.store(head + (skipped + needed) as u64, Ordering::Release);
        let reached = at + if skipped > 0 { PREFIX } else { needed };
        if reached > self.reached.load(Ordering::Relaxed) {
            self.reached.store(reached, Ordering::Relaxed);
        }
    }

    /// Takes all calls from the ring, oldest first. Only the collector calls it.
    pub fn drain(&self, mut each: impl FnMut(EndedCall)) {
        // In this order: while the tail is below the head, its owner does not move it.
        let head = self.head.load(Ordering::Acquire);
        let mut tail = self.tail.load(Ordering::Relaxed);
        let ring = self.ring;
        while tail < head {
            let at = tail as usize & (self.ring_bytes - 1);
            // SAFETY: below `head` there are whole calls, written before it was.
            let prefix = unsafe { ring.add(at / 8).read() };
            if prefix == SKIP {
                // A call follows.
                tail += (self.ring_bytes - at) as u64;
                continue;
            }
            let used = (prefix as u32 as usize).min(self.ring_bytes - at - PREFIX);
            // SAFETY: as above; the bytes are within the ring, and begin with an entry's header.
            let (entry, bytes) = unsafe {
                let entry = ring.add(at / 8 + 1);
                (&*entry.cast::<Entry>(), std::slice::from_raw_parts(entry.cast::<u8>(), used).to_vec())
            };
            each(ended(entry, (prefix >> THREAD) as u32, bytes));
            tail += (PREFIX + used.next_multiple_of(8)) as u64;
            self.tail.store(tail, Ordering::Release);
        }
    }

    /// Returns the bytes of the ring that were ever written.
    pub(super) fn reached_bytes(&self) -> usize {
        self.reached.load(Ordering::Relaxed).min(self.ring_bytes)
    }

    /// Returns the bytes of the ring that were never written.
    fn unused_bytes(&self) -> usize {
        self.ring_bytes - self.reached_bytes()
    }

    /// Returns the share of the ring that is in use, in percent.
    pub fn fill(&self) -> usize {
        let used = self.head.load(Ordering::Relaxed).saturating_sub(self.tail.load(Ordering::Relaxed));
        used as usize * 100 / self.ring_bytes
    }

    /// Keeps an exception; see [`KeptExceptions::keep`].
    pub(crate) fn keep_exception(
        &self,
        number: u32,
        exception: usize,
        class: impl Fn(usize) -> ExceptionClass,
    ) {
        // SAFETY: on the owner's thread, in the callback that passes the exception.
        unsafe { self.exceptions.keep(number, std::ptr::with_exposed_provenance(exception), class) }
    }

    /// Adds the exception that ended a call; see [`KeptExceptions::add`].
    ///
    /// # Safety
    /// On the thread that owns the area; the entry came from [`ThreadArea::begin`] and was not ended.
    pub(super) unsafe fn add_exception(&self, entry: *mut Entry, number: u32) {
        // SAFETY: the caller's contract.
        unsafe { self.exceptions.add(entry, number) }
    }
}

fn ended(entry: &Entry, thread: u32, bytes: Vec<u8>) -> EndedCall {
    // SAFETY: methods are never freed.
    let method = unsafe { &*entry.method };
    let mut async_call = AsyncProgress { number: entry.async_number, ..AsyncProgress::default() };
    let mut took = Some(entry.took).filter(|took| *took != UNTIMED);
    if let AsyncPart::Completes(_) = method.async_part() {
        async_call.last_step = took.replace(0).unwrap_or_default();
    }
    EndedCall {
        plan: method.plan,
        thread,
        start: entry.start.load(Ordering::Relaxed),
        took,
        depth: entry.depth,
        end: if entry.thrown == 0 { CallEnd::Returned } else { CallEnd::Thrown(entry.class) },
        message: Some(entry.message).filter(|message| *message != 0),
        inner: entry.inner.into(),
        stack: (entry.stack, entry.frames),
        async_call,
        bytes,
    }
}

/// The method of the lowest entry.
static NO_METHOD: TracedMethod = TracedMethod::new(0, 0, 0);

/// Marks a call's arguments as complete, with its beginning.
///
/// # Safety
/// On the thread that owns the entry, between its begin and its end.
pub(super) unsafe fn arguments_complete(entry: *mut Entry, start: u64, depth: u32) {
    // SAFETY: the caller's contract.
    unsafe {
        (*entry).with_arguments = (*entry).used;
        (*entry).depth = depth;
        (*entry).start.store(start, Ordering::Relaxed);
        (*entry).state.store(IN_FLIGHT, Ordering::Release);
    }
}

/// Sets how a call ended.
///
/// # Safety
/// As [`arguments_complete`].
pub(super) unsafe fn set_end(entry: *mut Entry, times: Option<(u64, u64)>, thrown: Option<ExceptionClass>) {
    // SAFETY: the caller's contract.
    unsafe {
        (*entry).state.store(ENDED, Ordering::Relaxed);
        (*entry).took = UNTIMED;
        if let Some((start, took)) = times {
            (*entry).start.store(start, Ordering::Relaxed);
            (*entry).took = took;
        }
        (*entry).thrown = u16::from(thrown.is_some());
        if let Some(class) = thrown {
            (*entry).class = class;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_take_what_calls_have_reached() {
        let before = touched_bytes();
        // SAFETY: complete, never given back, and nobody else knows it.
        let area = unsafe { AREAS.append(ThreadArea::new().unwrap()) };
        let of_it = |area: &ThreadArea| HEAD + area.ring_bytes - area.unused_bytes();
        assert_eq!(of_it(area), HEAD);
        assert!(touched_bytes() < before + HEAD + area.ring_bytes);
        for (reached, bytes) in [(1000, HEAD + 1000), (usize::MAX, HEAD + area.ring_bytes)] {
            area.reached.store(reached, Ordering::Relaxed);
            assert_eq!(of_it(area), bytes);
        }
    }
}

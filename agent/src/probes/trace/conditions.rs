//! Decides from a call's captured bytes whether the call is kept.

use super::area::ThreadArea;
use super::entry::{Entry, PLACES, TracedMethod, UNTIMED};
use super::objects;
use crate::capture::CallOutcome;
use crate::guard::guard_always;
use crate::probes::{clock, exception_types};
use redial_protocol::condition::Undecided;

impl ThreadArea {
    /// Whether a call may be kept, from its arguments.
    ///
    /// # Safety
    /// On the thread that owns the area; the entry came from [`ThreadArea::begin`] and has its arguments.
    pub(super) unsafe fn is_wanted_at_entry(&self, entry: *mut Entry) -> bool {
        // SAFETY: the caller's contract; methods are never freed.
        let (method, bytes) = unsafe { (&*(*entry).method, captured(entry)) };
        let Some(condition) = method.decides() else { return true };
        let holds = guard_always(Err(Undecided), || condition.holds_at_entry(bytes, PLACES, &objects::shape));
        self.is_wanted(method, holds, condition.exit.is_empty())
    }

    /// Whether a call that has ended is kept.
    ///
    /// # Safety
    /// As [`ThreadArea::is_wanted_at_entry`]; its end is set.
    #[inline(always)]
    pub(super) unsafe fn is_wanted_at_exit(&self, entry: *mut Entry) -> bool {
        // SAFETY: the caller's contract; methods are never freed.
        let method = unsafe { &*(*entry).method };
        match method.decides() {
            Some(condition) if !condition.exit.is_empty() => {
                // SAFETY: the caller's contract.
                unsafe { self.decide_at_exit(method, entry) }
            }
            _ => true,
        }
    }

    #[inline(never)]
    unsafe fn decide_at_exit(&self, method: &'static TracedMethod, entry: *mut Entry) -> bool {
        let Some(condition) = method.decides() else { return true };
        if method.starts().is_some() {
            // SAFETY: the caller's contract.
            let is_followed = unsafe { (*entry).async_number != 0 };
            // Its completion decides; without one nothing does.
            return is_followed || self.is_wanted(method, Err(Undecided), true);
        }
        // SAFETY: the caller's contract.
        let (bytes, took, message) = unsafe { (captured(entry), (*entry).took, (*entry).message as usize) };
        // SAFETY: the caller's contract.
        let thrown = unsafe { ((*entry).thrown != 0).then_some((*entry).class) };
        let end = CallOutcome {
            duration_ns: (took != UNTIMED).then(|| (took as f64 * clock::ns_per_tick()) as i64),
            thrown: thrown.map(|_| message),
            exception_type: thrown.and_then(exception_types::name_of),
        };
        let holds =
            guard_always(Err(Undecided), || condition.holds_at_exit(bytes, PLACES, end, &objects::shape));
        self.is_wanted(method, holds, true)
    }

    /// Counts an undecided call, and takes a grant for one that is known to be kept.
    fn is_wanted(
        &self,
        method: &'static TracedMethod,
        holds: Result<bool, Undecided>,
        is_last: bool,
    ) -> bool {
        match holds {
            Ok(true) => !is_last || self.take_grant(method),
            Ok(false) => false,
            Err(Undecided) => {
                if let Some(grant) = self.own_grant(method) {
                    grant.count_undecided();
                }
                false
            }
        }
    }
}

/// Returns the bytes of an entry.
///
/// # Safety
/// On the thread that owns the entry, which nobody writes while the bytes are in use.
unsafe fn captured(entry: *mut Entry) -> &'static [u8] {
    // SAFETY: the caller's contract: `used` bytes are the entry's own, and areas are never freed.
    unsafe { std::slice::from_raw_parts(entry.cast::<u8>(), (*entry).used as usize) }
}

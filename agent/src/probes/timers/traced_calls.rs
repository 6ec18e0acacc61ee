//! The area of a timer's thread for traced calls.

use crate::probes::trace::ThreadArea;
use std::cell::Cell;

/// The area of the timer's thread for traced calls. Zeroed memory is one.
#[repr(C)]
pub(super) struct TracedCalls {
    pub(super) area: Cell<*const ThreadArea>,
    /// Whether the thread gets none.
    pub(super) refused: Cell<bool>,
}

impl TracedCalls {
    /// Gives the area back.
    pub(super) fn give_back(&self) {
        // SAFETY: null or an area; those are never freed.
        if let Some(area) = unsafe { self.area.replace(std::ptr::null()).as_ref() } {
            area.release();
        }
        self.refused.set(false);
    }
}

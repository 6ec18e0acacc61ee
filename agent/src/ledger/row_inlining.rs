//! The compiled callers that have inlined a row's copy.
#![forbid(unsafe_code)]

use crate::inlining::{Inlined, Method};

/// The compiled callers that have inlined a row's copy.
#[derive(Default)]
pub struct RowInlining {
    /// Whether compiled callers inlined it before it was dialled, and cannot be recompiled.
    pub inlined: Inlined,
    /// Methods compiled with it inlined: while it is on, they are recompiled without it.
    pub inliners: Box<[Method]>,
    /// Whether the runtime was asked to find more of them itself.
    pub searched_by_runtime: bool,
    /// Whether the runtime may count it among the inliners of others.
    pub found_by_runtime: bool,
}

impl RowInlining {
    /// Forgets all but whether calls were missed, for a row that is off.
    pub(super) fn reset(&mut self) {
        *self = RowInlining { inlined: self.inlined, ..RowInlining::default() };
    }
}

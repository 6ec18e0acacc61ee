//! The selection of a process that others join, until its methods are imported.

use crate::ids::{ConnectionId, Node};
use crate::selection::Selection;
use std::collections::HashSet;

/// The selected method and the expanded groups of a process that was shown alone, until its methods are imported.
#[derive(Debug)]
pub(super) struct CarriedSelection {
    pub(super) from: ConnectionId,
    /// The numbering in which it names methods.
    pub(super) numbering: u64,
    pub(super) selection: Selection,
    pub(super) unfolded: HashSet<Node>,
}

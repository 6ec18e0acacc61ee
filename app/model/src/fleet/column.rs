//! The mapping of the fleet's rows to one process.

use crate::catalogue::module_removal::Renumbering;

/// Maps rows of the fleet's list to one process.
#[derive(Debug, Default)]
pub struct ColumnMapping {
    pub(super) to: Renumbering,
    /// The editions of both catalogues and the process's numbering, of which the mapping was computed.
    pub(super) computed_from: Option<(u64, u64, u64)>,
    /// Editions of both lists when the process last followed the fleet's.
    pub(super) lists: (u64, u64),
    /// Editions of both selections at that time.
    pub(super) selections: (u64, u64),
}

//! The user's choice of processes: one, or several, merged or side by side.

use super::fleet::Fleet;
use super::ids::ConnectionId;
use redial_protocol::ids::ProcessKey;

/// How several processes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// As one list: numbers are sums, and a dial applies to all of them.
    #[default]
    Merged,
    /// As one list, with a row for each process that has the method.
    Separate,
    /// Side by side, with one column each.
    SideBySide,
}

/// The chosen processes and their fleet.
#[derive(Debug, Default)]
pub struct ProcessChoice {
    /// In the order of choosing.
    pub(super) processes: Vec<ProcessKey>,
    /// The start of a range selection.
    pub(super) anchor: Option<ProcessKey>,
    /// How they are shown.
    pub(super) arrangement: Arrangement,
    /// Present while there are several.
    pub(super) fleet: Option<Fleet>,
    /// The visible ones while side by side.
    pub(super) in_sight: Vec<ConnectionId>,
}

//! The modules and rows that are still to be removed from the fleet's table.

use redial_protocol::ids::{ModuleKey, RowId};

/// Modules and rows that are still to be removed.
#[derive(Debug, Default)]
pub(super) struct PendingRemoval {
    pub(super) modules: Vec<ModuleKey>,
    /// The rows of these modules.
    pub(super) rows: Vec<RowId>,
    /// Whether the modules are hidden already.
    pub(super) hidden: bool,
}

impl PendingRemoval {
    /// Whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }
}

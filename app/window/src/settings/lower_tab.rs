//! The tabs of the panel below the methods.

use serde::{Deserialize, Serialize};

/// The tabs of the panel below the methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LowerTab {
    /// The table of traced calls.
    #[default]
    Events,
    /// When traced calls ran.
    Timeline,
    /// The tree of traced calls.
    Calls,
    /// Numbers of selected methods over time.
    Charts,
    /// Source and IL of the selected method.
    Code,
}

impl LowerTab {
    /// All tabs, in order.
    pub const ALL: [LowerTab; 5] =
        [LowerTab::Events, LowerTab::Timeline, LowerTab::Calls, LowerTab::Charts, LowerTab::Code];
}

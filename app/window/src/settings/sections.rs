//! The sections of the details that can be collapsed.

use serde::{Deserialize, Serialize};

/// A section of the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DetailSection {
    /// Calls and times.
    Numbers,
    /// Callers.
    Callers,
    /// The slowest calls.
    Slowest,
    /// The histogram of durations.
    Histogram,
    /// The rate of the last minute.
    Rate,
}

//! The sections of the details that can be collapsed.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;

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

/// Reads sections, and leaves out those that only a later version has.
pub(super) fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<DetailSection>, D::Error> {
    let all = serde_json::Value::deserialize(deserializer)?.as_array().cloned().unwrap_or_default();
    Ok(all.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect())
}

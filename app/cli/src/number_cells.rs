//! Numbers in tables of live values: the sign before a number that misses calls, and rates.

use redial_model::dials::DialledCopy;
use redial_protocol::state::CopyState;
use redial_text::words;

/// The sign before a number that misses calls.
pub const AT_LEAST: char = '≥';

/// Explains the sign.
pub const EXPLAINED: &str = "≥ at least: some calls cannot be counted (`redial status` shows why)";

/// Returns whether the number of calls is known to miss some. The note of a dial that is not on has another reason.
pub fn leaves_out(dial: &DialledCopy) -> bool {
    dial.row.note.is_some() && matches!(dial.row.state, CopyState::Asked | CopyState::Live)
}

/// Formats a rate in calls per second, or `-` if it is unknown.
pub fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), words::rate)
}

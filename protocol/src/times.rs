//! How long calls of a copy take.

use crate::ids::RowId;
use serde::{Deserialize, Serialize};

/// A row's times, all that were taken since its module loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The row.
    pub row: RowId,
    /// Calls under way.
    pub in_flight: u64,
    /// Timed calls that ended.
    pub exits: u64,
    /// Those of them that ended by an exception.
    pub exceptions: u64,
    /// Nanoseconds in it, of the outermost of its activations on each thread.
    pub total_ns: u64,
    /// Nanoseconds in it without dialled callees that are timed, too.
    pub self_ns: u64,
    /// The longest call, nanoseconds.
    pub max_ns: u64,
    /// Absent while no call has ended, and where memory for them ran out.
    pub percentiles: Option<Percentiles>,
}

/// Durations that so many calls in a hundred did not pass, nanoseconds; at most 2 % off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of them.
    pub p50_ns: u64,
    /// 90 of them.
    pub p90_ns: u64,
    /// 99 of them.
    pub p99_ns: u64,
}

//! Slowest calls: the longest recent calls that met a condition ([`crate::order::TimeOptions`]).

use crate::callers::CallOrigin;
use crate::codec::capped;
use crate::ids::RowId;
use crate::limits::{MAX_SLOWEST_CALLS, MAX_STACK_FRAMES};
use serde::{Deserialize, Serialize};

/// Slowest calls of a row since its condition was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSlowestCalls {
    /// The row.
    pub row: RowId,
    /// Longest first: the `limits::MAX_SLOWEST_CALLS` longest calls of the current five-minute period and of
    /// the one before.
    #[serde(deserialize_with = "capped::<_, _, MAX_SLOWEST_CALLS>")]
    pub calls: Vec<SlowCall>,
    /// Number of calls that met the condition since it was set.
    pub met: u64,
    /// Number of these calls that were dropped because too many threads were recording calls of the method at
    /// that moment.
    pub missed: u64,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCall {
    /// End of the call, Unix time in milliseconds.
    pub ended_unix_ms: u64,
    /// Duration in nanoseconds.
    pub took_ns: u64,
    /// Operating-system id of the thread (on Linux within the namespace of the process); 0 if unknown.
    pub thread: u32,
    /// Whether the call ended with an exception.
    pub failed: bool,
    /// Type of the exception, for generic types the definition. Absent for calls that returned and where it is
    /// unknown.
    pub exception: Option<String>,
    /// Its callers, the innermost first, if stacks are captured ([`crate::order::TimeOptions::stack`]).
    #[serde(deserialize_with = "capped::<_, _, MAX_STACK_FRAMES>")]
    pub stack: Vec<CallOrigin>,
}

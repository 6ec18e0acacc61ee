//! Calls that are kept: the worst of those for which a condition holds ([`crate::order::TimeOptions`]).

use crate::codec::capped;
use crate::ids::RowId;
use crate::limits::MAX_KEPT_CALLS;
use serde::{Deserialize, Serialize};

/// The worst calls of a row, since its condition stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCalls {
    /// The row.
    pub row: RowId,
    /// The longest first: of all that ended in the present period of five minutes, and in the one before, the
    /// `limits::MAX_KEPT_CALLS` longest.
    #[serde(deserialize_with = "capped::<_, _, MAX_KEPT_CALLS>")]
    pub calls: Vec<KeptCall>,
    /// Calls for which the condition held since it stands.
    pub met: u64,
    /// Those of them that were left out, because as many threads were writing down calls of this method at that moment.
    pub missed: u64,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCall {
    /// When it ended, Unix time in milliseconds.
    pub ended_unix_ms: u64,
    /// How long it took, nanoseconds.
    pub took_ns: u64,
    /// The operating system's number of its thread (on Linux as in the process's own namespace); 0 where it is unknown.
    pub thread: u32,
    /// Whether an exception ended it.
    pub failed: bool,
    /// The exception's type, generic ones by their definition; absent for a call that returned, and where it is unknown.
    pub exception: Option<String>,
}

//! Counter deltas: what changed since the last fold, in columns.

use crate::codec::capped;
use crate::ids::RowId;
use crate::limits::MAX_COUNTER_ROWS;
use serde::{Deserialize, Serialize};

/// One fold of the per-thread counters. Only rows whose numbers changed are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterDelta {
    /// Milliseconds of the agent's monotonic clock since its start.
    pub t_ms: u64,
    /// Ledger rows, ascending. Same length as `calls`.
    #[serde(deserialize_with = "capped::<_, _, MAX_COUNTER_ROWS>")]
    pub rows: Vec<RowId>,
    /// Calls since the last delta this session was sent, per row.
    #[serde(deserialize_with = "capped::<_, _, MAX_COUNTER_ROWS>")]
    pub calls: Vec<u64>,
}

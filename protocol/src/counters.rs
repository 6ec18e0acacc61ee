//! Counter deltas: the changes since the last counter snapshot, in columns.

use crate::codec::capped;
use crate::ids::RowId;
use crate::limits::MAX_COUNTER_ROWS;
use serde::{Deserialize, Serialize};

/// Changes since the last counter snapshot. Contains only rows whose numbers changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterDelta {
    /// Milliseconds of the agent's monotonic clock since its start.
    pub t_ms: u64,
    /// Ledger rows, ascending. Same length as `calls`.
    #[serde(deserialize_with = "capped::<_, _, MAX_COUNTER_ROWS>")]
    pub rows: Vec<RowId>,
    /// Calls per row since the last delta sent to this session.
    #[serde(deserialize_with = "capped::<_, _, MAX_COUNTER_ROWS>")]
    pub calls: Vec<u64>,
}

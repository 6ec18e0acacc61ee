//! What a dialled call costs.

use crate::level::Level;
use serde::{Deserialize, Serialize};

/// What one call costs more at a level than undialled, as measured in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The level.
    pub level: Level,
    /// Thousandths of a nanosecond of processor time.
    pub picoseconds: u64,
}

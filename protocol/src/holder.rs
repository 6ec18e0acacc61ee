//! The holder of control, as it travels.

use serde::{Deserialize, Serialize};

/// The controller that has control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id, as the agent sees it.
    pub pid: u32,
    /// Name that the program gives itself (`redial dial`, `redial app`).
    pub program: String,
}

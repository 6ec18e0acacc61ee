//! The agent's report about itself: control, resources, the audit ring.

use crate::codec::capped;
use crate::cost::{Cost, CostBudget};
use crate::diagnostics::{AuditAction, Remainder, Resource};
use crate::holder::Holder;
use crate::limits::{AUDIT_ENTRIES, MAX_COSTS, MAX_NOTES};
use serde::{Deserialize, Serialize};

/// The agent's report about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The controller that has control.
    pub control: Option<Holder>,
    /// Copies dialled by held orders.
    pub held: u64,
    /// Copies dialled by kept orders.
    pub kept: u64,
    /// Estimated bytes that the agent uses (counters, ledger, queues).
    pub memory_bytes: u64,
    /// Resource limits, each with the amount used.
    #[serde(deserialize_with = "capped::<_, _, MAX_NOTES>")]
    pub budgets: Vec<ResourceUsage>,
    /// Estimated bytes the CLR keeps for requests and recompilations.
    pub clr_kept_bytes: u64,
    /// First calls that may have been missed because the bounded wait at module load ran out.
    pub missed_deadlines: u64,
    /// How often a guard caught a fault of the agent.
    pub guard_trips: u64,
    /// Changes and their authors, oldest first.
    #[serde(deserialize_with = "capped::<_, _, AUDIT_ENTRIES>")]
    pub audit: Vec<AuditEntry>,
    /// Remaining effects (inlined callers and the like).
    #[serde(deserialize_with = "capped::<_, _, MAX_NOTES>")]
    pub remains: Vec<Remainder>,
    /// Cost of a call at each offered level.
    #[serde(deserialize_with = "capped::<_, _, MAX_COSTS>")]
    pub costs: Vec<Cost>,
    /// The budget and the current cost of dials.
    pub cost_budget: CostBudget,
    /// Additional picoseconds per timed call while callers are counted. Absent if callers cannot be identified
    /// or nothing is timed.
    pub callers_picoseconds: Option<u64>,
    /// Whether the runtime reports every thrown exception to the agent, which makes each a little slower.
    pub exceptions_reported: bool,
}

/// A resource limit of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// The limited resource.
    pub resource: Resource,
    /// Amount used.
    pub used: u64,
    /// Amount available.
    pub limit: u64,
}

/// One change in the audit ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Unix time, milliseconds.
    pub t_unix_ms: u64,
    /// User (a name or uid) of the connection; for changes without a connection (the launcher, the runtime),
    /// the user of the process.
    pub user: String,
    /// Name that the program gives itself.
    pub program: String,
    /// The action.
    pub action: AuditAction,
}

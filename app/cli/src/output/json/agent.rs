//! `status --agent` as JSON.

use super::budget::CostBudgetJson;
use super::fields::{ControlJson, OptionsJson, hex};
use redial_link::discover::user_name;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, AuditEntry, ResourceUsage};
use redial_protocol::order::{Lifetime, StandingOrder};
use redial_text::diagnostics::{agent_notes, audit};
use serde::Serialize;

/// `status --agent`.
#[derive(Debug, Serialize)]
pub struct AgentJson<'a> {
    pid: u32,
    control: Option<ControlJson>,
    kept: u64,
    held: u64,
    /// The standing orders, oldest first. If two match the same copy, the later one wins.
    orders: Vec<OrderJson<'a>>,
    /// The number of changes that `undo` can revert.
    undoable: u32,
    memory: u64,
    budgets: Vec<ResourceJson<'a>>,
    clr_kept_bytes: u64,
    missed_deadlines: u64,
    guard_trips: u64,
    audit: Vec<AuditJson<'a>>,
    remains: Vec<String>,
    /// The cost of a call at each level.
    costs: Vec<CostJson>,
    /// The overhead budget and the current cost.
    cost_budget: CostBudgetJson,
    /// The extra cost of a timed call if its caller is counted; null where callers cannot be counted.
    callers_ns: Option<f64>,
    /// Whether the runtime reports exceptions to the agent.
    exceptions_reported: bool,
}

#[derive(Debug, Serialize)]
struct CostJson {
    level: Level,
    ns: f64,
}

#[derive(Debug, Serialize)]
struct OrderJson<'a> {
    pattern: &'a str,
    level: Level,
    domain: Option<&'a str>,
    copy: Option<String>,
    all_domains: bool,
    #[serde(flatten)]
    options: OptionsJson,
    /// Calls a second that may be captured, at level trace.
    rate: Option<u32>,
    /// The condition on traced calls.
    when: Option<&'a str>,
    /// `held` or `kept`.
    stand: &'static str,
    /// The remaining lifetime in milliseconds; null if it lasts until it is turned off or its session ends.
    remaining_ms: Option<u64>,
    /// The user's number on Unix, SID on Windows.
    user: &'a str,
    user_name: String,
    by: ControlJson,
}

#[derive(Debug, Serialize)]
struct ResourceJson<'a> {
    name: &'a str,
    used: u64,
    limit: u64,
}

/// A change, with its author and time.
#[derive(Debug, Serialize)]
pub struct AuditJson<'a> {
    /// Unix time, milliseconds.
    t: u64,
    /// The user's number on Unix, SID on Windows.
    user: &'a str,
    user_name: String,
    program: &'a str,
    /// The action in words; an order as its line in a dial set.
    order: String,
}

impl<'a> From<&'a AuditEntry> for AuditJson<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        let AuditEntry { t_unix_ms, user, program, action } = entry;
        let order = audit::action(action);
        AuditJson { t: *t_unix_ms, user, user_name: user_name(user), program, order }
    }
}

impl<'a> From<&'a StandingOrder> for OrderJson<'a> {
    fn from(standing: &'a StandingOrder) -> Self {
        let StandingOrder { order, lifetime, user, by } = standing;
        OrderJson {
            pattern: &order.pattern,
            level: order.level,
            domain: order.domain.as_deref(),
            copy: order.copy.map(hex),
            all_domains: order.all_domains,
            options: OptionsJson::from(&order.options),
            rate: order.options.rate,
            when: order.when.as_deref(),
            stand: if *lifetime == Lifetime::Held { "held" } else { "kept" },
            remaining_ms: match lifetime {
                Lifetime::KeptFor { ms } => Some(*ms),
                Lifetime::Held | Lifetime::Kept => None,
            },
            user,
            user_name: user_name(user),
            by: ControlJson::from(by),
        }
    }
}

impl<'a> AgentJson<'a> {
    /// Makes the object for process `pid`.
    pub fn new(pid: u32, status: &'a AgentStatus, orders: &'a [StandingOrder], undoable: u32) -> Self {
        let budget = |budget: &'a ResourceUsage| ResourceJson {
            name: agent_notes::resource(budget.resource),
            used: budget.used,
            limit: budget.limit,
        };
        let cost = |cost: &Cost| CostJson { level: cost.level, ns: cost.picoseconds as f64 / 1e3 };
        AgentJson {
            pid,
            control: status.control.as_ref().map(ControlJson::from),
            kept: status.kept,
            held: status.held,
            orders: orders.iter().map(OrderJson::from).collect(),
            undoable,
            memory: status.memory_bytes,
            budgets: status.budgets.iter().map(budget).collect(),
            clr_kept_bytes: status.clr_kept_bytes,
            missed_deadlines: status.missed_deadlines,
            guard_trips: status.guard_trips,
            audit: status.audit.iter().map(AuditJson::from).collect(),
            remains: agent_notes::remainders(&status.remains),
            costs: status.costs.iter().map(cost).collect(),
            cost_budget: CostBudgetJson::from(&status.cost_budget),
            callers_ns: status.callers_picoseconds.map(|picoseconds| picoseconds as f64 / 1e3),
            exceptions_reported: status.exceptions_reported,
        }
    }
}

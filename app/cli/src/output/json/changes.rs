//! `dial`, `apply` and `undo` as JSON, and their plans.

use super::agent::AuditJson;
use redial_model::cost::CostEstimate;
use redial_protocol::message::AuditEntry;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, RefusedMethod, SharedModule};
use redial_text::diagnostics::{Reader, reasons};
use serde::Serialize;

/// `dial` and `apply`.
#[derive(Debug, Serialize)]
pub struct DialledJson<'a> {
    pid: u32,
    matched: u64,
    accepted: u64,
    bodyless: u64,
    refused: Vec<RefusedJson<'a>>,
    shared: Vec<SharedJson<'a>>,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct RefusedJson<'a> {
    method: &'a str,
    reason: String,
    /// Why the condition does not fit; null for other reasons.
    condition: Option<String>,
}

#[derive(Debug, Serialize)]
struct SharedJson<'a> {
    module: &'a str,
    methods: u64,
    /// The AppDomains that share the copy; `more_domains` counts those not listed.
    domains: &'a [String],
    more_domains: u64,
    accepted: bool,
}

impl<'a> From<&'a RefusedMethod> for RefusedJson<'a> {
    fn from(one: &'a RefusedMethod) -> Self {
        RefusedJson {
            method: &one.method,
            reason: reasons::with_hresult(one.reason, one.hresult, Reader::CommandLine),
            condition: one.condition.as_ref().map(|misfit| misfit.problem.to_string()),
        }
    }
}

impl<'a> From<&'a SharedModule> for SharedJson<'a> {
    fn from(one: &'a SharedModule) -> Self {
        SharedJson {
            module: &one.module,
            methods: one.methods,
            domains: &one.domains,
            more_domains: one.more_domains,
            accepted: one.accepted,
        }
    }
}

impl<'a> DialledJson<'a> {
    /// Makes the object for process `pid`; `warnings` are those of the report and of the command, in words.
    pub fn new(pid: u32, report: &'a DialReport, warnings: &'a [String]) -> Self {
        DialledJson {
            pid,
            matched: report.matched,
            accepted: report.accepted,
            bodyless: report.bodyless,
            refused: report.refused.iter().map(RefusedJson::from).collect(),
            shared: report.shared.iter().map(SharedJson::from).collect(),
            warnings,
        }
    }
}

/// One line of `dial --follow` and `apply --follow`.
#[derive(Debug, Serialize)]
pub struct FollowJson<'a> {
    /// Milliseconds since the command began.
    pub t_ms: u64,
    /// Process id.
    pub pid: u32,
    /// The name of the process.
    pub name: Option<&'a str>,
    /// `dialled failed lost ended`.
    pub event: &'static str,
    /// The object of `dial`, if something was dialled.
    pub dialled: Option<serde_json::Value>,
    /// Why it failed or was lost.
    pub reason: Option<&'a str>,
}

/// `undo`.
#[derive(Debug, Serialize)]
pub struct UndoneJson<'a> {
    #[serde(flatten)]
    dialled: DialledJson<'a>,
    undone: AuditJson<'a>,
}

impl<'a> UndoneJson<'a> {
    /// Makes the object for process `pid`; `warnings` are those of the report, in words.
    pub fn new(pid: u32, what: &'a AuditEntry, report: &'a DialReport, warnings: &'a [String]) -> Self {
        UndoneJson { dialled: DialledJson::new(pid, report, warnings), undone: AuditJson::from(what) }
    }
}

/// The end of `dial --hold` and `apply --hold`.
#[derive(Debug, Serialize)]
pub struct ReleasedJson {
    /// Process id.
    pub pid: u32,
    /// The number of copies that reverted to their original code.
    pub reverted: u64,
    /// The number of copies that other orders keep dialled.
    pub stay: u64,
    /// The number of copies that could not be reverted.
    pub remaining: u64,
}

/// `dial --plan` and `apply --plan`: the fields of `dial` as predicted, and more.
#[derive(Debug, Serialize)]
pub struct PlanJson<'a> {
    pid: u32,
    matched: u64,
    accepted: u64,
    bodyless: u64,
    refused: Vec<RefusedJson<'a>>,
    shared: Vec<SharedJson<'a>>,
    warnings: &'a [String],
    orders: Vec<PlannedJson<'a>>,
    to_recompile: u64,
    to_turn_off: u64,
    to_adjust: u64,
    unchanged: u64,
    refused_by_reason: Vec<ReasonJson>,
    generic: u64,
    expected_us: u64,
    expected_clr_bytes: u64,
    expected_agent_bytes: u64,
    /// The predicted cost at the current call rates, in percent of one processor; null if unknown.
    expected_cost_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PlannedJson<'a> {
    /// The line number in the dial set; null for the command line.
    line: Option<usize>,
    order: &'a str,
    matched: u64,
}

#[derive(Debug, Serialize)]
struct ReasonJson {
    reason: &'static str,
    copies: u64,
}

impl From<&(Reason, u64)> for ReasonJson {
    fn from((reason, copies): &(Reason, u64)) -> Self {
        ReasonJson { reason: reasons::sentence(*reason, Reader::CommandLine), copies: *copies }
    }
}

impl<'a> PlanJson<'a> {
    /// Makes the object for process `pid`. `orders` are the planned orders as text, with their line numbers;
    /// `warnings` are those of the plan, in words.
    pub fn new(
        pid: u32,
        orders: &'a [(Option<usize>, String)],
        plan: &'a PlanReport,
        warnings: &'a [String],
        estimate: Option<CostEstimate>,
    ) -> Self {
        let planned = orders.iter().zip(&plan.per_order);
        PlanJson {
            pid,
            matched: plan.matched,
            accepted: plan.accepted(),
            bodyless: plan.bodyless,
            refused: plan.refused.iter().map(RefusedJson::from).collect(),
            shared: plan.shared.iter().map(SharedJson::from).collect(),
            warnings,
            orders: planned
                .map(|((line, order), matched)| PlannedJson { line: *line, order, matched: *matched })
                .collect(),
            to_recompile: plan.to_request,
            to_turn_off: plan.to_revert,
            to_adjust: plan.to_adjust,
            unchanged: plan.unchanged,
            refused_by_reason: plan.refused_by_reason.iter().map(ReasonJson::from).collect(),
            generic: plan.generic,
            expected_us: plan.expected_us,
            expected_clr_bytes: plan.expected_clr_bytes,
            expected_agent_bytes: plan.expected_agent_bytes,
            expected_cost_percent: estimate.map(|estimate| estimate.then),
        }
    }
}

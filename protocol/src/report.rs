//! Results of a change, and of a plan.

use crate::codec::capped;
use crate::condition::ConditionError;
use crate::diagnostics::ChangeWarning;
use crate::limits::{MAX_DOMAINS_NAMED, MAX_NOTES, MAX_ORDERS, MAX_REFUSALS, MAX_SHARED};
use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Entries of a table by reason.
const REASONS: usize = Reason::ALL.len();

/// Result of a change, in numbers of copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialReport {
    /// Copies the patterns matched.
    pub matched: u64,
    /// Copies whose request the CLR accepted, and copies that already were in the wanted state.
    pub accepted: u64,
    /// Copies without a body under a wildcard: neither accepted nor refused.
    pub bodyless: u64,
    /// Copies refused, per reason.
    #[serde(deserialize_with = "capped::<_, _, REASONS>")]
    pub refused_by_reason: Vec<(Reason, u64)>,
    /// The first `limits::MAX_REFUSALS` of them by name.
    #[serde(deserialize_with = "capped::<_, _, MAX_REFUSALS>")]
    pub refused: Vec<RefusedMethod>,
    /// Modules with one copy for several AppDomains, if an order names only some of these domains.
    #[serde(deserialize_with = "capped::<_, _, MAX_SHARED>")]
    pub shared: Vec<SharedModule>,
    /// Warnings: first one for each of `unmatched`, at most `limits::MAX_UNMATCHED_NAMED`.
    #[serde(deserialize_with = "capped::<_, _, MAX_NOTES>")]
    pub warnings: Vec<ChangeWarning>,
    /// Indices of the orders that were not set because nothing matches them yet.
    #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
    pub unmatched: Vec<u32>,
    /// Number of the change, for `WireCommand::UndoChange`; 0 if the orders did not change, or for an undo.
    pub change: u64,
}

/// One refused method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedMethod {
    /// `Module!Namespace.Type.Method(PARAMS)`.
    pub method: String,
    /// Reason for the refusal.
    pub reason: Reason,
    /// The HRESULT for `Reason::Hresult`, else 0.
    pub hresult: u32,
    /// Why the order's condition does not fit, for `Reason::Condition`.
    pub condition: Option<ConditionError>,
}

/// A module with one copy for several AppDomains: a dial in one of them is a dial in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedModule {
    /// The assembly's simple name.
    pub module: String,
    /// Methods in it that matched orders for some of its domains.
    pub methods: u64,
    /// Domains that the dial would affect; the first `limits::MAX_DOMAINS_NAMED` of them.
    #[serde(deserialize_with = "capped::<_, _, MAX_DOMAINS_NAMED>")]
    pub domains: Vec<String>,
    /// Number of further domains.
    pub more_domains: u64,
    /// Whether the order accepts that (`Order::all_domains`); otherwise the agent refuses these methods.
    pub accepted: bool,
}

/// Result that orders would have, in numbers of copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReport {
    /// Copies that each order matches, in the given order, including those that a later order decides.
    #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
    pub per_order: Vec<u64>,
    /// Copies that at least one order matches.
    pub matched: u64,
    /// Copies that would be recompiled with a probe.
    pub to_request: u64,
    /// Copies that would get their original IL back.
    pub to_revert: u64,
    /// Copies that keep their body and only change options.
    pub to_adjust: u64,
    /// Copies that already are in the wanted state.
    pub unchanged: u64,
    /// Copies without a body under a wildcard.
    pub bodyless: u64,
    /// Copies that would be refused, per reason.
    #[serde(deserialize_with = "capped::<_, _, REASONS>")]
    pub refused_by_reason: Vec<(Reason, u64)>,
    /// The first `limits::MAX_REFUSALS` of them by name.
    #[serde(deserialize_with = "capped::<_, _, MAX_REFUSALS>")]
    pub refused: Vec<RefusedMethod>,
    /// As `DialReport::shared`.
    #[serde(deserialize_with = "capped::<_, _, MAX_SHARED>")]
    pub shared: Vec<SharedModule>,
    /// Generic copies among `to_request`: a dial turns all their instantiations, including later ones.
    pub generic: u64,
    /// Microseconds until the CLR has accepted the change, estimated from earlier changes in this process.
    pub expected_us: u64,
    /// Estimated bytes that the CLR keeps for the recompilations until their AppDomain unloads.
    pub expected_clr_bytes: u64,
    /// Estimated bytes that the agent would use for counters and the ledger.
    pub expected_agent_bytes: u64,
    /// As `DialReport::warnings`.
    #[serde(deserialize_with = "capped::<_, _, MAX_NOTES>")]
    pub warnings: Vec<ChangeWarning>,
    /// Indices of the orders that only `later` would set: nothing matches them yet, and they replace no
    /// standing order.
    #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
    pub unmatched: Vec<u32>,
}

impl PlanReport {
    /// Returns the number of copies that would be accepted, including those already in the wanted state.
    pub fn accepted(&self) -> u64 {
        total([self.to_request, self.to_revert, self.to_adjust, self.unchanged])
    }
}

/// Adds numbers that a peer sent. A sum over `u64::MAX` stays there.
pub fn total(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

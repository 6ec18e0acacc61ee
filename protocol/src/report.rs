//! What became of a turn, and what would become of one.

use crate::codec::capped;
use crate::limits::{MAX_DOMAINS_NAMED, MAX_ORDERS, MAX_REFUSALS, MAX_SENTENCES, MAX_SHARED};
use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Entries of a table by reason.
const REASONS: usize = Reason::ALL.len();

/// What became of a turn, in numbers of copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialReport {
    /// Copies the patterns matched.
    pub matched: u64,
    /// Copies whose request the CLR accepted, or that already were where they should be.
    pub accepted: u64,
    /// Copies without a body under a wildcard: neither accepted nor refused.
    pub bodyless: u64,
    /// Copies refused, per reason.
    #[serde(deserialize_with = "capped::<_, _, REASONS>")]
    pub refused_by_reason: Vec<(Reason, u64)>,
    /// The first `limits::MAX_REFUSALS` of them by name.
    #[serde(deserialize_with = "capped::<_, _, MAX_REFUSALS>")]
    pub refused: Vec<RefusedMethod>,
    /// Modules of which one copy serves several AppDomains, where an order names some of these.
    #[serde(deserialize_with = "capped::<_, _, MAX_SHARED>")]
    pub shared: Vec<SharedModule>,
    /// Sentences the user should see: first one for each of `unmatched`, `limits::MAX_UNMATCHED_NAMED` at most.
    #[serde(deserialize_with = "capped::<_, _, MAX_SENTENCES>")]
    pub warnings: Vec<String>,
    /// Indices of the orders that were not set, because nothing matches them yet.
    #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
    pub unmatched: Vec<u32>,
    /// The change's number, for `Command::TakeBack`; 0 where the orders did not change, or by an undo.
    pub change: u64,
}

/// One refused method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedMethod {
    /// `Module!Namespace.Type.Method(PARAMS)`.
    pub method: String,
    /// Why.
    pub reason: Reason,
    /// The HRESULT for `Reason::Hresult`, else 0.
    pub hresult: u32,
}

/// A module of which one copy serves several AppDomains, so that a dial in one of them is a dial in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedModule {
    /// The assembly's simple name.
    pub module: String,
    /// Methods of it that orders for some of its domains matched.
    pub methods: u64,
    /// The domains that would see the dial, the first `limits::MAX_DOMAINS_NAMED` of them.
    #[serde(deserialize_with = "capped::<_, _, MAX_DOMAINS_NAMED>")]
    pub domains: Vec<String>,
    /// How many more there are.
    pub more_domains: u64,
    /// Whether the order accepts that (`Order::all_domains`); otherwise these methods are refused.
    pub accepted: bool,
}

/// What orders would do, in numbers of copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReport {
    /// Copies each order matches, in the order given; those that a later one decides included.
    #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
    pub per_order: Vec<u64>,
    /// Copies that any matches.
    pub matched: u64,
    /// Copies that would be recompiled with a probe.
    pub to_request: u64,
    /// Copies that would get their original IL back.
    pub to_revert: u64,
    /// Copies of which the same body serves, with other options.
    pub to_adjust: u64,
    /// Copies that are where they should be.
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
    /// Copies among `to_request` that are generic: a dial turns all their instantiations, those of later included.
    pub generic: u64,
    /// Microseconds until the CLR has accepted it, an estimate from earlier turns in this process.
    pub expected_us: u64,
    /// Bytes the CLR keeps for the recompilations until their AppDomain unloads, an estimate.
    pub expected_clr_bytes: u64,
    /// Bytes the agent would use for counters and the ledger, an estimate.
    pub expected_agent_bytes: u64,
    /// As `DialReport::warnings`.
    #[serde(deserialize_with = "capped::<_, _, MAX_SENTENCES>")]
    pub warnings: Vec<String>,
    /// Indices of the orders that would be set only with `later`: nothing matches them yet, and none takes the place of
    /// one that stands.
    #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
    pub unmatched: Vec<u32>,
}

impl PlanReport {
    /// Copies that would be accepted, those that are where they should be included.
    pub fn accepted(&self) -> u64 {
        self.to_request + self.to_revert + self.to_adjust + self.unchanged
    }
}

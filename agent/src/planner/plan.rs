//! What orders would do to copies, added up.
#![forbid(unsafe_code)]

use super::orders::{OrderSeq, Orders, Standing};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_REFUSALS;
use redial_protocol::reason::Reason;
use redial_protocol::report::{PlanReport, RefusedMethod};
use std::collections::{BTreeMap, HashMap};

/// What has to be asked of the CLR for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// `RequestReJIT`.
    Request,
    /// `RequestRevert`.
    Revert,
    /// It is where it should be, or cannot be brought there.
    Nothing,
}

/// What is due for a copy of which `wanted` is wanted. `on`: a request of ours stands with the CLR.
pub fn due(wanted: Level, dialable: bool, on: bool) -> Due {
    match (wanted > Level::Off && dialable, on) {
        (true, false) => Due::Request,
        (false, true) => Due::Revert,
        _ => Due::Nothing,
    }
}

/// A copy as planning sees it.
#[derive(Clone, Copy, Debug)]
pub struct CopyFacts<'a> {
    /// Numbers of the orders that match it already.
    pub orders: &'a [OrderSeq],
    /// Whether a request of ours stands with the CLR.
    pub on: bool,
    /// Why it cannot be dialled, if so.
    pub refusal: Option<Reason>,
    /// Whether it is only counted where a wildcard matched it: it has no body.
    pub bodyless: bool,
    /// Whether it or its type is generic.
    pub generic: bool,
}

/// Adds up a plan.
#[derive(Debug)]
pub struct Tally {
    /// The sums so far; reasons apart.
    pub report: PlanReport,
    reasons: BTreeMap<Reason, u64>,
    /// Index of each order in the list that was given.
    index: HashMap<OrderSeq, usize>,
}

impl Tally {
    /// A plan for these orders, in the order given.
    pub fn new(seqs: &[OrderSeq]) -> Tally {
        Tally {
            report: PlanReport { per_order: vec![0; seqs.len()], ..PlanReport::default() },
            reasons: BTreeMap::new(),
            index: seqs.iter().copied().zip(0..).collect(),
        }
    }

    /// Adds a copy that these orders match: `here` mean it, `refused` name some of the domains that share it.
    pub fn add(
        &mut self,
        orders: &Orders,
        copy: CopyFacts,
        (here, refused): (&[&Standing], &[&Standing]),
        name: impl FnOnce() -> String,
    ) {
        for standing in here.iter().chain(refused) {
            if let Some(sum) = self.index.get(&standing.seq).and_then(|at| self.report.per_order.get_mut(*at))
            {
                *sum += 1;
            }
        }
        self.report.matched += 1;
        let by_name = here.iter().chain(refused).any(|standing| !standing.pattern.has_wildcard());
        if copy.bodyless && !by_name {
            self.report.bodyless += 1;
            return;
        }
        if here.is_empty() {
            return self.refuse(Reason::Shared, name);
        }
        let mut all: Vec<OrderSeq> = copy.orders.to_vec();
        all.extend(here.iter().map(|standing| standing.seq));
        let (wanted, _) = orders.wanted(&all);
        match (due(wanted, copy.refusal.is_none(), copy.on), copy.refusal) {
            (Due::Request, _) => {
                self.report.to_request += 1;
                self.report.generic += u64::from(copy.generic);
            }
            (Due::Revert, _) => self.report.to_revert += 1,
            (Due::Nothing, Some(reason)) if wanted > Level::Off => self.refuse(reason, name),
            (Due::Nothing, _) => self.report.unchanged += 1,
        }
    }

    fn refuse(&mut self, reason: Reason, name: impl FnOnce() -> String) {
        *self.reasons.entry(reason).or_default() += 1;
        if self.report.refused.len() < MAX_REFUSALS {
            self.report.refused.push(RefusedMethod { method: name(), reason, hresult: 0 });
        }
    }

    /// The plan, its estimates of time and memory apart.
    pub fn finish(self) -> PlanReport {
        PlanReport { refused_by_reason: self.reasons.into_iter().collect(), ..self.report }
    }
}

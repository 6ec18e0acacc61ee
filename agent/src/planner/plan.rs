//! Sums up the effects that orders would have on copies.
#![forbid(unsafe_code)]

use super::orders::{OrderSeq, Standing};
use redial_protocol::condition::ConditionError;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_REFUSALS;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::report::{PlanReport, RefusedMethod};
use std::collections::{BTreeMap, BTreeSet};

/// The CLR action that a copy needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredAction {
    /// `RequestReJIT`.
    Request,
    /// `RequestRevert`.
    Revert,
    /// None: it already is as wanted, or cannot be.
    Nothing,
}

/// Returns the CLR action that moves a copy from `runs` to `wanted`. `runs` is the level of its active ReJIT
/// request (off: none), and `fits` whether its body has the wanted options beyond the level.
pub fn required_action(wanted: Level, dialable: bool, runs: Level, fits: bool) -> RequiredAction {
    match (wanted > Level::Off && dialable, runs > Level::Off) {
        (true, _) if wanted != runs || !fits => RequiredAction::Request,
        (false, true) => RequiredAction::Revert,
        _ => RequiredAction::Nothing,
    }
}

/// The facts about a copy that planning needs.
#[derive(Clone, Copy, Debug)]
pub struct CopyFacts {
    /// The level of its active ReJIT request; off: none.
    pub runs: Level,
    /// Its time options.
    pub options: TimeOptions,
    /// Whether the body of that request counts callers, and whether it has stacks; None where neither can be.
    pub callers_and_stacks: Option<(bool, bool)>,
    /// Why it cannot be dialled, if so.
    pub refusal: Option<Reason>,
    /// Whether it has no body, so that a wildcard match only counts it.
    pub bodyless: bool,
    /// Whether it or its type is generic.
    pub generic: bool,
}

/// Sums up a plan.
#[derive(Debug)]
pub struct Tally {
    /// The sums so far, except reasons.
    pub report: PlanReport,
    reasons: BTreeMap<Reason, u64>,
    /// Number of matches of each order, ascending by order.
    matches: Vec<(OrderSeq, u64)>,
    /// The orders, as given.
    seqs: Vec<OrderSeq>,
}

impl Tally {
    /// Starts a plan for these orders, in the order given; one may occur several times.
    pub fn new(seqs: &[OrderSeq]) -> Tally {
        let numbers: BTreeSet<OrderSeq> = seqs.iter().copied().collect();
        Tally {
            report: PlanReport::default(),
            reasons: BTreeMap::new(),
            matches: numbers.into_iter().map(|seq| (seq, 0)).collect(),
            seqs: seqs.to_vec(),
        }
    }

    /// Adds a copy that these orders match, all of them later than the standing ones. `here` apply to it, oldest
    /// first; `refused` name some of the domains that share it. Returns the action it would need.
    pub fn add(
        &mut self,
        (copy, misfit): (CopyFacts, Option<ConditionError>),
        (here, refused): (&[&Standing], &[&Standing]),
        name: impl FnOnce() -> String,
    ) -> RequiredAction {
        for standing in here.iter().chain(refused) {
            if let Ok(at) = self.matches.binary_search_by_key(&standing.seq, |(seq, _)| *seq)
                && let Some((_, sum)) = self.matches.get_mut(at)
            {
                *sum += 1;
            }
        }
        self.report.matched += 1;
        let by_name = here.iter().chain(refused).any(|standing| !standing.pattern.has_wildcard());
        if copy.bodyless && !by_name {
            self.report.bodyless += 1;
            return RequiredAction::Nothing;
        }
        let Some(latest) = here.last() else {
            self.refuse(Reason::Shared, None, name);
            return RequiredAction::Nothing;
        };
        let wanted = latest.order.level;
        let options = latest.order.options;
        let fits = copy.callers_and_stacks.is_none_or(|has| has == (options.callers, options.stack));
        let due = required_action(wanted, copy.refusal.is_none(), copy.runs, fits);
        match (due, copy.refusal) {
            (RequiredAction::Request, _) => {
                self.report.to_request += 1;
                self.report.generic += u64::from(copy.generic);
            }
            (RequiredAction::Revert, _) => self.report.to_revert += 1,
            (RequiredAction::Nothing, Some(reason)) if wanted > Level::Off => {
                self.refuse(reason, misfit, name)
            }
            (RequiredAction::Nothing, None) if copy.options != latest.order.options => {
                self.report.to_adjust += 1
            }
            (RequiredAction::Nothing, _) => self.report.unchanged += 1,
        }
        due
    }

    fn refuse(&mut self, reason: Reason, condition: Option<ConditionError>, name: impl FnOnce() -> String) {
        *self.reasons.entry(reason).or_default() += 1;
        if self.report.refused.len() < MAX_REFUSALS {
            self.report.refused.push(RefusedMethod { method: name(), reason, hresult: 0, condition });
        }
    }

    /// Returns the plan, without its estimates of time and memory.
    pub fn finish(self) -> PlanReport {
        let matches = |seq: &OrderSeq| {
            let found = self.matches.iter().find(|(one, _)| one == seq);
            found.map_or(0, |(_, sum)| *sum)
        };
        PlanReport {
            per_order: self.seqs.iter().map(matches).collect(),
            refused_by_reason: self.reasons.into_iter().collect(),
            ..self.report
        }
    }
}

//! What orders would do to copies, added up.
#![forbid(unsafe_code)]

use super::orders::{OrderSeq, Standing};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_REFUSALS;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::report::{PlanReport, RefusedMethod};
use std::collections::{BTreeMap, BTreeSet};

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

/// What is due for a copy of which `wanted` is wanted, where `runs` is the level of the request of ours that stands with
/// the CLR (off: none), and its body `fits` what is wanted beyond the level.
pub fn due(wanted: Level, dialable: bool, runs: Level, fits: bool) -> Due {
    match (wanted > Level::Off && dialable, runs > Level::Off) {
        (true, _) if wanted != runs || !fits => Due::Request,
        (false, true) => Due::Revert,
        _ => Due::Nothing,
    }
}

/// A copy as planning sees it.
#[derive(Clone, Copy, Debug)]
pub struct CopyFacts {
    /// The level of the request of ours that stands with the CLR; off: none does.
    pub runs: Level,
    /// What is asked of it beyond times.
    pub options: TimeOptions,
    /// Whether the body of that request counts callers; None where callers cannot be counted.
    pub callers: Option<bool>,
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
    /// Matches of each order, ascending by number.
    matches: Vec<(OrderSeq, u64)>,
    /// The list that was given.
    seqs: Vec<OrderSeq>,
}

impl Tally {
    /// A plan for these orders, in the order given; one may be there several times.
    pub fn new(seqs: &[OrderSeq]) -> Tally {
        let numbers: BTreeSet<OrderSeq> = seqs.iter().copied().collect();
        Tally {
            report: PlanReport::default(),
            reasons: BTreeMap::new(),
            matches: numbers.into_iter().map(|seq| (seq, 0)).collect(),
            seqs: seqs.to_vec(),
        }
    }

    /// Adds a copy that these orders, later than all that stand, match: `here` mean it, oldest first, `refused` name
    /// some of the domains that share it. Answers what it would take.
    pub fn add(
        &mut self,
        copy: CopyFacts,
        (here, refused): (&[&Standing], &[&Standing]),
        name: impl FnOnce() -> String,
    ) -> Due {
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
            return Due::Nothing;
        }
        let Some(latest) = here.last() else {
            self.refuse(Reason::Shared, name);
            return Due::Nothing;
        };
        let wanted = latest.order.level;
        let fits = copy.callers.is_none_or(|callers| callers == latest.order.options.callers);
        let due = due(wanted, copy.refusal.is_none(), copy.runs, fits);
        match (due, copy.refusal) {
            (Due::Request, _) => {
                self.report.to_request += 1;
                self.report.generic += u64::from(copy.generic);
            }
            (Due::Revert, _) => self.report.to_revert += 1,
            (Due::Nothing, Some(reason)) if wanted > Level::Off => self.refuse(reason, name),
            (Due::Nothing, None) if copy.options != latest.order.options => self.report.to_adjust += 1,
            (Due::Nothing, _) => self.report.unchanged += 1,
        }
        due
    }

    fn refuse(&mut self, reason: Reason, name: impl FnOnce() -> String) {
        *self.reasons.entry(reason).or_default() += 1;
        if self.report.refused.len() < MAX_REFUSALS {
            self.report.refused.push(RefusedMethod { method: name(), reason, hresult: 0 });
        }
    }

    /// The plan, its estimates of time and memory apart.
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

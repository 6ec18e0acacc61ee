//! What a turn would do, without doing it: the same look at the metadata as a turn's, nothing entered, nothing asked.
#![forbid(unsafe_code)]

use super::scan::{Target, may_be_expanded, refusal_of};
use crate::agent::Agent;
use crate::inlining::Method;
use crate::planner::plan::{CopyFacts, Due, Tally};
use crate::planner::{OrderSeq, Orders};
use crate::probes::callers;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_SHARED;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::report::PlanReport;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What orders would do.
pub struct Foreseen {
    /// The plan; estimates and warnings are for the caller.
    pub plan: PlanReport,
    /// Copies to be recompiled that other code may stand in for (`Identity::expanded`).
    pub expanded: u64,
    /// Methods that would be recompiled for the sake of those inlined into them, as far as we know them without asking the
    /// runtime to find more.
    pub passengers: u64,
}

/// Foresees the orders numbered `seqs`, which are among `orders`.
pub fn foresee(agent: &Agent, orders: &Orders, seqs: &[OrderSeq]) -> Foreseen {
    let mut expanded = 0;
    let (mut asked_for, mut inliners): (Vec<Method>, HashSet<Method>) = Default::default();
    let mut tally = Tally::new(seqs);
    let wanted: BTreeSet<OrderSeq> = seqs.iter().copied().collect();
    let mut shared = BTreeMap::new();
    for module in agent.modules.all() {
        let of_module = orders.for_assembly(&module.name).filter(|standing| wanted.contains(&standing.seq));
        let target = Target::new(agent, &module, of_module);
        let precompiled = !target.aimed.is_empty() && module.may_be_precompiled();
        target.each(agent, &[], |(import, names), method, here, refused| {
            target.note_shared(here, refused, &mut shared);
            let known = {
                let book = agent.ledger.book();
                let row = book.find(module.id(), method.token).and_then(|id| book.row(id));
                row.map(|row| {
                    let reason = row.reason.map(|(reason, _)| reason).filter(|_| !row.is_dialable());
                    let is_told = callers::KNOWN && row.runs() >= Level::Time && row.untimed.is_none();
                    let callers = is_told.then_some(row.asked_callers());
                    (row.runs(), row.options, callers, row.ineligible.or(reason))
                })
            };
            let (runs, options, callers, refusal) = known.unwrap_or_else(|| {
                (Level::Off, TimeOptions::default(), None, refusal_of(agent, &module, import, method, here))
            });
            let copy = CopyFacts {
                runs,
                options,
                callers,
                refusal,
                bodyless: refusal.is_some_and(Reason::is_bodyless),
                generic: method.is_generic(),
            };
            let name = || names.display(import, method).full_name(&module.name);
            if tally.add(copy, (here, refused), name) == Due::Request {
                let itself = (module.id(), method.token);
                expanded += u64::from(may_be_expanded(agent, &module, import, method));
                asked_for.push(itself);
                if precompiled {
                    inliners.extend(agent.info.precompiled_inliners(itself.0, itself.1).0);
                }
            }
        });
    }
    asked_for.sort_unstable();
    inliners.extend(agent.inlining.inliners_of(&asked_for));
    let book = agent.ledger.book();
    let recompiled_already = |method: &Method| book.passengers.has(*method) || book.is_on(*method);
    inliners.retain(|method| asked_for.binary_search(method).is_err() && !recompiled_already(method));
    let plan = PlanReport { shared: shared.into_values().take(MAX_SHARED).collect(), ..tally.finish() };
    Foreseen { plan, expanded, passengers: inliners.len() as u64 }
}

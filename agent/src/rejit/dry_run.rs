//! Plans a change without making it: matches metadata in the same way, but records and requests nothing.
#![forbid(unsafe_code)]

use super::enum_types::EnumTypes;
use super::scan::{ModuleOrders, may_be_expanded, refusal_of};
use super::trace_requests;
use crate::catalogue::implementation_search::ImplementationSearch;
use crate::context::Context;
use crate::inlining::Method;
use crate::planner::plan::{CopyFacts, RequiredAction, Tally};
use crate::planner::{OrderSeq, Orders};
use crate::probes::callers;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_SHARED;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::report::PlanReport;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The expected effect of orders.
pub struct DryRun {
    /// The plan; the caller adds estimates and warnings.
    pub plan: PlanReport,
    /// Copies to recompile with calls that other code may replace (`CopyIdentity::expanded`).
    pub expanded: u64,
    /// Methods that would be recompiled because of methods inlined into them, as far as the agent knows them
    /// without asking the runtime.
    pub recompiled_callers: u64,
}

/// Plans the orders numbered `seqs`, which are among `orders`. The plan lacks methods once `stop` returns true.
pub fn dry_run(context: &Context, orders: &Orders, seqs: &[OrderSeq], stop: &dyn Fn() -> bool) -> DryRun {
    let mut expanded = 0;
    let (mut asked_for, mut inliners): (Vec<Method>, HashSet<Method>) = Default::default();
    let mut tally = Tally::new(seqs);
    let wanted: BTreeSet<OrderSeq> = seqs.iter().copied().collect();
    let mut shared = BTreeMap::new();
    let search = ImplementationSearch::new(&context.info, &context.modules, stop);
    for module in context.modules.all() {
        let of_module = orders.for_assembly(&module.name).filter(|standing| wanted.contains(&standing.seq));
        let target = ModuleOrders::new(context, &module, of_module);
        let enums = EnumTypes::new(context);
        let precompiled = !target.aimed.is_empty() && module.may_be_precompiled();
        target.each(context, &search, &[], |(import, names), method, here, refused| {
            let (here, is_inherited) = (&here.orders, here.is_inherited);
            target.note_shared(here, refused, &mut shared);
            let known = {
                let ledger = context.ledger.lock();
                let row = ledger.find(module.id(), method.token).and_then(|id| ledger.row(id));
                row.map(|row| {
                    let is_final = !row.is_dialable() && !row.refusal_depends_on_order();
                    let reason = row.reason.map(|(reason, _)| reason).filter(|_| is_final);
                    let knows_callers =
                        callers::KNOWN && row.runs() >= Level::Time && row.timing.body.untimed().is_none();
                    let callers = knows_callers.then_some((row.requested_callers(), row.requested_stacks()));
                    (row.runs(), row.wanted.options, callers, row.ineligible.or(reason))
                })
            };
            let (runs, options, callers, refusal) = known.unwrap_or_else(|| {
                (Level::Off, TimeOptions::default(), None, refusal_of(context, &module, import, method, here))
            });
            let condition = here.last().filter(|latest| latest.order.level >= Level::Trace && !is_inherited);
            let condition =
                condition.and_then(|latest| latest.condition.as_ref()).filter(|_| refusal.is_none());
            let metadata = (import, names, &enums);
            let misfit = condition
                .and_then(|written| trace_requests::misfit(context, &module, metadata, method, written));
            let refusal = refusal.or(misfit.is_some().then_some(Reason::Condition));
            let copy = CopyFacts {
                runs,
                options,
                callers_and_stacks: callers,
                refusal,
                bodyless: refusal.is_some_and(Reason::is_bodyless),
                generic: method.is_generic(),
            };
            let name = || names.display(import, method).full_name(&module.name);
            if tally.add((copy, misfit), (here, refused), name) == RequiredAction::Request {
                let itself = (module.id(), method.token);
                expanded += u64::from(may_be_expanded(&module, import, method));
                asked_for.push(itself);
                if precompiled {
                    inliners.extend(context.info.precompiled_inliners(import.module(), method.token).0);
                }
            }
        });
    }
    asked_for.sort_unstable();
    inliners.extend(context.inlining.inliners_of(&asked_for));
    let ledger = context.ledger.lock();
    let recompiled_already =
        |method: &Method| ledger.recompiled_callers.has(*method) || ledger.is_on(*method);
    inliners.retain(|method| asked_for.binary_search(method).is_err() && !recompiled_already(method));
    let plan = PlanReport { shared: shared.into_values().take(MAX_SHARED).collect(), ..tally.finish() };
    DryRun { plan, expanded, recompiled_callers: inliners.len() as u64 }
}

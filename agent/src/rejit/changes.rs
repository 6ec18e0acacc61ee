//! Changes on the ReJIT thread: accepting, carrying out, taking back.
#![forbid(unsafe_code)]

use super::change_audit::ChangeAudit;
use super::change_report::{report, unmatched_warnings};
use super::change_state::{ChangedOrders, DeferredChange, EnteredChange, HistoryRecord, outdated};
use super::dry_run::{DryRun, dry_run};
use super::request::Applied;
use super::worker::Worker;
use crate::control::Lease;
use crate::inbox::{ChangeRequest, OrderChange, Progress, Responder};
use crate::known_bad::RuntimeIssue;
use crate::ledger::row::Row;
use crate::planner::history::{Change, ChangeId};
use crate::planner::{
    AddedOrders, NewOrder, OrderAuthor, OrderLifetime, OrderSeq, Orders, Standing, TooManyOrders,
};
use crate::probes::callers;
use redial_protocol::condition::Condition;
use redial_protocol::cost::{CLR_BYTES_PER_COMPILATION, CLR_BYTES_PER_REQUEST, CLR_BYTES_PER_REVERT};
use redial_protocol::diagnostics::{AuditedOrder, ChangeWarning, Limit, Unsupported};
use redial_protocol::dialset::{check_options, print_order};
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::message::{Refusal, Reply};
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use redial_protocol::report::{DialReport, PlanReport};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Changes of the same copy within this time are merged: each recompilation costs memory that the CLR keeps.
const MERGE_WINDOW: Duration = Duration::from_millis(50);
/// Smallest number of copies from which a change shows the usual time per copy.
const MIN_MEASURED_COPIES: usize = 256;
/// Bytes that the agent uses for a dialled copy (row, names, counters; measured).
const AGENT_BYTES_PER_COPY: u64 = 1300;

impl Worker {
    /// Enters a change's orders, finds the copies they match, and takes control unless it has it (`lease`).
    pub(super) fn enter_change(
        &mut self,
        request: ChangeRequest,
        lease: Option<Lease>,
    ) -> (Result<EnteredChange, Refusal>, Responder) {
        let ChangeRequest { change, claim, user, progress, answer } = request;
        let begun = Instant::now();
        let before = self.orders.clone();
        let by = Arc::new(OrderAuthor { user, program: claim.holder.program.clone(), pid: claim.holder.pid });
        let entered = match change {
            OrderChange::Add { orders, lifetime, later } => {
                let audited = |order| AuditedOrder { line: print_order(order), step: None };
                let audited = orders.iter().map(audited).collect();
                let owner = OrderLifetime::of(lifetime, claim.session, begun);
                self.parse(orders, owner, &by).and_then(|new| self.add(new, audited, later, &progress))
            }
            OrderChange::Undo => self.undo(begun),
            OrderChange::TakeBack(change) => self.undo_one(ChangeId(change), begun),
            // It changes no orders.
            OrderChange::Budget(_) => Err(Refusal::NothingToUndo),
        };
        let taken = entered.and_then(|entered| {
            let lease = lease.map_or_else(|| self.context.control.acquire(&claim), Ok);
            lease.map(|lease| (entered, lease)).map_err(|taken| Refusal::ControlHeld(taken.by))
        });
        let taken = match taken {
            Ok((mut entered, lease)) => {
                // An undo may bring back orders of its own session.
                entered.held |= self.orders.holds(claim.session);
                let spared = self.spare(entered.found.rows.iter().copied());
                let methods = spared.len() as u64;
                entered.warnings.extend((methods > 0).then_some(ChangeWarning::BudgetSpares { methods }));
                let entered = self.record(entered, before, Some(lease), by, progress, begun);
                Ok(EnteredChange { spared, ..entered })
            }
            Err(refusal) => {
                self.orders.replace_by(before);
                self.context.orders.anticipate(&self.orders);
                Err(refusal)
            }
        };
        self.context.ledger.wake();
        (taken, answer)
    }

    /// Records the effect of a change on the orders that stood before, so that it can be carried out.
    pub(super) fn record(
        &mut self,
        entered: ChangedOrders,
        before: Orders,
        lease: Option<Lease>,
        by: Arc<OrderAuthor>,
        progress: Progress,
        begun: Instant,
    ) -> EnteredChange {
        let ChangedOrders { found, warnings, unmatched, seqs, replaced, undone, audit, held } = entered;
        let change = match undone {
            Some(change) => HistoryRecord::Undone(change),
            None if seqs.iter().all(|seq| !self.orders.stands(*seq)) && replaced.is_empty() => {
                HistoryRecord::Nothing
            }
            None => {
                let record = crate::audit::record(&by.user, &by.program, audit.summary());
                HistoryRecord::Made(self.history.push(before, record))
            }
        };
        let spared = Vec::new();
        EnteredChange {
            found,
            warnings,
            unmatched,
            lease,
            held,
            progress,
            begun,
            seqs,
            replaced,
            change,
            spared,
            by,
            audit,
        }
    }

    /// Adds orders and finds the copies they match, with warnings for those that match nothing. After an error some
    /// may have been added. `audited` are the same orders for the audit. Once cancelled, it finds only a part.
    pub(super) fn add(
        &mut self,
        new: Vec<NewOrder>,
        audited: Vec<AuditedOrder>,
        later: bool,
        progress: &Progress,
    ) -> Result<ChangedOrders, Refusal> {
        let orders: Vec<Order> = new.iter().map(|new| new.order.clone()).collect();
        let held = new.iter().any(|new| matches!(new.owner, OrderLifetime::Held(_)));
        let added = self.orders.add_all(new).map_err(too_many_orders)?;
        let AddedOrders { seqs, replacing, replaced } = added;
        self.context.orders.anticipate(&self.orders);
        // Not tidied yet: an `off` order that replaces its predecessor overrides nothing, but must still find its
        // rows.
        let mut found = self.scan_all(&seqs, &|| progress.is_cancelled());
        if found.left_bodies {
            let new: Vec<_> =
                self.orders.all().iter().filter(|one| seqs.contains(&one.seq)).cloned().collect();
            found.rows.extend(self.review(&new).rows);
        }
        let mut unmatched = Vec::new();
        if !later && !progress.is_cancelled() {
            // Replacing a standing order has an effect even if nothing is loaded yet.
            let stands = |seq: &OrderSeq| found.per_order.contains_key(seq) || replacing.contains(seq);
            let matches = |seq: &OrderSeq| stands(seq) || found.refused_as_shared.contains(seq);
            unmatched = indices(&seqs, |seq| !matches(seq));
            if unmatched.len() == seqs.len() {
                return Err(Refusal::NothingMatched { suggestions: self.suggestions(&seqs) });
            }
            seqs.iter().filter(|seq| !stands(seq)).for_each(|seq| self.orders.remove(*seq));
        }
        let warnings = unmatched_warnings(&chosen(&orders, &unmatched), true);
        let audit = ChangeAudit::Orders(audited);
        Ok(ChangedOrders { found, warnings, unmatched, seqs, replaced, undone: None, audit, held })
    }

    /// Restores the orders from before the last change.
    fn undo(&mut self, now: Instant) -> Result<ChangedOrders, Refusal> {
        let present = self.orders.clone();
        // Skip changes that have expired or had no effect.
        let change = loop {
            let change = self.history.pop(now).ok_or(Refusal::NothingToUndo)?;
            if !change.before.not_in(&present).is_empty() || !present.not_in(&change.before).is_empty() {
                break change;
            }
        };
        self.orders.replace_by(change.before.clone());
        Ok(self.undone(change, &present))
    }

    /// Works out the effect of undoing a change; `present` are the orders from before.
    fn undone(&mut self, change: Change, present: &Orders) -> ChangedOrders {
        let seqs = self.orders.not_in(present);
        let replaced: Vec<Arc<Standing>> =
            present.all().iter().filter(|standing| !self.orders.stands(standing.seq)).cloned().collect();
        self.context.orders.anticipate(&self.orders);
        let back = self.orders.all().iter().filter(|standing| seqs.contains(&standing.seq));
        let found = self.review(&back.chain(&replaced).cloned().collect::<Vec<_>>());
        let audit = ChangeAudit::Undo(change.record.change.clone());
        let undone = Some(Box::new(change));
        let (warnings, unmatched) = (Vec::new(), Vec::new());
        ChangedOrders { found, warnings, unmatched, seqs, replaced, undone, audit, held: false }
    }

    /// Undoes one change and leaves later ones as they are.
    fn undo_one(&mut self, id: ChangeId, now: Instant) -> Result<ChangedOrders, Refusal> {
        let present = self.orders.clone();
        let reversal = self.history.take(id, &present, now).ok_or(Refusal::NothingToUndo)?;
        self.orders.take_back(&reversal.added, &reversal.removed);
        self.withdrawn.extend(&reversal.added);
        Ok(self.undone(reversal.change, &present))
    }

    fn parse(
        &self,
        orders: Vec<Order>,
        owner: OrderLifetime,
        by: &Arc<OrderAuthor>,
    ) -> Result<Vec<NewOrder>, Refusal> {
        let most = self.context.settings.highest_level();
        let parse = |order: Order| {
            if order.level > most {
                let lowered = order.level <= Level::OFFERED;
                let level = Unsupported::Level { wanted: order.level, highest: most, lowered };
                return Err(Refusal::Unsupported(level));
            }
            check_options(&order)
                .map_err(|_| Refusal::Unsupported(Unsupported::OptionsNeedTime(order.options)))?;
            if order.options.stack && !callers::KNOWN {
                return Err(Refusal::Unsupported(Unsupported::NoStacks));
            }
            if let Some(Err(error)) = order.when.as_deref().map(Condition::parse) {
                return Err(Refusal::Unsupported(Unsupported::Condition(error)));
            }
            let pattern = Pattern::parse(&order.pattern).map_err(|e| Refusal::BadPattern(e.into()))?;
            let copy = order.copy.map(|id| self.module_key(id));
            let (pattern, by) = (Arc::new(pattern), Arc::clone(by));
            Ok(NewOrder { pattern, order, copy, owner, by, stepped: None })
        };
        orders.into_iter().map(parse).collect()
    }

    /// Returns the key of a loaded module; for others, one that no module ever has.
    fn module_key(&self, id: u64) -> ModuleKey {
        let module = usize::try_from(id).ok().and_then(|id| self.context.modules.get(id));
        module.map_or(ModuleKey { module_id: id, generation: 0 }, |module| module.key)
    }

    fn suggestions(&self, seqs: &[OrderSeq]) -> Vec<String> {
        let first = seqs.first().and_then(|seq| self.orders.get(*seq));
        // A pattern may be misspelt; the id of a module is not.
        first
            .filter(|standing| standing.order.copy.is_none())
            .map(|standing| {
                crate::catalogue::suggestions::nearest(
                    &self.context.info,
                    &self.context.modules,
                    &standing.pattern,
                )
            })
            .unwrap_or_default()
    }

    /// Applies a change at once or, if its copies were changed a moment ago, a moment later.
    pub(super) fn carry_out(&mut self, entered: EnteredChange, answer: Responder) {
        let latest = {
            let ledger = self.context.ledger.lock();
            let wants = |row: &&Row| {
                row.changed_at.is_some()
                    && self.orders.wanted(row.wanted.deciding_order).0 != row.wanted.level
            };
            let rows = entered.found.rows.iter().filter_map(|id| ledger.row(*id));
            rows.filter(wants).filter_map(|row| row.changed_at).max()
        };
        match latest.map(|changed_at| changed_at + MERGE_WINDOW) {
            // The scan may have given up.
            _ if entered.progress.is_cancelled() || self.context.inbox.all_off_pending() => {
                self.take_back(entered, answer);
            }
            Some(due) if due > Instant::now() => self.deferred.push(DeferredChange { due, entered, answer }),
            _ => {
                let applied = self.apply(&entered.found.rows, &entered.progress);
                self.learn_pace(applied, entered.begun);
                if applied.complete { self.finish(entered, answer) } else { self.take_back(entered, answer) }
            }
        }
    }

    /// Applies the deferred changes that are due, together.
    pub(super) fn resume_deferred(&mut self) {
        let now = Instant::now();
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.deferred).into_iter().partition(|deferred| deferred.due <= now);
        self.deferred = later;
        let (cancelled, due): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|deferred| deferred.entered.progress.is_cancelled());
        for deferred in cancelled {
            self.take_back(deferred.entered, deferred.answer);
        }
        let rows = due.iter().flat_map(|deferred| deferred.entered.found.rows.iter().copied()).collect();
        let complete = self.apply(&rows, &Progress::silent()).complete;
        for DeferredChange { entered, answer, .. } in due {
            if complete { self.finish(entered, answer) } else { self.take_back(entered, answer) }
        }
    }

    /// Answers a change that was applied, releasing control first.
    pub(super) fn finish(&self, entered: EnteredChange, answer: Responder) {
        let EnteredChange { found, warnings, unmatched, mut lease, held, change, by, audit, .. } = entered;
        let report = report(&self.context.ledger.lock(), &self.orders, &found, warnings);
        let report = DialReport { unmatched, ..report };
        for action in audit.finished(matches!(change, HistoryRecord::Nothing)) {
            self.context.audit.note(&by.user, &by.program, action);
        }
        if let Some(lease) = &mut lease {
            lease.keeps = held;
        }
        drop(lease);
        self.publish_orders();
        if self.has_budget() {
            // A client may ask for the result of its change at once.
            self.publish_budget();
        }
        self.context.ledger.wake();
        answer.send(Ok(match change {
            HistoryRecord::Made(ChangeId(change)) => Reply::Dialled(DialReport { change, ..report }),
            HistoryRecord::Nothing => Reply::Dialled(report),
            HistoryRecord::Undone(change) => Reply::Undone { entry: change.record.into(), report },
        }));
    }

    /// Takes back the applied part of a change that is no longer wanted.
    fn take_back(&mut self, entered: EnteredChange, answer: Responder) {
        let EnteredChange {
            mut found, lease, progress, seqs, mut replaced, change, spared, by, audit, ..
        } = entered;
        self.unspare(&spared);
        let gone = |owner: OrderLifetime| matches!(owner, OrderLifetime::Held(session) if self.ended.contains(&session));
        if let HistoryRecord::Undone(_) = change {
            // Withdrawn by the undo that is itself withdrawn now.
            for standing in &replaced {
                self.withdrawn.remove(&standing.seq);
            }
        }
        replaced.retain(|standing| !gone(standing.owner) && !self.withdrawn.contains(&standing.seq));
        self.withdrawn.extend(&seqs);
        let gone = self.orders.all().iter().filter(|standing| seqs.contains(&standing.seq));
        let changed: Vec<Arc<Standing>> = gone.chain(&replaced).cloned().collect();
        self.orders.take_back(&seqs, &replaced);
        match change {
            HistoryRecord::Made(id) => self.history.forget(id, &seqs, &replaced),
            HistoryRecord::Undone(mut change) => {
                for session in &self.ended {
                    change.before.end_session(*session);
                }
                self.history.put_back(*change, &seqs, &replaced);
            }
            HistoryRecord::Nothing => {}
        }
        found.rows.extend(self.review(&changed).rows);
        self.apply(&found.rows, &Progress::silent());
        self.context.audit.note(&by.user, &by.program, audit.cancelled());
        drop(lease);
        self.publish_orders();
        self.context.ledger.wake();
        answer.send(Err(if progress.is_cancelled() { Refusal::Cancelled } else { outdated() }));
    }

    /// Plans a change with these orders.
    pub(super) fn plan(
        &self,
        orders: Vec<Order>,
        owner: OrderLifetime,
        stop: &dyn Fn() -> bool,
    ) -> Result<Reply, Refusal> {
        let mut then = self.orders.clone();
        let new = self.parse(orders.clone(), owner, &Arc::default())?;
        let added = then.add_all(new).map_err(too_many_orders)?;
        let DryRun { mut plan, expanded, recompiled_callers } =
            dry_run(self.context, &then, &added.seqs, stop);
        let matched: BTreeSet<OrderSeq> = added
            .seqs
            .iter()
            .zip(&plan.per_order)
            .filter(|(_, sum)| **sum > 0)
            .map(|(seq, _)| *seq)
            .collect();
        plan.unmatched = indices(&added.seqs, |seq| !matched.contains(seq) && !added.replacing.contains(seq));
        plan.warnings = unmatched_warnings(&chosen(&orders, &plan.unmatched), false);
        if self.context.runtime.does(RuntimeIssue::StopsForRequests) && plan.to_request + plan.to_revert > 0 {
            plan.warnings.push(ChangeWarning::PausesProgram);
        }
        plan.warnings.extend((expanded > 0).then_some(ChangeWarning::CallsReplaced { copies: expanded }));
        let changed_at = plan.to_request + plan.to_revert;
        Ok(Reply::Plan(PlanReport {
            expected_us: changed_at * self.pace_ns / 1000,
            expected_clr_bytes: (plan.to_request + recompiled_callers)
                * (self.context.runtime.compilations_per_dial() * CLR_BYTES_PER_COMPILATION
                    + CLR_BYTES_PER_REQUEST)
                + plan.to_revert * CLR_BYTES_PER_REVERT,
            expected_agent_bytes: plan.to_request * AGENT_BYTES_PER_COPY,
            ..plan
        }))
    }

    /// Remembers the time per copy, from changes that are large enough.
    fn learn_pace(&mut self, applied: Applied, begun: Instant) {
        if applied.asked >= MIN_MEASURED_COPIES {
            self.pace_ns = (begun.elapsed().as_nanos() / applied.asked as u128) as u64;
        }
    }
}

/// Returns the indices for which the condition holds.
fn indices(seqs: &[OrderSeq], are: impl Fn(&OrderSeq) -> bool) -> Vec<u32> {
    seqs.iter().enumerate().filter(|(_, seq)| are(seq)).map(|(index, _)| index as u32).collect()
}

fn chosen<'a>(orders: &'a [Order], indices: &[u32]) -> Vec<&'a Order> {
    indices.iter().filter_map(|index| orders.get(*index as usize)).collect()
}

fn too_many_orders(_: TooManyOrders) -> Refusal {
    Refusal::OverLimit(Limit::StandingOrders { limit: MAX_STANDING_ORDERS as u64 })
}

//! The ReJIT thread: takes jobs, brings the CLR in line with the orders, and answers.
#![forbid(unsafe_code)]

use super::change_state::{EnteredChange, outdated};
use super::exceptions;
use super::request;
use super::revert;
use super::reverting_check;
use super::trace_requests;
use super::worker::Worker;
use crate::catalogue::Module;
use crate::context::Context;
use crate::guard;
use crate::inbox::{AllOffResult, Gates, Job, PlanRequest, Progress, Responder, WorkTimer};
use crate::ledger::request_state::RequestState;
use crate::ledger::row::Row;
use crate::planner::history::ChangeRecord;
use crate::planner::{OrderLifetime, OrderSeq, SessionId, Standing};
use crate::platform;
use redial_protocol::diagnostics::{AuditAction, OrderEnd};
use redial_protocol::dialset::print_order;
use redial_protocol::ids::{InstanceId, RowId};
use redial_protocol::message::{Refusal, Reply};
use redial_protocol::reason::Reason;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the thread checks open compilations when nothing else happens.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Delay before deferred requests are retried.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// A compilation that its thread started again while it was open has failed if there is no code after this time.
const RESTARTED_TIMEOUT: Duration = Duration::from_millis(500);
/// The same for a compilation started once, counted from the last module that its thread loaded.
const COMPILATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The combined effects of a batch of jobs.
#[derive(Default)]
struct Batch {
    affected: BTreeSet<RowId>,
    /// Orders that matched something in newly loaded modules.
    matched: BTreeSet<OrderSeq>,
    gates: Gates,
    changes: Vec<(EnteredChange, Responder)>,
}

/// Removes and answers the changes that a later "all off" makes void, so that they never begin.
fn without_outdated(context: &Context, jobs: Vec<Job>) -> Vec<Job> {
    let Some(last_off) = jobs.iter().rposition(|job| matches!(job, Job::AllOff(..))) else { return jobs };
    let mut kept = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.into_iter().enumerate() {
        match job {
            Job::ChangeRequest(request) if at < last_off => request.answer.send(Err(outdated())),
            Job::Plan(request) if at < last_off => refuse_plan(context, request, outdated()),
            job => kept.push(job),
        }
    }
    kept
}

fn refuse_plan(context: &Context, request: PlanRequest, refusal: Refusal) {
    context.inbox.session_work.finish_plan(request.expected, None);
    request.answer.send(Err(refusal));
}

impl Worker {
    /// Runs until the process ends. A caught fault costs the job at hand, not the thread.
    pub fn run(mut self) {
        loop {
            let timeout =
                self.next_due().map_or(CHECK_INTERVAL, |due| due.saturating_duration_since(Instant::now()));
            let jobs = self.context.inbox.take(timeout.min(CHECK_INTERVAL));
            // Become busy before checking: `Shutdown` first sets the flag, then waits for busy threads.
            self.context.worker.set_busy(true);
            if self.context.ledger.lock().stopping() {
                self.context.worker.set_busy(false);
                drop(Gates(jobs.into_iter().filter_map(Job::into_gate).collect()));
                return;
            }
            self.work(jobs);
            if guard::killed() {
                guard::guard_always(AllOffResult::default(), || self.all_off(None));
            }
            self.context.worker.set_busy(false);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let deferred = self.deferred.iter().map(|deferred| deferred.due);
        let queued = self.queued.iter().map(|queued| queued.until);
        let (has_deferred, reverting) = {
            let ledger = self.context.ledger.lock();
            (!ledger.deferred.is_empty(), self.reverting.next(&ledger.reverting))
        };
        let again = has_deferred.then(|| self.last_retry + RETRY_DELAY);
        let others = deferred.chain(queued).chain(self.orders.next_expiry());
        others.chain(again).chain(reverting).chain(self.meter.next_due()).min()
    }

    fn work(&mut self, jobs: Vec<Job>) {
        // Modules first, because host threads wait for them. Changes will find their copies in these modules, too.
        let (loaded, others): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| matches!(job, Job::Loaded(..)));
        drop(self.carry_together(loaded));
        let changes = self.carry_together(without_outdated(self.context, others));
        // `Shutdown` waits for this thread, and after it the CLR must not be called.
        let context = self.context;
        let is_stopping = || context.ledger.is_stopping();
        for (entered, answer) in changes {
            if is_stopping() {
                return;
            }
            guard::guard_always((), || self.carry_out(entered, answer));
        }
        if is_stopping() {
            return;
        }
        guard::guard_always((), || {
            self.resume_deferred();
            self.resume_queued();
            self.expire();
            if self.deferred.is_empty() {
                self.ended.clear();
                self.withdrawn.clear();
            }
            if self.last_retry.elapsed() >= RETRY_DELAY {
                request::retry_deferred(self.context, &self.orders);
                self.last_retry = Instant::now();
            }
            reverting_check::check_reverting(self.context, &mut self.reverting);
            self.check_costs();
            if self.last_check.elapsed() >= CHECK_INTERVAL {
                self.context.inlining.lapse();
                trace_requests::follow(self.context);
                exceptions::follow(self.context);
                self.check_open_compilations();
                self.context.ledger.report_ignored_requests();
                self.check_shared_copies();
                self.look_up_callers();
                self.heap_trim.check(platform::untrimmed_bytes(), Instant::now(), platform::trim_heap);
                self.last_check = Instant::now();
            }
            self.publish();
        });
    }

    /// Looks up new callers before their code may go.
    fn look_up_callers(&self) {
        let Context { callers, ledger, info, modules, .. } = self.context;
        let slots_of = |is_meant: fn(&Row) -> bool| {
            let ledger = ledger.lock();
            let rows = ledger.rows().iter().filter(|row| is_meant(row));
            rows.filter_map(|row| row.counters.slot()).collect()
        };
        callers.look_up_new(info, modules, || slots_of(|row| row.counters.recorded().callers));
        let keeps_stacks = |row: &Row| row.timing.body.keeps_stacks() && row.wanted.options.keeps_calls();
        callers.look_up_stacks(info, modules, || slots_of(keeps_stacks));
    }

    /// Does these jobs; returns the changes that still need to be applied.
    fn carry_together(&mut self, jobs: Vec<Job>) -> Vec<(EnteredChange, Responder)> {
        let mut batch = Batch::default();
        for job in jobs {
            guard::guard_always((), || self.take(job, &mut batch));
        }
        let Batch { affected, matched, gates, changes } = batch;
        guard::guard_always((), || {
            self.apply(&affected, &Progress::silent());
        });
        drop(gates);
        guard::guard_always((), || self.context.launcher_orders.note(&matched));
        changes
    }

    /// Does a job, or adds its effect to `batch`.
    fn take(&mut self, job: Job, batch: &mut Batch) {
        match job {
            Job::ChangeRequest(request) => self.begin(request, None, &mut batch.changes),
            Job::Plan(request) => self.answer_plan(request),
            Job::DomainsChanged => batch.affected.extend(self.domains_changed()),
            Job::Loaded(module, gate) => {
                batch.gates.0.extend(gate);
                let found = self.scan_loaded(&module);
                batch.matched.extend(found.matched());
                batch.affected.extend(found.rows);
            }
            Job::Unloaded(lost) => {
                self.context.ledger.finish_unload(lost.clone());
                self.context.traces.retire(lost);
            }
            Job::SessionEnded(session) => {
                self.refuse_queued(Some(session), &Refusal::Cancelled);
                batch.affected.extend(self.end_held(session, OrderEnd::SessionEnded));
            }
            Job::ReleaseHeld(session, answer) => answer.send(Ok(self.release_held(session))),
            Job::AllOff(record, answer) => {
                let done = self.all_off(Some(record));
                let _ = answer.try_send(done);
            }
            Job::RecompiledCallers => {
                self.context.inbox.begin_caller_check();
                revert::dismiss_some(self.context);
            }
            Job::Bad(row, reason, hresult) => self.withdraw(row, reason, hresult),
            Job::FollowExceptions(answer) => {
                exceptions::follow(self.context);
                let _ = answer.try_send(());
            }
        }
    }

    fn answer_plan(&self, request: PlanRequest) {
        if self.context.inbox.all_off_pending() {
            return refuse_plan(self.context, request, outdated());
        }
        if request.cancelled.load(Ordering::Acquire) {
            return refuse_plan(self.context, request, Refusal::Cancelled);
        }
        let PlanRequest { orders, owner, expected, cancelled, answer } = request;
        let timer = WorkTimer::start();
        let is_cancelled = || cancelled.load(Ordering::Acquire);
        let result = self.plan(orders, owner, &|| is_cancelled() || self.context.inbox.all_off_pending());
        self.context.inbox.session_work.finish_plan(expected, Some(timer.contended(Duration::ZERO)));
        answer.send(match result {
            _ if is_cancelled() => Err(Refusal::Cancelled),
            _ if self.context.inbox.all_off_pending() => Err(outdated()),
            result => result,
        });
    }

    /// Ends expired orders.
    fn expire(&mut self) {
        let expired = self.orders.expire(Instant::now());
        if !expired.is_empty() {
            self.note_ended(&expired, OrderEnd::Expired);
            let rows = self.review(&expired).rows;
            self.apply(&rows, &Progress::silent());
        }
    }

    /// Records in the audit that orders ended by themselves, with one entry for those that ended together.
    fn note_ended(&self, ended: &[Arc<Standing>], reason: OrderEnd) {
        if let Some(first) = ended.first() {
            let more = ended.len() as u64 - 1;
            let action = AuditAction::Ended { first: print_order(&first.order), more, reason };
            self.context.audit.note(&first.by.user, &first.by.program, action);
        }
    }

    /// Ends the orders held by a session; returns the affected copies.
    fn end_held(&mut self, session: SessionId, reason: OrderEnd) -> BTreeSet<RowId> {
        // A change of this session may have taken control after the session released it.
        self.context.control.release(session);
        self.history.end_session(session);
        self.ended.push(session);
        let ended = self.orders.end_session(session);
        self.note_ended(&ended, reason);
        self.review(&ended).rows
    }

    /// Ends the orders held by a session, and reports the effect on the copies that they kept on.
    fn release_held(&mut self, session: SessionId) -> Reply {
        let held: Vec<RowId> = {
            let ledger = self.context.ledger.lock();
            let is_held = |row: &&Row| row.is_on() && row.wanted.owner == Some(OrderLifetime::Held(session));
            ledger.rows().iter().filter(is_held).map(|row| row.id).collect()
        };
        let affected = self.end_held(session, OrderEnd::Released);
        self.apply(&affected, &Progress::silent());
        self.publish_orders();
        let ledger = self.context.ledger.lock();
        let (mut reverted, mut stay, mut remaining) = (0, 0, 0);
        for row in held.into_iter().filter_map(|id| ledger.row(id)) {
            *match (row.is_on(), row.wanted.is_on()) {
                (false, _) => &mut reverted,
                (true, true) => &mut stay,
                (true, false) => &mut remaining,
            } += 1;
        }
        Reply::ReleaseHeld { reverted, stay, remaining }
    }

    /// Clears every order.
    fn all_off(&mut self, record: Option<ChangeRecord>) -> AllOffResult {
        self.refuse_queued(None, &outdated());
        let before = self.orders.clone();
        self.orders.clear();
        self.forget_types();
        let changed = record.filter(|_| !before.is_empty());
        let change = changed.map_or(0, |record| self.history.push(before, record).0);
        self.publish();
        let on = |context: &Context| -> BTreeSet<RowId> {
            context.ledger.lock().rows().iter().filter(|row| row.is_on()).map(|row| row.id).collect()
        };
        let before = on(self.context);
        let every: BTreeSet<RowId> = self.context.ledger.lock().rows().iter().map(|row| row.id).collect();
        self.apply(&every, &Progress::silent());
        revert::dismiss_unneeded(self.context);
        for deferred in std::mem::take(&mut self.deferred) {
            self.finish(deferred.entered, deferred.answer);
        }
        let remaining = on(self.context).len() as u64;
        let reverted = before.len() as u64 - remaining.min(before.len() as u64);
        AllOffResult { reverted, remaining, change }
    }

    /// Reverts a row's body that cannot be used. A body that did not compile is not tried again.
    fn withdraw(&mut self, id: RowId, reason: Reason, hresult: u32) {
        revert::revert(self.context, &[id]);
        self.context.ledger.change(|ledger, now| ledger.fail(id, RequestState::Failed, reason, hresult, now));
    }

    fn check_open_compilations(&mut self) {
        let open: Vec<(RowId, InstanceId, Arc<Module>)> = {
            let mut ledger = self.context.ledger.lock();
            let stuck = ledger.stuck_compilations(Instant::now(), RESTARTED_TIMEOUT, COMPILATION_TIMEOUT);
            let with_module = |(row, instance)| {
                let module = ledger.row(row).map(|row| Arc::clone(&row.identity.module));
                module.map(|module| (row, instance, module))
            };
            stuck.into_iter().filter_map(with_module).collect()
        };
        for (row, instance, module) in open {
            let (function, rejit) = (instance.function_id as usize, instance.rejit_id as usize);
            match module.while_loaded(|loaded| self.context.info.has_code(loaded, function, rejit)) {
                Some(true) => self.context.ledger.lock().close(row, instance),
                Some(false) => self.withdraw(row, Reason::Quarantined, 0),
                // The module is unloading, so its rows are lost.
                None => {}
            }
        }
    }

    /// Tidies the orders, and publishes them to other threads.
    fn publish(&mut self) {
        self.context.control.release_if_idle(|session| self.orders.holds(session));
        self.orders.tidy();
        let modules = &self.context.modules;
        self.orders.forget_copies(|key| !modules.has(key));
        self.publish_orders();
    }
}

//! The ReJIT thread: takes jobs, brings what the CLR does in line with what the orders want, answers.
#![forbid(unsafe_code)]

use super::budget::Meter;
use super::domains::Served;
use super::inbox::{AllOff, Answer, Gates, Job, Progress};
use super::request::{self, Applied};
use super::revert;
use super::reverting::{self, Pace};
use super::row::Row;
use super::scan::{Scan, Target, review, scan};
use super::turning::{Deferred, Finish, outdated, usual_pace_ns};
use super::waiting::Waiting;
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::guard;
use crate::known_bad::Known;
use crate::planner::history::History;
use crate::planner::{OrderSeq, Orders, Owner, SessionId, Standing};
use redial_protocol::dialset::print_order;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{AuditEntry, Refusal, Reply};
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the thread looks after open compilations when nothing else happens.
const WATCH: Duration = Duration::from_secs(1);
/// How soon what could not be asked for is tried again.
const AGAIN: Duration = Duration::from_millis(100);
/// A compilation that a thread began anew while it had it open, and that has no code after this long, failed.
const RESTARTED: Duration = Duration::from_millis(500);
/// The same of one begun once.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// What the jobs taken together ask for.
#[derive(Default)]
struct Batch {
    affected: BTreeSet<RowId>,
    /// Orders that matched something in modules that loaded.
    matched: BTreeSet<OrderSeq>,
    gates: Gates,
    turns: Vec<(Finish, Answer)>,
}

/// The jobs without the turns that "all off" came after: they are answered, and never begun.
fn without_outdated(jobs: Vec<Job>) -> Vec<Job> {
    let Some(last_off) = jobs.iter().rposition(|job| matches!(job, Job::AllOff(..))) else { return jobs };
    let mut kept = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.into_iter().enumerate() {
        match job {
            Job::Turn(turn) if at < last_off => turn.answer.give(Err(outdated())),
            Job::Plan(_, _, answer) if at < last_off => answer.give(Err(outdated())),
            job => kept.push(job),
        }
    }
    kept
}

/// State of the thread.
pub struct Worker {
    pub(super) agent: &'static Agent,
    pub(super) orders: Orders,
    pub(super) history: History,
    pub(super) deferred: Vec<Deferred>,
    /// Turns that wait for control, oldest first.
    pub(super) waiting: VecDeque<Waiting>,
    /// Sessions that ended, and orders taken back, while turns are under way: those turns must not bring them back.
    pub(super) ended: Vec<SessionId>,
    pub(super) withdrawn: BTreeSet<OrderSeq>,
    /// The AppDomains that shared copies served when orders for domains were looked at last.
    pub(super) served: Served,
    /// Nanoseconds a copy takes from a turn's beginning to acceptance, as last seen.
    pub(super) pace_ns: u64,
    /// What dials may cost, and do.
    pub(super) meter: Meter,
    looked_after: Instant,
    asked_again: Instant,
    reverting: Pace,
}

impl Worker {
    /// A worker with the orders that stand from the start.
    pub fn new(agent: &'static Agent, orders: Orders) -> Worker {
        Worker {
            agent,
            orders,
            history: History::default(),
            deferred: Vec::new(),
            waiting: VecDeque::new(),
            ended: Vec::new(),
            withdrawn: BTreeSet::new(),
            served: Served::default(),
            pace_ns: usual_pace_ns(agent.runtime.does(Known::StopsForRequests)),
            meter: Meter::new(agent.settings.budget),
            looked_after: Instant::now(),
            asked_again: Instant::now(),
            reverting: Pace::default(),
        }
    }

    /// Runs until the process ends. A fault of ours costs the job at hand, not the thread.
    pub fn run(mut self) {
        loop {
            let timeout = self.next_due().map_or(WATCH, |due| due.saturating_duration_since(Instant::now()));
            let jobs = self.agent.inbox.take(timeout.min(WATCH));
            // First busy, then a look: `Shutdown` first says stop, then waits for whoever is busy.
            self.agent.worker_busy(true);
            if self.agent.ledger.book().stopping() {
                self.agent.worker_busy(false);
                drop(Gates(jobs.into_iter().filter_map(Job::into_gate).collect()));
                return;
            }
            self.work(jobs);
            if guard::killed() {
                guard::guard_always(AllOff::default(), || self.all_off(None));
            }
            self.agent.worker_busy(false);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let deferred = self.deferred.iter().map(|deferred| deferred.due);
        let waiting = self.waiting.iter().map(|waiting| waiting.until);
        let (put_off, reverting) = {
            let book = self.agent.ledger.book();
            (!book.put_off.is_empty(), self.reverting.next(&book.reverting))
        };
        let again = put_off.then(|| self.asked_again + AGAIN);
        let others = deferred.chain(waiting).chain(self.orders.next_expiry());
        others.chain(again).chain(reverting).chain(self.meter.next_due()).min()
    }

    fn work(&mut self, jobs: Vec<Job>) {
        // Modules first: a thread of the host waits for them. What turns find, they find in these modules too.
        let (loaded, others): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| matches!(job, Job::Loaded(..)));
        drop(self.carry_together(loaded));
        let turns = self.carry_together(without_outdated(others));
        for (finish, answer) in turns {
            guard::guard_always((), || self.carry_out(finish, answer));
        }
        guard::guard_always((), || {
            self.resume_deferred();
            self.resume_waiting();
            self.expire();
            if self.deferred.is_empty() {
                self.ended.clear();
                self.withdrawn.clear();
            }
            if self.asked_again.elapsed() >= AGAIN {
                request::ask_again(self.agent, &self.orders);
                self.asked_again = Instant::now();
            }
            reverting::look_after(self.agent, &mut self.reverting);
            self.look_at_costs();
            if self.looked_after.elapsed() >= WATCH {
                self.agent.inlining.lapse();
                self.agent.follow_exceptions();
                self.look_after_open_compilations();
                self.agent.look_after_silent_requests();
                self.look_after_shared_copies();
                self.agent.callers.look_up_new(self.agent);
                self.looked_after = Instant::now();
            }
            self.publish();
        });
    }

    /// Does these jobs; what is left are turns to be carried out.
    fn carry_together(&mut self, jobs: Vec<Job>) -> Vec<(Finish, Answer)> {
        let mut batch = Batch::default();
        for job in jobs {
            guard::guard_always((), || self.take(job, &mut batch));
        }
        let Batch { affected, matched, gates, turns } = batch;
        guard::guard_always((), || {
            self.apply(&affected, &Progress::silent());
        });
        drop(gates);
        guard::guard_always((), || self.agent.launched.note(&matched));
        turns
    }

    /// Does a job, or notes in `batch` what is done for all of them together.
    fn take(&mut self, job: Job, batch: &mut Batch) {
        match job {
            Job::Plan(_, _, answer) if self.agent.inbox.off_waits() => answer.give(Err(outdated())),
            Job::Turn(turn) => self.begin(turn, None, &mut batch.turns),
            Job::Plan(orders, owner, answer) => answer.give(self.plan(orders, owner)),
            Job::DomainsChanged => batch.affected.extend(self.domains_changed()),
            Job::Loaded(module, gate) => {
                batch.gates.0.extend(gate);
                let found = self.scan_one(&module);
                batch.matched.extend(found.matched());
                batch.affected.extend(found.rows);
            }
            Job::SessionEnded(session) => {
                self.refuse_waiting(Some(session), &Refusal::Cancelled);
                batch.affected.extend(self.end_held(session, "its session ended"));
            }
            Job::LetGo(session, answer) => answer.give(Ok(self.let_go(session))),
            Job::AllOff(what, answer) => {
                let done = self.all_off(Some(what));
                let _ = answer.try_send(done);
            }
            Job::Passengers => {
                self.agent.passengers_told.store(false, Ordering::Release);
                revert::dismiss_unneeded(self.agent);
            }
            Job::Bad(row, reason, hresult) => self.withdraw(row, reason, hresult),
        }
    }

    /// What these orders mean, everywhere.
    pub(super) fn scan_all(&self, seqs: &[OrderSeq]) -> Scan {
        let mut found = Scan::default();
        if seqs.is_empty() {
            return found;
        }
        let wanted: BTreeSet<OrderSeq> = seqs.iter().copied().collect();
        for module in self.agent.modules.all() {
            let orders = self.orders.for_assembly(&module.name).filter(|s| wanted.contains(&s.seq));
            scan(self.agent, &Target::new(self.agent, &module, orders), &mut found);
        }
        found
    }

    /// What becomes of the copies that these orders match, which came, went, or mean other domains now.
    pub(super) fn review(&self, changed: &[Arc<Standing>]) -> Scan {
        let mut found = Scan::default();
        if changed.is_empty() {
            return found;
        }
        for module in self.agent.modules.all() {
            let of_module = changed.iter().filter(|one| one.pattern.matches_assembly(&module.name));
            let of_module: Vec<&Standing> = of_module.map(|one| &**one).collect();
            if !of_module.is_empty() {
                let orders = self.orders.for_assembly(&module.name);
                review(self.agent, &Target::new(self.agent, &module, orders), &of_module, &mut found);
            }
        }
        // Nothing stays on for an order that stands no more, whatever became of its module's metadata.
        let book = self.agent.ledger.book();
        let stale = |row: &&Row| row.is_on() && row.decides.is_none_or(|seq| !self.orders.stands(seq));
        found.rows.extend(book.rows().iter().filter(stale).map(|row| row.id));
        drop(book);
        found
    }

    fn scan_one(&self, module: &Arc<Module>) -> Scan {
        let mut found = Scan::default();
        let orders = self.orders.for_assembly(&module.name);
        scan(self.agent, &Target::new(self.agent, module, orders), &mut found);
        found
    }

    /// Brings the CLR in line with the orders for these rows.
    pub(super) fn apply(&mut self, rows: &BTreeSet<RowId>, progress: &Progress) -> Applied {
        request::apply(self.agent, &self.orders, rows, progress)
    }

    /// Ends the orders whose time has passed.
    fn expire(&mut self) {
        let expired = self.orders.expire(Instant::now());
        if !expired.is_empty() {
            self.note_ended(&expired, "its time has passed");
            let rows = self.review(&expired).rows;
            self.apply(&rows, &Progress::silent());
        }
    }

    /// Tells the audit ring of orders that ended by themselves; one line for those that ended together.
    fn note_ended(&self, ended: &[Arc<Standing>], why: &str) {
        if let Some(first) = ended.first() {
            let more =
                if ended.len() > 1 { format!(" (and {} more)", ended.len() - 1) } else { String::new() };
            let text = format!("ended, {why}: {}{more}", print_order(&first.order));
            self.agent.server.audit.note_text(&first.by.user, &first.by.program, text);
        }
    }

    /// Ends what a session holds; the copies it concerns.
    fn end_held(&mut self, session: SessionId, why: &str) -> BTreeSet<RowId> {
        // A turn of its that was on its way may have taken control since the session gave it back.
        self.agent.server.control.release(session);
        self.history.end_session(session);
        self.ended.push(session);
        let ended = self.orders.end_session(session);
        self.note_ended(&ended, why);
        self.review(&ended).rows
    }

    /// Ends what a session holds, and tells what became of the copies that were on because of it.
    fn let_go(&mut self, session: SessionId) -> Reply {
        let held: Vec<RowId> = {
            let book = self.agent.ledger.book();
            let is_held = |row: &&Row| row.is_on() && row.owner == Some(Owner::Held(session));
            book.rows().iter().filter(is_held).map(|row| row.id).collect()
        };
        let affected = self.end_held(session, "its controller let it go");
        self.apply(&affected, &Progress::silent());
        self.tell_orders();
        let book = self.agent.ledger.book();
        let (mut reverted, mut stay, mut remaining) = (0, 0, 0);
        for row in held.into_iter().filter_map(|id| book.row(id)) {
            *match (row.is_on(), row.wanted > Level::Off) {
                (false, _) => &mut reverted,
                (true, true) => &mut stay,
                (true, false) => &mut remaining,
            } += 1;
        }
        Reply::LetGo { reverted, stay, remaining }
    }

    /// Clears every order.
    fn all_off(&mut self, what: Option<AuditEntry>) -> AllOff {
        self.refuse_waiting(None, &outdated());
        let before = self.orders.clone();
        self.orders.clear();
        let changed = what.filter(|_| !before.is_empty());
        let change = changed.map_or(0, |what| self.history.push(before, what).0);
        self.publish();
        let on = |agent: &Agent| -> BTreeSet<RowId> {
            agent.ledger.book().rows().iter().filter(|row| row.is_on()).map(|row| row.id).collect()
        };
        let before = on(self.agent);
        let every: BTreeSet<RowId> = self.agent.ledger.book().rows().iter().map(|row| row.id).collect();
        self.apply(&every, &Progress::silent());
        revert::dismiss_unneeded(self.agent);
        for deferred in std::mem::take(&mut self.deferred) {
            self.finish(deferred.finish, deferred.answer);
        }
        let remaining = on(self.agent).len() as u64;
        let reverted = before.len() as u64 - remaining.min(before.len() as u64);
        AllOff { reverted, remaining, change }
    }

    /// Takes back a row's body that cannot be used. A body that did not compile is not tried again.
    fn withdraw(&mut self, id: RowId, reason: Reason, hresult: u32) {
        revert::revert(self.agent, &[id]);
        self.agent.ledger.change(|book, now| book.fail(id, State::Failed, reason, hresult, now));
    }

    fn look_after_open_compilations(&mut self) {
        let open = self.agent.ledger.book().doubtful(RESTARTED, GIVEN_UP);
        for (row, instance) in open {
            if self.agent.info.has_code(instance.function_id as usize, instance.rejit_id as usize) {
                self.agent.ledger.book().close(row, instance);
            } else {
                self.withdraw(row, Reason::Quarantined, 0);
            }
        }
    }

    /// Puts the orders in order, and makes them known to other threads.
    fn publish(&mut self) {
        self.agent.server.control.settle(|session| self.orders.holds(session));
        self.orders.tidy();
        let modules = &self.agent.modules;
        self.orders.forget_copies(|key| !modules.has(key));
        self.tell_orders();
    }

    /// Makes the orders known to other threads; see [`Agent::publish`].
    pub(super) fn tell_orders(&self) {
        self.agent.publish(&self.orders, self.history.len());
    }
}

//! The ReJIT thread: takes jobs, brings what the CLR does in line with what the orders want, answers.
#![forbid(unsafe_code)]

use super::inbox::{Answer, Gates, Job, Turn};
use super::request;
use super::row::Row;
use super::scan::{Scan, scan};
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::guard;
use crate::planner::{Added, OrderSeq, Orders, Owner, SessionId, Standing};
use crate::server::control::Lease;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_REFUSALS, MAX_SENTENCES};
use redial_protocol::message::Refusal;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, RefusedMethod};
use redial_protocol::state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Turns of a copy closer together than this are merged: each recompilation costs memory the CLR keeps.
const MERGE: Duration = Duration::from_millis(50);
/// How often the thread looks after open compilations when nothing else happens.
const WATCH: Duration = Duration::from_secs(1);
/// A compilation that a thread began anew while it had it open, and that has no code after this long, failed.
const RESTARTED: Duration = Duration::from_millis(500);
/// The same of one begun once.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// A turn whose copies were turned a moment ago.
struct Deferred {
    rows: BTreeSet<RowId>,
    due: Instant,
    finish: Finish,
    answer: Answer,
}

/// What a turn's answer is made from.
struct Finish {
    found: Scan,
    warnings: Vec<String>,
    lease: Lease,
    held: bool,
}

/// What the jobs taken together ask for.
#[derive(Default)]
struct Batch {
    affected: BTreeSet<RowId>,
    gates: Gates,
    turns: Vec<(Finish, Answer)>,
}

/// The jobs without the turns that "all off" came after: they are answered, and never begun.
fn without_outdated(jobs: Vec<Job>) -> Vec<Job> {
    let Some(last_off) = jobs.iter().rposition(|job| matches!(job, Job::AllOff(_))) else { return jobs };
    let mut kept = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.into_iter().enumerate() {
        match job {
            Job::Turn(turn) if at < last_off => {
                let sentence = "everything was turned off before this turn began";
                turn.answer.give(Err(Refusal::AgentOff(sentence.into())));
            }
            job => kept.push(job),
        }
    }
    kept
}

/// State of the thread.
pub struct Worker {
    agent: &'static Agent,
    orders: Orders,
    deferred: Vec<Deferred>,
    looked_after: Instant,
}

impl Worker {
    /// A worker with the orders that stand from the start.
    pub fn new(agent: &'static Agent, orders: Orders) -> Worker {
        Worker { agent, orders, deferred: Vec::new(), looked_after: Instant::now() }
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
                guard::guard_always((0, 0), || self.all_off());
            }
            self.agent.worker_busy(false);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.deferred.iter().map(|d| d.due).min()
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
            if self.looked_after.elapsed() >= WATCH {
                self.look_after_open_compilations();
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
        let Batch { affected, gates, turns } = batch;
        guard::guard_always((), || self.apply(&affected));
        drop(gates);
        turns
    }

    /// Does a job, or notes in `batch` what is done for all of them together.
    fn take(&mut self, job: Job, batch: &mut Batch) {
        match job {
            Job::Turn(turn) => {
                let (result, answer) = self.take_in(turn);
                match result {
                    Ok(finish) => batch.turns.push((finish, answer)),
                    Err(refusal) => answer.give(Err(refusal)),
                }
            }
            Job::Loaded(module, gate) => {
                batch.gates.0.extend(gate);
                batch.affected.extend(self.scan_one(&module).rows);
            }
            Job::SessionEnded(session) => batch.affected.extend(self.end_session(session)),
            Job::AllOff(answer) => {
                let counts = self.all_off();
                if let Some(answer) = answer {
                    let _ = answer.try_send(counts);
                }
            }
            Job::Bad(row, reason, hresult) => self.withdraw(row, reason, hresult),
        }
    }

    /// Enters a turn's orders, finds what they match, and takes control for it.
    fn take_in(&mut self, turn: Turn) -> (Result<Finish, Refusal>, Answer) {
        let Turn { orders, owner, later, claim, answer } = turn;
        let before = self.orders.clone();
        let control = &self.agent.server.control;
        // Taken away only for something that is done: a turn that fails leaves control where it is.
        let early = if claim.take { Ok(None) } else { control.acquire(&claim).map(Some) };
        let taken = early.map_err(Refusal::ControlHeld).and_then(|lease| {
            let (found, warnings) = self.enter(orders, owner, later)?;
            let lease = lease.map_or_else(|| control.acquire(&claim), Ok).map_err(Refusal::ControlHeld)?;
            Ok(Finish { found, warnings, lease, held: matches!(owner, Owner::Held(_)) })
        });
        if taken.is_err() {
            self.orders = before;
        }
        self.agent.ledger.wake();
        (taken, answer)
    }

    /// Adds orders and finds what they match; what it says of those that match nothing. After an error some may have
    /// been added.
    fn enter(
        &mut self,
        orders: Vec<Order>,
        owner: Owner,
        later: bool,
    ) -> Result<(Scan, Vec<String>), Refusal> {
        let mut seqs = Vec::with_capacity(orders.len());
        let mut replacing = BTreeSet::new();
        for (pattern, order) in self.parse(orders)? {
            let added = self.orders.add(pattern, order, owner);
            let Added { seq, replaced } = added.map_err(|e| Refusal::OverLimit(e.to_string()))?;
            seqs.push(seq);
            replacing.extend(replaced.then_some(seq));
        }
        // Not tidied yet: an `off` that takes the place of its forerunner masks nothing, but must still find its rows.
        self.agent.publish_patterns(&self.orders);
        let found = self.scan_all(&seqs);
        let mut warnings = Vec::new();
        if !later {
            // What takes the place of a standing order changes something even where nothing is loaded yet.
            let stands = |seq: &OrderSeq| found.per_order.contains_key(seq) || replacing.contains(seq);
            if !seqs.iter().any(stands) {
                return Err(Refusal::NothingMatched { suggestions: self.suggestions(&seqs) });
            }
            for seq in seqs.iter().filter(|seq| !stands(seq)) {
                if let Some(order) = self.orders.get(*seq) {
                    warnings.push(format!("nothing matches {} yet; it was not set", order.order.pattern));
                }
                self.orders.remove(*seq);
            }
        }
        // A list that the other side would refuse to read helps nobody.
        let more = warnings.len().saturating_sub(MAX_SENTENCES - 1);
        if more > 1 {
            warnings.truncate(MAX_SENTENCES - 1);
            warnings.push(format!("and {more} more patterns match nothing yet"));
        }
        Ok((found, warnings))
    }

    fn parse(&self, orders: Vec<Order>) -> Result<Vec<(Arc<Pattern>, Order)>, Refusal> {
        let most = self.agent.max_level();
        let parse = |order: Order| {
            if order.level > most {
                let sentence =
                    format!("level {} is not offered by this agent, which offers up to {most}", order.level);
                return Err(Refusal::Unsupported(sentence));
            }
            let pattern = Pattern::parse(&order.pattern).map_err(|e| Refusal::BadPattern(e.to_string()))?;
            Ok((Arc::new(pattern), order))
        };
        orders.into_iter().map(parse).collect()
    }

    fn suggestions(&self, seqs: &[OrderSeq]) -> Vec<String> {
        let first = seqs.first().and_then(|seq| self.orders.get(*seq));
        first
            .map(|standing| crate::catalogue::suggest::nearest(self.agent, &standing.pattern))
            .unwrap_or_default()
    }

    fn scan_all(&self, seqs: &[OrderSeq]) -> Scan {
        let mut found = Scan::default();
        for module in self.agent.modules.all() {
            let orders: Vec<&Standing> =
                self.orders.for_assembly(&module.name).filter(|s| seqs.contains(&s.seq)).collect();
            scan(self.agent, &module, &orders, &mut found);
        }
        found
    }

    fn scan_one(&self, module: &Arc<Module>) -> Scan {
        let mut found = Scan::default();
        let orders: Vec<&Standing> = self.orders.for_assembly(&module.name).collect();
        scan(self.agent, module, &orders, &mut found);
        found
    }

    /// Turns what a turn found, at once or, where its copies were turned a moment ago, a moment later.
    fn carry_out(&mut self, finish: Finish, answer: Answer) {
        let rows = &finish.found.rows;
        let latest = {
            let book = self.agent.ledger.book();
            let wants = |row: &&Row| row.turned.is_some() && self.orders.wanted(&row.orders).0 != row.wanted;
            rows.iter().filter_map(|id| book.row(*id)).filter(wants).filter_map(|row| row.turned).max()
        };
        match latest.map(|turned| turned + MERGE) {
            Some(due) if due > Instant::now() => {
                self.deferred.push(Deferred { rows: rows.clone(), due, finish, answer });
            }
            _ => {
                self.apply(rows);
                self.finish(finish, answer);
            }
        }
    }

    /// Answers a turn that was carried out, control given back before anyone learns of it.
    fn finish(&self, mut finish: Finish, answer: Answer) {
        let report = self.report(&finish);
        finish.lease.keeps = finish.held;
        drop(finish.lease);
        self.agent.ledger.wake();
        answer.give(Ok(report));
    }

    fn resume_deferred(&mut self) {
        let now = Instant::now();
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.deferred).into_iter().partition(|deferred| deferred.due <= now);
        self.deferred = later;
        let rows: BTreeSet<RowId> = due.iter().flat_map(|deferred| deferred.rows.iter().copied()).collect();
        self.apply(&rows);
        for deferred in due {
            self.finish(deferred.finish, deferred.answer);
        }
    }

    /// Brings the CLR in line with the orders for these rows.
    fn apply(&mut self, rows: &BTreeSet<RowId>) {
        if !rows.is_empty() {
            request::apply(self.agent, &self.orders, rows);
        }
    }

    fn end_session(&mut self, session: SessionId) -> BTreeSet<RowId> {
        // A turn of its that was on its way may have taken control since the session gave it back.
        self.agent.server.control.release(session);
        if !self.orders.end_session(session) {
            return BTreeSet::new();
        }
        let book = self.agent.ledger.book();
        book.rows().iter().filter(|row| row.owner == Some(Owner::Held(session))).map(|row| row.id).collect()
    }

    /// Clears every order; answers how many copies were reverted and how many are still on.
    fn all_off(&mut self) -> (u64, u64) {
        self.orders.clear();
        self.publish();
        let on = |agent: &Agent| -> BTreeSet<RowId> {
            agent.ledger.book().rows().iter().filter(|row| row.is_on()).map(|row| row.id).collect()
        };
        let before = on(self.agent);
        let every: BTreeSet<RowId> = self.agent.ledger.book().rows().iter().map(|row| row.id).collect();
        self.apply(&every);
        for deferred in std::mem::take(&mut self.deferred) {
            self.finish(deferred.finish, deferred.answer);
        }
        let remaining = on(self.agent).len() as u64;
        (before.len() as u64 - remaining.min(before.len() as u64), remaining)
    }

    /// Takes back a row's body that cannot be used. A body that did not compile is not tried again.
    fn withdraw(&mut self, id: RowId, reason: Reason, hresult: u32) {
        request::revert(self.agent, &[id]);
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

    /// Makes the patterns known to host threads, which ask whether a loading module may match.
    fn publish(&mut self) {
        self.orders.tidy();
        self.agent.publish_patterns(&self.orders);
    }

    fn report(&self, finish: &Finish) -> DialReport {
        let book = self.agent.ledger.book();
        let mut report = DialReport {
            matched: finish.found.rows.len() as u64
                + finish.found.bodyless
                + finish.found.no_room
                + finish.found.not_entered.values().sum::<u64>(),
            bodyless: finish.found.bodyless,
            warnings: finish.warnings.clone(),
            refused: finish.found.not_entered_names.clone(),
            ..DialReport::default()
        };
        let mut reasons: BTreeMap<Reason, u64> = BTreeMap::new();
        for row in finish.found.rows.iter().filter_map(|id| book.row(*id)) {
            let (wanted, _) = self.orders.wanted(&row.orders);
            let done = if wanted == Level::Off { !row.is_on() } else { row.is_on() };
            if done {
                report.accepted += 1;
                continue;
            }
            let (reason, hresult) = row.reason.unwrap_or((Reason::Hresult, 0));
            *reasons.entry(reason).or_default() += 1;
            if report.refused.len() < MAX_REFUSALS {
                report.refused.push(RefusedMethod { method: row.what.full_name(), reason, hresult });
            }
        }
        if finish.found.no_room > 0 {
            *reasons.entry(Reason::Budget).or_default() += finish.found.no_room;
        }
        for (reason, count) in &finish.found.not_entered {
            *reasons.entry(*reason).or_default() += count;
        }
        report.refused_by_reason = reasons.into_iter().collect();
        report
    }
}

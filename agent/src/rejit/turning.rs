//! Turns on the ReJIT thread: taking in, carrying out, taking back.
#![forbid(unsafe_code)]

use super::budget::left_alone;
use super::foresee::{Foreseen, foresee};
use super::inbox::{Answer, Progress, Turn, Wish};
use super::report::{may_be_expanded, report, unmatched_named};
use super::request::Applied;
use super::row::Row;
use super::scan::Scan;
use super::thread::Worker;
use crate::known_bad::Known;
use crate::planner::history::{Change, ChangeId};
use crate::planner::{AddedTogether, NewOrder, OrderSeq, Orders, Owner, SetBy, Standing};
use crate::server::audit;
use crate::server::control::Lease;
use redial_protocol::dialset::{check_options, print_order};
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, Reply};
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use redial_protocol::report::{DialReport, PlanReport};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Turns of a copy closer together than this are merged: each recompilation costs memory the CLR keeps.
const MERGE: Duration = Duration::from_millis(50);
/// Lines of one turn that the audit ring keeps.
const AUDITED: usize = 16;
/// Copies from which on a turn tells how fast turns are here.
const TELLING: usize = 256;
/// Bytes the agent uses for a dialled copy (row, names, counters; measured).
const AGENT_BYTES_PER_COPY: u64 = 1300;

/// A turn whose copies were turned a moment ago.
pub(super) struct Deferred {
    pub(super) due: Instant,
    pub(super) finish: Finish,
    pub(super) answer: Answer,
}

/// A turn that was taken in: what its answer is made from, and what takes it back.
pub(super) struct Finish {
    pub(super) found: Scan,
    warnings: Vec<String>,
    /// Indices of the orders that were not set.
    unmatched: Vec<u32>,
    /// None of a turn of the budget's, which needs no control.
    lease: Option<Lease>,
    /// Its session keeps control.
    held: bool,
    pub(super) progress: Progress,
    begun: Instant,
    /// Orders it added, or that came back.
    seqs: Vec<OrderSeq>,
    /// Orders it replaced, or that went.
    replaced: Vec<Arc<Standing>>,
    change: Recorded,
    /// Rows it turned up that the budget had stepped down.
    spared: Vec<RowId>,
    by: Arc<SetBy>,
    /// For the audit ring.
    lines: Vec<String>,
}

impl Finish {
    /// The change's number, if it is one.
    pub(super) fn made(&self) -> Option<u64> {
        match self.change {
            Recorded::Made(ChangeId(change)) => Some(change),
            Recorded::Undone(_) | Recorded::Nothing => None,
        }
    }
}

/// What stands in the history for a turn.
enum Recorded {
    /// It is a change.
    Made(ChangeId),
    /// It undid one.
    Undone(Box<Change>),
    /// All of it was refused: the orders are as before.
    Nothing,
}

/// Orders as a turn changed them.
pub(super) struct Entered {
    found: Scan,
    warnings: Vec<String>,
    unmatched: Vec<u32>,
    seqs: Vec<OrderSeq>,
    replaced: Vec<Arc<Standing>>,
    undone: Option<Box<Change>>,
    lines: Vec<String>,
    held: bool,
}

impl Worker {
    /// Enters a turn's orders, finds what they match, and takes control for it unless it has it (`lease`).
    pub(super) fn take_in(&mut self, turn: Turn, lease: Option<Lease>) -> (Result<Finish, Refusal>, Answer) {
        let Turn { change, claim, user, progress, answer } = turn;
        let begun = Instant::now();
        let before = self.orders.clone();
        let by = Arc::new(SetBy { user, program: claim.who.program.clone(), pid: claim.who.pid });
        let entered = match change {
            Wish::Add { orders, stand, later } => {
                let lines = orders.iter().map(print_order).collect();
                let owner = Owner::of(stand, claim.session, begun);
                self.parse(orders, owner, &by).and_then(|new| self.add(new, lines, later))
            }
            Wish::Undo => self.undo(begun),
            Wish::TakeBack(change) => self.undo_one(ChangeId(change), begun),
            // It changes no orders.
            Wish::Budget(_) => Err(Refusal::NothingToUndo),
        };
        let taken = entered.and_then(|entered| {
            let lease = lease.map_or_else(|| self.agent.server.control.acquire(&claim), Ok);
            lease.map(|lease| (entered, lease)).map_err(|taken| Refusal::ControlHeld(taken.by))
        });
        let taken = match taken {
            Ok((mut entered, lease)) => {
                // What comes back by an undo may be its own.
                entered.held |= self.orders.holds(claim.session);
                let spared = self.spare(entered.found.rows.iter().copied());
                entered.warnings.extend((!spared.is_empty()).then(|| left_alone(spared.len())));
                let finish = self.recorded(entered, before, Some(lease), by, progress, begun);
                Ok(Finish { spared, ..finish })
            }
            Err(refusal) => {
                self.orders.replace_by(before);
                self.agent.anticipate(&self.orders);
                Err(refusal)
            }
        };
        self.agent.ledger.wake();
        (taken, answer)
    }

    /// Notes what a turn did to the orders that stood before it, to be carried out.
    pub(super) fn recorded(
        &mut self,
        entered: Entered,
        before: Orders,
        lease: Option<Lease>,
        by: Arc<SetBy>,
        progress: Progress,
        begun: Instant,
    ) -> Finish {
        let Entered { found, warnings, unmatched, seqs, replaced, undone, lines, held } = entered;
        let change = match undone {
            Some(change) => Recorded::Undone(change),
            None if seqs.iter().all(|seq| !self.orders.stands(*seq)) && replaced.is_empty() => {
                Recorded::Nothing
            }
            None => {
                let what = audit::entry(&by.user, &by.program, summary(&lines));
                Recorded::Made(self.history.push(before, what))
            }
        };
        let spared = Vec::new();
        Finish {
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
            lines,
        }
    }

    /// Adds orders and finds what they match; what it says of those that match nothing. After an error some may have
    /// been added. `lines` are for the audit ring.
    pub(super) fn add(
        &mut self,
        new: Vec<NewOrder>,
        lines: Vec<String>,
        later: bool,
    ) -> Result<Entered, Refusal> {
        let orders: Vec<Order> = new.iter().map(|new| new.order.clone()).collect();
        let held = new.iter().any(|new| matches!(new.owner, Owner::Held(_)));
        let added = self.orders.add_all(new).map_err(|e| Refusal::OverLimit(e.to_string()))?;
        let AddedTogether { seqs, replacing, replaced } = added;
        self.agent.anticipate(&self.orders);
        // Not tidied yet: an `off` that takes the place of its forerunner masks nothing, but must still find its rows.
        let found = self.scan_all(&seqs);
        let mut unmatched = Vec::new();
        if !later {
            // What takes the place of a standing order changes something even where nothing is loaded yet.
            let stands = |seq: &OrderSeq| found.per_order.contains_key(seq) || replacing.contains(seq);
            let matches = |seq: &OrderSeq| stands(seq) || found.refused_as_shared.contains(seq);
            unmatched = indices(&seqs, |seq| !matches(seq));
            if unmatched.len() == seqs.len() {
                return Err(Refusal::NothingMatched { suggestions: self.suggestions(&seqs) });
            }
            seqs.iter().filter(|seq| !stands(seq)).for_each(|seq| self.orders.remove(*seq));
        }
        let not_set = |order: &&Order| format!("{}; it was not set", matches_nothing(order));
        let warnings = unmatched_named(chosen(&orders, &unmatched).iter().map(not_set));
        Ok(Entered { found, warnings, unmatched, seqs, replaced, undone: None, lines, held })
    }

    /// Puts back the orders that stood before the last change.
    fn undo(&mut self, now: Instant) -> Result<Entered, Refusal> {
        let present = self.orders.clone();
        // Not those that are over by themselves, or had changed nothing.
        let change = loop {
            let change = self.history.pop(now).ok_or(Refusal::NothingToUndo)?;
            if !change.before.not_in(&present).is_empty() || !present.not_in(&change.before).is_empty() {
                break change;
            }
        };
        self.orders.replace_by(change.before.clone());
        Ok(self.undone(change, &present))
    }

    /// What follows from orders that a change was taken out of; `present` stood before.
    fn undone(&mut self, change: Change, present: &Orders) -> Entered {
        let seqs = self.orders.not_in(present);
        let replaced: Vec<Arc<Standing>> =
            present.all().iter().filter(|standing| !self.orders.stands(standing.seq)).cloned().collect();
        self.agent.anticipate(&self.orders);
        let back = self.orders.all().iter().filter(|standing| seqs.contains(&standing.seq));
        let found = self.review(&back.chain(&replaced).cloned().collect::<Vec<_>>());
        let lines = vec![format!("undo of {}", change.what.order)];
        let undone = Some(Box::new(change));
        let (warnings, unmatched) = (Vec::new(), Vec::new());
        Entered { found, warnings, unmatched, seqs, replaced, undone, lines, held: false }
    }

    /// Takes back one change, and leaves later ones as they are.
    fn undo_one(&mut self, id: ChangeId, now: Instant) -> Result<Entered, Refusal> {
        let present = self.orders.clone();
        let reversal = self.history.take(id, &present, now).ok_or(Refusal::NothingToUndo)?;
        self.orders.take_back(&reversal.came, &reversal.went);
        self.withdrawn.extend(&reversal.came);
        Ok(self.undone(reversal.change, &present))
    }

    fn parse(&self, orders: Vec<Order>, owner: Owner, by: &Arc<SetBy>) -> Result<Vec<NewOrder>, Refusal> {
        let most = self.agent.max_level();
        let parse = |order: Order| {
            if order.level > most {
                let mut sentence =
                    format!("level {} is not offered by this agent, which offers up to {most}", order.level);
                if order.level <= Level::OFFERED {
                    sentence.push_str(": its program was started with a lower REDIAL_MAX_LEVEL");
                }
                return Err(Refusal::Unsupported(sentence));
            }
            check_options(&order).map_err(|problem| Refusal::Unsupported(problem.to_string()))?;
            let pattern = Pattern::parse(&order.pattern).map_err(|e| Refusal::BadPattern(e.to_string()))?;
            let copy = order.copy.map(|id| self.module_key(id));
            let (pattern, by) = (Arc::new(pattern), Arc::clone(by));
            Ok(NewOrder { pattern, order, copy, owner, by, stepped: None })
        };
        orders.into_iter().map(parse).collect()
    }

    /// The present life of a module; of one that is not loaded a life that none ever has.
    fn module_key(&self, id: u64) -> ModuleKey {
        let module = usize::try_from(id).ok().and_then(|id| self.agent.modules.get(id));
        module.map_or(ModuleKey { module_id: id, generation: 0 }, |module| module.key)
    }

    fn suggestions(&self, seqs: &[OrderSeq]) -> Vec<String> {
        let first = seqs.first().and_then(|seq| self.orders.get(*seq));
        // A pattern can be mended; the id of a module cannot.
        first
            .filter(|standing| standing.order.copy.is_none())
            .map(|standing| crate::catalogue::suggest::nearest(self.agent, &standing.pattern))
            .unwrap_or_default()
    }

    /// Turns what a turn found, at once or, where its copies were turned a moment ago, a moment later.
    pub(super) fn carry_out(&mut self, finish: Finish, answer: Answer) {
        let latest = {
            let book = self.agent.ledger.book();
            let wants = |row: &&Row| row.turned.is_some() && self.orders.wanted(row.decides).0 != row.wanted;
            let rows = finish.found.rows.iter().filter_map(|id| book.row(*id));
            rows.filter(wants).filter_map(|row| row.turned).max()
        };
        match latest.map(|turned| turned + MERGE) {
            _ if finish.progress.is_cancelled() => self.take_back(finish, answer),
            Some(due) if due > Instant::now() => self.deferred.push(Deferred { due, finish, answer }),
            _ => {
                let applied = self.apply(&finish.found.rows, &finish.progress);
                self.learn_pace(applied, finish.begun);
                if applied.complete { self.finish(finish, answer) } else { self.take_back(finish, answer) }
            }
        }
    }

    /// Turns what was put off and is due now, together.
    pub(super) fn resume_deferred(&mut self) {
        let now = Instant::now();
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.deferred).into_iter().partition(|deferred| deferred.due <= now);
        self.deferred = later;
        let (cancelled, due): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|deferred| deferred.finish.progress.is_cancelled());
        for deferred in cancelled {
            self.take_back(deferred.finish, deferred.answer);
        }
        let rows = due.iter().flat_map(|deferred| deferred.finish.found.rows.iter().copied()).collect();
        let complete = self.apply(&rows, &Progress::silent()).complete;
        for Deferred { finish, answer, .. } in due {
            if complete { self.finish(finish, answer) } else { self.take_back(finish, answer) }
        }
    }

    /// Answers a turn that was carried out, control given back before anyone learns of it.
    pub(super) fn finish(&self, finish: Finish, answer: Answer) {
        let Finish { found, warnings, unmatched, mut lease, held, change, by, lines, .. } = finish;
        let report = report(&self.agent.ledger.book(), &self.orders, &found, warnings);
        let report = DialReport { unmatched, ..report };
        let refused = if matches!(change, Recorded::Nothing) { "refused: " } else { "" };
        // A large set must not push everything else out of the ring.
        let (told, rest) = lines.split_at(lines.len().min(AUDITED));
        for line in told {
            self.agent.server.audit.note_text(&by.user, &by.program, format!("{refused}{line}"));
        }
        if !rest.is_empty() {
            let lines = if rest.len() == 1 { "line" } else { "lines" };
            let more = format!("and {} more {lines} of the same set", rest.len());
            self.agent.server.audit.note_text(&by.user, &by.program, more);
        }
        if let Some(lease) = &mut lease {
            lease.keeps = held;
        }
        drop(lease);
        self.tell_orders();
        if self.has_budget() {
            // Whoever turned something up, or undid a step, may ask at once what became of it.
            self.tell_budget();
        }
        self.agent.ledger.wake();
        answer.give(Ok(match change {
            Recorded::Made(ChangeId(change)) => Reply::Dialled(DialReport { change, ..report }),
            Recorded::Nothing => Reply::Dialled(report),
            Recorded::Undone(change) => Reply::Undone { what: change.what, report },
        }));
    }

    /// Undoes what was done of a turn that nobody wants any more.
    fn take_back(&mut self, finish: Finish, answer: Answer) {
        let Finish { mut found, lease, progress, seqs, mut replaced, change, spared, by, lines, .. } = finish;
        self.spare_no_more(&spared);
        let gone = |owner: Owner| matches!(owner, Owner::Held(session) if self.ended.contains(&session));
        if let Recorded::Undone(_) = change {
            // Withdrawn by the undo that is withdrawn itself.
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
            Recorded::Made(id) => self.history.forget(id, &seqs, &replaced),
            Recorded::Undone(mut change) => {
                for session in &self.ended {
                    change.before.end_session(*session);
                }
                self.history.put_back(*change, &seqs, &replaced);
            }
            Recorded::Nothing => {}
        }
        found.rows.extend(self.review(&changed).rows);
        self.apply(&found.rows, &Progress::silent());
        self.agent.server.audit.note_text(&by.user, &by.program, format!("cancelled: {}", summary(&lines)));
        drop(lease);
        self.tell_orders();
        self.agent.ledger.wake();
        answer.give(Err(if progress.is_cancelled() { Refusal::Cancelled } else { outdated() }));
    }

    /// What a turn with these orders would do.
    pub(super) fn plan(&self, orders: Vec<Order>, owner: Owner) -> Result<Reply, Refusal> {
        let mut then = self.orders.clone();
        let new = self.parse(orders.clone(), owner, &Arc::default())?;
        let added = then.add_all(new).map_err(|e| Refusal::OverLimit(e.to_string()))?;
        let Foreseen { mut plan, expanded, passengers } = foresee(self.agent, &then, &added.seqs);
        let matched: BTreeSet<OrderSeq> = added
            .seqs
            .iter()
            .zip(&plan.per_order)
            .filter(|(_, sum)| **sum > 0)
            .map(|(seq, _)| *seq)
            .collect();
        plan.unmatched = indices(&added.seqs, |seq| !matched.contains(seq) && !added.replacing.contains(seq));
        let nothing = chosen(&orders, &plan.unmatched);
        plan.warnings = unmatched_named(nothing.iter().map(|order| matches_nothing(order)));
        if self.agent.runtime.does(Known::StopsForRequests) && plan.to_request + plan.to_revert > 0 {
            plan.warnings.push("this runtime stops the program while it takes a request".into());
        }
        plan.warnings.extend((expanded > 0).then(|| may_be_expanded(expanded)));
        let turned = plan.to_request + plan.to_revert;
        Ok(Reply::Plan(PlanReport {
            expected_us: turned * self.pace_ns / 1000,
            expected_clr_bytes: (plan.to_request + passengers)
                * self.agent.runtime.compilations_per_dial()
                * super::CLR_BYTES_PER_COMPILATION,
            expected_agent_bytes: plan.to_request * AGENT_BYTES_PER_COPY,
            ..plan
        }))
    }

    /// Remembers how long a copy takes here, of turns that are large enough to tell.
    fn learn_pace(&mut self, applied: Applied, begun: Instant) {
        if applied.asked >= TELLING {
            self.pace_ns = (begun.elapsed().as_nanos() / applied.asked as u128) as u64;
        }
    }
}

/// Indices of those that are so.
fn indices(seqs: &[OrderSeq], are: impl Fn(&OrderSeq) -> bool) -> Vec<u32> {
    seqs.iter().enumerate().filter(|(_, seq)| are(seq)).map(|(index, _)| index as u32).collect()
}

fn chosen<'a>(orders: &'a [Order], indices: &[u32]) -> Vec<&'a Order> {
    indices.iter().filter_map(|index| orders.get(*index as usize)).collect()
}

/// The sentence about an order that matches nothing.
fn matches_nothing(order: &Order) -> String {
    match order.copy {
        Some(copy) => format!("nothing in a module with the id {copy:#x} matches {}", order.pattern),
        None => format!("nothing matches {} yet", order.pattern),
    }
}

/// The answer to what "all off" came after.
pub(super) fn outdated() -> Refusal {
    Refusal::AgentOff("everything was turned off before this turn was done".into())
}

/// A change of several lines as one.
fn summary(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

/// How long a copy takes before any turn told, nanoseconds (measured: `docs/benchmarks.md`).
pub(super) fn usual_pace_ns(suspends: bool) -> u64 {
    if suspends { 12_000 } else { 3_000 }
}

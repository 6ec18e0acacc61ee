//! What the worker tells a connection.

use super::others::turned;
use super::transitions::Transitions;
use super::{Connection, Orders, Outcome, Status};
use crate::model::catalogue::forget::Renumbering;
use crate::model::ids::{ConnectionId, Ticket};
use crate::model::log::{Kind, Log, Named};
use crate::model::turns::{Pending, Wish};
use crate::model::update::{CataloguePart, Now, Refused, Retry, Told, Undone};
use crate::output::{budget, words};
use redial_protocol::cost::CostBudget;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::message::{Event, Holder};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, SharedModule};
use redial_protocol::state::State;
use std::collections::HashSet;
use std::time::Duration;

/// The time over which updates are counted.
pub(super) const RATE_WINDOW: Duration = Duration::from_secs(2);

impl Connection {
    /// Takes in what the worker told.
    pub fn apply(&mut self, told: Vec<Told>, log: &mut Log, now: Now) {
        let updates = self.live.updates();
        let mut transitions = Transitions::default();
        for one in told {
            self.take(one, &mut transitions, log, now);
        }
        if self.is_one_of_many {
            self.untold.leave(transitions.keep_bad());
        }
        let (of, about) = (self.spoken_of(), self.about());
        let say = |text: String| log.add_of(now, about.clone(), Kind::Transition, format!("{of}{text}"));
        self.untold.tell(transitions, &self.live, now.mono, say);
        self.arrivals.push_back((now.mono, self.live.updates() - updates));
        self.forget_arrivals(now);
    }

    /// Sums up the transitions that were too many to be told one by one, once a second.
    pub fn sum_up(&mut self, log: &mut Log, now: Now) {
        let (of, about) = (self.spoken_of(), self.about());
        let say = |text: String| log.add_of(now, about.clone(), Kind::Transition, format!("{of}{text}"));
        self.untold.sum_up(&self.live, now.mono, say);
    }

    /// Rows that went on or off since this was asked last, where several processes are looked at.
    pub fn take_went(&mut self) -> HashSet<RowId> {
        self.untold.take()
    }

    /// When there will be something to sum up, on `Now::mono`'s clock.
    pub fn sum_due(&self) -> Option<Duration> {
        self.untold.due()
    }

    fn take(&mut self, told: Told, transitions: &mut Transitions, log: &mut Log, now: Now) {
        match told {
            Told::Connecting => self.status = Status::Connecting,
            Told::Attaching => {
                self.not_attached = None;
                self.status = Status::Attaching;
            }
            Told::NotAttached(why) => {
                // Of several it is tried again and again; the same failure is no news.
                if !self.is_one_of_many || self.told_not_attached.as_ref() != Some(&why) {
                    self.say(log, now, Kind::Failure, format!("the agent was not loaded: {why}"));
                }
                self.told_not_attached = Some(why.clone());
                self.not_attached = Some(why.clone());
                self.status = Status::Lost { why, retry: Retry::WithAgent, since: now.mono };
            }
            Told::Connected(facts) => self.connected(facts, log, now),
            Told::Lost { why, retry } => self.lost(why, retry, log, now),
            Told::Catalogue(part) => self.grow(part, log, now),
            Told::Event(event) => self.event(event, transitions, log, now),
            Told::Dialled(ticket, Ok(report)) => self.dialled(ticket, &report, log, now),
            Told::Dialled(ticket, Err(refused)) => {
                if self.part_is_over(ticket, || Outcome::Refused(refused.clone())) {
                    self.turns.failed(ticket);
                    return;
                }
                let words = self.turns.failed(ticket).map_or("turn".to_owned(), |pending| pending.words);
                self.say(log, now, Kind::Refusal, format!("{words} refused: {}", refused.why));
                self.refused = Some((ticket, refused));
            }
            Told::Unanswered(ticket, why) => {
                let over = || Outcome::Refused(Refused { why: why.clone(), holder: None });
                let is_part = self.part_is_over(ticket, over);
                if let Some(pending) = self.turns.failed(ticket).filter(|_| !is_part) {
                    let text = format!("{} was not answered: {why}", pending.words);
                    self.say(log, now, Kind::NoAnswer, text);
                }
            }
            Told::Forgotten(ticket) => {
                let why = "too much was turned there since, and the agent does not remember it any more";
                let outcome = || Outcome::Refused(Refused { why: why.to_owned(), holder: None });
                if self.part_is_over(ticket, outcome) {
                    self.turns.forgotten(ticket);
                    return;
                }
                let words = self.turns.forgotten(ticket).map_or("undo".to_owned(), |pending| pending.words);
                let text = format!(
                    "{words} refused: too much was turned since, and the agent does not remember it any more; turn the \
                     dials themselves"
                );
                self.say(log, now, Kind::Refusal, text);
            }
            Told::Progress(ticket, done, total) => self.turns.progressed(ticket, done, total),
            Told::Plan(ticket, plan) => self.plan = Some((ticket, plan)),
            Told::Histogram(row, answer) => self.histograms.take(row, answer),
            Told::KeptCalls(row, kept) => self.histograms.take_calls(row, kept),
            Told::Callers(row, answer) => self.callers.take(row, answer),
            Told::Orders(standing, undoable) => self.orders = Some(Orders { standing, undoable, at: now }),
            Told::Undone(_, Ok(undone)) => {
                let Undone { what, report } = *undone;
                let by = if what.user.is_empty() { "the launcher".to_owned() } else { what.user };
                let words = format!("undo of {} (by {by}, {})", what.order, what.program);
                self.tell_report(&words, &report, Kind::Undone, log, now);
            }
            Told::Undone(ticket, Err(refused)) => {
                let why = format!("undo of the last change refused: {}", refused.why);
                self.say(log, now, Kind::Refusal, why);
                self.refused = Some((ticket, refused));
            }
            Told::BudgetRefused(refused) => {
                let text = format!("the budget was not set: {}", refused.why);
                self.say(log, now, Kind::Refusal, text);
            }
            Told::AllOff(ticket, result) => self.all_off_done(ticket, result, log, now),
            Told::Paused(paused) => {
                let text = match &paused {
                    Some(why) => format!("{} (pid {}) says nothing now: {why}", self.name, self.process.pid),
                    None => format!("{} (pid {}) goes on", self.name, self.process.pid),
                };
                self.say(log, now, Kind::Connection, text);
                if paused.is_some() {
                    self.live.pause(now.mono);
                }
                self.paused = paused;
            }
            Told::Latency(latency) => self.latency = Some(latency),
            Told::AgentStatus(status) => {
                if !self.control_told {
                    self.holder.clone_from(&status.control);
                }
                // What was done before anybody looked is no news.
                if let Some(before) = &self.agent {
                    let singly = if self.is_one_of_many { 1 } else { 3 };
                    for turn in turned(&before.audit, &status.audit, singly, &self.catalogue) {
                        self.say(log, now, Kind::Notice, turn);
                    }
                }
                self.agent = Some(status);
            }
            Told::Notice(text) => self.say(log, now, Kind::Notice, text),
        }
    }

    fn connected(&mut self, facts: Box<AgentFacts>, log: &mut Log, now: Now) {
        self.status = Status::Live;
        self.paused = None;
        self.told_not_attached = None;
        // A process that had no agent until now had no connection either.
        let again = self.loss.take().is_some() && self.facts.is_some();
        self.holder.clone_from(&facts.holder);
        self.control_told = false;
        self.live.begin_session();
        self.histograms.begin_session();
        self.callers.begin_session();
        let what = format!(
            "connected to {} (pid {}), {} {}, agent {}",
            self.name,
            self.process.pid,
            words::runtime(facts.runtime_kind.word()),
            facts.runtime_version,
            facts.agent_version
        );
        self.say(log, now, Kind::Connection, what);
        if again {
            let text = "the connection is back; dials that this window held went off with the one before";
            self.say(log, now, Kind::Notice, text);
        }
        self.facts = Some(facts);
    }

    fn lost(&mut self, why: String, retry: Retry, log: &mut Log, now: Now) {
        self.paused = None;
        for pending in self.turns.clear() {
            let over = || Outcome::Refused(Refused { why: why.clone(), holder: None });
            if pending.accepted.is_none() && !self.part_is_over(pending.ticket, over) {
                let text = format!("{} was not answered: {why}", pending.words);
                self.say(log, now, Kind::NoAnswer, text);
            }
        }
        // An attempt that fails like the one before is no news.
        if self.loss.as_ref() != Some(&why) {
            self.say(log, now, Kind::Connection, why.clone());
        }
        self.loss = Some(why.clone());
        self.latency = None;
        self.holder = None;
        self.orders = None;
        self.plan = None;
        self.status = Status::Lost { why, retry, since: now.mono };
    }

    fn grow(&mut self, part: CataloguePart, log: &mut Log, now: Now) {
        match part {
            CataloguePart::Domains { domains, methods } => self.catalogue.set_domains(domains, methods),
            CataloguePart::Batch(batch) => {
                let name = batch.module.name.clone();
                if !self.catalogue.append(*batch) {
                    let text = format!("the methods of {name} do not fit into the list and are left out");
                    self.say(log, now, Kind::Notice, text);
                }
                self.live.place(&self.catalogue);
            }
            CataloguePart::Unloaded(keys) => self.catalogue.unload(&keys),
            CataloguePart::Forgotten(keys) => {
                self.live.forget(&keys);
                drop(self.forget(&keys));
            }
            CataloguePart::Complete(order) => self.catalogue.complete(order),
        }
    }

    /// Modules are taken out whose rows are already; where everything else went, if anything moved.
    pub(in crate::model) fn forget(&mut self, keys: &[ModuleKey]) -> Option<Renumbering> {
        let to = self.catalogue.forget(keys)?;
        self.selection.renumber(&to);
        self.tree.renumber(&to);
        self.turns.renumber(&to);
        self.live.renumber(&to, self.catalogue.len());
        self.numbering += 1;
        Some(to)
    }

    /// What stands before a line of the log where several processes are looked at.
    fn spoken_of(&self) -> String {
        if self.is_one_of_many { format!("{}: ", self.title()) } else { String::new() }
    }

    /// Adds a line to the log. Where several processes are looked at, it says which one it is about.
    pub(super) fn say(&self, log: &mut Log, now: Now, kind: Kind, text: impl Into<String>) {
        let (text, about) = (text.into(), self.about());
        let text = if self.is_one_of_many { about.1.named_in(&text).into_owned() } else { text };
        log.add_of(now, about, kind, text);
    }

    /// What lines of the log about this process are about.
    fn about(&self) -> (ConnectionId, Named) {
        (self.id, Named { name: self.name.clone(), pid: self.process.pid })
    }

    fn event(&mut self, event: Event, transitions: &mut Transitions, log: &mut Log, now: Now) {
        match event {
            Event::Rows { rows, .. } => {
                for row in &rows {
                    // A row that appears refused or failed has no transition to tell of it.
                    if self.live.row(row.row).is_none() && matches!(row.state, State::Refused | State::Failed)
                    {
                        transitions.add(row.row, State::Off, row.state);
                    }
                }
                self.live.take_rows(rows, &self.catalogue);
            }
            Event::Transition(transition) => {
                let (id, state) = (transition.row, transition.state);
                if self.live.row(id).is_some_and(|row| row.options != transition.options) {
                    self.histograms.forget_calls(id);
                }
                if let Some((_, before)) = self.live.take_transition(transition).filter(|was| was.1 != state)
                {
                    transitions.add(id, before, state);
                }
            }
            Event::Counters { delta, dropped } => {
                self.live.take_counters(&delta, dropped);
                self.live.hear(now.mono, delta.rows.is_empty());
            }
            Event::Times { times, .. } => self.live.take_times(times),
            Event::Control(holder) => self.control(holder, log, now),
            Event::Budget(budget) => self.take_budget(budget, log, now),
            Event::Goodbye { .. } => {
                self.live.end();
                let text = "the process is ending; these are its last numbers";
                self.say(log, now, Kind::Connection, text);
            }
            Event::Reply { .. }
            | Event::Methods { .. }
            | Event::Progress { .. }
            | Event::Catalogue { .. }
            | Event::Il { .. } => {}
        }
    }

    /// The budget was set, or did something; what it did before this was connected is told in the list of who turned what.
    fn take_budget(&mut self, told: CostBudget, log: &mut Log, now: Now) {
        let change = told.last.as_ref().map(|last| last.change);
        let before = self.stepped.replace(change);
        if let Some(last) = told.last.as_ref().filter(|_| before.is_some_and(|before| before != change)) {
            let name = self.live.row(last.costliest.0).map(|row| &*row.name);
            self.say(log, now, Kind::Budget, budget::stepped(last, name));
        }
        let limit = self.agent.as_ref().map(|agent| agent.cost_budget.limit);
        if limit.is_some_and(|limit| limit != told.limit) {
            self.say(log, now, Kind::Notice, budget::standing(&told));
        }
        if let Some(agent) = &mut self.agent {
            agent.cost_budget = told;
        }
    }

    /// Control went from one to another. That this window takes and gives it with every turn is no news.
    fn control(&mut self, holder: Option<Holder>, log: &mut Log, now: Now) {
        self.control_told = true;
        let before = std::mem::replace(&mut self.holder, holder);
        if before == self.holder {
            return;
        }
        let is_mine = |holder: &Holder| holder.pid == std::process::id();
        let named = |Holder { pid, program }: &Holder| format!("{program} (pid {pid})");
        let (kind, text) = match (&before, &self.holder) {
            (Some(mine), Some(other)) if is_mine(mine) && !is_mine(other) => {
                let text = format!(
                    "{} took control from this window; what was turned here stays on, and turning a dial here asks for \
                     control again",
                    named(other)
                );
                (Kind::Control, text)
            }
            (Some(other), Some(mine)) if is_mine(mine) && !is_mine(other) => {
                (Kind::Connection, format!("this window has control, no longer {}", named(other)))
            }
            (_, Some(other)) if !is_mine(other) => {
                (Kind::Connection, format!("{} has control", named(other)))
            }
            (Some(other), None) if !is_mine(other) => {
                (Kind::Connection, format!("control is free: {} let it go", named(other)))
            }
            _ => return,
        };
        self.say(log, now, kind, text);
    }

    fn dialled(&mut self, ticket: Ticket, report: &DialReport, log: &mut Log, now: Now) {
        let accepted = self.turns.accepted(ticket, now);
        let Some((words, done, on_again)) = accepted.map(|pending| {
            let on_again = pending.on_again().map(<[Wish]>::to_vec);
            (pending.words.clone(), pending.done(), on_again)
        }) else {
            return;
        };
        if self.part_is_over(ticket, || Outcome::Done(Box::new(report.clone()))) {
            return;
        }
        let whole = report.refused_by_reason.is_empty() && report.warnings.is_empty();
        if let Some(wishes) = on_again.filter(|_| whole) {
            // The agent counts what is off again, too.
            let are = words::count(self.on_by(&wishes), "method is", "methods are");
            return self.say(log, now, done, format!("{words}: {are} on again"));
        }
        self.tell_report(&words, report, done, log, now);
        let pending = self.turns.pending().iter().find(|pending| pending.ticket == ticket);
        let mut without =
            pending.into_iter().flat_map(Pending::turned_on).map(|set| self.bodyless_named(set));
        if let Some(named) = without.find(|named| report.bodyless > 0 && !named.is_empty()) {
            let text = format!("without a body, so not counted: {}", named.replace('\n', ", "));
            self.say(log, now, Kind::Notice, text);
        }
    }

    /// `done`: what it is where it was not refused.
    fn tell_report(&self, what: &str, report: &DialReport, done: Kind, log: &mut Log, now: Now) {
        let refused: u64 = report.refused_by_reason.iter().map(|(_, number)| number).sum();
        let (accepted, matched) = (words::grouped(report.accepted), words::grouped(report.matched));
        let mut text = match report.matched {
            0 => format!("{what}: nothing was left to do"),
            _ => format!("{what}: {accepted} of {matched} accepted"),
        };
        if report.bodyless > 0 {
            text.push_str(&format!(", {} without a body", words::grouped(report.bodyless)));
        }
        let kind = if report.accepted == 0 && refused > 0 { Kind::Refusal } else { done };
        self.say(log, now, kind, text);
        for (reason, number) in &report.refused_by_reason {
            let named = report.refused.iter().filter(|one| one.reason == *reason);
            let first: Vec<String> = named.take(3).map(|one| words::plain_parameters(&one.method)).collect();
            let rest = number.saturating_sub(first.len() as u64);
            let more = if rest > 0 { format!(" and {} more", words::grouped(rest)) } else { String::new() };
            let why = match reason {
                Reason::Shared => shared_by(&report.shared),
                reason => reason.sentence().to_owned(),
            };
            let text = format!("refused: {}{more}: {why}", first.join(", "));
            self.say(log, now, Kind::Refusal, text);
        }
        for warning in &report.warnings {
            self.say(log, now, Kind::Notice, warning.clone());
        }
    }

    fn all_off_done(&mut self, ticket: Ticket, result: Result<(u64, u64), String>, log: &mut Log, now: Now) {
        let outcome = || match &result {
            Ok((reverted, remaining)) => Outcome::Off(*reverted, *remaining),
            Err(why) => Outcome::Refused(Refused { why: why.clone(), holder: None }),
        };
        // Its account of itself, which says so too, comes later.
        if let (Ok((_, 0)), Some(agent)) = (&result, &mut self.agent) {
            (agent.held, agent.kept) = (0, 0);
        }
        if self.part_is_over(ticket, outcome) {
            match result {
                // There is nothing to undo.
                Ok((0, 0)) | Err(_) => drop(self.turns.failed(ticket)),
                Ok(_) => drop(self.turns.accepted(ticket, now)),
            }
            return;
        }
        let (kind, text) = match result {
            Ok((reverted, remaining)) => {
                match (reverted, remaining) {
                    // There is nothing to undo.
                    (0, 0) => drop(self.turns.failed(ticket)),
                    _ => drop(self.turns.accepted(ticket, now)),
                }
                match (reverted, remaining) {
                    (0, 0) => (Kind::AllOff, format!("all off: no dial was on in {}", self.title())),
                    (reverted, 0) => (
                        Kind::AllOff,
                        format!(
                            "all off: every dial is off in {}, {} reverted to the original IL",
                            self.title(),
                            words::grouped(reverted)
                        ),
                    ),
                    (reverted, remaining) => (
                        Kind::Failure,
                        format!(
                            "all off in {}: {} reverted to the original IL, {} not",
                            self.title(),
                            words::grouped(reverted),
                            words::grouped(remaining)
                        ),
                    ),
                }
            }
            Err(why) => {
                self.turns.failed(ticket);
                (Kind::Failure, format!("all off failed: {why}"))
            }
        };
        self.say(log, now, kind, text);
    }

    pub(super) fn forget_arrivals(&mut self, now: Now) {
        let old = |at: &Duration| now.mono.saturating_sub(*at) > RATE_WINDOW;
        while self.arrivals.front().is_some_and(|(at, _)| old(at)) {
            self.arrivals.pop_front();
        }
    }
}

/// Why methods of shared modules were refused: who would see their dials.
fn shared_by(modules: &[SharedModule]) -> String {
    let refused = modules.iter().filter(|module| !module.accepted);
    let each: Vec<String> = refused
        .map(|module| {
            let mut domains = module.domains.clone();
            if module.more_domains > 0 {
                domains.push(format!("{} more", words::grouped(module.more_domains)));
            }
            format!("one copy of {} serves {}", module.module, words::all(&domains))
        })
        .collect();
    format!("{}; a dial there is a dial for all of them", each.join(", "))
}

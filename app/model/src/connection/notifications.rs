//! Takes in the worker's notifications.

use super::audit::entries_by_others;
use super::transition_log::Transitions;
use super::{Connection, Orders, PartOutcome, Status};
use crate::ids::{ConnectionId, Ticket};
use crate::log::{Log, LogKind, ProcessName};
use crate::update::{CataloguePart, ConnectionUpdate, Now, RefusedRequest, Retry, UndoneChange};
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::RowId;
use redial_protocol::message::{AgentStatus, Event};
use redial_protocol::state::CopyState;
use redial_text::diagnostics::audit;
use redial_text::{programs, words};
use std::collections::HashSet;
use std::time::Duration;

impl Connection {
    /// Takes in notifications of the worker.
    pub fn apply(&mut self, updates: Vec<ConnectionUpdate>, log: &mut Log, now: Now) {
        let before = self.table.live.updates();
        let mut transitions = Transitions::default();
        for update in updates {
            self.take(update, &mut transitions, log, now);
        }
        if self.in_fleet {
            self.transitions.defer(transitions.keep_bad());
        }
        let (prefix, about) = (self.log_prefix(), self.about());
        let line =
            |text: String| log.add_of(now, about.clone(), LogKind::Transition, format!("{prefix}{text}"));
        self.transitions.log(transitions, &self.table.live, now.mono, line);
        self.session.count_updates(self.table.live.updates() - before, now);
    }

    /// Logs a summary of the transitions that were too many to log singly, once a second.
    pub fn summarize_transitions(&mut self, log: &mut Log, now: Now) {
        let (prefix, about) = (self.log_prefix(), self.about());
        let line =
            |text: String| log.add_of(now, about.clone(), LogKind::Transition, format!("{prefix}{text}"));
        self.transitions.summarize(&self.table.live, now.mono, line);
    }

    /// Returns and forgets the rows that went live or off since the last call. Empty outside a fleet.
    pub(crate) fn take_finished_transitions(&mut self) -> HashSet<RowId> {
        self.transitions.take_deferred()
    }

    /// When the next summary is due, on the clock of `Now::mono`.
    pub fn summary_due(&self) -> Option<Duration> {
        self.transitions.due()
    }

    fn take(&mut self, update: ConnectionUpdate, transitions: &mut Transitions, log: &mut Log, now: Now) {
        match update {
            ConnectionUpdate::Connecting => self.session.status = Status::Connecting,
            ConnectionUpdate::Attaching => {
                self.session.not_attached = None;
                self.session.status = Status::Attaching;
            }
            ConnectionUpdate::NotAttached(why) => self.not_attached(why, log, now),
            ConnectionUpdate::Connected(facts) => self.connected(facts, log, now),
            ConnectionUpdate::Lost { why, retry } => self.lost(why, retry, log, now),
            ConnectionUpdate::Catalogue(part) => self.take_catalogue(part, log, now),
            ConnectionUpdate::Event(event) => self.take_event(event, transitions, log, now),
            ConnectionUpdate::Dialled(ticket, Ok(report)) => self.dialled(ticket, &report, log, now),
            ConnectionUpdate::Dialled(ticket, Err(refused)) => self.change_refused(ticket, refused, log, now),
            ConnectionUpdate::Unanswered(ticket, why) => self.change_unanswered(ticket, why, log, now),
            ConnectionUpdate::Forgotten(ticket) => self.change_forgotten(ticket, log, now),
            ConnectionUpdate::Progress(ticket, done, total) => {
                self.table.changes.progressed(ticket, done, total)
            }
            ConnectionUpdate::Plan(ticket, plan) => self.requests.plan = Some((ticket, plan)),
            ConnectionUpdate::Histogram(row, answer) => {
                self.range_histograms.take(row, answer.as_deref().ok(), now.mono);
                self.histograms.take(row, answer);
            }
            ConnectionUpdate::SlowestCalls(row, kept) => self.histograms.take_calls(row, kept),
            ConnectionUpdate::Callers(row, answer) => {
                self.caller_tree.take(row, &answer);
                self.callers.take(row, answer);
            }
            ConnectionUpdate::Events(update) => self.events.take(self.id, update),
            ConnectionUpdate::Code(copy, code) => self.codes.take(copy, code),
            ConnectionUpdate::Hot(update) => self.take_hot(update, log, now),
            ConnectionUpdate::Orders(standing, undoable) => {
                self.orders = Some(Orders { standing, undoable, at: now })
            }
            ConnectionUpdate::Undone(_, Ok(undone)) => {
                let UndoneChange { what, report } = *undone;
                let by = if what.user.is_empty() { "the launcher".to_owned() } else { what.user };
                let action = audit::action(&what.action);
                let words = format!("undo of {action} (by {by}, {})", programs::title(&what.program));
                self.log_report(&words, &report, LogKind::Undone, log, now);
            }
            ConnectionUpdate::Undone(ticket, Err(refused)) => {
                let why = format!("undo of the last change refused: {}", refused.why);
                self.log_line(log, now, LogKind::Refusal, why);
                self.requests.refusal = Some((ticket, refused));
            }
            ConnectionUpdate::BudgetRefused(refused) => {
                let text = format!("the budget was not set: {}", refused.why);
                self.log_line(log, now, LogKind::Refusal, text);
            }
            ConnectionUpdate::AllOff(ticket, result) => self.all_off_done(ticket, result, log, now),
            ConnectionUpdate::Paused(paused) => self.paused(paused, log, now),
            ConnectionUpdate::Latency(latency) => self.session.latency = Some(latency),
            ConnectionUpdate::AgentStatus(status) => self.take_status(status, log, now),
            ConnectionUpdate::Notice(text) => self.log_line(log, now, LogKind::Notice, text),
        }
    }

    fn not_attached(&mut self, why: String, log: &mut Log, now: Now) {
        // A fleet tries again and again; the log has the same failure only once.
        let session = &mut self.session;
        let is_known = self.in_fleet && session.logged_not_attached.as_ref() == Some(&why);
        session.logged_not_attached = Some(why.clone());
        session.not_attached = Some(why.clone());
        if !is_known {
            self.log_line(log, now, LogKind::Failure, format!("the agent was not loaded: {why}"));
        }
        self.session.status = Status::Lost { why, retry: Retry::WithAgent, since: now.mono };
    }

    fn connected(&mut self, facts: Box<AgentFacts>, log: &mut Log, now: Now) {
        let session = &mut self.session;
        session.status = Status::Live;
        session.paused = None;
        session.logged_not_attached = None;
        // A process that had no agent until now had no session either.
        let again = session.loss.take().is_some() && session.facts.is_some();
        self.control.holder.clone_from(&facts.holder);
        self.control.is_reported = false;
        self.table.live.begin_session();
        self.histograms.begin_session();
        self.range_histograms.begin_session();
        self.callers.begin_session();
        self.caller_tree.begin_session();
        self.events.begin_session();
        let text = format!(
            "connected to {} (pid {}), {} {}, agent {}",
            self.name,
            self.process.pid,
            words::runtime(facts.runtime_kind.word()),
            facts.runtime_version,
            facts.agent_version
        );
        self.log_line(log, now, LogKind::Connection, text);
        if again {
            let text = "the connection is back; dials that this window held went off with the one before";
            self.log_line(log, now, LogKind::Notice, text);
        }
        self.session.facts = Some(facts);
    }

    fn lost(&mut self, why: String, retry: Retry, log: &mut Log, now: Now) {
        self.session.paused = None;
        for pending in self.table.changes.clear() {
            let refused = || PartOutcome::Refused(RefusedRequest { why: why.clone(), holder: None });
            if pending.accepted.is_none() && !self.finish_part(pending.ticket, refused) {
                let text = format!("{} was not answered: {why}", pending.words);
                self.log_line(log, now, LogKind::NoAnswer, text);
            }
        }
        // Attempts that fail like the one before are not logged.
        if self.session.loss.as_ref() != Some(&why) {
            self.log_line(log, now, LogKind::Connection, why.clone());
        }
        self.session.loss = Some(why.clone());
        self.session.latency = None;
        self.control.holder = None;
        self.orders = None;
        self.requests.plan = None;
        self.session.status = Status::Lost { why, retry, since: now.mono };
    }

    fn paused(&mut self, paused: Option<String>, log: &mut Log, now: Now) {
        let text = match &paused {
            Some(why) => format!("paused: {why}"),
            None => "continues".to_owned(),
        };
        self.log_line(log, now, LogKind::Connection, text);
        if paused.is_some() {
            self.table.live.pause(now.mono);
        }
        self.session.paused = paused;
    }

    fn take_status(&mut self, status: Box<AgentStatus>, log: &mut Log, now: Now) {
        if !self.control.is_reported {
            self.control.holder.clone_from(&status.control);
        }
        // Entries from before this connection are not logged.
        if let Some(before) = &self.agent {
            let singly = if self.in_fleet { 1 } else { 3 };
            for text in entries_by_others(&before.audit, &status.audit, singly, &self.table.catalogue) {
                self.log_line(log, now, LogKind::Notice, text);
            }
        }
        self.hot_search.agent_keeps(status.kept);
        self.agent = Some(status);
    }

    fn take_catalogue(&mut self, part: CataloguePart, log: &mut Log, now: Now) {
        let table = &mut self.table;
        match part {
            CataloguePart::Domains { domains, methods } => table.catalogue.set_domains(domains, methods),
            CataloguePart::Batch(batch) => {
                let name = batch.module.name.clone();
                let fits = table.catalogue.append(*batch);
                table.live.place(&table.catalogue);
                if !fits {
                    let text = format!("the methods of {name} do not fit into the list and are left out");
                    self.log_line(log, now, LogKind::Notice, text);
                }
            }
            CataloguePart::Unloaded(keys) => table.catalogue.unload(&keys),
            CataloguePart::Forgotten(keys) => {
                table.live.forget(&keys);
                drop(table.forget(&keys));
            }
            CataloguePart::Complete(order) => table.catalogue.complete(order),
        }
    }

    fn take_event(&mut self, event: Event, transitions: &mut Transitions, log: &mut Log, now: Now) {
        let live = &mut self.table.live;
        match event {
            Event::Rows { rows, .. } => {
                for row in &rows {
                    let is_bad = matches!(row.state, CopyState::Refused | CopyState::Failed);
                    // No transition announces a row that appears refused or failed.
                    if is_bad && live.row(row.row).is_none() {
                        transitions.add(row.row, CopyState::Off, row.state);
                    }
                }
                live.take_rows(rows, &self.table.catalogue);
            }
            Event::Transition(transition) => {
                let (id, state) = (transition.row, transition.state);
                if live.row(id).is_some_and(|row| row.options != transition.options) {
                    self.histograms.forget_calls(id);
                }
                if let Some((_, before)) = live.take_transition(transition).filter(|was| was.1 != state) {
                    transitions.add(id, before, state);
                }
            }
            Event::Counters { delta, dropped } => {
                let begins = live.take_counters(&delta, dropped);
                live.record_snapshot(now.mono, delta.rows.is_empty());
                if begins {
                    self.begin_range_late(now);
                }
            }
            Event::Times { times, .. } => live.take_times(times),
            Event::Control(holder) => self.take_control_change(holder, log, now),
            Event::Budget(budget) => self.take_budget(budget, log, now),
            Event::Goodbye { .. } => {
                live.end();
                let text = "the process is ending; these are its last numbers";
                self.log_line(log, now, LogKind::Connection, text);
            }
            Event::Reply { .. }
            | Event::Methods { .. }
            | Event::Progress { .. }
            | Event::Catalogue { .. }
            | Event::Il { .. }
            | Event::Calls { .. }
            | Event::Exceptions { .. } => {}
        }
    }

    /// The beginning of a log line that does not name the process otherwise. Empty outside a fleet.
    fn log_prefix(&self) -> String {
        if self.in_fleet { format!("{}: ", self.title()) } else { String::new() }
    }

    /// Adds a line to the log. In a fleet the line names the process.
    pub(super) fn log_line(&self, log: &mut Log, now: Now, kind: LogKind, text: impl Into<String>) {
        let (text, about) = (text.into(), self.about());
        let text = if self.in_fleet { about.1.named_in(&text).into_owned() } else { text };
        log.add_of(now, about, kind, text);
    }

    /// The subject of log lines about this process.
    fn about(&self) -> (ConnectionId, ProcessName) {
        (self.id, ProcessName { name: self.name.clone(), pid: self.process.pid })
    }

    fn change_refused(&mut self, ticket: Ticket, refused: RefusedRequest, log: &mut Log, now: Now) {
        let is_part = self.finish_part(ticket, || PartOutcome::Refused(refused.clone()));
        let words = self.table.changes.failed(ticket).map_or("turn".to_owned(), |pending| pending.words);
        if !is_part {
            self.log_line(log, now, LogKind::Refusal, format!("{words} refused: {}", refused.why));
            self.requests.refusal = Some((ticket, refused));
        }
    }

    fn change_unanswered(&mut self, ticket: Ticket, why: String, log: &mut Log, now: Now) {
        let refused = || PartOutcome::Refused(RefusedRequest { why: why.clone(), holder: None });
        let is_part = self.finish_part(ticket, refused);
        if let Some(pending) = self.table.changes.failed(ticket).filter(|_| !is_part) {
            let text = format!("{} was not answered: {why}", pending.words);
            self.log_line(log, now, LogKind::NoAnswer, text);
        }
    }

    fn change_forgotten(&mut self, ticket: Ticket, log: &mut Log, now: Now) {
        let why = "too much was turned there since, and the agent does not remember it any more";
        let refused = || PartOutcome::Refused(RefusedRequest { why: why.to_owned(), holder: None });
        let is_part = self.finish_part(ticket, refused);
        let words = self.table.changes.forgotten(ticket).map_or("undo".to_owned(), |pending| pending.words);
        if !is_part {
            let text = format!(
                "{words} refused: too much was turned since, and the agent does not remember it any more; turn the \
                 dials themselves"
            );
            self.log_line(log, now, LogKind::Refusal, text);
        }
    }
}

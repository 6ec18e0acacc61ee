//! Active changes of a session: the requests of each, sent one after the other, and the agent's change
//! numbers, so that they can be taken back. A change happens completely or not at all: if it is cancelled or
//! refused midway, its finished parts are taken back.

use super::{error_text, request_chunks};
use crate::error::LinkError;
use crate::session::Session;
use redial_model::changes::DialChange;
use redial_model::ids::Ticket;
use redial_model::update::{ConnectionUpdate, RefusedRequest};
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::report::DialReport;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// An agent gives up after 30 s and says so; longer than this is a hang.
pub const REPLY_PATIENCE: Duration = Duration::from_secs(40);
/// Changes whose numbers are remembered: more than agents remember.
const REMEMBERED: usize = 128;

/// Sends commands to the agent.
pub trait CommandSink {
    /// Sends a command; returns the id that its answer will carry.
    fn send(&mut self, command: WireCommand) -> Result<u32, LinkError>;
}

impl CommandSink for Session {
    fn send(&mut self, command: WireCommand) -> Result<u32, LinkError> {
        Session::send(self, command)
    }
}

/// An active change.
struct ActiveChange {
    ticket: Ticket,
    /// Requests not sent yet, and how many there were in total.
    waiting: VecDeque<WireCommand>,
    parts: usize,
    report: DialReport,
    /// The outstanding request: its id and time.
    sent: Option<(u32, Instant)>,
    /// The numbers of its finished parts, oldest first.
    changes: Vec<u64>,
    /// Whether it was cancelled before all of it was sent.
    stopped: bool,
    /// The final result, while its finished parts are being taken back.
    ending: Option<RefusedRequest>,
}

impl ActiveChange {
    fn new(ticket: Ticket, waiting: VecDeque<WireCommand>) -> ActiveChange {
        ActiveChange {
            ticket,
            parts: waiting.len(),
            waiting,
            report: DialReport::default(),
            sent: None,
            changes: Vec::new(),
            stopped: false,
            ending: None,
        }
    }

    fn send_next(&mut self, session: &mut impl CommandSink) -> Result<(), LinkError> {
        self.sent = match self.waiting.pop_front() {
            Some(command) => Some((session.send(command)?, Instant::now())),
            None => None,
        };
        Ok(())
    }

    /// Fails the change: continues by taking back its finished parts.
    fn end(&mut self, ending: RefusedRequest) {
        self.waiting = undo_requests(std::mem::take(&mut self.changes));
        self.ending = Some(ending);
    }

    /// Processes an answer; returns false if it does not fit a change.
    fn answered(&mut self, reply: Reply) -> bool {
        match (reply, &mut self.ending) {
            (Reply::Dialled(report) | Reply::Undone { report, .. }, None) => {
                self.changes.extend(Some(report.change).filter(|change| *change > 0));
                request_chunks::add(&mut self.report, report);
                if self.stopped {
                    self.end(error_text::refused(&LinkError::Refused(Refusal::Cancelled)));
                }
            }
            (Reply::Dialled(_) | Reply::Undone { .. }, Some(_)) => {}
            (Reply::Refused(refusal), None) => self.end(error_text::refused(&LinkError::Refused(refusal))),
            (Reply::Refused(refusal), Some(ending)) => {
                let why = error_text::refused(&LinkError::Refused(refusal)).why;
                let stay = match self.waiting.len() + 1 {
                    1 => format!("1 of its {} parts was already done and stays", self.parts),
                    stay => format!("{stay} of its {} parts were already done and stay", self.parts),
                };
                ending.why = format!("{}; {stay}: {why}", ending.why);
                self.waiting.clear();
            }
            _ => return false,
        }
        true
    }
}

/// Returns requests that take changes back, newest first.
fn undo_requests(changes: Vec<u64>) -> VecDeque<WireCommand> {
    changes.into_iter().rev().map(|change| WireCommand::UndoChange { change, take: false }).collect()
}

/// All changes of a session.
#[derive(Default)]
pub struct ActiveChanges {
    active: Vec<ActiveChange>,
    /// Finished changes with the numbers of their parts, oldest first.
    done: BTreeMap<Ticket, Vec<u64>>,
    /// Changes to take back once answered: the ticket that takes back, and the ticket to take back.
    awaited: Vec<(Ticket, Ticket)>,
    /// Unanswered "all off" requests.
    all_offs: Vec<Ticket>,
}

impl ActiveChanges {
    /// Returns whether no change is active.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Sends a change, or its first part.
    pub fn change(&mut self, change: DialChange, session: &mut impl CommandSink) -> Result<(), LinkError> {
        self.begin(change.ticket, request_chunks::requests(change.orders, change.take, change.later), session)
    }

    fn begin(
        &mut self,
        ticket: Ticket,
        requests: VecDeque<WireCommand>,
        session: &mut impl CommandSink,
    ) -> Result<(), LinkError> {
        let mut change = ActiveChange::new(ticket, requests);
        change.send_next(session)?;
        self.active.push(change);
        Ok(())
    }

    /// Takes back a change of this session, now or once it is answered; returns an update if one is due at
    /// once.
    pub fn take_back(
        &mut self,
        ticket: Ticket,
        of: Ticket,
        session: &mut impl CommandSink,
    ) -> Result<Option<ConnectionUpdate>, LinkError> {
        if self.all_offs.contains(&of) || self.active.iter().any(|change| change.ticket == of) {
            self.awaited.push((ticket, of));
            return Ok(None);
        }
        match self.done.remove(&of).filter(|changes| !changes.is_empty()) {
            Some(changes) => self.begin(ticket, undo_requests(changes), session).map(|()| None),
            // It changed nothing.
            None => Ok(Some(ConnectionUpdate::Dialled(ticket, Ok(DialReport::default())))),
        }
    }

    /// Records that "all off" was requested.
    pub fn expect_off(&mut self, ticket: Ticket) {
        self.all_offs.push(ticket);
    }

    /// Records that "all off" was answered or failed. `change` is its number, or 0. Returns the updates to
    /// send.
    pub fn off_is_done(
        &mut self,
        ticket: Ticket,
        change: u64,
        session: &mut impl CommandSink,
    ) -> Result<Vec<ConnectionUpdate>, LinkError> {
        self.all_offs.retain(|one| *one != ticket);
        self.remember(ticket, Some(change).filter(|change| *change > 0).into_iter().collect());
        self.resume(ticket, session)
    }

    fn remember(&mut self, ticket: Ticket, changes: Vec<u64>) {
        self.done.insert(ticket, changes);
        if self.done.len() > REMEMBERED {
            self.done.pop_first();
        }
    }

    /// Takes back the changes that waited for this answer.
    fn resume(
        &mut self,
        of: Ticket,
        session: &mut impl CommandSink,
    ) -> Result<Vec<ConnectionUpdate>, LinkError> {
        let mut updates = Vec::new();
        for (ticket, of) in self.awaited.extract_if(.., |(_, one)| *one == of).collect::<Vec<_>>() {
            updates.extend(self.take_back(ticket, of, session)?);
        }
        Ok(updates)
    }

    /// Cancels a change: drops its unsent requests and takes back its finished parts.
    pub fn cancel(&mut self, ticket: Ticket, session: &mut impl CommandSink) -> Result<(), LinkError> {
        let change = self.active.iter_mut().find(|change| change.ticket == ticket && change.ending.is_none());
        if let Some(change) = change
            && let Some((request, _)) = change.sent
        {
            change.stopped = !change.waiting.is_empty();
            change.waiting.clear();
            session.send(WireCommand::Cancel { request })?;
        }
        Ok(())
    }

    /// Returns an update about a change's progress.
    pub fn progress(&self, id: u32, done: u64, total: u64) -> Option<ConnectionUpdate> {
        let change = self.active.iter().find(|change| change.sent.is_some_and(|(of, _)| of == id))?;
        Some(ConnectionUpdate::Progress(change.ticket, done, total))
    }

    /// Processes the answer to a request of a change. Returns the updates to send and whether a change ended;
    /// `None` if the request belongs to no change.
    ///
    /// # Errors
    /// If the next part cannot be sent; `Err(None)` if the answer does not fit a change.
    pub fn answered(
        &mut self,
        id: u32,
        reply: Reply,
        session: &mut impl CommandSink,
    ) -> Result<Option<(Vec<ConnectionUpdate>, bool)>, Option<LinkError>> {
        let Some(at) = self.active.iter().position(|change| change.sent.is_some_and(|(of, _)| of == id))
        else {
            return Ok(None);
        };
        let Some(change) = self.active.get_mut(at) else { return Ok(None) };
        let forgotten = matches!(reply, Reply::Refused(Refusal::NothingToUndo)) && change.ending.is_none();
        if !change.answered(reply) {
            return Err(None);
        }
        change.send_next(session)?;
        if change.sent.is_some() {
            return Ok(Some((Vec::new(), false)));
        }
        let ActiveChange { ticket, report, changes, ending, .. } = self.active.remove(at);
        let mut updates = vec![match ending {
            Some(_) if forgotten => ConnectionUpdate::Forgotten(ticket),
            Some(refused) => ConnectionUpdate::Dialled(ticket, Err(refused)),
            None => ConnectionUpdate::Dialled(ticket, Ok(report)),
        }];
        self.remember(ticket, changes);
        updates.extend(self.resume(ticket, session)?);
        Ok(Some((updates, true)))
    }

    /// Removes changes whose answers are overdue and returns updates about them.
    pub fn overdue(&mut self, pid: u32, now: Instant) -> Vec<ConnectionUpdate> {
        let late = |change: &mut ActiveChange| {
            change.sent.is_some_and(|(_, sent)| now.saturating_duration_since(sent) > REPLY_PATIENCE)
        };
        let silent = LinkError::Silent { pid, seconds: REPLY_PATIENCE.as_secs() };
        let overdue = self.active.extract_if(.., late);
        overdue.map(|change| ConnectionUpdate::Unanswered(change.ticket, silent.to_string())).collect()
    }
}

#[cfg(test)]
#[path = "active_changes_tests.rs"]
mod tests;

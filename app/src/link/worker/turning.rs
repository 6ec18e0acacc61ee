//! Turns under way in a session: the requests each is made of, one after the other, and what they changed, so that it
//! can be taken back. A turn is done as a whole or not at all: what is stopped or refused half-way is taken back.

use super::{chunks, describe};
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::model::ids::Ticket;
use crate::model::turns::Turn;
use crate::model::update::{Refused, Told};
use redial_protocol::message::{Command, Refusal, Reply};
use redial_protocol::report::DialReport;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// An agent gives up after 30 s and says so; more than this is a hang.
pub const REPLY_PATIENCE: Duration = Duration::from_secs(40);
/// Turns whose changes are remembered: more than agents do.
const REMEMBERED: usize = 128;

/// Whatever sends a command to the agent.
pub trait Send {
    /// Sends it; the id its answer will carry.
    fn send(&mut self, command: Command) -> Result<u32, LinkError>;
}

impl Send for Session {
    fn send(&mut self, command: Command) -> Result<u32, LinkError> {
        Session::send(self, command)
    }
}

/// A turn under way.
struct Turning {
    ticket: Ticket,
    /// Requests that were not sent yet, of how many in all.
    waiting: VecDeque<Command>,
    parts: usize,
    report: DialReport,
    /// The request that is out: its id and when.
    sent: Option<(u32, Instant)>,
    /// Changes it made so far, oldest first.
    changes: Vec<u64>,
    /// Somebody stopped it before all of it was sent.
    stopped: bool,
    /// How it ended, while what was done of it is taken back.
    ending: Option<Refused>,
}

impl Turning {
    fn new(ticket: Ticket, waiting: VecDeque<Command>) -> Turning {
        Turning {
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

    fn go_on(&mut self, session: &mut impl Send) -> Result<(), LinkError> {
        self.sent = match self.waiting.pop_front() {
            Some(command) => Some((session.send(command)?, Instant::now())),
            None => None,
        };
        Ok(())
    }

    /// Goes on by taking back what was done.
    fn end(&mut self, ending: Refused) {
        self.waiting = taking_back(std::mem::take(&mut self.changes));
        self.ending = Some(ending);
    }

    /// Takes an answer in; false when it is none to a turn.
    fn answered(&mut self, reply: Reply) -> bool {
        match (reply, &mut self.ending) {
            (Reply::Dialled(report) | Reply::Undone { report, .. }, None) => {
                self.changes.extend(Some(report.change).filter(|change| *change > 0));
                chunks::add(&mut self.report, report);
                if self.stopped {
                    self.end(describe::refused(&LinkError::Refused(Refusal::Cancelled)));
                }
            }
            (Reply::Dialled(_) | Reply::Undone { .. }, Some(_)) => {}
            (Reply::Refused(refusal), None) => self.end(describe::refused(&LinkError::Refused(refusal))),
            (Reply::Refused(refusal), Some(ending)) => {
                let why = describe::refused(&LinkError::Refused(refusal)).why;
                let stay = match self.waiting.len() + 1 {
                    1 => format!("1 of its {} parts was done by then and stays", self.parts),
                    stay => format!("{stay} of its {} parts were done by then and stay", self.parts),
                };
                ending.why = format!("{}; {stay}: {why}", ending.why);
                self.waiting.clear();
            }
            _ => return false,
        }
        true
    }
}

/// The requests that take changes back, the newest first.
fn taking_back(changes: Vec<u64>) -> VecDeque<Command> {
    changes.into_iter().rev().map(|change| Command::TakeBack { change, take: false }).collect()
}

/// All turns of a session.
#[derive(Default)]
pub struct Turnings {
    under_way: Vec<Turning>,
    /// Of those that are done, the changes each made, oldest first.
    done: BTreeMap<Ticket, Vec<u64>>,
    /// What is to be taken back as soon as it is answered: the turn that takes back, and the one that is.
    awaited: Vec<(Ticket, Ticket)>,
    /// Every "all off" that is not answered.
    offs: Vec<Ticket>,
}

impl Turnings {
    /// Whether none is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Sends a turn, or the first part of it.
    pub fn turn(&mut self, turn: Turn, session: &mut impl Send) -> Result<(), LinkError> {
        self.begin(turn.ticket, chunks::requests(turn.orders, turn.take, turn.later), session)
    }

    fn begin(
        &mut self,
        ticket: Ticket,
        requests: VecDeque<Command>,
        session: &mut impl Send,
    ) -> Result<(), LinkError> {
        let mut turning = Turning::new(ticket, requests);
        turning.go_on(session)?;
        self.under_way.push(turning);
        Ok(())
    }

    /// Takes a turn of this session back, now or when it is answered; what there is to tell at once.
    pub fn take_back(
        &mut self,
        ticket: Ticket,
        of: Ticket,
        session: &mut impl Send,
    ) -> Result<Option<Told>, LinkError> {
        if self.offs.contains(&of) || self.under_way.iter().any(|turn| turn.ticket == of) {
            self.awaited.push((ticket, of));
            return Ok(None);
        }
        match self.done.remove(&of).filter(|changes| !changes.is_empty()) {
            Some(changes) => self.begin(ticket, taking_back(changes), session).map(|()| None),
            // It changed nothing.
            None => Ok(Some(Told::Dialled(ticket, Ok(DialReport::default())))),
        }
    }

    /// Notes that "all off" was asked for.
    pub fn expect_off(&mut self, ticket: Ticket) {
        self.offs.push(ticket);
    }

    /// "All off" was answered, or failed; `change` is its number, or 0. What there is to tell.
    pub fn off_is_done(
        &mut self,
        ticket: Ticket,
        change: u64,
        session: &mut impl Send,
    ) -> Result<Vec<Told>, LinkError> {
        self.offs.retain(|one| *one != ticket);
        self.remember(ticket, Some(change).filter(|change| *change > 0).into_iter().collect());
        self.resume(ticket, session)
    }

    fn remember(&mut self, ticket: Ticket, changes: Vec<u64>) {
        self.done.insert(ticket, changes);
        if self.done.len() > REMEMBERED {
            self.done.pop_first();
        }
    }

    /// Takes back what waited for that turn to be answered.
    fn resume(&mut self, of: Ticket, session: &mut impl Send) -> Result<Vec<Told>, LinkError> {
        let mut told = Vec::new();
        for (ticket, of) in self.awaited.extract_if(.., |(_, one)| *one == of).collect::<Vec<_>>() {
            told.extend(self.take_back(ticket, of, session)?);
        }
        Ok(told)
    }

    /// Stops a turn: what was not sent yet never is, and what was done is taken back.
    pub fn cancel(&mut self, ticket: Ticket, session: &mut impl Send) -> Result<(), LinkError> {
        let turn = self.under_way.iter_mut().find(|turn| turn.ticket == ticket && turn.ending.is_none());
        if let Some(turn) = turn
            && let Some((request, _)) = turn.sent
        {
            turn.stopped = !turn.waiting.is_empty();
            turn.waiting.clear();
            session.send(Command::Cancel { request })?;
        }
        Ok(())
    }

    /// How far a turn is.
    pub fn progress(&self, id: u32, done: u64, total: u64) -> Option<Told> {
        let turn = self.under_way.iter().find(|turn| turn.sent.is_some_and(|(of, _)| of == id))?;
        Some(Told::Progress(turn.ticket, done, total))
    }

    /// The answer to a request of a turn: what there is to tell, and whether a turn ended; None when it is none of ours.
    ///
    /// # Errors
    /// When the next part cannot be sent; `Err(None)` when no turn is answered so.
    pub fn answered(
        &mut self,
        id: u32,
        reply: Reply,
        session: &mut impl Send,
    ) -> Result<Option<(Vec<Told>, bool)>, Option<LinkError>> {
        let Some(at) = self.under_way.iter().position(|turn| turn.sent.is_some_and(|(of, _)| of == id))
        else {
            return Ok(None);
        };
        let Some(turn) = self.under_way.get_mut(at) else { return Ok(None) };
        let forgotten = matches!(reply, Reply::Refused(Refusal::NothingToUndo)) && turn.ending.is_none();
        if !turn.answered(reply) {
            return Err(None);
        }
        turn.go_on(session)?;
        if turn.sent.is_some() {
            return Ok(Some((Vec::new(), false)));
        }
        let Turning { ticket, report, changes, ending, .. } = self.under_way.remove(at);
        let mut told = vec![match ending {
            Some(_) if forgotten => Told::Forgotten(ticket),
            Some(refused) => Told::Dialled(ticket, Err(refused)),
            None => Told::Dialled(ticket, Ok(report)),
        }];
        self.remember(ticket, changes);
        told.extend(self.resume(ticket, session)?);
        Ok(Some((told, true)))
    }

    /// Turns that should have been answered.
    pub fn overdue(&mut self, pid: u32, now: Instant) -> Vec<Told> {
        let late = |turn: &mut Turning| {
            turn.sent.is_some_and(|(_, sent)| now.saturating_duration_since(sent) > REPLY_PATIENCE)
        };
        let silent = LinkError::Silent { pid, seconds: REPLY_PATIENCE.as_secs() };
        let overdue = self.under_way.extract_if(.., late);
        overdue.map(|turn| Told::Unanswered(turn.ticket, silent.to_string())).collect()
    }
}

#[cfg(test)]
#[path = "turning_tests.rs"]
mod tests;

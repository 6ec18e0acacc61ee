//! Turns that are parts of one for several processes: they are told of there, not by each process for itself.

use super::{Connection, Step, Targets};
use crate::model::ids::Ticket;
use crate::model::log::Log;
use crate::model::orders::Reach;
use crate::model::turns::Turn;
use crate::model::update::{Now, Refused};
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::report::DialReport;

/// What became of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is not answered yet.
    Waiting,
    /// It was carried out.
    Done(Box<DialReport>),
    /// Everything was turned off: copies reverted, and copies that could not be.
    Off(u64, u64),
    /// It was not, for this reason.
    Refused(Refused),
}

impl Connection {
    /// Turns methods as a part of a turn of several processes.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn turn_part(
        &mut self,
        targets: &Targets,
        level: Level,
        take: bool,
        now: Now,
    ) -> Result<Turn, String> {
        let turn = self.turn(targets, level, take, &mut Log::default(), now)?;
        self.parts.insert(turn.ticket, Outcome::Waiting);
        Ok(turn)
    }

    /// Sets orders of a turn of several processes that was made before this one started.
    pub fn turn_later(&mut self, orders: Vec<Order>, words: &str, now: Now) -> Turn {
        let ticket = self.ticket();
        self.turns.begin((ticket, words.to_owned()), Vec::new(), Reach::Everywhere, &self.live, now);
        self.parts.insert(ticket, Outcome::Waiting);
        Turn { connection: self.id, ticket, orders, take: false, later: true }
    }

    /// Takes a part back, or does it again; None: it was undone, or done again, by itself.
    pub fn undo_part(&mut self, of: Ticket, redo: bool, now: Now) -> Option<Result<(Ticket, Step), String>> {
        let changes = if redo { self.turns.can_redo(of) } else { self.turns.can_undo(of) };
        if !changes {
            return None;
        }
        let step = self.undo_of(of, redo, &mut Log::default(), now);
        Some(step.map(|step| {
            let ticket = match &step {
                Step::TakeBack { ticket, .. } | Step::AllOff(ticket) => *ticket,
                Step::Turn(turn) => turn.ticket,
            };
            self.parts.insert(ticket, Outcome::Waiting);
            (ticket, step)
        }))
    }

    /// Turns everything off as a part of that for several processes.
    pub fn all_off_part(&mut self, now: Now) -> Ticket {
        let ticket = self.all_off(&mut Log::default(), now);
        self.parts.insert(ticket, Outcome::Waiting);
        ticket
    }

    /// What became of a part; it is told once that it is over.
    pub fn outcome(&mut self, part: Ticket) -> Outcome {
        match self.parts.get(&part) {
            Some(Outcome::Waiting) => Outcome::Waiting,
            _ => self.parts.remove(&part).unwrap_or_else(|| {
                let why = "nobody knows what became of it".to_owned();
                Outcome::Refused(Refused { why, holder: None })
            }),
        }
    }

    /// Notes what became of a turn, if it is a part: whether it is.
    pub(super) fn part_is_over(&mut self, ticket: Ticket, outcome: impl FnOnce() -> Outcome) -> bool {
        match self.parts.get_mut(&ticket) {
            Some(part) => {
                *part = outcome();
                true
            }
            None => false,
        }
    }
}

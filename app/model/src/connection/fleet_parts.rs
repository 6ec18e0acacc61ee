//! Changes that are parts of one change of a fleet. The fleet logs them, not each process.

use super::{Connection, UndoStep};
use crate::changes::DialChange;
use crate::ids::Ticket;
use crate::log::Log;
use crate::method_table::Targets;
use crate::orders::ChangeScope;
use crate::update::{Now, RefusedRequest};
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::report::DialReport;

/// The result of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartOutcome {
    /// The agent has not answered yet.
    Waiting,
    /// It was carried out.
    Done(Box<DialReport>),
    /// Everything was turned off: the number of copies reverted, and of those that could not be.
    Off(u64, u64),
    /// It was refused.
    Refused(RefusedRequest),
}

impl Connection {
    /// Turns methods as a part of a fleet's change.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn set_part_level(
        &mut self,
        targets: &Targets,
        level: Level,
        take: bool,
        now: Now,
    ) -> Result<DialChange, String> {
        let change = self.set_level(targets, level, take, &mut Log::default(), now)?;
        self.requests.fleet_parts.insert(change.ticket, PartOutcome::Waiting);
        Ok(change)
    }

    /// Sets the orders of a fleet's change that was made before this process started.
    pub fn set_later(&mut self, orders: Vec<Order>, words: &str, now: Now) -> DialChange {
        let ticket = self.next_ticket();
        let table = &mut self.table;
        table.changes.begin(
            (ticket, words.to_owned()),
            Vec::new(),
            ChangeScope::Everywhere,
            &table.live,
            now,
        );
        self.requests.fleet_parts.insert(ticket, PartOutcome::Waiting);
        DialChange { connection: self.id, ticket, orders, take: false, later: true }
    }

    /// Undoes a part, or makes it again. None if that has been done already in this process alone.
    pub fn undo_part(
        &mut self,
        of: Ticket,
        redo: bool,
        now: Now,
    ) -> Option<Result<(Ticket, UndoStep), String>> {
        let changes = &self.table.changes;
        let is_possible = if redo { changes.can_redo(of) } else { changes.can_undo(of) };
        if !is_possible {
            return None;
        }
        let step = self.undo_of(of, redo, &mut Log::default(), now);
        Some(step.map(|step| {
            let ticket = match &step {
                UndoStep::UndoChange { ticket, .. } | UndoStep::AllOff(ticket) => *ticket,
                UndoStep::Change(change) => change.ticket,
            };
            self.requests.fleet_parts.insert(ticket, PartOutcome::Waiting);
            (ticket, step)
        }))
    }

    /// Turns everything off as a part of a fleet's change.
    pub fn all_off_part(&mut self, now: Now) -> Ticket {
        let ticket = self.all_off(&mut Log::default(), now);
        self.requests.fleet_parts.insert(ticket, PartOutcome::Waiting);
        ticket
    }

    /// Returns the outcome of a part. A final outcome is returned only once.
    pub fn outcome(&mut self, part: Ticket) -> PartOutcome {
        match self.requests.fleet_parts.get(&part) {
            Some(PartOutcome::Waiting) => PartOutcome::Waiting,
            _ => self.requests.fleet_parts.remove(&part).unwrap_or_else(|| {
                let why = "nobody knows what became of it".to_owned();
                PartOutcome::Refused(RefusedRequest { why, holder: None })
            }),
        }
    }

    /// Sets the outcome of a change if it is a part. Returns whether it is.
    pub(super) fn finish_part(&mut self, ticket: Ticket, outcome: impl FnOnce() -> PartOutcome) -> bool {
        match self.requests.fleet_parts.get_mut(&ticket) {
            Some(part) => {
                *part = outcome();
                true
            }
            None => false,
        }
    }
}

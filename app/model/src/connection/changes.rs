//! Changes that a user asks one process for: turning dials, undoing, and turning everything off.

use super::Connection;
use crate::changes::{DialChange, UndoRequest};
use crate::ids::Ticket;
use crate::log::{Log, LogKind};
use crate::method_set::MethodSet;
use crate::method_table::Targets;
use crate::orders::{self, ChangeScope};
use crate::update::Now;
use redial_protocol::level::Level;
use redial_protocol::order::Order;

/// The request of an undo or a redo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoStep {
    /// Undoes a change.
    UndoChange {
        /// The ticket of the answer.
        ticket: Ticket,
        /// The change.
        of: Ticket,
    },
    /// Makes a change again.
    Change(DialChange),
    /// Turns everything off again.
    AllOff(Ticket),
}

impl Connection {
    /// Turns methods to a level: marks them pending and returns the request to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn set_level(
        &mut self,
        targets: &Targets,
        level: Level,
        take: bool,
        log: &mut Log,
        now: Now,
    ) -> Result<DialChange, String> {
        let words = match targets.methods.is_empty() {
            true => "turning a dial".to_owned(),
            false => format!("{} on {}", targets.words_at(level), self.table.name_of_targets(targets)),
        };
        let orders = self.log_refusal(&words, self.orders_for(targets, level), log, now)?;
        let ticket = self.next_ticket();
        self.log_line(log, now, LogKind::Request, words.clone());
        self.table.begin_change((ticket, words), targets, level, now);
        Ok(DialChange { connection: self.id, ticket, orders, take, later: false })
    }

    /// Begins a change with the orders of a dial set; modules that load later count, too.
    ///
    /// # Errors
    /// Why dials cannot be turned right now, as a sentence. It is in the log, too.
    pub fn apply_orders(
        &mut self,
        words: String,
        orders: Vec<Order>,
        log: &mut Log,
        now: Now,
    ) -> Result<DialChange, String> {
        let obstacle = self.obstacle().map_or(Ok(()), |why| Err(why.to_owned()));
        self.log_refusal(&words, obstacle, log, now)?;
        let ticket = self.next_ticket();
        self.log_line(log, now, LogKind::Request, words.clone());
        // Which methods the patterns match, the agent knows.
        let unknown = Targets::new(MethodSet::default(), ChangeScope::Everywhere);
        self.table.begin_change((ticket, words), &unknown, Level::Off, now);
        Ok(DialChange { connection: self.id, ticket, orders, take: false, later: true })
    }

    /// Returns the orders that turn these methods to a level.
    ///
    /// # Errors
    /// Why they cannot be turned, as far as the window knows, as a sentence.
    pub fn orders_for(&self, targets: &Targets, level: Level) -> Result<Vec<Order>, String> {
        self.table.check(&targets.methods, level, self.obstacle(), self.offered())?;
        let wish = (level, targets.methods.clone());
        let bodyless = self.table.off_and_bodyless();
        let orders = orders::orders(&self.table.catalogue, &[wish], targets.scope, bodyless)?;
        Ok(orders::with_options(orders, targets.options_at(level), targets.when_at(level)))
    }

    fn log_refusal<T>(
        &self,
        words: &str,
        result: Result<T, String>,
        log: &mut Log,
        now: Now,
    ) -> Result<T, String> {
        result.inspect_err(|why| {
            self.log_line(log, now, LogKind::Refusal, format!("{words} refused: {why}"));
        })
    }

    /// Undoes the last change, or makes the last undone one again: marks its methods pending and returns the request
    /// to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo(&mut self, redo: bool, log: &mut Log, now: Now) -> Result<UndoStep, String> {
        let verb = if redo { "redo" } else { "undo" };
        let Some(made) = self.table.changes.last_made(redo) else {
            let why = self.obstacle().map_or(format!("there is nothing to {verb}"), str::to_owned);
            return self.log_refusal(verb, Err(why), log, now);
        };
        self.undo_of(made, redo, log, now)
    }

    /// Undoes one change, or makes it again, regardless of later changes.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo_of(&mut self, made: Ticket, redo: bool, log: &mut Log, now: Now) -> Result<UndoStep, String> {
        let verb = if redo { "redo" } else { "undo" };
        if let Some(obstacle) = self.obstacle().map(str::to_owned) {
            return self.log_refusal(verb, Err(obstacle), log, now);
        }
        let ticket = self.next_ticket();
        let Some(undo) = self.table.changes.begin_undo_of(made, ticket, redo, now) else {
            return self.log_refusal(verb, Err(format!("there is nothing to {verb}")), log, now);
        };
        let UndoRequest { words, wishes, scope, made, all_off, options, when } = undo;
        let step = match (redo, all_off) {
            // The agent knows which orders stood before, with their lifetimes, deadlines and owners.
            (false, _) => Ok(UndoStep::UndoChange { ticket, of: made }),
            (true, true) => Ok(UndoStep::AllOff(ticket)),
            // The methods of a dial set are not known here.
            (true, false) if wishes.iter().all(|(_, methods)| methods.is_empty()) => {
                Err("apply the dial set again instead".to_owned())
            }
            (true, false) => {
                let bodyless = self.table.off_and_bodyless();
                let orders = orders::orders(&self.table.catalogue, &wishes, scope, bodyless);
                let (connection, take, later) = (self.id, false, false);
                orders.map(|orders| {
                    let orders = orders::with_options(orders, options, when.as_deref());
                    UndoStep::Change(DialChange { connection, ticket, orders, take, later })
                })
            }
        };
        match step {
            Ok(step) => {
                self.log_line(log, now, LogKind::Request, words);
                Ok(step)
            }
            Err(why) => {
                self.table.changes.failed(ticket);
                self.log_refusal(&words, Err(why), log, now)
            }
        }
    }

    /// Prepares to ask the agent for the plan of a change: returns the ticket and the orders to send.
    ///
    /// # Errors
    /// Why the change is impossible, as a sentence.
    pub fn ask_plan(&mut self, targets: &Targets, level: Level) -> Result<(Ticket, Vec<Order>), String> {
        let orders = self.orders_for(targets, level)?;
        self.requests.plan = None;
        Ok((self.next_ticket(), orders))
    }

    /// Prepares to undo the last change of any controller: returns the ticket to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo_of_anyone(&mut self, log: &mut Log, now: Now) -> Result<Ticket, String> {
        let obstacle = self.obstacle().map_or(Ok(()), |why| Err(why.to_owned()));
        self.log_refusal("undo of the last change", obstacle, log, now)?;
        self.log_line(log, now, LogKind::Request, "undo of the last change of anyone");
        Ok(self.next_ticket())
    }

    /// Prepares to undo the budget's last step: returns the ticket to send, and the change's number.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo_of_budget(&mut self, log: &mut Log, now: Now) -> Result<(Ticket, u64), String> {
        let nothing = || "the budget has turned nothing down since it was set".to_owned();
        let obstacle = self.obstacle().map_or(Ok(()), |why| Err(why.to_owned()));
        let change = obstacle.and_then(|()| self.undoable_budget_change().ok_or_else(nothing));
        self.log_refusal("undo of the budget's last step", change.clone().map(drop), log, now)?;
        self.log_line(log, now, LogKind::Request, "undo of the budget's last step");
        Ok((self.next_ticket(), change?))
    }

    /// Turns everything off, whatever the state of the connection: marks the dials that are on pending and returns the
    /// ticket to send.
    pub fn all_off(&mut self, log: &mut Log, now: Now) -> Ticket {
        let ticket = self.next_ticket();
        self.log_line(log, now, LogKind::Request, "all dials off");
        self.table.begin_all_off(ticket, now);
        ticket
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;

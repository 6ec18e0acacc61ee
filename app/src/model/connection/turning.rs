//! What a user asks of a connection.

use super::Connection;
use crate::model::ids::Ticket;
use crate::model::log::{Kind, Log};
use crate::model::methodset::MethodSet;
use crate::model::turns::{self, Turn};
use crate::model::update::Now;
use redial_protocol::level::Level;
use redial_protocol::order::Order;

impl Connection {
    /// Turns methods to a level: marks them pending, and answers what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn turn(
        &mut self,
        targets: &MethodSet,
        level: Level,
        take: bool,
        log: &mut Log,
        now: Now,
    ) -> Result<Turn, String> {
        let words = format!("{level} on {}", self.name_of(targets));
        let orders = self.refuse(&words, self.turnable(targets, level), log, now)?;
        let wishes = vec![(level, targets.clone())];
        let ticket = self.ticket();
        log.add(now, Some(self.id), Kind::Request, words.clone());
        self.turns.begin(ticket, words, wishes, &self.live, now);
        Ok(Turn { connection: self.id, ticket, orders, take })
    }

    /// Whether these methods can be turned to that level as far as that is known here: the orders it takes.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn turnable(&self, targets: &MethodSet, level: Level) -> Result<Vec<Order>, String> {
        self.possible(targets, level)?;
        turns::orders(&self.catalogue, &[(level, targets.clone())])
    }

    fn possible(&self, targets: &MethodSet, level: Level) -> Result<(), String> {
        if let Some(obstacle) = self.obstacle() {
            return Err(obstacle.to_owned());
        }
        if targets.is_empty() {
            return Err("no method is selected".to_owned());
        }
        if level != Level::Off && !self.offered().contains(&level) {
            if level > Level::OFFERED {
                return Err(format!("{level} is to come in a later version"));
            }
            let top = self.offered().last().copied().unwrap_or(Level::Off);
            return Err(format!("this agent offers levels up to {top} (see REDIAL_MAX_LEVEL)"));
        }
        Ok(())
    }

    fn refuse<T>(
        &self,
        words: &str,
        result: Result<T, String>,
        log: &mut Log,
        now: Now,
    ) -> Result<T, String> {
        result.inspect_err(|why| {
            log.add(now, Some(self.id), Kind::Refusal, format!("{words} refused: {why}"));
        })
    }

    /// Undoes the last turn, or redoes the one undone last: marks its methods pending, and answers what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo(&mut self, redo: bool, log: &mut Log, now: Now) -> Result<Turn, String> {
        let what = if redo { "redo" } else { "undo" };
        if let Some(obstacle) = self.obstacle().map(str::to_owned) {
            return self.refuse(what, Err(obstacle), log, now);
        }
        let ticket = self.ticket();
        let Some((words, wishes)) = self.turns.begin_undo(ticket, redo, now) else {
            return self.refuse(what, Err(format!("there is nothing to {what}")), log, now);
        };
        match turns::orders(&self.catalogue, &wishes) {
            Ok(orders) => {
                log.add(now, Some(self.id), Kind::Request, words);
                Ok(Turn { connection: self.id, ticket, orders, take: false })
            }
            Err(why) => {
                self.turns.failed(ticket);
                self.refuse(&words, Err(why), log, now)
            }
        }
    }

    /// Turns everything off, whatever the state of the connection: marks what is on pending; the ticket to send.
    pub fn all_off(&mut self, log: &mut Log, now: Now) -> Ticket {
        let ticket = self.ticket();
        let on = self.live.rows().filter(|row| row.wanted != Level::Off).filter_map(|row| row.method);
        let wishes = vec![(Level::Off, on.collect())];
        log.add(now, Some(self.id), Kind::Request, "all dials off");
        self.turns.begin(ticket, "all dials off".to_owned(), wishes, &self.live, now);
        ticket
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(u64::from(self.id.0) << 32 | u64::from(self.tickets))
    }
}

//! The threads that own the pipes, for a program that must never wait: commands in, updates out, and a call to `wake`
//! whenever updates wait to be taken.
//!
//! - [`Worker::start`] starts the process scanner; [`Worker::send`] carries out a [`Command`] without ever waiting;
//!   [`Worker::take`] gives what there is to tell, without waiting, for `model::Model::apply`.
//! - A connection has a thread with the session that holds dials (`agent`), and one with a session of its own that
//!   loads the catalogue (`loading`), so that a long list delays no turn. "All off" takes a connection of its own, so
//!   that nothing can delay it.
//! - Dials set here are *held*: they revert when the connection ends, and so when the program does.
//! - A lost connection is tried again, slower and slower (`backoff`), as long as the process is the same one.
//! - The channel of updates is bounded: a reader that does not keep up slows the threads, and these the agents,
//!   which then drop, and count, updates in between.
//!
//! It must not know what is shown, nor keep what was told.
#![forbid(unsafe_code)]

mod account;
mod agent;
mod chunks;
mod describe;
mod launching;
mod loading;
mod outlet;
mod parts;
mod scan;
mod silence;
mod tail;
mod talk;
mod turning;

use crate::model::ids::{ConnectionId, Ticket};
use crate::model::turns::Turn;
use crate::model::update::Update;
pub use chunks::fit_one as fit_one_request;
pub use launching::{LaunchSpec, Stop};
use outlet::Outlet;
pub use parts::of as in_parts;
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::order::Order;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Called from any thread when updates wait: to ask for a repaint, for example.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// What workers can be told.
#[derive(Debug)]
pub enum Command {
    /// Connect to a process, and again whenever the connection is lost.
    Connect {
        /// The id that its updates will carry.
        connection: ConnectionId,
        /// The process: pid as this machine sees it, and start time (0: whatever has that pid).
        process: ProcessKey,
    },
    /// End a connection; its held dials revert.
    Disconnect(ConnectionId),
    /// Load the agent into the process of a connection that found none, and connect.
    Attach(ConnectionId),
    /// Try a lost connection again now.
    Retry(ConnectionId),
    /// Turn dials, held.
    Turn(Turn),
    /// Turn every dial of a process off, whoever set it.
    AllOff(ConnectionId, Ticket),
    /// Ask what a turn with these orders would do.
    Plan(ConnectionId, Ticket, Vec<Order>),
    /// Stop a turn that is under way, and undo what it did so far.
    Cancel(ConnectionId, Ticket),
    /// Take a turn of this program's back, whatever was turned since: the new ticket, and that of the turn.
    TakeBack(ConnectionId, Ticket, Ticket),
    /// Take the last change back, whoever made it, or the one of that number.
    UndoOfAnyone(ConnectionId, Ticket, Option<u64>),
    /// Set what dials may cost.
    SetBudget(ConnectionId, Option<Share>),
    /// Take control of a process from whoever has it.
    TakeControl(ConnectionId),
    /// Ask how the durations of a row's calls are spread.
    Histogram(ConnectionId, RowId),
    /// Ask who calls a row's method.
    Callers(ConnectionId, RowId),
    /// Look for new modules now.
    Reload(ConnectionId),
    /// Look at all processes again now.
    Scan,
    /// Start a program with the agent in it.
    Launch(Ticket, LaunchSpec),
    /// Stop a program that was started.
    Stop(Ticket, Stop),
}

/// The threads. Dropping it ends them: connections are closed, launched programs run on.
pub struct Worker {
    updates: Receiver<Update>,
    outlet: Outlet,
    scanner: scan::Scanner,
    agents: BTreeMap<ConnectionId, agent::Agent>,
    launched: BTreeMap<Ticket, launching::Launched>,
}

impl Worker {
    /// Starts scanning processes.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(wake: Wake) -> std::io::Result<Worker> {
        let (outlet, updates) = Outlet::new(wake);
        let scanner = scan::Scanner::start(outlet.clone())?;
        Ok(Worker { updates, outlet, scanner, agents: BTreeMap::new(), launched: BTreeMap::new() })
    }

    /// Carries a command out, sooner or later; what comes of it is an update.
    pub fn send(&mut self, command: Command) {
        match command {
            Command::Connect { connection, process } => {
                let agent = agent::Agent::start(connection, process, self.outlet.clone());
                self.agents.insert(connection, agent);
            }
            Command::Disconnect(connection) => drop(self.agents.remove(&connection)),
            Command::Attach(connection) => self.tell(connection, agent::Order::Attach),
            Command::Retry(connection) => self.tell(connection, agent::Order::Retry),
            Command::Turn(turn) => self.tell(turn.connection, agent::Order::Turn(turn)),
            Command::AllOff(connection, ticket) => self.tell(connection, agent::Order::AllOff(ticket)),
            Command::Plan(connection, ticket, orders) => {
                self.tell(connection, agent::Order::Plan(ticket, orders))
            }
            Command::Cancel(connection, ticket) => self.tell(connection, agent::Order::Cancel(ticket)),
            Command::TakeBack(connection, ticket, of) => {
                self.tell(connection, agent::Order::TakeBack(ticket, of))
            }
            Command::UndoOfAnyone(connection, ticket, change) => {
                self.tell(connection, agent::Order::UndoOfAnyone(ticket, change))
            }
            Command::SetBudget(connection, limit) => self.tell(connection, agent::Order::SetBudget(limit)),
            Command::TakeControl(connection) => self.tell(connection, agent::Order::TakeControl),
            Command::Histogram(connection, row) => self.tell(connection, agent::Order::Histogram(row)),
            Command::Callers(connection, row) => self.tell(connection, agent::Order::Callers(row)),
            Command::Reload(connection) => self.tell(connection, agent::Order::Reload),
            Command::Scan => self.scanner.scan(),
            Command::Launch(ticket, spec) => {
                // Whose thread is gone has ended.
                self.launched.retain(|_, launched| !launched.has_ended());
                self.launched.insert(ticket, launching::start(ticket, spec, self.outlet.clone()));
            }
            Command::Stop(ticket, stop) => {
                if let Some(launched) = self.launched.get(&ticket) {
                    launched.stop(stop);
                }
            }
        }
    }

    fn tell(&self, connection: ConnectionId, order: agent::Order) {
        if let Some(agent) = self.agents.get(&connection) {
            agent.tell(order);
        }
    }

    /// The next update, if there is one.
    pub fn take(&self) -> Option<Update> {
        self.updates.try_recv().ok()
    }

    /// The next update, waited for at most so long: for programs without a screen.
    pub fn wait(&self, patience: std::time::Duration) -> Option<Update> {
        self.updates.recv_timeout(patience).ok()
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;

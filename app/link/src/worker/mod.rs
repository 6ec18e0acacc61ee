//! The threads that own the pipes, for a program that must never block: requests go in, updates come out, and
//! `wake` is called whenever updates are waiting.
//!
//! - [`Worker::start`] starts the process scanner. [`Worker::send`] carries out a command and
//!   [`Worker::take`] returns the next update for `model::Model::apply`; neither ever waits.
//! - Each connection has one thread for the session that holds dials and one for a session that loads the
//!   catalogue, so that a long list delays no change. "All off" uses a separate connection, so that nothing
//!   can delay it.
//! - Dials set here are *held*: they revert when the connection or the program ends.
//! - A lost connection is retried with growing delays (`backoff`) as long as the process is the same one.
//! - The channel of updates is bounded. A slow reader slows the threads, and these slow the agents, which
//!   then drop and count events.
//!
//! This module must not know the display, nor keep its reports.
#![forbid(unsafe_code)]

mod active_changes;
mod call_collector;
mod catalogue_loader;
mod connection_thread;
mod error_text;
mod hot_search;
mod launcher;
mod method_code;
mod output_reader;
mod process_scanner;
mod request_chunks;
mod session_state;
mod silence_monitor;
mod snapshot_job;
mod status_filter;
mod update_batches;
mod update_sender;

use connection_thread::ConnectionRequest;
pub use launcher::{LaunchSpec, StopSignal};
pub use method_code::CodeRequest;
use redial_model::changes::DialChange;
use redial_model::hot::HotOptions;
use redial_model::ids::{ConnectionId, Ticket};
use redial_model::update::Update;
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::order::Order;
pub use request_chunks::fit_one as fit_one_request;
pub use snapshot_job::{SnapshotAnswer, SnapshotJob, start as start_snapshot_job};
use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
pub use update_batches::of as in_parts;
use update_sender::UpdateSender;
pub use update_sender::Wake;

/// A request to the worker.
#[derive(Debug)]
pub enum WorkerCommand {
    /// Connect to a process, and reconnect whenever the connection is lost.
    Connect {
        /// The id for its updates.
        connection: ConnectionId,
        /// The process: pid on this machine and start time (0 for any process with that pid).
        process: ProcessKey,
    },
    /// End a connection; its held dials revert.
    Disconnect(ConnectionId),
    /// Load the agent into the process of a connection that found none, and connect.
    Attach(ConnectionId),
    /// Retry a lost connection now.
    Retry(ConnectionId),
    /// Make a change; its dials are held.
    Change(DialChange),
    /// Turn off every dial of a process, whoever set it.
    AllOff(ConnectionId, Ticket),
    /// Ask for a plan of these orders.
    Plan(ConnectionId, Ticket, Vec<Order>),
    /// Cancel an active change and undo its finished parts.
    Cancel(ConnectionId, Ticket),
    /// Take back an earlier change of this program, whatever followed it: the new ticket, and the earlier
    /// change's ticket.
    UndoChange(ConnectionId, Ticket, Ticket),
    /// Undo the change with that number, or the last one, whoever made it.
    UndoOfAnyone(ConnectionId, Ticket, Option<u64>),
    /// Set the overhead budget.
    SetBudget(ConnectionId, Option<Share>),
    /// Take control of a process from its holder.
    TakeControl(ConnectionId),
    /// Request the histogram of a row.
    Histogram(ConnectionId, RowId),
    /// Request the histograms of rows, without their slowest calls.
    Histograms(ConnectionId, Vec<RowId>),
    /// Request the callers of a row's method.
    Callers(ConnectionId, RowId),
    /// Start or stop collecting traced calls.
    CollectCalls(ConnectionId, bool),
    /// Request the calls in flight.
    CallsInFlight(ConnectionId),
    /// Read source and IL of a method.
    MethodCode(ConnectionId, CodeRequest),
    /// Search for hot methods. Needs control, or nobody else may have it.
    FindHot(ConnectionId, ProcessKey, HotOptions),
    /// Stop that; its dials go off.
    CancelHot(ConnectionId),
    /// Look for new modules now.
    Reload(ConnectionId),
    /// Inspect all processes again now.
    Scan,
    /// Start a program with the agent.
    Launch(Ticket, LaunchSpec),
    /// Stop a program started here.
    Stop(Ticket, StopSignal),
}

/// Handle of the threads. Dropping it closes the connections and ends the threads; launched programs run on.
pub struct Worker {
    updates: Receiver<Update>,
    sender: UpdateSender,
    scanner: process_scanner::Scanner,
    agents: BTreeMap<ConnectionId, connection_thread::ConnectionThread>,
    launched: BTreeMap<Ticket, launcher::RunningProgram>,
    hot_searches: BTreeMap<ConnectionId, hot_search::HotSearchThread>,
}

impl Worker {
    /// Starts scanning processes.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(wake: Wake) -> std::io::Result<Worker> {
        let (sender, updates) = UpdateSender::new(wake);
        let scanner = process_scanner::Scanner::start(sender.clone())?;
        Ok(Worker {
            updates,
            sender,
            scanner,
            agents: BTreeMap::new(),
            launched: BTreeMap::new(),
            hot_searches: BTreeMap::new(),
        })
    }

    /// Carries out a command asynchronously; its results arrive as updates.
    pub fn send(&mut self, command: WorkerCommand) {
        match command {
            WorkerCommand::Connect { connection, process } => {
                let agent =
                    connection_thread::ConnectionThread::start(connection, process, self.sender.clone());
                self.agents.insert(connection, agent);
            }
            WorkerCommand::Disconnect(connection) => {
                // Its dials go off.
                self.cancel_hot(connection);
                self.agents.remove(&connection);
            }
            WorkerCommand::Attach(connection) => self.request(connection, ConnectionRequest::Attach),
            WorkerCommand::Retry(connection) => self.request(connection, ConnectionRequest::Retry),
            WorkerCommand::Change(change) => {
                self.request(change.connection, ConnectionRequest::Change(change))
            }
            WorkerCommand::AllOff(connection, ticket) => {
                self.request(connection, ConnectionRequest::AllOff(ticket))
            }
            WorkerCommand::Plan(connection, ticket, orders) => {
                self.request(connection, ConnectionRequest::Plan(ticket, orders))
            }
            WorkerCommand::Cancel(connection, ticket) => {
                self.request(connection, ConnectionRequest::Cancel(ticket))
            }
            WorkerCommand::UndoChange(connection, ticket, of) => {
                self.request(connection, ConnectionRequest::UndoChange(ticket, of))
            }
            WorkerCommand::UndoOfAnyone(connection, ticket, change) => {
                self.request(connection, ConnectionRequest::UndoOfAnyone(ticket, change))
            }
            WorkerCommand::SetBudget(connection, limit) => {
                self.request(connection, ConnectionRequest::SetBudget(limit))
            }
            WorkerCommand::TakeControl(connection) => {
                self.request(connection, ConnectionRequest::TakeControl)
            }
            WorkerCommand::Histograms(connection, rows) => {
                self.request(connection, ConnectionRequest::Histograms(rows))
            }
            WorkerCommand::Histogram(connection, row) => {
                self.request(connection, ConnectionRequest::Histogram(row))
            }
            WorkerCommand::Callers(connection, row) => {
                self.request(connection, ConnectionRequest::Callers(row))
            }
            WorkerCommand::CollectCalls(connection, wanted) => {
                self.request(connection, ConnectionRequest::CollectCalls(wanted))
            }
            WorkerCommand::CallsInFlight(connection) => {
                self.request(connection, ConnectionRequest::CallsInFlight)
            }
            WorkerCommand::MethodCode(connection, request) => {
                method_code::start(connection, request, self.sender.clone());
            }
            WorkerCommand::FindHot(connection, process, options) => {
                self.hot_searches.retain(|_, search| !search.has_ended());
                let sender = self.sender.clone();
                self.hot_searches.entry(connection).or_insert_with(|| {
                    hot_search::HotSearchThread::start(connection, process, options, sender)
                });
            }
            WorkerCommand::CancelHot(connection) => self.cancel_hot(connection),
            WorkerCommand::Reload(connection) => self.request(connection, ConnectionRequest::Reload),
            WorkerCommand::Scan => self.scanner.scan(),
            WorkerCommand::Launch(ticket, spec) => {
                // If its thread is gone, the program has ended.
                self.launched.retain(|_, launched| !launched.has_ended());
                self.launched.insert(ticket, launcher::start(ticket, spec, self.sender.clone()));
            }
            WorkerCommand::Stop(ticket, stop) => {
                if let Some(launched) = self.launched.get(&ticket) {
                    launched.stop(stop);
                }
            }
        }
    }

    fn cancel_hot(&self, connection: ConnectionId) {
        if let Some(search) = self.hot_searches.get(&connection) {
            search.cancel();
        }
    }

    fn request(&self, connection: ConnectionId, request: ConnectionRequest) {
        if let Some(agent) = self.agents.get(&connection) {
            agent.request(request);
        }
    }

    /// Returns the next update, if there is one.
    pub fn take(&self) -> Option<Update> {
        self.updates.try_recv().ok()
    }

    /// Waits for the next update, at most `patience`; for programs without a screen.
    pub fn wait(&self, patience: std::time::Duration) -> Option<Update> {
        self.updates.recv_timeout(patience).ok()
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;

//! The whole of it: processes, connections, log.

use super::connection::{Connection, Shape, Status};
use super::fleet::Settled;
use super::ids::{ConnectionId, Ticket};
use super::log::{Kind, Log};
use super::output::Output;
use super::processes::Processes;
use super::several::Several;
use super::update::{Launch, Now, Retry, Told, Update};
use redial_protocol::ids::ProcessKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a launched program is left to end by itself, at least, before it can be killed.
const AT_LEAST: Duration = Duration::from_secs(1);

/// A program that the window started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// What was started, in words.
    pub what: String,
    /// Process id, once it runs.
    pub pid: Option<u32>,
    /// The process the agent is in, once it spoke.
    pub agent: Option<ProcessKey>,
    /// How it ended, or why it could not be started.
    pub ended: Option<String>,
    /// When it was told to stop, on `Now::mono`'s clock.
    pub stopping: Option<Duration>,
    /// Of its dials, those that match nothing, a sentence each; none once they were seen.
    pub unmatched: Vec<String>,
}

impl Launched {
    /// Whether there is a process to be stopped.
    pub fn runs(&self) -> bool {
        self.pid.is_some() && self.ended.is_none()
    }

    /// How long it is still left to end by itself before it can be killed; None when it can be stopped, or killed, now.
    /// `mono` is on `Now::mono`'s clock.
    pub fn left_alone(&self, mono: Duration) -> Option<Duration> {
        let left = AT_LEAST.saturating_sub(mono.saturating_sub(self.stopping?));
        (!left.is_zero()).then_some(left)
    }

    /// How it ended, as a sentence: `dotnet Shop.dll ended with code 3`.
    pub fn ending(&self) -> String {
        let how = self.ended.as_deref().unwrap_or_default();
        match self.stopping {
            Some(_) => format!("{} was stopped from here and ended {how}", self.what),
            None => format!("{} ended {how}", self.what),
        }
    }

    /// What it is called where it is to be stopped: `dotnet Shop.dll (pid 9)`.
    pub fn named(&self) -> String {
        format!("{} (pid {})", self.what, self.pid.unwrap_or_default())
    }
}

/// Everything the window shows.
#[derive(Debug, Default)]
pub struct Model {
    /// The processes of the machine.
    pub processes: Processes,
    /// Every connection that was asked for and not closed.
    pub connections: BTreeMap<ConnectionId, Connection>,
    /// The one that is looked at: of several merged, what they are merged into.
    pub current: Option<ConnectionId>,
    /// The processes chosen.
    pub(super) several: Several,
    /// What happened.
    pub log: Log,
    /// Programs started from here.
    pub launched: BTreeMap<Ticket, Launched>,
    /// What they wrote.
    pub output: Output,
    last_connection: u32,
    last_launch: u64,
}

impl Model {
    /// Takes an update in.
    pub fn apply(&mut self, update: Update, now: Now) {
        match update {
            Update::Processes(changes) => {
                let gone = changes.gone.clone();
                self.processes.apply(changes);
                self.end_unmet(&gone, now);
            }
            Update::Connection(id, told) => {
                // What a closed connection still had to tell concerns nobody.
                if let Some(connection) = self.connections.get_mut(&id) {
                    let facts = told.iter().rev().find_map(|told| match told {
                        Told::Connected(facts) => Some(facts.clone()),
                        _ => None,
                    });
                    connection.apply(told, &mut self.log, now);
                    if let Some(facts) = facts {
                        self.processes.answered(connection.process, facts);
                    }
                    if connection.status.retry() == Some(Retry::WithAgent) {
                        self.processes.has_no_agent(connection.process);
                    }
                }
            }
            Update::Launch(ticket, launch) => self.launch(ticket, launch, now),
        }
    }

    /// Brings everything derived up to date; once a frame, after the last `apply`.
    pub fn settle(&mut self, now: Now) -> Settled {
        let mut settled = self.settle_several(now);
        for connection in self.connections.values_mut() {
            connection.sum_up(&mut self.log, now);
        }
        self.change_list(|connection| {
            connection.settle(now);
            settled.more |= connection.shape == Shape::List && connection.list.owes();
        });
        settled
    }

    /// The same once more in a frame, for what a gesture changed: of several processes nothing is taken over besides.
    pub fn settle_gesture(&mut self, now: Now) -> Settled {
        let take = |model: &mut Model, takes_nothing| {
            model.fleet_mut().into_iter().for_each(|fleet| fleet.takes_nothing = takes_nothing);
        };
        take(self, true);
        let settled = self.settle(now);
        take(self, false);
        settled
    }

    /// The connection that is looked at.
    pub fn current(&self) -> Option<&Connection> {
        self.connections.get(&self.current?)
    }

    /// The connection that is looked at, to be changed.
    pub fn current_mut(&mut self) -> Option<&mut Connection> {
        self.connections.get_mut(&self.current?)
    }

    /// Connections looked at that waited for an agent in their processes where one is there now: they are to be tried
    /// again, which is noted.
    pub fn met_agent(&mut self) -> Vec<ConnectionId> {
        let looked_at =
            |connection: &&mut Connection| connection.is_one_of_many || Some(connection.id) == self.current;
        let mut met = Vec::new();
        for connection in self.connections.values_mut().filter(looked_at) {
            let waits = connection.status.retry() == Some(Retry::WithAgent);
            let there = self.processes.get(connection.process).is_some_and(|row| row.agent.can_connect());
            if waits && there {
                connection.status = Status::Connecting;
                met.push(connection.id);
            }
        }
        met
    }

    /// The connection to a process, if there is one.
    pub fn connection_to(&self, process: ProcessKey) -> Option<&Connection> {
        self.connections.values().find(|connection| connection.process == process)
    }

    /// Looks at a process: the id of its connection, and whether that is new, so that the worker must be told.
    pub fn open(&mut self, process: ProcessKey, name: &str) -> (ConnectionId, bool) {
        if let Some(id) = self.connection_to(process).map(|connection| connection.id) {
            self.current = Some(id);
            return (id, false);
        }
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        self.connections.insert(id, Connection::new(id, process, name));
        self.current = Some(id);
        (id, true)
    }

    /// Forgets a connection; the worker must be told too.
    pub fn close(&mut self, id: ConnectionId) {
        let closed = self.connections.remove(&id);
        self.several
            .processes
            .retain(|process| closed.as_ref().is_none_or(|closed| closed.process != *process));
        if self.current == Some(id) {
            self.current = None;
        }
    }

    /// Notes that a program is to be started; the ticket for the worker.
    pub fn begin_launch(&mut self, what: &str, now: Now) -> Ticket {
        self.last_launch += 1;
        let ticket = Ticket(self.last_launch);
        let launched = Launched { what: what.to_owned(), ..Launched::default() };
        self.launched.insert(ticket, launched);
        self.log.add(now, None, Kind::Request, format!("start {what}"));
        ticket
    }

    /// The launched program that is looked at, while it runs.
    pub fn launched_in_sight(&self) -> Option<(Ticket, &Launched)> {
        self.launched_into(self.current()?.process)
    }

    /// The launched program with that process id, while it runs.
    pub fn launched_as(&self, pid: u32) -> Option<(Ticket, &Launched)> {
        let found = self.launched.iter().find(|(_, one)| one.runs() && one.pid == Some(pid));
        found.map(|(ticket, one)| (*ticket, one))
    }

    /// The launched programs that are looked at and run. Of several, those that were not told to stop yet, where there are
    /// some: nobody is killed by what stops the others.
    pub fn launched_looked_at(&self) -> Vec<(Ticket, &Launched)> {
        let merged = self.members().filter(|_| self.is_merged());
        let looked_at = merged.map(|member| member.process).chain(self.current().map(|one| one.process));
        let mut running: Vec<_> = looked_at.filter_map(|process| self.launched_into(process)).collect();
        if running.iter().any(|(_, one)| one.stopping.is_none()) {
            running.retain(|(_, one)| one.stopping.is_none());
        }
        running
    }

    /// The launched programs that are meant where none is named: those looked at, else the newest that runs.
    pub fn launched_to_stop(&self) -> Vec<(Ticket, &Launched)> {
        let looked_at = self.launched_looked_at();
        if !looked_at.is_empty() {
            return looked_at;
        }
        let newest = self.launched.iter().rev().find(|(_, one)| one.runs());
        newest.map(|(ticket, one)| (*ticket, one)).into_iter().collect()
    }

    fn launched_into(&self, process: ProcessKey) -> Option<(Ticket, &Launched)> {
        self.launched_as(process.pid).filter(|(_, one)| one.agent.is_none_or(|agent| agent == process))
    }

    /// Notes that a launched program is to be stopped: whether it is to be killed, for it was told before; None when it
    /// does not run, or was told only just now: a double click is one wish.
    pub fn begin_stop(&mut self, ticket: Ticket, now: Now) -> Option<bool> {
        let launched = self.launched.get_mut(&ticket).filter(|launched| launched.runs())?;
        if launched.left_alone(now.mono).is_some() {
            return None;
        }
        let kill = launched.stopping.is_some();
        launched.stopping.get_or_insert(now.mono);
        let verb = if kill { "kill" } else { "stop" };
        self.log.add(now, None, Kind::Request, format!("{verb} {}", launched.named()));
        Some(kill)
    }

    /// Which dials of launches match nothing was seen.
    pub fn forget_unmatched(&mut self) {
        self.launched.values_mut().for_each(|launched| launched.unmatched.clear());
    }

    /// Whether a process was launched from here, and was told to stop.
    pub fn was_stopped(&self, process: ProcessKey) -> bool {
        self.launched.values().any(|one| one.agent == Some(process) && one.stopping.is_some())
    }

    /// What a launched program is called from now on, in place of its whole command line.
    pub fn name_launch(&mut self, ticket: Ticket, name: String) {
        if let Some(launched) = self.launched.get_mut(&ticket) {
            launched.what = name;
        }
    }

    /// Processes that have ended: to those without an agent nobody has a connection that would tell.
    fn end_unmet(&mut self, gone: &[ProcessKey], now: Now) {
        for connection in self.connections.values_mut().filter(|one| gone.contains(&one.process)) {
            if connection.status.retry() == Some(Retry::WithAgent) {
                let why = format!("process {} has ended", connection.process.pid);
                connection.apply(vec![Told::Lost { why, retry: Retry::Never }], &mut self.log, now);
            }
        }
    }

    fn launch(&mut self, ticket: Ticket, launch: Launch, now: Now) {
        let Some(launched) = self.launched.get_mut(&ticket) else { return };
        let what = launched.what.clone();
        let (kind, text) = match launch {
            Launch::Started { pid } => {
                launched.pid = Some(pid);
                (Kind::Answer, format!("{what} runs as pid {pid}"))
            }
            Launch::Loaded(key) => {
                // The first one: the program itself, unless it starts others.
                launched.agent.get_or_insert(key);
                (Kind::Answer, format!("the agent is in process {} ({what})", key.pid))
            }
            Launch::Notice(text) => (Kind::Notice, text),
            Launch::Unmatched { sentences, ended } => {
                if ended {
                    launched.unmatched.clear();
                }
                launched.unmatched.extend_from_slice(&sentences);
                sentences.into_iter().for_each(|text| self.log.add(now, None, Kind::Notice, text));
                return;
            }
            Launch::Output { lines, left_out } => {
                return self.output.add(now, launched.pid.unwrap_or_default(), lines, left_out);
            }
            Launch::Failed(why) => {
                launched.ended = Some(why.clone());
                (Kind::Failure, why)
            }
            Launch::Stopping { killed: true } => (Kind::Answer, format!("{what} was killed")),
            Launch::Stopping { killed: false } => {
                let text = format!("{what} was asked to end; “Kill” ends it at once");
                (Kind::Answer, text)
            }
            Launch::Ended { how } => {
                launched.ended = Some(how);
                (Kind::Connection, launched.ending())
            }
        };
        self.log.add(now, None, kind, text);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;

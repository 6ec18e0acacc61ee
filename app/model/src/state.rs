//! The complete model: processes, connections, log.

use super::charts::{ChartKey, Charts};
use super::connection::{Connection, Status};
use super::events::Events;
use super::fleet::RemainingWork;
use super::ids::SubjectId;
use super::ids::{ConnectionId, Ticket};
use super::log::{Log, LogKind};
use super::method_table::{MethodTable, Shape};
use super::number_range::NumberRange;
use super::process_choice::ProcessChoice;
use super::processes::Processes;
use super::program_output::ProgramOutput;
use super::subject::Subject;
use super::update::{ConnectionUpdate, LaunchUpdate, Now, Retry, Update};
use redial_protocol::ids::ProcessKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// The minimum time between asking a launched program to end and killing it.
const KILL_DELAY: Duration = Duration::from_secs(1);

/// How a program that succeeded ended.
const SUCCESS: &str = "with code 0";

/// A program that the window started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchedProgram {
    /// Its command line or name.
    pub what: String,
    /// Process id once it runs.
    pub pid: Option<u32>,
    /// The process with the agent, once it was loaded.
    pub agent: Option<ProcessKey>,
    /// How it ended, or why it could not be started.
    pub ended: Option<String>,
    /// When it was asked to stop, on the clock of `Now::mono`.
    pub stopping: Option<Duration>,
    /// A sentence for each of its dials that matches nothing; empty once they were seen.
    pub unmatched: Vec<String>,
}

impl LaunchedProgram {
    /// Returns whether it runs.
    pub fn runs(&self) -> bool {
        self.pid.is_some() && self.ended.is_none()
    }

    /// Returns whether it ended by itself and reported success.
    pub fn has_succeeded(&self) -> bool {
        self.ended.as_deref() == Some(SUCCESS)
    }

    /// Returns how long it still has to end by itself before it can be killed; `None` if it can be stopped or
    /// killed now. `mono` is on the clock of `Now::mono`.
    pub fn left_alone(&self, mono: Duration) -> Option<Duration> {
        let left = KILL_DELAY.saturating_sub(mono.saturating_sub(self.stopping?));
        (!left.is_zero()).then_some(left)
    }

    /// Describes how it ended: `dotnet Shop.dll ended with code 3`.
    pub fn ending(&self) -> String {
        let how = self.ended.as_deref().unwrap_or_default();
        match self.stopping {
            Some(_) => format!("{} was stopped and ended {how}", self.what),
            None => format!("{} ended {how}", self.what),
        }
    }

    /// Returns its name for stop requests: `dotnet Shop.dll (pid 9)`.
    pub fn named(&self) -> String {
        format!("{} (pid {})", self.what, self.pid.unwrap_or_default())
    }
}

/// Everything the window shows.
#[derive(Debug, Default)]
pub struct Model {
    /// The machine's processes.
    pub processes: Processes,
    /// Every connection that was opened and not closed.
    pub connections: BTreeMap<ConnectionId, Connection>,
    /// Numbers of selected methods over time.
    pub charts: Charts,
    /// The process that is shown; the fleet, for several merged processes.
    pub current: Option<SubjectId>,
    /// The chosen processes.
    pub(super) choice: ProcessChoice,
    /// The calls that numbers of methods cover.
    range: NumberRange,
    /// The log.
    pub log: Log,
    /// Programs started by this window.
    pub launched: BTreeMap<Ticket, LaunchedProgram>,
    /// Their output.
    pub output: ProgramOutput,
    last_connection: u32,
    last_launch: u64,
}

impl Model {
    /// Applies an update.
    pub fn apply(&mut self, update: Update, now: Now) {
        match update {
            Update::Processes(changes) => {
                let gone = changes.gone.clone();
                self.processes.apply(changes);
                self.end_unmet(&gone, now);
            }
            Update::Connection(id, updates) => {
                for update in &updates {
                    if let ConnectionUpdate::Histogram(row, Ok(histogram)) = update {
                        let key = ChartKey { connection: id, row: *row };
                        self.charts.take_histogram(key, histogram, now.unix_ms);
                    }
                }
                // Ignore late updates of a closed connection.
                if let Some(connection) = self.connections.get_mut(&id) {
                    let facts = updates.iter().rev().find_map(|update| match update {
                        ConnectionUpdate::Connected(facts) => Some(facts.clone()),
                        _ => None,
                    });
                    if let Some(fleet) = self.choice.fleet.as_mut().filter(|_| connection.in_fleet) {
                        for update in &updates {
                            if let ConnectionUpdate::Events(update) = update {
                                fleet.events.take(id, update.clone());
                            }
                        }
                    }
                    connection.apply(updates, &mut self.log, now);
                    if let Some(facts) = facts {
                        self.processes.answered(connection.process, facts);
                    }
                    if connection.session.status.retry() == Some(Retry::WithAgent) {
                        self.processes.has_no_agent(connection.process);
                    }
                }
            }
            Update::Launch(ticket, launch) => self.launch(ticket, launch, now),
        }
    }

    /// Brings all derived state up to date; call once a frame, after the last `apply`.
    pub fn refresh(&mut self, now: Now) -> RemainingWork {
        let mut settled = self.refresh_fleet(now);
        for connection in self.connections.values_mut() {
            connection.summarize_transitions(&mut self.log, now);
        }
        match self.list_owner_id() {
            Some(SubjectId::Process(id)) => {
                self.connections.get_mut(&id).into_iter().for_each(|connection| connection.refresh(now));
            }
            Some(SubjectId::Fleet) => {
                self.fleet_mut().into_iter().for_each(|fleet| fleet.refresh_table(now));
            }
            None => {}
        }
        settled.more |=
            self.list().is_some_and(|table| table.shape == Shape::List && table.list.has_pending_work());
        self.align_rows();
        settled
    }

    /// Refreshes once more in a frame after a gesture, without importing anything into the fleet.
    pub fn refresh_after_gesture(&mut self, now: Now) -> RemainingWork {
        let suspend_import = |model: &mut Model, suspend| {
            model.fleet_mut().into_iter().for_each(|fleet| fleet.suspend_import(suspend));
        };
        suspend_import(self, true);
        let settled = self.refresh(now);
        suspend_import(self, false);
        settled
    }

    /// Returns a process or the fleet.
    pub fn subject(&self, id: SubjectId) -> Option<Subject<'_>> {
        match id {
            SubjectId::Process(id) => self.connections.get(&id).map(Subject::Process),
            SubjectId::Fleet => self.fleet().map(Subject::Fleet),
        }
    }

    /// Returns the methods of a process or the fleet, mutably.
    pub(super) fn table_mut(&mut self, id: SubjectId) -> Option<&mut MethodTable> {
        match id {
            SubjectId::Process(id) => self.connections.get_mut(&id).map(|connection| &mut connection.table),
            SubjectId::Fleet => self.fleet_mut().map(|fleet| &mut fleet.table),
        }
    }

    /// Returns the process or the fleet that is shown.
    pub fn current(&self) -> Option<Subject<'_>> {
        self.subject(self.current?)
    }

    /// Returns the methods of [`Model::current`].
    pub fn current_table(&self) -> Option<&MethodTable> {
        self.current().map(Subject::table)
    }

    /// Returns the traced calls of [`Model::current`], mutably.
    pub fn current_events_mut(&mut self) -> Option<&mut Events> {
        match self.current? {
            SubjectId::Process(id) => self.connections.get_mut(&id).map(|connection| &mut connection.events),
            SubjectId::Fleet => self.fleet_mut().map(|fleet| &mut fleet.events),
        }
    }

    /// Returns the process that is shown; `None` for the fleet.
    pub fn current_process(&self) -> Option<&Connection> {
        self.current()?.process()
    }

    /// Returns the process that is shown, mutably; `None` for the fleet.
    pub fn current_process_mut(&mut self) -> Option<&mut Connection> {
        self.connections.get_mut(&self.current?.process()?)
    }

    /// Returns the shown connections that waited for an agent that is there now, and marks them as
    /// connecting.
    pub fn take_newly_reachable(&mut self) -> Vec<ConnectionId> {
        let current = self.current.and_then(SubjectId::process);
        let is_shown = |connection: &&mut Connection| connection.in_fleet || Some(connection.id) == current;
        let mut met = Vec::new();
        for connection in self.connections.values_mut().filter(is_shown) {
            let waits = connection.session.status.retry() == Some(Retry::WithAgent);
            let there = self.processes.get(connection.process).is_some_and(|row| row.agent.can_connect());
            if waits && there {
                connection.session.status = Status::Connecting;
                met.push(connection.id);
            }
        }
        met
    }

    /// Returns the connection to a process, if there is one.
    pub fn connection_to(&self, process: ProcessKey) -> Option<&Connection> {
        self.connections.values().find(|connection| connection.process == process)
    }

    /// Shows a process; returns the id of its connection, and whether it is new, so that the worker must
    /// connect.
    pub fn open(&mut self, process: ProcessKey, name: &str) -> (ConnectionId, bool) {
        if let Some(id) = self.connection_to(process).map(|connection| connection.id) {
            self.current = Some(SubjectId::Process(id));
            return (id, false);
        }
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        let mut connection = Connection::new(id, process, name);
        connection.set_range(self.range);
        self.connections.insert(id, connection);
        self.current = Some(SubjectId::Process(id));
        (id, true)
    }

    /// Shows numbers of this range from now on, for all processes.
    pub fn set_range(&mut self, range: NumberRange) {
        self.range = range;
        self.connections.values_mut().for_each(|connection| connection.set_range(range));
        if let Some(fleet) = self.fleet_mut() {
            fleet.table.live.label_range(range, 0);
        }
    }

    /// Returns the calls that numbers of methods cover.
    pub fn range(&self) -> NumberRange {
        self.range
    }

    /// Forgets a connection; the worker must disconnect.
    pub fn close(&mut self, id: ConnectionId) {
        let closed = self.connections.remove(&id);
        self.charts.forget(id);
        self.choice
            .processes
            .retain(|process| closed.as_ref().is_none_or(|closed| closed.process != *process));
        if self.current == Some(SubjectId::Process(id)) {
            self.current = None;
        }
    }

    /// Records that a program is to be started; returns the ticket for the worker.
    pub fn begin_launch(&mut self, what: &str, now: Now) -> Ticket {
        self.last_launch += 1;
        let ticket = Ticket(self.last_launch);
        let launched = LaunchedProgram { what: what.to_owned(), ..LaunchedProgram::default() };
        self.launched.insert(ticket, launched);
        self.log.add(now, None, LogKind::Request, format!("start {what}"));
        ticket
    }

    /// Returns the launched program that is shown, while it runs.
    pub fn launched_in_sight(&self) -> Option<(Ticket, &LaunchedProgram)> {
        self.launched_into(self.current_process()?.process)
    }

    /// Returns the launched program with that process id, while it runs.
    pub fn launched_as(&self, pid: u32) -> Option<(Ticket, &LaunchedProgram)> {
        let found = self.launched.iter().find(|(_, one)| one.runs() && one.pid == Some(pid));
        found.map(|(ticket, one)| (*ticket, one))
    }

    /// Returns the shown launched programs that run. For several, prefers those not yet asked to stop, so
    /// that stopping some does not kill the others.
    pub fn launched_looked_at(&self) -> Vec<(Ticket, &LaunchedProgram)> {
        let merged = self.members().filter(|_| self.is_merged());
        let current = self.current_process().map(|one| one.process);
        let looked_at = merged.map(|member| member.process).chain(current);
        let mut running: Vec<_> = looked_at.filter_map(|process| self.launched_into(process)).collect();
        if running.iter().any(|(_, one)| one.stopping.is_none()) {
            running.retain(|(_, one)| one.stopping.is_none());
        }
        running
    }

    /// Returns the launched programs to stop if none is named: the shown ones, otherwise the newest that
    /// runs.
    pub fn launched_to_stop(&self) -> Vec<(Ticket, &LaunchedProgram)> {
        let looked_at = self.launched_looked_at();
        if !looked_at.is_empty() {
            return looked_at;
        }
        let newest = self.launched.iter().rev().find(|(_, one)| one.runs());
        newest.map(|(ticket, one)| (*ticket, one)).into_iter().collect()
    }

    fn launched_into(&self, process: ProcessKey) -> Option<(Ticket, &LaunchedProgram)> {
        self.launched_as(process.pid).filter(|(_, one)| one.agent.is_none_or(|agent| agent == process))
    }

    /// Records a request to stop a launched program; returns whether to kill it because it was asked before.
    /// `None` if it does not run or was asked only just now, because a double click is one request.
    pub fn begin_stop(&mut self, ticket: Ticket, now: Now) -> Option<bool> {
        let launched = self.launched.get_mut(&ticket).filter(|launched| launched.runs())?;
        if launched.left_alone(now.mono).is_some() {
            return None;
        }
        let kill = launched.stopping.is_some();
        launched.stopping.get_or_insert(now.mono);
        let verb = if kill { "kill" } else { "stop" };
        self.log.add(now, None, LogKind::Request, format!("{verb} {}", launched.named()));
        Some(kill)
    }

    /// Forgets launch dials without matches, because the user has seen them.
    pub fn forget_unmatched(&mut self) {
        self.launched.values_mut().for_each(|launched| launched.unmatched.clear());
    }

    /// Returns whether a process was launched and stopped by this window.
    pub fn was_stopped(&self, process: ProcessKey) -> bool {
        self.launched.values().any(|one| one.agent == Some(process) && one.stopping.is_some())
    }

    /// Sets the name of a launched program, instead of its whole command line.
    pub fn name_launch(&mut self, ticket: Ticket, name: String) {
        if let Some(launched) = self.launched.get_mut(&ticket) {
            launched.what = name;
        }
    }

    /// Ends processes without an agent, for which no connection would report that.
    fn end_unmet(&mut self, gone: &[ProcessKey], now: Now) {
        for connection in self.connections.values_mut().filter(|one| gone.contains(&one.process)) {
            if connection.session.status.retry() == Some(Retry::WithAgent) {
                let why = format!("process {} has ended", connection.process.pid);
                connection.apply(
                    vec![ConnectionUpdate::Lost { why, retry: Retry::Never }],
                    &mut self.log,
                    now,
                );
            }
        }
    }

    fn launch(&mut self, ticket: Ticket, launch: LaunchUpdate, now: Now) {
        let Some(launched) = self.launched.get_mut(&ticket) else { return };
        let what = launched.what.clone();
        let (kind, text) = match launch {
            LaunchUpdate::Started { pid } => {
                launched.pid = Some(pid);
                (LogKind::Answer, format!("running as pid {pid}: {what}"))
            }
            LaunchUpdate::Loaded(key) => {
                // The first one is the program itself, unless it starts others.
                launched.agent.get_or_insert(key);
                (LogKind::Answer, format!("the agent is loaded in process {} ({what})", key.pid))
            }
            LaunchUpdate::Notice(text) => (LogKind::Notice, text),
            LaunchUpdate::Unmatched { sentences, ended } => {
                if ended {
                    launched.unmatched.clear();
                }
                launched.unmatched.extend_from_slice(&sentences);
                sentences.into_iter().for_each(|text| self.log.add(now, None, LogKind::Notice, text));
                return;
            }
            LaunchUpdate::Output { lines, left_out } => {
                return self.output.add(now, launched.pid.unwrap_or_default(), lines, left_out);
            }
            LaunchUpdate::Failed(why) => {
                launched.ended = Some(why.clone());
                (LogKind::Failure, why)
            }
            LaunchUpdate::Stopping { killed: true } => (LogKind::Answer, format!("killed {what}")),
            LaunchUpdate::Stopping { killed: false } => {
                let text = format!("asked {what} to end; “Kill” ends it at once");
                (LogKind::Answer, text)
            }
            LaunchUpdate::Ended { how } => {
                let verb = if launched.stopping.is_some() { "stopped, ended" } else { "ended" };
                let text = format!("{verb} {how}: {what}");
                launched.ended = Some(how);
                (LogKind::Connection, text)
            }
        };
        self.log.add(now, None, kind, text);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;

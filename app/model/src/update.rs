//! Messages from worker threads to the model.

use super::callers;
use super::catalogue::builder::{Batch, NameOrder};
use super::events::EventsUpdate;
use super::histograms::HistogramAnswer;
use super::hot::HotUpdate;
use super::ids::{ConnectionId, Ticket};
use super::method_code::MethodCode;
use super::processes::ProcessChanges;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::{CopyKey, ModuleKey, ProcessKey, RowId};
use redial_protocol::message::{AgentStatus, AuditEntry, Event, Holder};
use redial_protocol::order::StandingOrder;
use redial_protocol::report::{DialReport, PlanReport};
use redial_protocol::slowest_calls::RowSlowestCalls;
use std::time::Duration;

/// The current time, as the model's owner reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since the program's start.
    pub mono: Duration,
    /// Unix time in milliseconds, only for display.
    pub unix_ms: u64,
}

/// A message of a worker thread.
#[derive(Debug)]
pub enum Update {
    /// Processes appeared, changed or ended.
    Processes(ProcessChanges),
    /// A connection's reports since its last message, in order.
    Connection(ConnectionId, Vec<ConnectionUpdate>),
    /// News about a launched program.
    Launch(Ticket, LaunchUpdate),
}

/// News about a launched program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchUpdate {
    /// It runs; the agent has not been heard of yet.
    Started {
        /// Process id.
        pid: u32,
    },
    /// The agent is loaded in this process (the program or one of its children), which accepts connections.
    Loaded(ProcessKey),
    /// Something the user should know; the program keeps running.
    Notice(String),
    /// A sentence for each of its dials that matches nothing.
    Unmatched {
        /// The sentences.
        sentences: Vec<String>,
        /// Whether the program has ended, so that these replace all earlier ones.
        ended: bool,
    },
    /// It could not be started.
    Failed(String),
    /// Its output since the last message.
    Output {
        /// Complete lines in the order of reading.
        lines: Vec<ProgramLine>,
        /// Older lines that were dropped because it wrote faster than they were taken.
        left_out: u64,
    },
    /// It was asked to stop.
    Stopping {
        /// Whether it was killed instead of asked to end.
        killed: bool,
    },
    /// It ended.
    Ended {
        /// How, in words: `with code 0`, `by signal 9`.
        how: String,
    },
}

/// A line of a launched program's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLine {
    /// Whether it was written to standard error.
    pub error: bool,
    /// The line, without control characters and with bounded length.
    pub text: String,
}

/// How to continue after a connection or an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Retry after this time.
    After(Duration),
    /// The process runs without an agent: retry when one appears in it.
    WithAgent,
    /// Retry when the user asks for it.
    Asked,
    /// Do not retry: the process has ended.
    Never,
}

/// A report of one connection.
#[derive(Debug)]
pub enum ConnectionUpdate {
    /// An attempt to connect begins.
    Connecting,
    /// The agent answered the hello. Rows of an earlier session are void; the agent sends them again.
    Connected(Box<AgentFacts>),
    /// The agent is being loaded into the process.
    Attaching,
    /// The agent could not be loaded, as a sentence.
    NotAttached(String),
    /// The session ended or could not begin.
    Lost {
        /// The reason, as a sentence.
        why: String,
        /// How to continue.
        retry: Retry,
    },
    /// A part of the catalogue.
    Catalogue(CataloguePart),
    /// An event of the subscription: rows, transitions, counters, control, goodbye.
    Event(Event),
    /// A change was answered.
    Dialled(Ticket, Result<DialReport, RefusedRequest>),
    /// A change was not answered; the reason, as a sentence.
    Unanswered(Ticket, String),
    /// A change could not be taken back, because the agent has forgotten it.
    Forgotten(Ticket),
    /// Progress of a large change: copies requested, and their total.
    Progress(Ticket, u64, u64),
    /// The agent's plan of a change, or why there is none.
    Plan(Ticket, Result<Box<PlanReport>, String>),
    /// The histogram of a row, or why there is none.
    Histogram(RowId, HistogramAnswer),
    /// Source and IL of a method.
    Code(CopyKey, Box<MethodCode>),
    /// The slowest calls of a row; absent without a condition for them.
    SlowestCalls(RowId, Option<Box<RowSlowestCalls>>),
    /// The callers of a row's method, or why they are unknown.
    Callers(RowId, callers::CallersAnswer),
    /// Traced calls.
    Events(EventsUpdate),
    /// News of a search for hot methods.
    Hot(HotUpdate),
    /// The standing orders, and the number of changes that can be undone.
    Orders(Vec<StandingOrder>, u32),
    /// The last change of any controller was undone, or not.
    Undone(Ticket, Result<Box<UndoneChange>, RefusedRequest>),
    /// The budget was not set.
    BudgetRefused(RefusedRequest),
    /// "All off" was answered with the numbers of reverted copies and of copies that could not be, or it
    /// failed.
    AllOff(Ticket, Result<(u64, u64), String>),
    /// The last round-trip time.
    Latency(Duration),
    /// The process is stopped, with the reason as a sentence; `None` when it resumes.
    Paused(Option<String>),
    /// The agent's status.
    AgentStatus(Box<AgentStatus>),
    /// Something the user should know, as a sentence.
    Notice(String),
}

/// A change that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneChange {
    /// Its description and who made it.
    pub what: AuditEntry,
    /// The result of taking it back.
    pub report: DialReport,
}

/// Why a whole change was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    /// A sentence that the user can act on.
    pub why: String,
    /// The holder of control, if taking control would help.
    pub holder: Option<Holder>,
}

/// Parts of a catalogue.
#[derive(Debug)]
pub enum CataloguePart {
    /// AppDomains, and the number of methods in all modules.
    Domains {
        /// Every current domain.
        domains: Vec<DomainRow>,
        /// Expected number of methods.
        methods: u64,
    },
    /// The methods of one module.
    Batch(Box<Batch>),
    /// Modules that are no longer loaded.
    Unloaded(Vec<ModuleKey>),
    /// Modules that were unloaded long ago and are no longer needed.
    Forgotten(Vec<ModuleKey>),
    /// Everything that was loaded at the last request has been sent.
    Complete(NameOrder),
}

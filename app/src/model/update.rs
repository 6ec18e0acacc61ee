//! What worker threads tell the model.

use super::callers;
use super::catalogue::builder::{Batch, NameOrder};
use super::histograms::Answer;
use super::ids::{ConnectionId, Ticket};
use super::processes::ProcessChanges;
use redial_protocol::calls::RowCalls;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::{ModuleKey, ProcessKey, RowId};
use redial_protocol::message::{AgentStatus, AuditEntry, Event, Holder};
use redial_protocol::order::StandingOrder;
use redial_protocol::report::{DialReport, PlanReport};
use std::time::Duration;

/// The time, as whoever holds the model reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Since the program's start, monotonic.
    pub mono: Duration,
    /// Unix time, milliseconds: for showing only.
    pub unix_ms: u64,
}

/// One message of a worker thread.
#[derive(Debug)]
pub enum Update {
    /// Processes came, changed or went.
    Processes(ProcessChanges),
    /// What one connection had to tell since its last message, in order.
    Connection(ConnectionId, Vec<Told>),
    /// A launched program.
    Launch(Ticket, Launch),
}

/// What became of a launched program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// It runs; the agent has not spoken yet.
    Started {
        /// Process id.
        pid: u32,
    },
    /// The agent is in this process (the program, or one that it started): it can be connected to.
    Loaded(ProcessKey),
    /// Something the user should know; the program runs on.
    Notice(String),
    /// Dials it was started with that match nothing, a sentence each.
    Unmatched {
        /// The sentences.
        sentences: Vec<String>,
        /// Nothing will match any more: these stand for all told before.
        ended: bool,
    },
    /// It could not be started.
    Failed(String),
    /// What it wrote since the last time.
    Output {
        /// Whole lines, in the order they were read.
        lines: Vec<Written>,
        /// Older lines that were left out because it wrote faster than they were taken.
        left_out: u64,
    },
    /// It was told to stop, and is about to.
    Stopping {
        /// It was killed; else it was asked to end.
        killed: bool,
    },
    /// It ended.
    Ended {
        /// How, in words: `with code 0`, `by signal 9`.
        how: String,
    },
}

/// A line that a launched program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// To its standard error, not its standard output.
    pub error: bool,
    /// The line, without control characters and of bounded length.
    pub text: String,
}

/// What follows the loss of a connection, or an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt after this time.
    After(Duration),
    /// The process runs without an agent: another attempt as soon as one is seen in it.
    WithAgent,
    /// Another attempt when the user asks for one.
    Asked,
    /// Nothing: the process has ended.
    Never,
}

/// What one connection tells.
#[derive(Debug)]
pub enum Told {
    /// An attempt to connect begins.
    Connecting,
    /// The agent said hello. Rows of an earlier session are void: the agent sends them anew.
    Connected(Box<AgentFacts>),
    /// The agent is being loaded into the process.
    Attaching,
    /// It could not be, as a sentence.
    NotAttached(String),
    /// The session ended, or could not begin.
    Lost {
        /// Why, as a sentence.
        why: String,
        /// What comes next.
        retry: Retry,
    },
    /// A part of the catalogue.
    Catalogue(CataloguePart),
    /// An event of the subscription: rows, transitions, counters, control, goodbye.
    Event(Event),
    /// A turn was answered.
    Dialled(Ticket, Result<DialReport, Refused>),
    /// A turn was not answered; why, as a sentence.
    Unanswered(Ticket, String),
    /// A turn that takes another back was refused: the agent does not remember that one any more.
    Forgotten(Ticket),
    /// How far a turn of many copies is: copies asked for, of how many.
    Progress(Ticket, u64, u64),
    /// What a turn would do, as the agent says; or why it cannot say.
    Plan(Ticket, Result<Box<PlanReport>, String>),
    /// How the durations of a row's calls are spread, or why nobody knows.
    Histogram(RowId, Answer),
    /// The worst calls of a row; absent where it has no condition for them.
    KeptCalls(RowId, Option<Box<RowCalls>>),
    /// Who calls a row's method, or why nobody knows.
    Callers(RowId, callers::Answer),
    /// The orders that stand, and the number of changes that can be taken back.
    Orders(Vec<StandingOrder>, u32),
    /// The last change, whoever made it, was taken back, or not.
    Undone(Ticket, Result<Box<Undone>, Refused>),
    /// The budget was not set.
    BudgetRefused(Refused),
    /// "All off" was answered: copies reverted, copies that could not be; or why not.
    AllOff(Ticket, Result<(u64, u64), String>),
    /// The last round trip of a ping.
    Latency(Duration),
    /// The process is stopped, and why, as a sentence; or it goes on.
    Paused(Option<String>),
    /// The agent's account of itself.
    AgentStatus(Box<AgentStatus>),
    /// Something the user should know, as a sentence.
    Notice(String),
}

/// A change that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// What it was and who made it.
    pub what: AuditEntry,
    /// What taking it back did.
    pub report: DialReport,
}

/// Why a whole turn was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As a sentence a person can act on.
    pub why: String,
    /// Set when another controller has control, so that taking it would help.
    pub holder: Option<Holder>,
}

/// Parts of a catalogue.
#[derive(Debug)]
pub enum CataloguePart {
    /// AppDomains, and how many methods all modules have together.
    Domains {
        /// Every domain there is now.
        domains: Vec<DomainRow>,
        /// Methods to be expected.
        methods: u64,
    },
    /// The methods of one module.
    Batch(Box<Batch>),
    /// Modules that are no longer loaded.
    Unloaded(Vec<ModuleKey>),
    /// Modules that were unloaded long ago: nothing of them is needed any more.
    Forgotten(Vec<ModuleKey>),
    /// Everything that was loaded when it was asked for is there.
    Complete(NameOrder),
}

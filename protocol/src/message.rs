//! Commands (controller to agent) and events (agent to controller) above the frozen layer. Closed enums; the
//! names are the profiling API's where it has one. Every message has committed golden bytes.

use crate::callers::RowCallers;
use crate::calls::RowCalls;
use crate::catalogue::{DomainRow, MethodPage, ModuleRow};
use crate::codec::capped;
use crate::cost::{Cost, CostBudget, Share};
use crate::counters::CounterDelta;
use crate::histogram::RowHistogram;
use crate::ids::{CopyKey, InstanceId, RowId};
use crate::il::{IlBody, IlPage};
use crate::level::Level;
use crate::limits::{
    AUDIT_ENTRIES, CALLS_PER_REPLY, MAX_COSTS, MAX_DOMAINS, MAX_INSTANCES, MAX_MODULES, MAX_ORDERS,
    MAX_SENTENCES, MAX_STANDING_ORDERS, MAX_SUGGESTIONS, ROWS_PER_PAGE, TIMES_PER_PAGE,
};
use crate::order::{Order, Stand, StandingOrder, TimeOptions};
use crate::report::{DialReport, PlanReport};
use crate::state::State;
use crate::times::Times;
use serde::{Deserialize, Serialize};

/// A command with the id its reply will carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the controller; not interpreted by the agent.
    pub id: u32,
    /// What to do.
    pub command: Command,
}

/// What a controller may ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// AppDomains and modules; answered by `Reply::Modules`.
    Modules,
    /// Methods that match (absent: all), at most `limit`; answered by `Event::Methods` pages, then `Reply::Methods`.
    Methods {
        /// The pattern as typed.
        pattern: Option<String>,
        /// Most methods to send.
        limit: u64,
    },
    /// Turn dials (`ICorProfilerInfo4::RequestReJIT`); answered by `Reply::Dialled` once the CLR accepted. With `later`, `take`
    /// and no order control is taken, and nothing is turned.
    RequestReJit {
        /// Later orders win over earlier ones, per copy. A level of `off` is a revert.
        #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
        orders: Vec<Order>,
        /// Set the order although nothing matches it yet.
        later: bool,
        /// Take control from whoever holds it.
        take: bool,
        /// How long they stand.
        stand: Stand,
    },
    /// Turn dials off (`ICorProfilerInfo4::RequestRevert`); answered by `Reply::Dialled`.
    RequestRevert {
        /// Patterns as typed.
        #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
        patterns: Vec<String>,
        /// Take control from whoever holds it.
        take: bool,
    },
    /// What `RequestReJit` with these orders would do; nothing is done. Answered by `Reply::Plan`.
    Plan {
        /// As in `RequestReJit`.
        #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
        orders: Vec<Order>,
        /// How long they would stand.
        stand: Stand,
    },
    /// Put the orders back that stood before the last change, whoever made it; answered by `Reply::Undone`.
    Undo {
        /// Take control from whoever holds it.
        take: bool,
    },
    /// Stop a request of this session that is on its way, and undo what it did so far; answered by `Reply::Done`, while
    /// the request itself is answered by `Refusal::Cancelled` unless it was done already.
    Cancel {
        /// Its `Request::id`.
        request: u32,
    },
    /// The orders that stand; answered by `Reply::Orders`.
    Orders,
    /// Every copy that is or was dialled; answered by `Event::Rows` and `Event::Times` pages, then `Reply::Status`.
    Status {
        /// Only rows that match.
        pattern: Option<String>,
    },
    /// Control, budgets, memory, audit; answered by `Reply::AgentStatus`.
    AgentStatus,
    /// Send `Event::Rows`, `Event::Transition`, `Event::Times` and `Event::Counters` from now on; answered by `Reply::Done`
    /// after the first `Rows` pages.
    Subscribe {
        /// Only rows that match.
        pattern: Option<String>,
        /// Milliseconds between folds, at least 10.
        interval_ms: u32,
    },
    /// Stop sending them; answered by `Reply::Done`.
    Unsubscribe,
    /// Give control back; answered by `Reply::Done`.
    ReleaseControl,
    /// Sent every few seconds by a session that holds dials; answered by `Reply::Done`.
    Ping,
    /// Turn off what this session holds, and give control back, as at its end; answered by `Reply::LetGo`.
    LetGo,
    /// Undo one change, whatever was changed since: its orders go, and those it had replaced stand again as they stood;
    /// answered by `Reply::Undone`.
    TakeBack {
        /// `DialReport::change`.
        change: u64,
        /// Take control from whoever holds it.
        take: bool,
    },
    /// A method's IL; answered by `Event::Il` pages, then `Reply::Il`.
    Il {
        /// Which copy of it.
        copy: CopyKey,
        /// With the probe, as the runtime has or would get it.
        instrumented: bool,
    },
    /// How the durations of a row's calls are spread; answered by `Reply::Histogram`.
    Histogram {
        /// The row: one that is or was timed, in a module that is loaded.
        row: RowId,
    },
    /// Set what dials may cost; answered by `Reply::Budget`. Dials that were left alone are so no more.
    SetBudget {
        /// Together; absent: as much as they do.
        limit: Option<Share>,
        /// Take control from whoever holds it.
        take: bool,
    },
    /// The worst calls of rows with a condition; answered by `Reply::KeptCalls`.
    KeptCalls {
        /// The rows.
        #[serde(deserialize_with = "capped::<_, _, CALLS_PER_REPLY>")]
        rows: Vec<RowId>,
    },
    /// Who calls a row's method; answered by `Reply::Callers`.
    Callers {
        /// The row: one whose callers are or were wanted, in a module that is loaded.
        row: RowId,
    },
}

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The answer to the request with that id; the last frame that belongs to it.
    Reply {
        /// `Request::id`.
        id: u32,
        /// The answer.
        reply: Reply,
    },
    /// A page of the answer to `Command::Methods`.
    Methods {
        /// `Request::id`.
        id: u32,
        /// The page.
        page: MethodPage,
    },
    /// Ledger rows: the answer to `Command::Status` (id given), or rows new to a subscription (id absent).
    Rows {
        /// `Request::id`; absent for a subscription.
        id: Option<u32>,
        /// At most `limits::ROWS_PER_PAGE`.
        #[serde(deserialize_with = "capped::<_, _, ROWS_PER_PAGE>")]
        rows: Vec<StatusRow>,
    },
    /// A row's wanted or actual changed.
    Transition(Transition),
    /// Counters that changed.
    Counters {
        /// The numbers.
        delta: CounterDelta,
        /// Updates dropped so far because this session read too slowly.
        dropped: u64,
    },
    /// Control changed hands; absent: free.
    Control(Option<Holder>),
    /// How far a turn of many copies is.
    Progress {
        /// `Request::id`.
        id: u32,
        /// Copies asked for so far.
        done: u64,
        /// Of how many.
        total: u64,
    },
    /// AppDomains or modules came or went since the session last asked for them, or was last told.
    Catalogue {
        /// Counts the changes.
        revision: u64,
    },
    /// The process is ending: these were the last numbers; nothing follows.
    Goodbye {
        /// As `AgentStatus::missed_deadlines`.
        missed_deadlines: u64,
    },
    /// A page of the answer to `Command::Il`.
    Il {
        /// `Request::id`.
        id: u32,
        /// The page.
        page: IlPage,
    },
    /// Times of rows that were sent before: of all that have some, after the rows that `Command::Status` is answered with
    /// (id given), and of those that changed, before the counters of a subscription (id absent).
    Times {
        /// `Request::id`; absent for a subscription.
        id: Option<u32>,
        /// At most `limits::TIMES_PER_PAGE`.
        #[serde(deserialize_with = "capped::<_, _, TIMES_PER_PAGE>")]
        times: Vec<Times>,
    },
    /// The budget was set, stepped dials down, or dials cost another share; sent to subscribers.
    Budget(CostBudget),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Done, nothing more to say.
    Done,
    /// To `Modules`.
    Modules {
        /// AppDomains.
        #[serde(deserialize_with = "capped::<_, _, MAX_DOMAINS>")]
        domains: Vec<DomainRow>,
        /// Modules.
        #[serde(deserialize_with = "capped::<_, _, MAX_MODULES>")]
        modules: Vec<ModuleRow>,
    },
    /// To `Methods`: how many matched in all (more than were sent if `limit` cut it).
    Methods {
        /// Methods that matched.
        matched: u64,
        /// When nothing matched: patterns that would.
        #[serde(deserialize_with = "capped::<_, _, MAX_SUGGESTIONS>")]
        suggestions: Vec<String>,
    },
    /// To `RequestReJit` and `RequestRevert`.
    Dialled(DialReport),
    /// To `Plan`.
    Plan(PlanReport),
    /// To `Undo`.
    Undone {
        /// What was undone, as in the audit ring.
        what: AuditEntry,
        /// What it did.
        report: DialReport,
    },
    /// To `Orders`.
    Orders {
        /// Oldest first: of two that mean the same copy the later one wins.
        #[serde(deserialize_with = "capped::<_, _, MAX_STANDING_ORDERS>")]
        orders: Vec<StandingOrder>,
        /// Changes that `Undo` can take back.
        undoable: u32,
    },
    /// To `Status`: the number of rows sent.
    Status {
        /// Rows.
        rows: u64,
    },
    /// To `AgentStatus`.
    AgentStatus(AgentStatus),
    /// Not done; nothing changed.
    Refused(Refusal),
    /// To `LetGo`, in numbers of copies that orders of the session decided.
    LetGo {
        /// They have their original IL again.
        reverted: u64,
        /// Other orders keep them on.
        stay: u64,
        /// They could not be reverted.
        remaining: u64,
    },
    /// To `Il`: what stands around the lines sent.
    Il(IlBody),
    /// To `Histogram`.
    Histogram(RowHistogram),
    /// To `SetBudget`: as it stands now.
    Budget(CostBudget),
    /// To `KeptCalls`: one for each of the rows that has a condition now.
    KeptCalls(#[serde(deserialize_with = "capped::<_, _, CALLS_PER_REPLY>")] Vec<RowCalls>),
    /// To `Callers`.
    Callers(RowCallers),
}

/// Why a whole command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A pattern is wrong; the sentence says where and why.
    BadPattern(String),
    /// Another controller has control.
    ControlHeld(Holder),
    /// Nothing matched and `later` was not given.
    NothingMatched {
        /// Patterns that would have matched.
        #[serde(deserialize_with = "capped::<_, _, MAX_SUGGESTIONS>")]
        suggestions: Vec<String>,
    },
    /// A limit of `limits` was passed; the sentence names it.
    OverLimit(String),
    /// There is no change to undo.
    NothingToUndo,
    /// `Cancel` came in time: what was done of it is undone.
    Cancelled,
    /// The agent is switched off or shutting down.
    AgentOff(String),
    /// The request is known but cannot be carried out; the sentence says why.
    Unsupported(String),
}

/// Who holds control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id as the agent sees it.
    pub pid: u32,
    /// The program's own name for itself (`redial dial`, `redial app`).
    pub program: String,
}

/// A ledger row with its names and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRow {
    /// The row's index.
    pub row: RowId,
    /// The copy.
    pub copy: CopyKey,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
    /// The assembly's simple name.
    pub module: String,
    /// The AppDomain's name; of a shared copy, the shared domain's.
    pub domain: String,
    /// What the user asked for.
    pub wanted: Level,
    /// What is asked for beyond times.
    pub options: TimeOptions,
    /// What the runtime does.
    pub state: State,
    /// Our live bodies 1, 2, …; absent while off.
    pub version: Option<u32>,
    /// Every (FunctionID, ReJITID) seen.
    #[serde(deserialize_with = "capped::<_, _, MAX_INSTANCES>")]
    pub instances: Vec<Instance>,
    /// Why refused or failed, or why the number of calls leaves some out (already inlined somewhere), as a sentence.
    pub note: Option<String>,
    /// Why it is only counted where times are wanted, what is missing of its times, or that it was stepped down by the budget,
    /// as sentences. The number of calls is right all the same.
    pub times_note: Option<String>,
    /// Calls counted since the copy was first dialled.
    pub calls: u64,
}

/// One compiled instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its ids.
    pub id: InstanceId,
    /// Its state: asked while compiling, live, off once superseded or reverted, failed.
    pub state: State,
}

/// A change of a row, or of the compiled instances behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// The row.
    pub row: RowId,
    /// Milliseconds of the agent's monotonic clock since its start.
    pub t_ms: u64,
    /// What the user asked for.
    pub wanted: Level,
    /// As in `StatusRow`.
    pub options: TimeOptions,
    /// What the runtime does now.
    pub state: State,
    /// Our live version, absent while off.
    pub version: Option<u32>,
    /// Every (FunctionID, ReJITID) seen, as of when this was sent.
    #[serde(deserialize_with = "capped::<_, _, MAX_INSTANCES>")]
    pub instances: Vec<Instance>,
    /// As in `StatusRow`.
    pub note: Option<String>,
    /// As in `StatusRow`.
    pub times_note: Option<String>,
}

/// The agent's own account of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// Who holds control.
    pub control: Option<Holder>,
    /// Copies dialled by held orders.
    pub held: u64,
    /// Copies dialled by kept orders.
    pub kept: u64,
    /// Bytes the agent itself uses (counters, ledger, queues; an estimate).
    pub memory_bytes: u64,
    /// Budgets, each with what is used of it.
    #[serde(deserialize_with = "capped::<_, _, MAX_SENTENCES>")]
    pub budgets: Vec<Budget>,
    /// Estimated bytes the CLR keeps for recompilations until their AppDomain unloads.
    pub clr_kept_bytes: u64,
    /// First calls that may have been missed because the bounded wait at module load ran out.
    pub missed_deadlines: u64,
    /// Times a guard caught a fault of ours.
    pub guard_trips: u64,
    /// Who turned what, oldest first.
    #[serde(deserialize_with = "capped::<_, _, AUDIT_ENTRIES>")]
    pub audit: Vec<AuditEntry>,
    /// Sentences about what remains (inlined callers and the like).
    #[serde(deserialize_with = "capped::<_, _, MAX_SENTENCES>")]
    pub remains: Vec<String>,
    /// What a call costs at each level that is offered.
    #[serde(deserialize_with = "capped::<_, _, MAX_COSTS>")]
    pub costs: Vec<Cost>,
    /// What dials may cost, and do.
    pub cost_budget: CostBudget,
    /// Thousandths of a nanosecond that a timed call costs more where its caller is counted, too; absent where callers cannot be
    /// told, or nothing is timed.
    pub callers_picoseconds: Option<u64>,
}

/// A budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// What is limited.
    pub name: String,
    /// How much is used.
    pub used: u64,
    /// How much there is.
    pub limit: u64,
}

/// One turn in the audit ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Unix time, milliseconds.
    pub t_unix_ms: u64,
    /// The user (a name or uid) the connection came from; where there was none (the launcher, the runtime) the
    /// process's own.
    pub user: String,
    /// The program's own name for itself.
    pub program: String,
    /// What was turned, as a dial-set line.
    pub order: String,
}

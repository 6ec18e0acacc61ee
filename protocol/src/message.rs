//! Commands (controller to agent) and events (agent to controller) above the frozen layer.
//!
//! All enums are closed. Names follow the profiling API where it has one. Every message has committed golden
//! bytes.

pub use crate::agent_status::{AgentStatus, AuditEntry, ResourceUsage};
use crate::callers::RowCallers;
use crate::catalogue::{DomainRow, MethodPage, ModuleRow};
use crate::codec::capped;
use crate::cost::{CostBudget, Share};
use crate::counters::CounterDelta;
use crate::diagnostics::{Limit, PatternProblem, RowNote, TimesNote, Unavailable, Unsupported};
use crate::exceptions::{ThrownCount, ThrownException, ThrownRow, ThrownTotals};
use crate::histogram::RowHistogram;
pub use crate::holder::Holder;
use crate::ids::{CopyKey, InstanceId, RowId};
use crate::il::{IlBody, IlPage};
use crate::level::Level;
use crate::limits::{
    CALLS_PER_REPLY, EXCEPTIONS_PER_PAGE, MAX_DOMAINS, MAX_INSTANCES, MAX_MODULES, MAX_ORDERS,
    MAX_STANDING_ORDERS, MAX_SUGGESTIONS, MAX_THROWN_ROWS, ROWS_PER_PAGE, TIMES_PER_PAGE,
    TRACED_CALLS_PER_PAGE,
};
use crate::order::{Lifetime, Order, StandingOrder, TimeOptions};
use crate::report::{DialReport, PlanReport};
use crate::slowest_calls::RowSlowestCalls;
use crate::state::CopyState;
use crate::times::Times;
use crate::trace::{DroppedCalls, TracedCall, TracedMethod, of_page};
use serde::{Deserialize, Serialize};

/// A command with the id that its reply carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the controller; the agent does not interpret it.
    pub id: u32,
    /// The command.
    pub command: WireCommand,
}

/// Commands of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireCommand {
    /// List AppDomains and modules; answered by `Reply::Modules`.
    Modules,
    /// List at most `limit` methods that match the pattern (absent: all); answered by `Event::Methods` pages,
    /// then `Reply::Methods`.
    Methods {
        /// The pattern as typed.
        pattern: Option<String>,
        /// Maximum number of methods to send.
        limit: u64,
    },
    /// Turn dials (`ICorProfilerInfo4::RequestReJIT`); answered by `Reply::Dialled` once the CLR has accepted.
    /// With `later`, `take` and no orders, the command takes control and turns nothing.
    RequestReJit {
        /// For each copy, later orders win over earlier ones. The level `off` is a revert.
        #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
        orders: Vec<Order>,
        /// Set an order even if nothing matches it yet.
        later: bool,
        /// Take control from the session that holds it.
        take: bool,
        /// Lifetime of the orders.
        lifetime: Lifetime,
    },
    /// Turn dials off (`ICorProfilerInfo4::RequestRevert`); answered by `Reply::Dialled`.
    RequestRevert {
        /// Patterns as typed.
        #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
        patterns: Vec<String>,
        /// Take control from the session that holds it.
        take: bool,
    },
    /// Report what `RequestReJit` with these orders would do, without doing it. Answered by `Reply::Plan`.
    Plan {
        /// As in `RequestReJit`.
        #[serde(deserialize_with = "capped::<_, _, MAX_ORDERS>")]
        orders: Vec<Order>,
        /// Lifetime that the orders would have.
        lifetime: Lifetime,
    },
    /// Restore the orders from before the last change, no matter who made it; answered by `Reply::Undone`.
    Undo {
        /// Take control from the session that holds it.
        take: bool,
    },
    /// Stop an unfinished request of this session and undo its effects so far; answered by `Reply::Done`. The
    /// request itself is answered by `Refusal::Cancelled`, unless it had already finished.
    Cancel {
        /// Its `Request::id`.
        request: u32,
    },
    /// List the standing orders; answered by `Reply::Orders`.
    Orders,
    /// List every copy that is or was dialled; answered by `Event::Rows` and `Event::Times` pages, then
    /// `Reply::Status`.
    Status {
        /// Only rows that match.
        pattern: Option<String>,
    },
    /// Get control, budgets, memory and the audit ring; answered by `Reply::AgentStatus`.
    AgentStatus,
    /// Start sending `Event::Rows`, `Event::Transition`, `Event::Times` and `Event::Counters`; answered by
    /// `Reply::Done` after the first `Rows` pages.
    Subscribe {
        /// Only rows that match.
        pattern: Option<String>,
        /// Milliseconds between counter snapshots, at least 10.
        interval_ms: u32,
    },
    /// Stop the subscription; answered by `Reply::Done`.
    Unsubscribe,
    /// Release control; answered by `Reply::Done`.
    ReleaseControl,
    /// Sent every few seconds by a session that holds dials; answered by `Reply::Done`.
    Ping,
    /// Turn off the dials that this session holds and release control, as when the session ends; answered by
    /// `Reply::ReleaseHeld`.
    ReleaseHeld,
    /// Undo one change, even if others followed it: remove its orders and restore those it replaced. Answered
    /// by `Reply::Undone`.
    UndoChange {
        /// `DialReport::change`.
        change: u64,
        /// Take control from the session that holds it.
        take: bool,
    },
    /// Get a method's IL; answered by `Event::Il` pages, then `Reply::Il`.
    Il {
        /// The copy of the method.
        copy: CopyKey,
        /// Whether to show the body with the probe, as the runtime has or would get it.
        instrumented: bool,
    },
    /// Get the distribution of a row's call durations; answered by `Reply::Histogram`.
    Histogram {
        /// A row that is or was timed, in a loaded module.
        row: RowId,
    },
    /// Set the budget; answered by `Reply::Budget`. Dials that the budget had spared are subject to it again.
    SetBudget {
        /// Limit for all dials together; absent: no limit.
        limit: Option<Share>,
        /// Take control from the session that holds it.
        take: bool,
    },
    /// Get the slowest calls of rows with a condition; answered by `Reply::SlowestCalls`.
    SlowestCalls {
        /// The rows.
        #[serde(deserialize_with = "capped::<_, _, CALLS_PER_REPLY>")]
        rows: Vec<RowId>,
    },
    /// Get the callers of a row's method; answered by `Reply::Callers`.
    Callers {
        /// A row whose callers are or were counted, in a loaded module.
        row: RowId,
    },
    /// List traced calls: the latest ones of each method, oldest first; answered by `Event::Calls` pages, then
    /// `Reply::Calls`.
    Calls {
        /// Only of rows that match.
        pattern: Option<String>,
        /// Whether to list the calls in flight instead.
        in_flight: bool,
    },
    /// Start sending each traced call when it ends, as `Event::Calls`; answered by `Reply::Done`. Replaces an
    /// earlier stream of the session.
    StreamCalls {
        /// Only of rows that match.
        pattern: Option<String>,
    },
    /// Stop that; answered by `Reply::Done` after the last page.
    StopCalls,
    /// Start counting thrown exceptions, and sending them as `Event::Exceptions`; answered by `Reply::Done` once the
    /// runtime reports them. Replaces an earlier stream of the session.
    StreamExceptions {
        /// Only types that match, as typed: `[ASSEMBLY!]TYPE`.
        types: Option<String>,
        /// Most exceptions to send in a second, within what the host allows; absent:
        /// `limits::EXCEPTIONS_PER_SECOND`. All are counted.
        rate: Option<u32>,
    },
    /// Stop that; answered by `Reply::Done` after the last page.
    StopExceptions,
}

/// Messages of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Answer to the request with that id, and the last frame that belongs to it.
    Reply {
        /// `Request::id`.
        id: u32,
        /// The answer.
        reply: Reply,
    },
    /// A page of the answer to `WireCommand::Methods`.
    Methods {
        /// `Request::id`.
        id: u32,
        /// The page.
        page: MethodPage,
    },
    /// Ledger rows: the answer to `WireCommand::Status` (with id), or new rows of a subscription (without id).
    Rows {
        /// `Request::id`; absent for a subscription.
        id: Option<u32>,
        /// At most `limits::ROWS_PER_PAGE`.
        #[serde(deserialize_with = "capped::<_, _, ROWS_PER_PAGE>")]
        rows: Vec<StatusRow>,
    },
    /// A row's wanted or actual level changed.
    Transition(Transition),
    /// Counters that changed.
    Counters {
        /// The changes.
        delta: CounterDelta,
        /// Updates dropped so far because the session read too slowly.
        dropped: u64,
    },
    /// Control changed hands; absent: nobody holds it.
    Control(Option<Holder>),
    /// Progress of a change of many copies.
    Progress {
        /// `Request::id`.
        id: u32,
        /// Copies requested so far.
        done: u64,
        /// Total number of copies.
        total: u64,
    },
    /// AppDomains or modules were loaded or unloaded since the session last listed them or got this event.
    Catalogue {
        /// Number of the change.
        revision: u64,
    },
    /// The process is ending. The last numbers have been sent; nothing follows.
    Goodbye {
        /// As `AgentStatus::missed_deadlines`.
        missed_deadlines: u64,
    },
    /// A page of the answer to `WireCommand::Il`.
    Il {
        /// `Request::id`.
        id: u32,
        /// The page.
        page: IlPage,
    },
    /// Times of rows that were sent before. In the answer to `WireCommand::Status` (with id), the times of all
    /// rows that have some; in a subscription (without id), the times that changed, sent before the counters.
    Times {
        /// `Request::id`; absent for a subscription.
        id: Option<u32>,
        /// At most `limits::TIMES_PER_PAGE`.
        #[serde(deserialize_with = "capped::<_, _, TIMES_PER_PAGE>")]
        times: Vec<Times>,
    },
    /// The budget was set, it stepped dials down, or the cost of dials changed; sent to subscribers.
    Budget(CostBudget),
    /// Traced calls: the answer to `WireCommand::Calls` (with id), or those of a stream (without id).
    Calls {
        /// `Request::id`; absent for a stream.
        id: Option<u32>,
        /// Methods of the calls, unless the answer or stream has sent them before.
        #[serde(deserialize_with = "capped::<_, _, TRACED_CALLS_PER_PAGE>")]
        methods: Vec<TracedMethod>,
        /// Calls, with at most `limits::VALUES_PER_PAGE` values in all.
        #[serde(deserialize_with = "of_page::<_, _, TRACED_CALLS_PER_PAGE>")]
        calls: Vec<TracedCall>,
        /// Rows whose number of dropped calls changed since the last page.
        #[serde(deserialize_with = "capped::<_, _, TRACED_CALLS_PER_PAGE>")]
        dropped: Vec<DroppedCalls>,
        /// Calls of a stream that were dropped because the session read too slowly, so far.
        unread: u64,
    },
    /// Thrown exceptions of a stream.
    Exceptions {
        /// Rows that were not sent before.
        #[serde(deserialize_with = "capped::<_, _, EXCEPTIONS_PER_PAGE>")]
        rows: Vec<ThrownRow>,
        /// Rows whose counts changed since the last page.
        #[serde(deserialize_with = "capped::<_, _, MAX_THROWN_ROWS>")]
        counts: Vec<ThrownCount>,
        /// Exceptions, oldest first, with at most `limits::VALUES_PER_PAGE` values in all.
        #[serde(deserialize_with = "of_page::<_, _, EXCEPTIONS_PER_PAGE>")]
        exceptions: Vec<ThrownException>,
        /// The sums so far.
        totals: ThrownTotals,
    },
}

/// Answers to commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Done; nothing to report.
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
    /// To `Methods`, with the number of all matches, including those beyond `limit`.
    Methods {
        /// Number of matching methods.
        matched: u64,
        /// If nothing matched, patterns that would.
        #[serde(deserialize_with = "capped::<_, _, MAX_SUGGESTIONS>")]
        suggestions: Vec<String>,
    },
    /// To `RequestReJit` and `RequestRevert`.
    Dialled(DialReport),
    /// To `Plan`.
    Plan(PlanReport),
    /// To `Undo` and `UndoChange`.
    Undone {
        /// The undone change, as in the audit ring.
        entry: AuditEntry,
        /// Results of undoing it.
        report: DialReport,
    },
    /// To `Orders`.
    Orders {
        /// Oldest first; of two orders for the same copy the later wins.
        #[serde(deserialize_with = "capped::<_, _, MAX_STANDING_ORDERS>")]
        orders: Vec<StandingOrder>,
        /// Number of changes that `Undo` can undo.
        undoable: u32,
    },
    /// To `Status`, with the number of rows sent.
    Status {
        /// Rows.
        rows: u64,
    },
    /// To `AgentStatus`.
    AgentStatus(AgentStatus),
    /// The agent refused the command; nothing changed.
    Refused(Refusal),
    /// To `ReleaseHeld`, with numbers of copies that the session's orders had decided.
    ReleaseHeld {
        /// Copies that have their original IL again.
        reverted: u64,
        /// Copies that other orders keep on.
        stay: u64,
        /// Copies that could not be reverted.
        remaining: u64,
    },
    /// To `Il`: the parts of the body besides its lines.
    Il(IlBody),
    /// To `Histogram`.
    Histogram(RowHistogram),
    /// To `SetBudget`: the budget that now applies.
    Budget(CostBudget),
    /// To `SlowestCalls`, with an entry for each requested row that has a condition now.
    SlowestCalls(#[serde(deserialize_with = "capped::<_, _, CALLS_PER_REPLY>")] Vec<RowSlowestCalls>),
    /// To `Callers`.
    Callers(RowCallers),
    /// To `Calls`, with the number of calls sent.
    Calls {
        /// Calls.
        calls: u64,
    },
}

/// Reason for refusing a whole command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A pattern is wrong, or there is none.
    BadPattern(PatternProblem),
    /// Another controller has control.
    ControlHeld(Holder),
    /// Nothing matched, and the command did not set `later`.
    NothingMatched {
        /// Patterns that would have matched.
        #[serde(deserialize_with = "capped::<_, _, MAX_SUGGESTIONS>")]
        suggestions: Vec<String>,
    },
    /// The command exceeds one of the `limits`.
    OverLimit(Limit),
    /// There is no change to undo.
    NothingToUndo,
    /// `Cancel` stopped the request; its effects are undone.
    Cancelled,
    /// The agent is switched off or shutting down, or cannot answer now.
    AgentOff(Unavailable),
    /// The agent knows the request but cannot carry it out.
    Unsupported(Unsupported),
}

/// A ledger row with its names and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRow {
    /// Index of the row.
    pub row: RowId,
    /// The copy.
    pub copy: CopyKey,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
    /// The assembly's simple name.
    pub module: String,
    /// Name of the AppDomain; for a shared copy, of the shared domain.
    pub domain: String,
    /// Wanted level.
    pub wanted: Level,
    /// Wanted options for timed calls.
    pub options: TimeOptions,
    /// State of the copy in the runtime.
    pub state: CopyState,
    /// Number of the live instrumented body (1, 2, …); absent while off.
    pub version: Option<u32>,
    /// Every (FunctionID, ReJITID) seen so far.
    #[serde(deserialize_with = "capped::<_, _, MAX_INSTANCES>")]
    pub instances: Vec<Instance>,
    /// Explains a refusal or failure, or why the counter misses some calls (for example, code that already
    /// inlined the method).
    pub note: Option<RowNote>,
    /// Explains why the row is only counted although times are wanted, which times are missing, or that the
    /// budget stepped the row down. The number of calls is exact in each case.
    pub times_note: Option<TimesNote>,
    /// Calls counted since the copy was first dialled.
    pub calls: u64,
}

/// One compiled instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its ids.
    pub id: InstanceId,
    /// State of the instance: asked while compiling, then live, then off once superseded or reverted; or
    /// failed.
    pub state: CopyState,
}

/// A change of a row or of its compiled instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// The row.
    pub row: RowId,
    /// Milliseconds of the agent's monotonic clock since its start.
    pub t_ms: u64,
    /// Wanted level.
    pub wanted: Level,
    /// As in `StatusRow`.
    pub options: TimeOptions,
    /// New state of the copy in the runtime.
    pub state: CopyState,
    /// Number of the live instrumented body; absent while off.
    pub version: Option<u32>,
    /// Every (FunctionID, ReJITID) seen when the event was sent.
    #[serde(deserialize_with = "capped::<_, _, MAX_INSTANCES>")]
    pub instances: Vec<Instance>,
    /// As in `StatusRow`.
    pub note: Option<RowNote>,
    /// As in `StatusRow`.
    pub times_note: Option<TimesNote>,
}

//! One process with its agent: the session, the control, the agent's reports, and the process's methods.

mod audit;
mod budget_steps;
mod changes;
mod conditions;
mod control;
mod fleet_parts;
mod hot_search;
mod notifications;
mod outcomes;
mod ranges;
pub(super) mod transition_log;

pub use changes::UndoStep;
pub use conditions::RefusedCondition;
pub use control::Control;
pub use fleet_parts::PartOutcome;
pub use hot_search::HotSearchState;

use super::caller_tree::CallerTree;
use super::callers::Callers;
use super::cost::{self, CostEstimate};
use super::events::Events;
use super::histograms::Histograms;
use super::histograms::merged_method::MergedHistogram;
use super::histograms::ranged::RangeHistograms;
use super::ids::{ConnectionId, MethodIx, Ticket};
use super::method_code::MethodCodes;
use super::method_set::MethodSet;
use super::method_table::{Arrivals, MethodTable, Tickets};
use super::update::{Now, RefusedRequest, Retry};
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::message::AgentStatus;
use redial_protocol::order::StandingOrder;
use redial_protocol::report::PlanReport;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use transition_log::TransitionLog;

/// The time over which updates are counted.
const RATE_WINDOW: Duration = Duration::from_secs(2);

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The worker is connecting and the agent has not answered yet.
    Connecting,
    /// The agent is being loaded into the process.
    Attaching,
    /// The agent answers.
    Live,
    /// The session ended.
    Lost {
        /// Why, as a sentence.
        why: String,
        /// The next step.
        retry: Retry,
        /// When it ended, on the clock of `Now::mono`.
        since: Duration,
    },
}

impl Status {
    /// When the next attempt begins by itself, on the clock of `Now::mono`. None if none is planned.
    pub fn retry_at(&self) -> Option<Duration> {
        match self {
            Status::Lost { retry: Retry::After(wait), since, .. } => Some(*since + *wait),
            Status::Lost { .. } | Status::Connecting | Status::Attaching | Status::Live => None,
        }
    }

    /// The next step after a loss. None during a session or an attempt.
    pub fn retry(&self) -> Option<Retry> {
        match self {
            Status::Lost { retry, .. } => Some(*retry),
            Status::Connecting | Status::Attaching | Status::Live => None,
        }
    }

    /// Why dials cannot be turned in this state, as a sentence. None if they can.
    pub fn obstacle(&self) -> Option<&str> {
        match self {
            Status::Live => None,
            Status::Connecting | Status::Attaching => Some("the agent has not answered yet"),
            Status::Lost { why, .. } => Some(why),
        }
    }
}

/// The agent's standing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// Oldest first: of two that mean the same copy the later one wins.
    pub standing: Vec<StandingOrder>,
    /// Changes, by anyone, that can be undone.
    pub undoable: u32,
    /// When the agent reported them.
    pub at: Now,
}

/// The session with the agent, and the attempts to get one.
#[derive(Debug)]
pub struct SessionInfo {
    /// Its state.
    pub status: Status,
    /// Why the agent is silent at the moment, as a sentence: its process is stopped.
    pub paused: Option<String>,
    /// Why the last session ended. Stays until the next one begins, also during attempts.
    pub loss: Option<String>,
    /// Why the last attempt to load the agent into the process failed.
    pub not_attached: Option<String>,
    /// The last such reason that the log has.
    logged_not_attached: Option<String>,
    /// The agent's facts about itself, from its last hello.
    pub facts: Option<Box<AgentFacts>>,
    /// The last round trip.
    pub latency: Option<Duration>,
    /// When updates arrived lately, and how many.
    arrivals: VecDeque<(Duration, u64)>,
}

impl SessionInfo {
    fn new() -> SessionInfo {
        SessionInfo {
            status: Status::Connecting,
            paused: None,
            loss: None,
            not_attached: None,
            logged_not_attached: None,
            facts: None,
            latency: None,
            arrivals: VecDeque::new(),
        }
    }

    fn count_updates(&mut self, updates: u64, now: Now) {
        self.arrivals.push_back((now.mono, updates));
        self.forget_arrivals(now);
    }

    fn forget_arrivals(&mut self, now: Now) {
        let old = |at: &Duration| now.mono.saturating_sub(*at) > RATE_WINDOW;
        while self.arrivals.front().is_some_and(|(at, _)| old(at)) {
            self.arrivals.pop_front();
        }
    }
}

/// Requests to the agent, and their answers as far as something else waits for them.
#[derive(Debug)]
pub struct Requests {
    tickets: Tickets,
    /// The agent's answer to the last question for a plan.
    pub plan: Option<(Ticket, Result<Box<PlanReport>, String>)>,
    /// The last change that was refused as a whole.
    refusal: Option<(Ticket, RefusedRequest)>,
    /// A change whose condition does not fit a method, to be taken back.
    refused_condition: Option<RefusedCondition>,
    /// Changes that are parts of one change of a fleet.
    fleet_parts: BTreeMap<Ticket, PartOutcome>,
}

impl Requests {
    fn new(id: ConnectionId) -> Requests {
        Requests {
            tickets: Tickets::of(id.0),
            plan: None,
            refusal: None,
            refused_condition: None,
            fleet_parts: BTreeMap::new(),
        }
    }
}

/// One process with its agent.
#[derive(Debug)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// The process, as this machine sees it.
    pub process: ProcessKey,
    /// The name of the process.
    pub name: String,
    /// The session with the agent.
    pub session: SessionInfo,
    /// Which controller may change dials.
    pub control: Control,
    /// The agent's last status report: memory, budgets, audit.
    pub agent: Option<Box<AgentStatus>>,
    /// The last change by the budget that was reported. None until the agent has reported any state of its budget.
    budget_change: Option<Option<u64>>,
    /// The standing orders; None until the agent has reported them.
    pub orders: Option<Orders>,
    /// Its methods.
    pub table: MethodTable,
    /// Histograms of single methods.
    pub histograms: Histograms,
    /// The summed histogram of the selected method's copies.
    pub merged_histogram: MergedHistogram,
    /// Histograms at the beginning of the range on display.
    pub(crate) range_histograms: RangeHistograms,
    /// Callers of the method on display.
    pub callers: Callers,
    /// Callers of all methods for which they are counted.
    pub caller_tree: CallerTree,
    /// Traced calls of its methods.
    pub events: Events,
    /// Source and IL of the method on display.
    pub codes: MethodCodes,
    /// The search for hot methods.
    pub hot_search: HotSearchState,
    /// Requests to the agent.
    pub requests: Requests,
    transitions: TransitionLog,
    /// Whether a fleet contains it. The fleet then logs events that processes have in
    /// common.
    pub in_fleet: bool,
}

impl Connection {
    /// Creates a connection that is about to be made.
    pub fn new(id: ConnectionId, process: ProcessKey, name: impl Into<String>) -> Connection {
        Connection {
            id,
            process,
            name: name.into(),
            session: SessionInfo::new(),
            control: Control::default(),
            agent: None,
            budget_change: None,
            orders: None,
            table: MethodTable::default(),
            histograms: Histograms::default(),
            merged_histogram: MergedHistogram::default(),
            range_histograms: RangeHistograms::default(),
            callers: Callers::default(),
            caller_tree: CallerTree::default(),
            events: Events::default(),
            codes: MethodCodes::default(),
            hot_search: HotSearchState::default(),
            requests: Requests::new(id),
            transitions: TransitionLog::default(),
            in_fleet: false,
        }
    }

    /// Brings session and methods up to date. Call it once a frame, after the last `apply`.
    pub fn refresh(&mut self, now: Now) {
        self.refresh_session(now);
        self.table.refresh(Arrivals::None, now);
    }

    /// Does as much of [`Connection::refresh`] as changes need. Enough if the process is not on screen.
    pub fn refresh_dials(&mut self, now: Now) {
        self.refresh_session(now);
        self.table.refresh_dials(now);
    }

    fn refresh_session(&mut self, now: Now) {
        if self.session.status == Status::Live {
            self.table.live.pass_to(now.mono);
        }
        self.session.forget_arrivals(now);
    }

    /// Messages per second that arrived lately.
    pub fn update_rate(&self) -> f32 {
        let all: u64 = self.session.arrivals.iter().map(|(_, updates)| updates).sum();
        all as f32 / RATE_WINDOW.as_secs_f32()
    }

    /// The title of the process: `Shop.dll (4242)`.
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, self.process.pid)
    }

    /// Whether the agent answers but has not reported all its dials yet.
    pub fn is_reading_dials(&self) -> bool {
        self.session.status == Status::Live && !self.table.live.is_read(&self.table.catalogue)
    }

    /// Why dials cannot be turned right now, as a sentence. None if they can.
    pub fn obstacle(&self) -> Option<&str> {
        match (&self.session.status, &self.session.loss) {
            (Status::Connecting | Status::Attaching, Some(loss)) => Some(loss),
            (status, _) => status.obstacle(),
        }
    }

    /// The levels that the agent offers, lowest first; none above its cap.
    pub fn offered(&self) -> &[Level] {
        self.session.facts.as_ref().map_or(&[Level::Off], |facts| facts.levels.as_slice())
    }

    /// The last change that was refused as a whole; a view that offers to take control looks here.
    pub fn last_refusal(&self) -> Option<&(Ticket, RefusedRequest)> {
        self.requests.refusal.as_ref()
    }

    /// Estimates the cost of methods at a level from the present call rates of those that are counted. None if none is,
    /// or if the rates are unknown.
    pub fn estimate_cost(&self, methods: &MethodSet, level: Level) -> Option<CostEstimate> {
        let live = &self.table.live;
        let known = methods.ranges().flat_map(|range| live.known().iter_in(range));
        let rows = known.filter_map(|method| live.of_method(MethodIx(method)));
        cost::estimate(&self.agent.as_ref()?.costs, rows.map(Into::into), level)
    }

    /// The cost of timing one call, picoseconds, as measured in this process.
    pub fn timing_cost(&self) -> Option<u64> {
        let costs = &self.agent.as_ref()?.costs;
        costs.iter().find(|cost| cost.level == Level::Time).map(|cost| cost.picoseconds)
    }

    fn next_ticket(&mut self) -> Ticket {
        self.requests.tickets.issue()
    }
}

/// All connections by their ids.
pub type Connections = BTreeMap<ConnectionId, Connection>;

#[cfg(test)]
#[path = "connection_tests.rs"]
pub mod tests;

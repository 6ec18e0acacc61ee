//! The subject of the window, of a change or of a log entry: one process, or the fleet.

use super::connection::{Connection, Status};
use super::cost::CostEstimate;
use super::events::Events;
use super::fleet::Fleet;
use super::histograms::merged_method::MergedHistogram;
use super::ids::{MethodIx, Node, SubjectId, Ticket};
use super::live::LiveRow;
use super::method_set::MethodSet;
use super::method_table::{MethodTable, Targets};
use super::update::RefusedRequest;
use redial_protocol::level::Level;

/// One process or the fleet.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One process.
    Process(&'a Connection),
    /// Several processes together.
    Fleet(&'a Fleet),
}

impl<'a> Subject<'a> {
    /// Its id.
    pub fn id(self) -> SubjectId {
        match self {
            Subject::Process(connection) => SubjectId::Process(connection.id),
            Subject::Fleet(_) => SubjectId::Fleet,
        }
    }

    /// Its methods.
    pub fn table(self) -> &'a MethodTable {
        match self {
            Subject::Process(connection) => &connection.table,
            Subject::Fleet(fleet) => &fleet.table,
        }
    }

    /// Its traced calls.
    pub fn events(self) -> &'a Events {
        match self {
            Subject::Process(connection) => &connection.events,
            Subject::Fleet(fleet) => &fleet.events,
        }
    }

    /// Returns the summed histogram of the selected method's copies.
    pub fn merged_histogram(self) -> &'a MergedHistogram {
        match self {
            Subject::Process(connection) => &connection.merged_histogram,
            Subject::Fleet(fleet) => &fleet.histogram,
        }
    }

    /// The connection, if it is one process.
    pub fn process(self) -> Option<&'a Connection> {
        match self {
            Subject::Process(connection) => Some(connection),
            Subject::Fleet(_) => None,
        }
    }

    /// The fleet, if it is one.
    pub fn fleet(self) -> Option<&'a Fleet> {
        match self {
            Subject::Process(_) => None,
            Subject::Fleet(fleet) => Some(fleet),
        }
    }

    /// Its title: `Shop.dll (4242)`, `3 processes`.
    pub fn title(self) -> String {
        match self {
            Subject::Process(connection) => connection.title(),
            Subject::Fleet(fleet) => fleet.title().to_owned(),
        }
    }

    /// How its connections are. A fleet is live while one of its processes is.
    pub fn status(self) -> &'a Status {
        match self {
            Subject::Process(connection) => &connection.session.status,
            Subject::Fleet(fleet) => fleet.status(),
        }
    }

    /// Whether an agent answers.
    pub fn is_live(self) -> bool {
        *self.status() == Status::Live
    }

    /// Why dials cannot be turned right now, as a sentence. None if they can.
    pub fn obstacle(self) -> Option<&'a str> {
        match self {
            Subject::Process(connection) => connection.obstacle(),
            Subject::Fleet(fleet) => fleet.status().obstacle(),
        }
    }

    /// The levels that its agents offer, lowest first.
    pub fn offered(self) -> &'a [Level] {
        match self {
            Subject::Process(connection) => connection.offered(),
            Subject::Fleet(fleet) => fleet.levels().offered(),
        }
    }

    /// The levels that the agents behind a row offer.
    pub fn offered_at(self, node: Node) -> &'a [Level] {
        match self {
            Subject::Process(connection) => connection.offered(),
            Subject::Fleet(fleet) => fleet.levels().offered_at(node, &fleet.table.catalogue),
        }
    }

    /// The levels that the agent of one copy offers.
    pub fn offered_to(self, method: MethodIx) -> &'a [Level] {
        match self {
            Subject::Process(connection) => connection.offered(),
            Subject::Fleet(fleet) => fleet.levels().offered_to(method, &fleet.table.catalogue),
        }
    }

    /// The levels offered to the selection: if it is one row, those offered there.
    pub fn offered_to_selection(self) -> &'a [Level] {
        let selection = &self.table().selection;
        let alone = |node: &Node| selection.is_empty() || selection.len() == 1 && selection.contains(*node);
        let one = selection.focus().filter(alone);
        one.map_or(self.offered(), |node| self.offered_at(node))
    }

    /// Checks whether these methods can be turned to a level, as far as the window knows.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn check(self, targets: &Targets, level: Level) -> Result<(), String> {
        match self {
            Subject::Process(connection) => connection.orders_for(targets, level).map(drop),
            Subject::Fleet(fleet) => fleet.check(&targets.methods, level),
        }
    }

    /// The condition of a row's trace, as far as the agent's standing orders are known.
    pub fn condition_of(self, row: &LiveRow) -> Option<String> {
        self.process()?.condition_of(row).map(str::to_owned)
    }

    /// The last change that was refused as a whole; a view that offers to take control looks here.
    pub fn last_refusal(self) -> Option<&'a (Ticket, RefusedRequest)> {
        match self {
            Subject::Process(connection) => connection.last_refusal(),
            Subject::Fleet(fleet) => fleet.last_refusal(),
        }
    }

    /// Estimates the cost of methods at a level; see [`Connection::estimate_cost`]. None for a fleet, whose agents
    /// measured different costs.
    pub fn estimate_cost(self, methods: &MethodSet, level: Level) -> Option<CostEstimate> {
        self.process()?.estimate_cost(methods, level)
    }

    /// The cost of timing one call, picoseconds, as measured in the process. None for a fleet.
    pub fn timing_cost(self) -> Option<u64> {
        self.process()?.timing_cost()
    }
}

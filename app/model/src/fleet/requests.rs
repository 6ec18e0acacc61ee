//! Changes of the fleet: their parts in each process, and the answers so far.

use crate::connection::{Connections, PartOutcome};
use crate::ids::{ConnectionId, Ticket};
use crate::log::LogKind;
use crate::method_set::MethodSet;
use crate::method_table::Tickets;
use crate::update::RefusedRequest;
use redial_protocol::report::DialReport;
use std::collections::BTreeMap;

/// Changes of the fleet.
#[derive(Debug)]
pub(super) struct FleetRequests {
    pub tickets: Tickets,
    /// Changes that some processes have not answered.
    pub sent: Vec<SentChange>,
    /// The parts of changes that were made.
    pub made: BTreeMap<Ticket, Vec<(ConnectionId, Ticket)>>,
    pub partial_refusals: Vec<PartialRefusal>,
    /// The last refusal because another controller has control.
    pub refusal: Option<(Ticket, RefusedRequest)>,
}

impl Default for FleetRequests {
    fn default() -> FleetRequests {
        FleetRequests {
            tickets: Tickets::of(u32::MAX),
            sent: Vec::new(),
            made: BTreeMap::new(),
            partial_refusals: Vec::new(),
            refusal: None,
        }
    }
}

/// A change that some processes have not answered.
#[derive(Debug)]
pub(super) struct SentChange {
    pub ticket: Ticket,
    pub(super) words: String,
    pub methods: MethodSet,
    /// Whether it turns everything off.
    pub is_off: bool,
    /// The kind of its log entry when it succeeds.
    pub done_kind: LogKind,
    /// For an undo of *all off*, the number of copies that are on again afterwards.
    pub on_again: Option<u64>,
    pub(super) waiting: Vec<(ConnectionId, Ticket)>,
    pub(super) done: Vec<(ConnectionId, Ticket)>,
    pub(super) refused: Vec<(ConnectionId, RefusedRequest)>,
    pub(super) reports: Vec<(ConnectionId, DialReport)>,
    /// For *all off*, the number of copies reverted, and of those that could not be.
    pub(super) off: (u64, u64),
}

/// Methods that one process refused to turn, whatever the others did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialRefusal {
    /// The process.
    pub connection: ConnectionId,
    /// Its title.
    pub title: String,
    /// The methods, in the numbers of the fleet's table.
    pub methods: MethodSet,
    /// Why, as a sentence.
    pub why: String,
    /// Whether another controller has control there, so that taking it would help.
    pub held: bool,
}

impl SentChange {
    pub fn new(ticket: Ticket, words: String, methods: MethodSet) -> SentChange {
        SentChange {
            ticket,
            words,
            methods,
            is_off: false,
            done_kind: LogKind::Answer,
            on_again: None,
            waiting: Vec::new(),
            done: Vec::new(),
            refused: Vec::new(),
            reports: Vec::new(),
            off: (0, 0),
        }
    }

    pub fn wait_for(&mut self, connection: ConnectionId, part: Ticket) {
        self.waiting.push((connection, part));
    }

    pub fn add_refusal(&mut self, connection: ConnectionId, refused: RefusedRequest) {
        self.refused.push((connection, refused));
    }

    pub fn waiting(&self) -> impl Iterator<Item = (ConnectionId, Ticket)> + '_ {
        self.waiting.iter().copied()
    }

    /// Collects the outcomes of its parts.
    pub(super) fn collect(&mut self, connections: &mut Connections) {
        for (id, part) in std::mem::take(&mut self.waiting) {
            let outcome = match connections.get_mut(&id) {
                Some(theirs) => theirs.outcome(part),
                None => {
                    PartOutcome::Refused(RefusedRequest { why: "it was closed".to_owned(), holder: None })
                }
            };
            match outcome {
                PartOutcome::Waiting => self.waiting.push((id, part)),
                PartOutcome::Done(report) => {
                    self.done.push((id, part));
                    self.reports.push((id, *report));
                }
                PartOutcome::Off(reverted, remaining) => {
                    self.done.push((id, part));
                    self.off = (self.off.0 + reverted, self.off.1 + remaining);
                }
                PartOutcome::Refused(refused) => self.refused.push((id, refused)),
            }
        }
    }

    /// The number of copies requested so far, and of all, over all processes.
    pub(super) fn progress(&self, connections: &Connections) -> Option<(u64, u64)> {
        let part = |(id, part): (ConnectionId, Ticket)| {
            let pending = connections.get(&id)?.table.changes.pending();
            pending.iter().find(|pending| pending.ticket == part)?.progress
        };
        self.waiting().filter_map(part).reduce(|one, other| (one.0 + other.0, one.1 + other.1))
    }

    pub(super) fn is_refused(&self) -> bool {
        !self.refused.is_empty()
    }
}

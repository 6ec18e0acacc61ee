//! A change on its way through the ReJIT thread: queued, entered, deferred.
#![forbid(unsafe_code)]

use super::change_audit::ChangeAudit;
use super::scan::ScanResult;
use crate::control::Lease;
use crate::inbox::{ChangeRequest, Progress, Responder};
use crate::planner::history::{Change, ChangeId};
use crate::planner::{OrderAuthor, OrderSeq, Standing};
use redial_protocol::diagnostics::{ChangeWarning, Unavailable};
use redial_protocol::ids::RowId;
use redial_protocol::message::Refusal;
use std::sync::Arc;
use std::time::Instant;

/// A change deferred because its copies were changed a moment ago.
pub(super) struct DeferredChange {
    pub(super) due: Instant,
    pub(super) entered: EnteredChange,
    pub(super) answer: Responder,
}

/// An accepted change: the data for its answer, and for taking it back.
pub(super) struct EnteredChange {
    pub(super) found: ScanResult,
    pub(super) warnings: Vec<ChangeWarning>,
    /// Indices of the orders that were not set.
    pub(super) unmatched: Vec<u32>,
    /// None for a change by the budget, which needs no control.
    pub(super) lease: Option<Lease>,
    /// Its session keeps control.
    pub(super) held: bool,
    pub(super) progress: Progress,
    pub(super) begun: Instant,
    /// Orders that it added or brought back.
    pub(super) seqs: Vec<OrderSeq>,
    /// Orders that it replaced or removed.
    pub(super) replaced: Vec<Arc<Standing>>,
    pub(super) change: HistoryRecord,
    /// Rows that it raised and that the budget had stepped down.
    pub(super) spared: Vec<RowId>,
    pub(super) by: Arc<OrderAuthor>,
    pub(super) audit: ChangeAudit,
}

impl EnteredChange {
    /// Returns the number of the change that it made, if any.
    pub(super) fn made(&self) -> Option<u64> {
        match self.change {
            HistoryRecord::Made(ChangeId(change)) => Some(change),
            HistoryRecord::Undone(_) | HistoryRecord::Nothing => None,
        }
    }
}

/// The record of a change in the history.
pub(super) enum HistoryRecord {
    /// It made a change.
    Made(ChangeId),
    /// It undid a change.
    Undone(Box<Change>),
    /// All of it was refused, so the orders are as before.
    Nothing,
}

/// The result of changing the orders.
pub(super) struct ChangedOrders {
    pub(super) found: ScanResult,
    pub(super) warnings: Vec<ChangeWarning>,
    pub(super) unmatched: Vec<u32>,
    pub(super) seqs: Vec<OrderSeq>,
    pub(super) replaced: Vec<Arc<Standing>>,
    pub(super) undone: Option<Box<Change>>,
    pub(super) audit: ChangeAudit,
    pub(super) held: bool,
}

/// A change that waits until another session's changes end.
pub(super) struct QueuedChange {
    pub(super) request: ChangeRequest,
    pub(super) until: Instant,
}

/// Returns the answer to a change that an "all off" overtook.
pub(super) fn outdated() -> Refusal {
    Refusal::AgentOff(Unavailable::AllOffFirst)
}

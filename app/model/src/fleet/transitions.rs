//! Transitions that the fleet has not logged yet.

use crate::connection::transition_log::SPAN;
use crate::ids::ConnectionId;
use redial_protocol::ids::RowId;
use std::collections::HashSet;
use std::time::Duration;

/// Methods that are not logged yet.
#[derive(Debug, Default)]
pub(super) struct TransitionSummary {
    pub(super) since: Option<Duration>,
    pub(super) rows: HashSet<(ConnectionId, RowId)>,
    /// When the log last said that every dial is off.
    pub(super) all_off: Option<Duration>,
}

impl TransitionSummary {
    /// Forgets the methods of members that left.
    pub fn forget(&mut self, left: &[ConnectionId]) {
        self.rows.retain(|(id, _)| !left.contains(id));
    }

    /// Notes that the log says that every dial is off, which covers methods that go off at the same moment.
    pub fn all_off_logged(&mut self, now: Duration) {
        self.all_off = Some(now);
    }

    /// When a summary is due, on the clock of `Now::mono`.
    pub fn due(&self) -> Option<Duration> {
        self.since.map(|since| since + SPAN)
    }
}

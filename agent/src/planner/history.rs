//! The order lists that stood before the last changes, for undo.
#![forbid(unsafe_code)]

use super::orders::{OrderSeq, Orders, SessionId, Standing};
use redial_protocol::limits::MAX_UNDO;
use redial_protocol::message::AuditEntry;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Number of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeId(u64);

/// A change of the orders.
#[derive(Clone, Debug)]
pub struct Change {
    id: ChangeId,
    /// What stood before it.
    pub before: Orders,
    /// Who changed what.
    pub what: AuditEntry,
}

/// The latest [`MAX_UNDO`] changes.
#[derive(Debug, Default)]
pub struct History {
    /// Oldest first.
    changes: VecDeque<Change>,
    last: u64,
}

impl History {
    /// Notes a change that was made.
    pub fn push(&mut self, before: Orders, what: AuditEntry) -> ChangeId {
        self.last += 1;
        let id = ChangeId(self.last);
        self.put_back(Change { id, before, what });
        id
    }

    /// Takes the last change out, to undo it. Orders whose time has passed meanwhile are no longer among it.
    pub fn pop(&mut self, now: Instant) -> Option<Change> {
        let mut change = self.changes.pop_back()?;
        change.before.expire(now);
        Some(change)
    }

    /// Puts a change in again that was not undone after all.
    pub fn put_back(&mut self, change: Change) {
        let at = self.changes.partition_point(|other| other.id.0 < change.id.0);
        self.changes.insert(at, change);
        let surplus = self.changes.len().saturating_sub(MAX_UNDO);
        self.changes.drain(..surplus);
    }

    /// A change was taken back: neither it nor its orders are known any more.
    pub fn forget(&mut self, id: ChangeId, seqs: &[OrderSeq], replaced: &[Arc<Standing>]) {
        let Some(at) = self.changes.iter().position(|change| change.id == id) else { return };
        self.changes.remove(at);
        for later in self.changes.range_mut(at..) {
            later.before.take_back(seqs, replaced);
        }
    }

    /// A session ended: what it held does not come back.
    pub fn end_session(&mut self, session: SessionId) {
        for change in &mut self.changes {
            change.before.end_session(session);
        }
    }

    /// Changes that can be undone.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

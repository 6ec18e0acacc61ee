//! Bounds the bytes that all outboxes hold together, without letting a client that never reads starve others.
#![forbid(unsafe_code)]

use redial_protocol::limits::MAX_OUTBOX;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of all outboxes together, apart from one frame each.
pub(super) const MAX_OUTBOXES: usize = 2 * MAX_OUTBOX;

/// The bytes that all outboxes hold.
#[derive(Clone, Default)]
pub(super) struct OutboxMemory(Arc<AtomicUsize>);

impl OutboxMemory {
    /// Whether an outbox that holds `own` bytes may take `more`. An empty one may take anything.
    pub(super) fn has_room(&self, own: usize, more: usize) -> bool {
        own == 0 || own + more <= MAX_OUTBOX && self.0.load(Ordering::Relaxed) + more <= MAX_OUTBOXES
    }

    pub(super) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

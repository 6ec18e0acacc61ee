//! The pending changes of a session, which have no answer yet.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::limits::{MAX_FRAME, MAX_PENDING_CHANGES};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The changes without an answer yet.
#[derive(Debug, Default)]
pub struct PendingChanges(Mutex<ChangeTable>);

#[derive(Debug, Default)]
struct ChangeTable {
    next: u64,
    /// By number.
    changes: BTreeMap<u64, PendingChange>,
}

#[derive(Debug)]
struct PendingChange {
    request: u32,
    /// When it began, or progressed last.
    since: Instant,
    /// Bytes of its patterns.
    bytes: usize,
    /// The session got a refusal because the CLR hangs; the later answer is not sent.
    reported: bool,
    /// Its effect ends with the session.
    held: bool,
    /// Set by `Cancel`, and by the end of the session of a held change.
    cancelled: Arc<AtomicBool>,
}

impl PendingChanges {
    /// Records a pending change and returns its number; None if too many, or too many bytes, are pending.
    pub(super) fn begin(&self, request: u32, bytes: usize, held: bool) -> Option<(u64, Arc<AtomicBool>)> {
        let mut table = lock(&self.0);
        let before: usize = table.changes.values().map(|change| change.bytes).sum();
        if table.changes.len() >= MAX_PENDING_CHANGES || (before > 0 && before + bytes > MAX_FRAME) {
            return None;
        }
        table.next += 1;
        let number = table.next;
        let cancelled = Arc::default();
        let change = PendingChange {
            request,
            since: Instant::now(),
            bytes,
            reported: false,
            held,
            cancelled: Arc::clone(&cancelled),
        };
        table.changes.insert(number, change);
        Some((number, cancelled))
    }

    /// Cancels the changes with this request id; they end as soon as they can.
    pub fn cancel(&self, request: u32) {
        for change in lock(&self.0).changes.values().filter(|change| change.request == request) {
            change.cancelled.store(true, Ordering::Release);
        }
    }

    /// Cancels the changes that would be undone at once, because their session has ended.
    pub(super) fn cancel_held(&self) {
        for change in lock(&self.0).changes.values().filter(|change| change.held) {
            change.cancelled.store(true, Ordering::Release);
        }
    }

    /// Whether any are pending: a peer that waits for an answer may be silent.
    pub fn are_any(&self) -> bool {
        lock(&self.0).changes.values().any(|change| !change.reported)
    }

    /// Removes the change; returns whether its answer is still due.
    pub(super) fn end(&self, number: u64) -> bool {
        lock(&self.0).changes.remove(&number).is_some_and(|change| !change.reported)
    }

    /// Records progress of a change, so that it is not overdue however much it has to do.
    pub(super) fn progressed(&self, number: u64) {
        if let Some(change) = lock(&self.0).changes.get_mut(&number) {
            change.since = Instant::now();
        }
    }

    /// Returns the requests that have been pending for `longest` without progress, each once. They stay pending until they end.
    pub(super) fn overdue(&self, longest: Duration) -> Vec<u32> {
        let mut table = lock(&self.0);
        let late =
            table.changes.values_mut().filter(|change| !change.reported && change.since.elapsed() >= longest);
        late.map(|change| {
            change.reported = true;
            change.request
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_delays_the_refusal() {
        const LONGEST: Duration = Duration::from_secs(30);
        let pending = PendingChanges::default();
        let (number, _) = pending.begin(7, 100, false).expect("there is room");
        let wait = || {
            let long_ago = Instant::now().checked_sub(2 * LONGEST).expect("the machine started earlier");
            lock(&pending.0).changes.get_mut(&number).expect("it is pending").since = long_ago;
        };
        wait();
        pending.progressed(number);
        assert_eq!(pending.overdue(LONGEST), [0; 0]);
        wait();
        assert_eq!(pending.overdue(LONGEST), [7]);
        assert!(!pending.end(number), "its answer was given");
    }
}

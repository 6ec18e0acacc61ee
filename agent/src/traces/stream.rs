//! Calls on their way to a session.

use super::call::{Call, TracedRow, page_length};
use crate::ledger::row_filter::RowFilter;
use crate::sync::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Maximum bytes of captured values that wait for a session.
const MAX_BYTES: usize = 2 << 20;
/// Bytes of a call besides its captured ones.
const OVERHEAD: usize = 64;
/// Longest wait for the last calls to be sent.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The calls that wait for a session. Further ones are dropped and counted while it reads too slowly.
pub struct CallStream {
    filter: Option<RowFilter>,
    queue: Mutex<Queue>,
    filled: Condvar,
}

/// The stream of a session, if it has one.
pub type SessionCalls = Arc<Mutex<Option<Arc<CallStream>>>>;

#[derive(Default)]
struct Queue {
    calls: VecDeque<Arc<Call>>,
    bytes: usize,
    unread: u64,
    is_stopped: bool,
    /// Whether the sender has ended.
    is_sent: bool,
    /// Whether a plan's method matches.
    matches: HashMap<u32, bool>,
}

/// Calls taken from a stream.
#[derive(Default)]
pub struct StreamedCalls {
    /// The calls, oldest first.
    pub calls: Vec<Arc<Call>>,
    /// Calls dropped so far because the session read too slowly.
    pub unread: u64,
    /// Whether the stream was stopped and all its calls are taken.
    pub is_over: bool,
}

impl CallStream {
    /// Makes a stream of the calls of methods that match; without a filter, of all.
    pub fn new(filter: Option<RowFilter>) -> CallStream {
        CallStream { filter, queue: Mutex::default(), filled: Condvar::new() }
    }

    /// Whether a method matches the stream's filter.
    pub fn wants(&self, row: &TracedRow) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(&row.identity))
    }

    pub(super) fn add(&self, call: &Arc<Call>) {
        let mut queue = lock(&self.queue);
        let plan = call.call.plan;
        let wanted = match queue.matches.get(&plan) {
            Some(known) => *known,
            None => {
                let wanted = self.wants(&call.row);
                queue.matches.insert(plan, wanted);
                wanted
            }
        };
        if !wanted || queue.is_stopped {
            return;
        }
        let bytes = OVERHEAD + call.call.bytes.len();
        if queue.bytes + bytes > MAX_BYTES {
            queue.unread += 1;
            return;
        }
        queue.bytes += bytes;
        queue.calls.push_back(Arc::clone(call));
        drop(queue);
        self.filled.notify_one();
    }

    /// Takes at most `most` calls, and waits for the first for at most `wait`.
    pub fn take(&self, most: usize, wait: Duration) -> StreamedCalls {
        let queue = lock(&self.queue);
        let is_empty = |queue: &mut Queue| queue.calls.is_empty() && !queue.is_stopped;
        let (mut queue, _) =
            self.filled.wait_timeout_while(queue, wait, is_empty).unwrap_or_else(PoisonError::into_inner);
        let count = page_length(&queue.calls, most);
        let calls: Vec<Arc<Call>> = queue.calls.drain(..count).collect();
        let bytes: usize = calls.iter().map(|call| OVERHEAD + call.call.bytes.len()).sum();
        queue.bytes = queue.bytes.saturating_sub(bytes);
        let is_over = queue.is_stopped && queue.calls.is_empty();
        StreamedCalls { calls, unread: queue.unread, is_over }
    }

    /// Ends the stream: it gets no more calls.
    pub fn stop(&self) {
        lock(&self.queue).is_stopped = true;
        self.filled.notify_all();
    }

    /// Records that nothing more will be taken from the stream.
    pub fn set_sent(&self) {
        lock(&self.queue).is_sent = true;
        self.filled.notify_all();
    }

    /// Waits until nothing more will be taken from the stream, within a bound.
    pub fn wait_until_sent(&self) {
        let queue = lock(&self.queue);
        let _ = self.filled.wait_timeout_while(queue, LAST_WAIT, |queue| !queue.is_sent);
    }
}

//! The state that the listener and its sessions share.
#![forbid(unsafe_code)]

use super::outbox_memory::OutboxMemory;
use super::quota::{Quota, Share};
use super::request_pace::RequestPace;
use crate::planner::SessionId;
use crate::sync::lock;
use redial_protocol::limits::{MAX_FRAME, MAX_SESSIONS};
use redial_protocol::transport::{Closer, Listener};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Longest wait at the host's end for controllers to take the last numbers.
const GOODBYE_WAIT: Duration = Duration::from_millis(200);
/// The same if the launcher asked for a report.
const REPORT_WAIT: Duration = Duration::from_secs(2);

/// Bytes of long frames that all sessions hold at a time. One frame of the greatest length passes while another
/// still arrives.
pub(super) const FRAME_MEMORY: usize = 2 * MAX_FRAME;

/// Bytes of decoded orders in long requests that wait for the ReJIT thread, including those of ended sessions. Short
/// requests have a quota of the same size, so that long ones do not hold them up.
pub(super) const ORDER_MEMORY: usize = 2 * MAX_FRAME;
/// Bytes of orders in the longest short request.
const SHORT_ORDERS: usize = 64 << 10;
/// Least bytes that a request counts as: its own, and those of its answer.
const REQUEST_BYTES: usize = 1 << 10;

/// The state that sessions share.
#[derive(Default)]
pub struct Server {
    pub(super) listener: OnceLock<Arc<Listener>>,
    pub(super) sessions: AtomicUsize,
    pub(super) next_session: AtomicU64,
    /// Places of unrestricted sessions.
    pub(super) places: Quota<MAX_SESSIONS>,
    /// Sessions without a place.
    pub(super) restricted: RestrictedSessions,
    /// Bytes of long frames that are being read and carried out.
    pub(super) frames: Quota<FRAME_MEMORY>,
    /// Bytes of orders in pending changes and plans, short ones and long ones.
    short_orders: Quota<ORDER_MEMORY>,
    long_orders: Quota<ORDER_MEMORY>,
    pub(super) pace: RequestPace,
    /// Bytes of frames that wait to be written.
    pub(super) outboxes: OutboxMemory,
    pub(super) watchers: LastWatchers,
}

/// The sessions without a place, oldest first. When too many wait, one ends: a later one may be there to turn
/// everything off.
#[derive(Default)]
pub(super) struct RestrictedSessions(Mutex<VecDeque<RestrictedSession>>);

struct RestrictedSession {
    id: SessionId,
    closer: Closer,
    /// Whether it has sent a hello, unlike most clients that connect without end.
    greeted: bool,
}

impl RestrictedSessions {
    /// Adds a session.
    pub(super) fn add(&self, id: SessionId, closer: Closer, greeted: bool) {
        lock(&self.0).push_back(RestrictedSession { id, closer, greeted });
    }

    /// Records that a session has sent a hello.
    pub(super) fn greet(&self, id: SessionId) {
        if let Some(session) = lock(&self.0).iter_mut().find(|session| session.id == id) {
            session.greeted = true;
        }
    }

    /// Removes a session that got a place or ended.
    pub(super) fn remove(&self, id: SessionId) {
        lock(&self.0).retain(|session| session.id != id);
    }

    /// Closes the connection of the oldest that has sent no hello, or else of the oldest.
    pub(super) fn end_oldest(&self) {
        let oldest = {
            let mut sessions = lock(&self.0);
            let silent = sessions.iter().position(|session| !session.greeted);
            sessions.remove(silent.unwrap_or(0))
        };
        if let Some(session) = oldest {
            session.closer.close();
        }
    }
}

/// Subscribers that still need the last numbers.
#[derive(Default)]
pub(super) struct LastWatchers {
    subscribers: Mutex<Subscribers>,
    left: Condvar,
}

#[derive(Default)]
struct Subscribers {
    now: usize,
    served: usize,
}

impl Server {
    /// Takes memory for the orders of a request; None if too much is taken.
    pub(super) fn order_memory(&'static self, bytes: usize) -> Option<Share<ORDER_MEMORY>> {
        let quota = if bytes <= SHORT_ORDERS { &self.short_orders } else { &self.long_orders };
        quota.take(bytes.max(REQUEST_BYTES), Duration::ZERO)
    }

    /// Records that a session has subscribed.
    pub(super) fn subscribed(&self) {
        lock(&self.watchers.subscribers).now += 1;
    }

    /// Returns the number of subscriptions.
    pub(super) fn subscriptions(&self) -> u32 {
        u32::try_from(lock(&self.watchers.subscribers).now).unwrap_or(u32::MAX)
    }

    /// Records that a subscription has ended; `served` if it got everything to the end.
    pub(super) fn unsubscribed(&self, served: bool) {
        let mut subscribers = lock(&self.watchers.subscribers);
        subscribers.now = subscribers.now.saturating_sub(1);
        subscribers.served += usize::from(served);
        self.watchers.left.notify_all();
    }

    /// Takes an endpoint that does not listen yet; connecting clients wait.
    pub fn offer(&self, listener: Arc<Listener>) {
        // There is one endpoint and one agent per process.
        let _ = self.listener.set(listener);
    }

    /// Removes the endpoint's name, so that no client finds it any more.
    pub fn unlink(&self) {
        if let Some(listener) = self.listener.get() {
            listener.close();
        }
    }

    /// Waits, within a bound, until every subscriber has the last numbers; with `report`, until there was one.
    pub fn wait_for_watchers(&self, report: bool) {
        let deadline = Instant::now() + if report { REPORT_WAIT } else { GOODBYE_WAIT };
        let mut subscribers = lock(&self.watchers.subscribers);
        while subscribers.now > 0 || (report && subscribers.served == 0) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.watchers.left.wait_timeout(subscribers, left);
            subscribers = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

//! The agent's end of the pipe: who is connected, who has control, what was turned. Sessions run on threads of
//! their own; nothing here runs on a thread of the host but `say_goodbye`, within a bound.
#![forbid(unsafe_code)]

mod answer;
pub mod audit;
pub mod budget;
mod callers;
mod calls;
pub mod control;
pub mod endpoint;
mod histogram;
mod il;
mod outbox;
mod pages;
mod rows;
mod session;
mod subscription;
mod times;
mod turns;
mod watched;

use crate::agent::Agent;
use crate::sync::lock;
use audit::Audit;
use control::Control;
use redial_protocol::limits::MAX_SESSIONS;
use redial_protocol::transport::{AcceptError, Listener};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Longest the host waits at its end for controllers to take the last numbers.
const GOODBYE_WAIT: Duration = Duration::from_millis(200);
/// The same when the launcher asked for a report.
const REPORT_WAIT: Duration = Duration::from_secs(2);
/// Sessions beyond the limit: they may look, turn everything off, and wait for a place.
const SPARE_SESSIONS: usize = 48;
/// Longest wait of such a session for a place. Commands are over in milliseconds; windows stay.
const PLACE_WAIT: Duration = Duration::from_secs(2);
/// Pause after a failed accept (out of descriptors), so that the listener does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What sessions share.
#[derive(Default)]
pub struct Server {
    /// Who may turn dials.
    pub control: Control,
    /// Who turned what.
    pub audit: Audit,
    /// What dials may cost.
    pub budget: budget::Told,
    listener: OnceLock<Arc<Listener>>,
    sessions: AtomicUsize,
    next_session: AtomicU64,
    places: Places,
    farewell: Farewell,
}

/// The places of sessions that may do everything, [`MAX_SESSIONS`] of them.
#[derive(Default)]
struct Places {
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Places {
    /// Takes a place, waiting at most so long for one; whether there was one.
    fn take(&self, longest: Duration) -> bool {
        let (mut taken, _) = self
            .freed
            .wait_timeout_while(lock(&self.taken), longest, |taken| *taken >= MAX_SESSIONS)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let free = *taken < MAX_SESSIONS;
        *taken += usize::from(free);
        free
    }

    /// Gives a place back.
    fn give_back(&self) {
        let mut taken = lock(&self.taken);
        *taken = taken.saturating_sub(1);
        self.freed.notify_one();
    }
}

/// Subscribers that still have to be told the last numbers.
#[derive(Default)]
struct Farewell {
    subscribers: Mutex<Subscribers>,
    left: Condvar,
}

#[derive(Default)]
struct Subscribers {
    now: usize,
    served: usize,
}

impl Server {
    /// A session has begun to watch.
    pub(self) fn subscribed(&self) {
        lock(&self.farewell.subscribers).now += 1;
    }

    /// It has stopped, `served` when it was sent everything to the end.
    pub(self) fn unsubscribed(&self, served: bool) {
        let mut subscribers = lock(&self.farewell.subscribers);
        subscribers.now = subscribers.now.saturating_sub(1);
        subscribers.served += usize::from(served);
        self.farewell.left.notify_all();
    }

    /// Takes an endpoint on which nobody listens yet; who connects waits.
    pub fn offer(&self, listener: Arc<Listener>) {
        // There is one endpoint a process, and one agent.
        let _ = self.listener.set(listener);
    }

    /// Takes the endpoint's name away: nobody finds it any more.
    pub fn unlink(&self) {
        if let Some(listener) = self.listener.get() {
            listener.close();
        }
    }

    /// Waits, within a bound, until every watcher has the last numbers; with `report` until there was one.
    pub fn say_goodbye(&self, report: bool) {
        let deadline = Instant::now() + if report { REPORT_WAIT } else { GOODBYE_WAIT };
        let mut subscribers = lock(&self.farewell.subscribers);
        while subscribers.now > 0 || (report && subscribers.served == 0) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.farewell.left.wait_timeout(subscribers, left);
            subscribers = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

/// The listener's thread. When no endpoint can be made, nothing is advertised; the orders the process was started
/// with are carried out all the same.
pub fn listen(agent: &'static Agent) {
    if agent.server.listener.get().is_none() {
        let Ok(listener) = endpoint::make(agent.process) else { return };
        agent.server.offer(listener);
    }
    let Some(listener) = agent.server.listener.get() else { return };
    loop {
        match listener.accept() {
            Ok(connection) => {
                let before = agent.server.sessions.fetch_add(1, Ordering::AcqRel);
                if before >= MAX_SESSIONS + SPARE_SESSIONS {
                    agent.server.sessions.fetch_sub(1, Ordering::AcqRel);
                    continue;
                }
                let id = agent.server.next_session.fetch_add(1, Ordering::Relaxed) + 1;
                let started = crate::platform::spawn("redial-session", move || {
                    crate::guard::guard_always((), || session::serve(agent, id, connection));
                    agent.server.sessions.fetch_sub(1, Ordering::AcqRel);
                });
                if !started {
                    agent.server.sessions.fetch_sub(1, Ordering::AcqRel);
                }
            }
            Err(AcceptError::NotAdmitted { .. }) => {}
            Err(AcceptError::Closed) => return,
            Err(AcceptError::Io(_)) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}

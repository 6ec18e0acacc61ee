//! The jobs of the ReJIT thread, and its inbox.
#![forbid(unsafe_code)]

use super::gate::Gate;
use super::session_work::SessionWork;
use crate::catalogue::Module;
use crate::control::Claim;
use crate::planner::history::ChangeRecord;
use crate::planner::{OrderLifetime, SessionId};
use crate::sync::lock;
use crossbeam_channel::Sender;
use redial_protocol::cost::Share;
use redial_protocol::diagnostics::Unavailable;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Reply};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::reason::Reason;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A command that changes dials.
pub struct ChangeRequest {
    /// The change.
    pub change: OrderChange,
    /// The session, and whether to take control from its present holder.
    pub claim: Claim,
    /// Its user (a name or uid).
    pub user: String,
    /// Reports progress, and says whether the change is still wanted.
    pub progress: Progress,
    /// Takes the result.
    pub answer: Responder,
}

/// The change to make.
pub enum OrderChange {
    /// Add orders.
    Add {
        /// The orders; later ones win.
        orders: Vec<Order>,
        /// Their lifetime.
        lifetime: Lifetime,
        /// Keep orders that match nothing yet.
        later: bool,
    },
    /// Restore the orders from before the last change.
    Undo,
    /// Undo only the change with this number.
    TakeBack(u64),
    /// Set the limit on the cost of all dials together; None: no limit.
    Budget(Option<Share>),
}

/// A command that plans a change.
pub struct PlanRequest {
    /// The orders; later ones win.
    pub orders: Vec<Order>,
    /// Their lifetime.
    pub owner: OrderLifetime,
    /// The processor time charged for it so far.
    pub expected: Duration,
    /// Whether nobody needs the plan any more.
    pub cancelled: Arc<AtomicBool>,
    /// Takes the result.
    pub answer: Responder,
}

/// Reports progress (requested copies, and their total); must not wait.
pub type ProgressReporter = Box<dyn Fn(u64, u64) + Send>;

/// The progress of a change, and whether it is still wanted.
pub struct Progress {
    cancelled: Arc<AtomicBool>,
    report: Option<ProgressReporter>,
}

impl Progress {
    /// Makes the progress of a change that `cancelled` ends.
    pub fn new(cancelled: Arc<AtomicBool>, report: ProgressReporter) -> Progress {
        Progress { cancelled, report: Some(report) }
    }

    /// Makes one for a change without a waiting client.
    pub fn silent() -> Progress {
        Progress { cancelled: Arc::default(), report: None }
    }

    /// Whether the change was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Reports progress.
    pub fn report(&self, done: usize, total: usize) {
        if let Some(report) = &self.report {
            report(done as u64, total as u64);
        }
    }
}

/// The answer to a session's command: its effect, or the reason for a refusal.
pub type ChangeResult = Result<Reply, Refusal>;

/// Takes a command's result on the ReJIT thread, so it must not wait. If a fault loses the command, it still gets
/// an answer.
pub struct Responder(Option<Box<dyn FnOnce(ChangeResult) + Send>>);

impl Responder {
    /// Makes an answer that calls `take`.
    pub fn new(take: impl FnOnce(ChangeResult) + Send + 'static) -> Responder {
        Responder(Some(Box::new(take)))
    }

    /// Passes on the result.
    pub fn send(mut self, result: ChangeResult) {
        if let Some(take) = self.0.take() {
            take(result);
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(take) = self.0.take() {
            take(Err(Refusal::AgentOff(Unavailable::Interrupted)));
        }
    }
}

/// The result of "all off".
#[derive(Clone, Copy, Debug, Default)]
pub struct AllOffResult {
    /// Copies reverted.
    pub reverted: u64,
    /// Copies that are still on.
    pub remaining: u64,
    /// The change's number; 0 if no order stood.
    pub change: u64,
}

/// A job for the ReJIT thread.
pub enum Job {
    /// Change dials.
    ChangeRequest(ChangeRequest),
    /// Plan a change.
    Plan(PlanRequest),
    /// AppDomains came or went, so that shared modules may serve other domains now.
    DomainsChanged,
    /// A module has loaded; the gate opens once its standing orders have been requested.
    Loaded(Arc<Module>, Option<Arc<Gate>>),
    /// A module has unloaded: settle its lost rows.
    Unloaded(Vec<RowId>),
    /// A session ended: end the orders it held.
    SessionEnded(SessionId),
    /// End the orders held by a session that goes on.
    ReleaseHeld(SessionId, Responder),
    /// Turn every dial off, recording this.
    AllOff(ChangeRecord, Sender<AllOffResult>),
    /// Check for recompiled callers that are no longer needed: the runtime found one more, or the dial that needed
    /// them failed.
    RecompiledCallers,
    /// Revert this row because its body cannot be used, with the reason and the HRESULT or 0.
    Bad(RowId, Reason, u32),
    /// Turn exception events on or off, as now needed, then answer.
    FollowExceptions(Sender<()>),
}

impl Job {
    /// Returns the gate at which a host thread waits, if there is one.
    pub fn into_gate(self) -> Option<Arc<Gate>> {
        match self {
            Job::Loaded(_, gate) => gate,
            _ => None,
        }
    }
}

/// The queue. Its producers bound its length: loaded and unloaded modules, sessions (`MAX_PENDING_CHANGES` each at a time), and
/// bodies that the CLR rejected.
#[derive(Default)]
pub struct Inbox {
    jobs: Mutex<VecDeque<Job>>,
    arrived: Condvar,
    /// The processor time of the sessions' commands.
    pub session_work: SessionWork,
    /// Whether a job to check recompiled callers is in the inbox.
    caller_check_requested: AtomicBool,
    /// Whether a job to check the domains is in the inbox.
    domain_check_requested: AtomicBool,
}

impl Inbox {
    /// Adds a job. Never blocks beyond a short lock.
    pub fn put(&self, job: Job) {
        lock(&self.jobs).push_back(job);
        self.arrived.notify_one();
    }

    /// Whether "all off" is waiting, so that the present job is pointless.
    pub fn all_off_pending(&self) -> bool {
        lock(&self.jobs).iter().any(|job| matches!(job, Job::AllOff(..)))
    }

    /// Returns all waiting jobs, oldest first; empty after `timeout`.
    pub fn take(&self, timeout: Duration) -> Vec<Job> {
        let jobs = lock(&self.jobs);
        let (mut jobs, _) = self
            .arrived
            .wait_timeout_while(jobs, timeout, |jobs| jobs.is_empty())
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        jobs.drain(..).collect()
    }

    /// Has the ReJIT thread check for recompiled callers that no row needs. One job covers all calls before it
    /// runs.
    pub fn request_caller_check(&self) {
        if !self.caller_check_requested.swap(true, Ordering::AcqRel) {
            self.put(Job::RecompiledCallers);
        }
    }

    /// The ReJIT thread begins that check, so that later calls need a new job.
    pub fn begin_caller_check(&self) {
        self.caller_check_requested.store(false, Ordering::Release);
    }

    /// Has the ReJIT thread review the AppDomains. One job covers all calls before it runs.
    pub fn request_domain_check(&self) {
        if !self.domain_check_requested.swap(true, Ordering::AcqRel) {
            self.put(Job::DomainsChanged);
        }
    }

    /// The ReJIT thread begins that review, so that later calls need a new job.
    pub fn begin_domain_check(&self) {
        self.domain_check_requested.store(false, Ordering::Release);
    }

    /// Has exception events turned on or off, as now needed, and waits at most `longest` for the ReJIT thread.
    pub fn follow_exceptions(&self, longest: Duration) {
        let (answer, wait) = crossbeam_channel::bounded(1);
        self.put(Job::FollowExceptions(answer));
        let _ = wait.recv_timeout(longest);
    }

    /// Turns all dials off, keeping `record` in the history, and waits at most `longest` for the ReJIT thread.
    pub fn all_off(&self, record: ChangeRecord, longest: Duration) -> Option<AllOffResult> {
        let (answer, wait) = crossbeam_channel::bounded(1);
        self.put(Job::AllOff(record, answer));
        wait.recv_timeout(longest).ok()
    }
}

//! What the ReJIT thread is asked to do. Host threads only ever put something in; sessions may wait for the answer.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::planner::{Owner, SessionId};
use crate::server::control::Claim;
use crate::sync::lock;
use crossbeam_channel::Sender;
use redial_protocol::ids::RowId;
use redial_protocol::message::Refusal;
use redial_protocol::order::Order;
use redial_protocol::reason::Reason;
use redial_protocol::report::DialReport;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Orders of one command.
pub struct Turn {
    /// Later ones win.
    pub orders: Vec<Order>,
    /// How long they stand.
    pub owner: Owner,
    /// Keep orders that match nothing yet.
    pub later: bool,
    /// Who turns, and whether control is to be taken from whoever has it.
    pub claim: Claim,
    /// Where the result goes.
    pub answer: Answer,
}

/// The answer to a [`Turn`].
pub type TurnResult = Result<DialReport, Refusal>;

/// Takes a turn's result, on the ReJIT thread: it must not wait. A turn that a fault of ours loses is answered too.
pub struct Answer(Option<Box<dyn FnOnce(TurnResult) + Send>>);

impl Answer {
    /// An answer that goes to `take`.
    pub fn new(take: impl FnOnce(TurnResult) + Send + 'static) -> Answer {
        Answer(Some(Box::new(take)))
    }

    /// Gives the result.
    pub fn give(mut self, result: TurnResult) {
        if let Some(take) = self.0.take() {
            take(result);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(take) = self.0.take() {
            take(Err(Refusal::AgentOff(
                "the agent failed over this command; look at `status` for what it did".into(),
            )));
        }
    }
}

/// One thing to do.
pub enum Job {
    /// Turn dials.
    Turn(Turn),
    /// A module has loaded; the gate opens once its standing orders are asked for.
    Loaded(Arc<Module>, Option<Arc<Gate>>),
    /// A session ended: what it held goes.
    SessionEnded(SessionId),
    /// Every dial off; answers how many copies were reverted and how many could not be.
    AllOff(Option<Sender<(u64, u64)>>),
    /// This row's body cannot be used: take it back, with the reason and the HRESULT or 0.
    Bad(RowId, Reason, u32),
}

impl Job {
    /// The gate that a thread of the host waits at, if there is one.
    pub fn into_gate(self) -> Option<Arc<Gate>> {
        match self {
            Job::Loaded(_, gate) => gate,
            _ => None,
        }
    }
}

/// The queue. Its length is bounded by what puts into it: loaded modules, sessions (`MAX_TURNS` each at a time), and
/// bodies the CLR did not take.
#[derive(Default)]
pub struct Inbox {
    jobs: Mutex<VecDeque<Job>>,
    arrived: Condvar,
}

impl Inbox {
    /// Puts a job in. Never blocks beyond a short lock.
    pub fn put(&self, job: Job) {
        lock(&self.jobs).push_back(job);
        self.arrived.notify_one();
    }

    /// Everything that waits, oldest first; empty when `timeout` passes first.
    pub fn take(&self, timeout: Duration) -> Vec<Job> {
        let jobs = lock(&self.jobs);
        let (mut jobs, _) = self
            .arrived
            .wait_timeout_while(jobs, timeout, |jobs| jobs.is_empty())
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        jobs.drain(..).collect()
    }
}

/// Gates of a batch of jobs, opened whatever becomes of the batch.
#[derive(Default)]
pub struct Gates(pub Vec<Arc<Gate>>);

impl Drop for Gates {
    fn drop(&mut self) {
        self.0.iter().for_each(|gate| gate.open());
    }
}

/// What a host thread waits at when a module loads that a standing order may match: the one bounded wait.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Lets the waiting thread go on.
    pub fn open(&self) {
        *lock(&self.open) = true;
        self.opened.notify_all();
    }

    /// Waits; false when `longest` passed first.
    pub fn wait(&self, longest: Duration) -> bool {
        let deadline = Instant::now() + longest;
        let mut open = lock(&self.open);
        while !*open {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            open = self.opened.wait_timeout(open, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }
}

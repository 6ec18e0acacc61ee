//! What the ReJIT thread is asked to do. Host threads only ever put something in; sessions may wait for the answer.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::planner::{Owner, SessionId};
use crate::server::control::Claim;
use crate::sync::lock;
use crossbeam_channel::Sender;
use redial_protocol::cost::Share;
use redial_protocol::ids::RowId;
use redial_protocol::message::{AuditEntry, Refusal, Reply};
use redial_protocol::order::{Order, Stand};
use redial_protocol::reason::Reason;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// One command that changes dials.
pub struct Turn {
    /// The change.
    pub change: Wish,
    /// Who turns, and whether control is to be taken from whoever has it.
    pub claim: Claim,
    /// The user (a name or uid) who turns.
    pub user: String,
    /// How far it is, and whether it is still wanted.
    pub progress: Progress,
    /// Where the result goes.
    pub answer: Answer,
}

/// How the orders are to change.
pub enum Wish {
    /// Add orders.
    Add {
        /// Later ones win.
        orders: Vec<Order>,
        /// How long they stand.
        stand: Stand,
        /// Keep orders that match nothing yet.
        later: bool,
    },
    /// Put back what stood before the last change.
    Undo,
    /// Undo the change of that number alone.
    TakeBack(u64),
    /// Set what dials may cost together; None: as much as they do.
    Budget(Option<Share>),
}

/// Tells the one who turns how far it is (copies asked for, of how many); must not wait.
pub type Teller = Box<dyn Fn(u64, u64) + Send>;

/// How far a turn is, and whether it is still wanted.
pub struct Progress {
    cancelled: Arc<AtomicBool>,
    tell: Option<Teller>,
}

impl Progress {
    /// Of a turn that `cancelled` ends.
    pub fn new(cancelled: Arc<AtomicBool>, tell: Teller) -> Progress {
        Progress { cancelled, tell: Some(tell) }
    }

    /// Of what nobody waits for.
    pub fn silent() -> Progress {
        Progress { cancelled: Arc::default(), tell: None }
    }

    /// Whether nobody wants it any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Says how far it is.
    pub fn tell(&self, done: usize, total: usize) {
        if let Some(tell) = &self.tell {
            tell(done as u64, total as u64);
        }
    }
}

/// The answer to a command of a session: what it did, or why nothing was done.
pub type TurnResult = Result<Reply, Refusal>;

/// Takes a command's result, on the ReJIT thread: it must not wait. A command that a fault of ours loses is answered too.
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

/// What "all off" did.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllOff {
    /// Copies reverted.
    pub reverted: u64,
    /// Copies that are still on.
    pub remaining: u64,
    /// The change's number; 0 where no order stood.
    pub change: u64,
}

/// One thing to do.
pub enum Job {
    /// Turn dials.
    Turn(Turn),
    /// Say what a turn with these orders would do.
    Plan(Vec<Order>, Owner, Answer),
    /// AppDomains came or went: shared modules may serve others now.
    DomainsChanged,
    /// A module has loaded; the gate opens once its standing orders are asked for.
    Loaded(Arc<Module>, Option<Arc<Gate>>),
    /// A session ended: what it held goes.
    SessionEnded(SessionId),
    /// What a session that goes on holds goes.
    LetGo(SessionId, Answer),
    /// Every dial off, as this session asks.
    AllOff(AuditEntry, Sender<AllOff>),
    /// Passengers may be there that nobody needs: the runtime found one more, or who needed them failed.
    Passengers,
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

    /// Whether "all off" waits: what is being done has no use any more.
    pub fn off_waits(&self) -> bool {
        lock(&self.jobs).iter().any(|job| matches!(job, Job::AllOff(..)))
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

/// How often a thread that waits looks whether it does so in vain.
const LOOK: Duration = Duration::from_millis(10);

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

    /// Waits; false when `longest` passed first, or `is_vain` says that nobody will open it.
    pub fn wait(&self, longest: Duration, is_vain: impl Fn() -> bool) -> bool {
        let deadline = Instant::now() + longest;
        let mut open = lock(&self.open);
        while !*open {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || is_vain() {
                return false;
            }
            let next = left.min(LOOK);
            open = self.opened.wait_timeout(open, next).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }
}

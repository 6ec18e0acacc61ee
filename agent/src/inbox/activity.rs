//! Tracks whether the ReJIT thread is busy, and since when.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A ReJIT thread that has been busy for this long counts as hanging inside the runtime.
pub const HANG_THRESHOLD: Duration = Duration::from_secs(2);

/// The ReJIT thread's activity, for other threads.
#[derive(Debug)]
pub struct WorkerActivity {
    started: Instant,
    /// When it began its present jobs, in milliseconds from `started`; 0: it is idle.
    busy_since: AtomicU64,
}

impl Default for WorkerActivity {
    fn default() -> WorkerActivity {
        WorkerActivity { started: Instant::now(), busy_since: AtomicU64::new(0) }
    }
}

impl WorkerActivity {
    /// Records that the ReJIT thread begins or has finished its present jobs.
    pub fn set_busy(&self, busy: bool) {
        let since = if busy { self.now_ms().max(1) } else { 0 };
        self.busy_since.store(since, Ordering::Relaxed);
    }

    /// Whether the ReJIT thread is busy.
    pub fn is_busy(&self) -> bool {
        self.busy_since.load(Ordering::Relaxed) != 0
    }

    /// Returns how long the ReJIT thread has been working on its present jobs.
    pub fn busy_for(&self) -> Duration {
        match self.busy_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis(self.now_ms().saturating_sub(since)),
        }
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

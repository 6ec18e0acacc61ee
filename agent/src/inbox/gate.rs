//! Gates at which host threads wait while the modules that they load are dialled.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The gates of a batch of jobs, opened in any case when dropped.
#[derive(Default)]
pub struct Gates(pub Vec<Arc<Gate>>);

impl Drop for Gates {
    fn drop(&mut self) {
        self.0.iter().for_each(|gate| gate.open());
    }
}

/// How often a waiting thread checks whether to give up.
const GIVE_UP_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Blocks a host thread that loads a module which a standing order may match: the agent's only bounded wait of host
/// threads.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Lets the waiting thread continue.
    pub fn open(&self) {
        *lock(&self.open) = true;
        self.opened.notify_all();
    }

    /// Waits; false after `longest`, or when `is_vain` returns true.
    pub fn wait(&self, longest: Duration, is_vain: impl Fn() -> bool) -> bool {
        let deadline = Instant::now() + longest;
        let mut open = lock(&self.open);
        while !*open {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || is_vain() {
                return false;
            }
            let next = left.min(GIVE_UP_CHECK_INTERVAL);
            open = self.opened.wait_timeout(open, next).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }
}

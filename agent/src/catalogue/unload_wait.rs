//! The time that host threads spend waiting for readers of modules that unload, or of dynamic methods that are destroyed.
//!
//! Modules often unload together, with an AppDomain or a load context. They share one wait, which later grows back
//! slowly, so that neither one unload nor many hold the host up.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest wait of an unloading host thread, for all modules that unload together.
pub const UNLOAD_WAIT: Duration = Duration::from_millis(100);
/// Each module waits for this long even if nothing is left: a running reader leaves within microseconds.
const MIN_WAIT: Duration = Duration::from_millis(1);
/// The wait grows back by this fraction of the time that passes.
const REGROWTH: u32 = 10;

/// The wait that is left, and how often it was too short.
#[derive(Debug, Default)]
pub struct UnloadWait {
    last: Mutex<Option<Wait>>,
    timeouts: AtomicU64,
}

/// The wait left at some time.
#[derive(Clone, Copy, Debug)]
struct Wait {
    left: Duration,
    at: Instant,
}

impl UnloadWait {
    /// Runs `unload` with its deadline. It also returns whether all readers left in time.
    pub fn within<T>(&self, unload: impl FnOnce(Instant) -> (T, bool)) -> T {
        let began = Instant::now();
        let left = self.left_at(began);
        let (unloaded, in_time) = unload(began + left.max(MIN_WAIT));
        let now = Instant::now();
        *lock(&self.last) = Some(Wait { left: left.saturating_sub(now - began), at: now });
        if !in_time {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        unloaded
    }

    /// Returns the wait left at a time.
    fn left_at(&self, now: Instant) -> Duration {
        lock(&self.last).map_or(UNLOAD_WAIT, |last| {
            let regrown = now.saturating_duration_since(last.at) / REGROWTH;
            last.left.saturating_add(regrown).min(UNLOAD_WAIT)
        })
    }

    /// Returns the number of unloads that did not wait for all readers.
    pub fn timeouts(&self) -> u64 {
        self.timeouts.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_wait_grows_back_slowly() {
        let wait = UnloadWait::default();
        let now = Instant::now();
        assert_eq!(wait.left_at(now), UNLOAD_WAIT);
        *lock(&wait.last) = Some(Wait { left: Duration::ZERO, at: now });
        assert_eq!(wait.left_at(now), Duration::ZERO);
        assert_eq!(wait.left_at(now + UNLOAD_WAIT), UNLOAD_WAIT / REGROWTH);
        assert_eq!(wait.left_at(now + 60 * UNLOAD_WAIT), UNLOAD_WAIT);
    }
}

//! The window's time: the machine's, or one that stands, for pictures that must not depend on when they are taken.

use crate::model::update::Now;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where the window reads the time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The machine's clocks, from this moment on.
    Runs(Instant),
    /// Always the same.
    Stands(Now),
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::Runs(Instant::now())
    }
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> Now {
        match self {
            Clock::Stands(now) => *now,
            Clock::Runs(began) => {
                let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let unix_ms = u64::try_from(unix.as_millis()).unwrap_or(u64::MAX);
                Now { mono: began.elapsed(), unix_ms }
            }
        }
    }
}

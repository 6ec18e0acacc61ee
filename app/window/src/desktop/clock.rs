//! The window's clock: the machine's, or a stopped one for pictures that must not depend on time.

use redial_model::update::Now;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The source of the time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The machine's clocks, starting at this moment.
    Runs(Instant),
    /// A constant time.
    Stands(Now),
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::Runs(Instant::now())
    }
}

impl Clock {
    /// Returns the current time.
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

//! The intervals between an agent's counter snapshots, by the agent's clock.

use std::num::NonZeroU64;

/// The counter snapshots of one session.
#[derive(Clone, Debug, Default)]
pub struct SnapshotClock {
    last_ms: Option<u64>,
    first_interval_ms: Option<u64>,
    dropped: u64,
    late: bool,
}

/// The time that a counter snapshot covers, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(NonZeroU64);

impl Interval {
    /// Returns its length in milliseconds.
    pub fn ms(self) -> u64 {
        self.0.get()
    }

    /// Returns calls per second.
    pub fn rate(self, calls: u64) -> f64 {
        calls as f64 * 1000.0 / self.0.get() as f64
    }
}

impl SnapshotClock {
    /// Records a snapshot at `t_ms` with the session's number of merged updates so far. Returns its interval;
    /// `None` if it has no predecessor or the clock stood still or went back.
    pub fn advance(&mut self, t_ms: u64, dropped: u64) -> Option<Interval> {
        self.late = dropped > self.dropped;
        self.dropped = dropped;
        let elapsed = match self.last_ms.replace(t_ms) {
            Some(before) => t_ms.checked_sub(before),
            None => self.first_interval_ms,
        };
        elapsed.and_then(NonZeroU64::new).map(Interval)
    }

    /// Sets what the first snapshot covers, if the reader's clock knows.
    pub fn set_first_interval(&mut self, ms: u64) {
        self.first_interval_ms = Some(ms);
    }

    /// Moves the last snapshot to this time.
    pub fn move_to(&mut self, t_ms: u64) {
        self.last_ms = Some(t_ms);
    }

    /// Returns the time of the last snapshot in milliseconds; `None` before the first.
    pub fn last_ms(&self) -> Option<u64> {
        self.last_ms
    }

    /// Returns the number of updates that the agent merged with later ones because this reader was slow; no
    /// calls are lost.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns whether the last snapshot was late because this reader was slow.
    pub fn late(&self) -> bool {
        self.late
    }
}

//! The clock of the sparklines: follows the agent's counter snapshots, and continues by itself while nothing
//! is called.

use super::{Live, TICK_MS};
use crate::series::LENGTH;
use std::time::Duration;

/// While anything is called, snapshots arrive more often than this. Of empty snapshots only the first is
/// reported at once.
const SILENCE: Duration = Duration::from_secs(1);

impl Live {
    /// Records a snapshot at this time on a monotonic clock. `quiet`: nothing was called.
    pub fn record_snapshot(&mut self, now: Duration, quiet: bool) {
        (self.quiet_since, self.ahead_ms) = (quiet.then_some(now), 0);
    }

    /// Records that the process was stopped at about `now`: rates become 0. The next snapshot covers all
    /// calls since the last one.
    pub fn pause(&mut self, now: Duration) {
        if self.quiet_since.is_some() {
            return;
        }
        // Numbers change, as with a snapshot.
        self.folds += 1;
        for id in std::mem::take(&mut self.called_rows) {
            if let Some(row) = self.row_mut(id) {
                row.rate = row.rate.map(|_| 0.0);
                self.record_changed(id);
            }
        }
        self.record_snapshot(now, true);
    }

    /// Advances to this time on the same clock: sparklines move on even while nothing is called.
    pub fn pass_to(&mut self, now: Duration) {
        let since = self.quiet_since.filter(|_| !self.ended);
        let silent = since.map_or(Duration::ZERO, |since| now.saturating_sub(since + SILENCE));
        self.ahead_ms = u64::try_from(silent.as_millis()).unwrap_or(u64::MAX);
        self.move_range();
    }

    /// Returns how soon the sparklines move by themselves; `None` if they do not or are empty.
    pub fn curves_move(&self) -> Option<Duration> {
        let called = self.called_ms? / TICK_MS;
        let on_them = self.tick().saturating_sub(called) <= LENGTH as u64;
        (self.quiet_since.is_some() && !self.ended && on_them).then_some(SILENCE)
    }

    /// Returns the newest tick of the sparklines.
    pub fn tick(&self) -> u64 {
        self.clock.last_ms().unwrap_or(0).saturating_add(self.ahead_ms) / TICK_MS
    }
}

//! The time of the sparklines: the agent's, as its folds of the counters say it, and on from there while it says of nothing
//! that it was called.

use super::{Live, TICK_MS};
use crate::model::series::LENGTH;
use std::time::Duration;

/// Folds come more often than that while anything is called. Of those in which nothing was only the first is heard of at
/// once, and the others now and then.
const SILENCE: Duration = Duration::from_secs(1);

impl Live {
    /// A fold was taken in at this time, on a monotonic clock. `quiet`: nothing was called.
    pub fn hear(&mut self, now: Duration, quiet: bool) {
        (self.quiet_since, self.ahead_ms) = (quiet.then_some(now), 0);
    }

    /// Nothing is called any more, as its process is stopped since about `now`: what was called until then has no rate. The next
    /// fold tells what was called, over all the time since the last one.
    pub fn pause(&mut self, now: Duration) {
        if self.quiet_since.is_some() {
            return;
        }
        // Numbers change, as a fold has them change.
        self.folds += 1;
        for id in std::mem::take(&mut self.busy) {
            if let Some(row) = self.row_mut(id) {
                row.rate = row.rate.map(|_| 0.0);
                self.note_changed(id);
            }
        }
        self.hear(now, true);
    }

    /// It is this time by now, on the same clock: while nothing is called the sparklines go on all the same.
    pub fn pass_to(&mut self, now: Duration) {
        let since = self.quiet_since.filter(|_| !self.ended);
        let silent = since.map_or(Duration::ZERO, |since| now.saturating_sub(since + SILENCE));
        self.ahead_ms = u64::try_from(silent.as_millis()).unwrap_or(u64::MAX);
    }

    /// How soon the sparklines move on by themselves; None: they do not, or there is nothing on them any more.
    pub fn curves_move(&self) -> Option<Duration> {
        let called = self.called_ms? / TICK_MS;
        let on_them = self.tick().saturating_sub(called) <= LENGTH as u64;
        (self.quiet_since.is_some() && !self.ended && on_them).then_some(SILENCE)
    }

    /// The newest tick of the sparklines.
    pub fn tick(&self) -> u64 {
        self.folded_to.unwrap_or(0).saturating_add(self.ahead_ms) / TICK_MS
    }
}

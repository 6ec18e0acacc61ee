//! The time of the sparklines: the agent's, as its folds of the counters say it, and on from there while it has none to say.

use super::{Live, TICK_MS};
use crate::model::series::LENGTH;
use std::time::Duration;

/// Folds come more often than that while anything is counted; until then the next one says what time it is.
const SILENCE: Duration = Duration::from_secs(1);

impl Live {
    /// A fold was taken in at this time, on a monotonic clock.
    pub fn hear(&mut self, now: Duration) {
        (self.heard, self.ahead_ms) = (Some(now), 0);
    }

    /// It is this time by now, on the same clock: without folds the sparklines go on all the same.
    pub fn pass_to(&mut self, now: Duration) {
        let silent = self.heard.map_or(Duration::ZERO, |heard| now.saturating_sub(heard + SILENCE));
        self.ahead_ms = u64::try_from(silent.as_millis()).unwrap_or(u64::MAX);
    }

    /// How soon the sparklines move on by themselves; None: they do not, or there is nothing on them any more.
    pub fn curves_move(&self) -> Option<Duration> {
        let shown = LENGTH as u64 * TICK_MS;
        (self.heard.is_some() && self.was_called && self.ahead_ms <= shown).then_some(SILENCE)
    }

    /// The newest tick of the sparklines.
    pub fn tick(&self) -> u64 {
        self.folded_to.unwrap_or(0).saturating_add(self.ahead_ms) / TICK_MS
    }
}

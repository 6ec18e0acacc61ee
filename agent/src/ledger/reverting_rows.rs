//! Rows that are off while calls are still in flight in their earlier bodies. No callback reports the end of the
//! last one, so the ReJIT thread checks, less and less often while nothing happens.
#![forbid(unsafe_code)]

use redial_protocol::ids::RowId;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Pause before the first check after a row begins to revert, or after a check that found something.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause, for calls that do not return.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The reverting rows.
#[derive(Default)]
pub struct RevertingRows {
    pub(super) rows: BTreeSet<RowId>,
    /// Number of rows ever added.
    pub(super) added: u64,
}

/// Decides when to check next.
#[derive(Debug)]
pub struct Pace {
    last_check: Instant,
    pause: Duration,
    added: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { last_check: Instant::now(), pause: MIN_PAUSE, added: 0 }
    }
}

impl Pace {
    /// Returns when to check the rows next; None while there are none.
    pub fn next(&self, rows: &RevertingRows) -> Option<Instant> {
        let pause = if rows.added == self.added { self.pause } else { MIN_PAUSE };
        (!rows.rows.is_empty()).then(|| self.last_check + pause)
    }

    /// Records a check. `added` is the number of rows added so far; `ended`: some are off now.
    pub fn note_check(&mut self, now: Instant, added: u64, ended: bool) {
        let nothing_new = added == self.added && !ended;
        self.pause = if nothing_new { (self.pause * 2).min(MAX_PAUSE) } else { MIN_PAUSE };
        (self.last_check, self.added) = (now, added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_unreturning_calls_less_and_less_often() {
        let mut rows = RevertingRows::default();
        let mut pace = Pace::default();
        assert_eq!(pace.next(&rows), None, "nothing reverts");
        rows.rows.insert(RowId(7));
        rows.added = 1;
        let mut checks = 0;
        let begin = pace.last_check;
        while let Some(due) = pace.next(&rows).filter(|due| *due < begin + Duration::from_secs(60)) {
            pace.note_check(due, rows.added, false);
            checks += 1;
        }
        // 0.1, 0.1, 0.2, 0.4 … 5 s.
        assert!((15..=20).contains(&checks), "{checks} checks in a minute");
        // After one more row reverts, or one ends, checks are frequent again.
        let soon = Some(pace.last_check + MIN_PAUSE);
        rows.added = 2;
        assert_eq!(pace.next(&rows), soon);
        pace.note_check(begin, 2, false);
        pace.note_check(begin, 2, false);
        assert_eq!(pace.next(&rows), Some(begin + 2 * MIN_PAUSE));
        pace.note_check(begin, 2, true);
        assert_eq!(pace.next(&rows), Some(begin + MIN_PAUSE));
    }
}

//! Rows that are off and have calls under way in bodies they no longer run: no callback tells when the last of them ends, so
//! the ReJIT thread looks, ever more seldom while nothing happens.
#![forbid(unsafe_code)]

use super::ledger::Book;
use super::row::Row;
use crate::agent::Agent;
use crate::probes::blocks::Slot;
use crate::probes::timers;
use redial_protocol::ids::RowId;
use redial_protocol::state::State;
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// How soon after a row begins to revert, or the last look that found something, is looked.
const SOON: Duration = Duration::from_millis(100);
/// The longest pause, for calls that do not return.
const SELDOM: Duration = Duration::from_secs(5);

/// The rows.
#[derive(Default)]
pub struct Reverting {
    rows: BTreeSet<RowId>,
    /// Counts those that came.
    came: u64,
}

/// When to look next.
#[derive(Debug)]
pub struct Pace {
    looked: Instant,
    pause: Duration,
    came: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { looked: Instant::now(), pause: SOON, came: 0 }
    }
}

impl Pace {
    /// When the rows are to be looked at; None while there are none.
    pub fn next(&self, rows: &Reverting) -> Option<Instant> {
        let pause = if rows.came == self.came { self.pause } else { SOON };
        (!rows.rows.is_empty()).then(|| self.looked + pause)
    }

    /// They were looked at, `came` of them so far; `ended`: some are off now.
    fn looked(&mut self, now: Instant, came: u64, ended: bool) {
        let nothing_new = came == self.came && !ended;
        self.pause = if nothing_new { (self.pause * 2).min(SELDOM) } else { SOON };
        (self.looked, self.came) = (now, came);
    }
}

impl Book {
    /// A row runs its original IL again, but for calls under way, if there are some.
    pub fn off_again(&mut self, id: RowId, in_flight: bool, now: u64) {
        self.close_account(id, now);
        let Some(row) = self.row_mut(id) else { return };
        row.is_off_again(in_flight);
        if in_flight {
            self.reverting.rows.insert(id);
            self.reverting.came += 1;
        }
        self.announce(id, now);
    }

    /// Those that still revert; the others are turned on again, or gone.
    fn still_reverting(&mut self) -> (Vec<RowId>, u64) {
        let mut rows = std::mem::take(&mut self.reverting.rows);
        rows.retain(|id| self.row(*id).is_some_and(|row| row.state == State::Reverting));
        let listed = rows.iter().copied().collect();
        self.reverting.rows = rows;
        (listed, self.reverting.came)
    }

    fn ended(&mut self, rows: &[RowId], now: u64) {
        for id in rows {
            if let Some(row) = self.row_mut(*id).filter(|row| row.state == State::Reverting) {
                row.state = State::Off;
                self.announce(*id, now);
            }
            self.reverting.rows.remove(id);
        }
    }
}

/// Which of these rows have calls under way in timed bodies.
pub fn in_flight(agent: &Agent, rows: &[RowId]) -> HashSet<RowId> {
    let timed: Vec<(RowId, Slot)> = {
        let book = agent.ledger.book();
        let slot_of = |row: &Row| Some((row.id, row.slot.filter(|_| row.was_timed)?));
        rows.iter().filter_map(|id| book.row(*id).and_then(slot_of)).collect()
    };
    let slots: Vec<Slot> = timed.iter().map(|(_, slot)| *slot).collect();
    let sums = timed.into_iter().zip(timers::sums(&slots));
    sums.filter(|(_, sums)| sums.in_flight > 0).map(|((id, _), _)| id).collect()
}

/// Looks which rows have no call under way any more, if it is time to.
pub fn look_after(agent: &Agent, pace: &mut Pace) {
    let now = Instant::now();
    let (rows, came) = {
        let mut book = agent.ledger.book();
        if pace.next(&book.reverting).is_none_or(|due| due > now) {
            return;
        }
        book.still_reverting()
    };
    let running = in_flight(agent, &rows);
    let ended: Vec<RowId> = rows.into_iter().filter(|id| !running.contains(id)).collect();
    if !ended.is_empty() {
        agent.ledger.change(|book, t_ms| book.ended(&ended, t_ms));
    }
    pace.looked(now, came, !ended.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_do_not_return_are_looked_at_ever_more_seldom() {
        let mut rows = Reverting::default();
        let mut pace = Pace::default();
        assert_eq!(pace.next(&rows), None, "nothing reverts");
        rows.rows.insert(RowId(7));
        rows.came = 1;
        let mut looks = 0;
        let begin = pace.looked;
        while let Some(due) = pace.next(&rows).filter(|due| *due < begin + Duration::from_secs(60)) {
            pace.looked(due, rows.came, false);
            looks += 1;
        }
        // 0.1, 0.1, 0.2, 0.4 … 5 s.
        assert!((15..=20).contains(&looks), "{looks} looks in a minute");
        // One more that reverts, and one that ends, are followed closely again.
        let soon = Some(pace.looked + SOON);
        rows.came = 2;
        assert_eq!(pace.next(&rows), soon);
        pace.looked(begin, 2, false);
        pace.looked(begin, 2, false);
        assert_eq!(pace.next(&rows), Some(begin + 2 * SOON));
        pace.looked(begin, 2, true);
        assert_eq!(pace.next(&rows), Some(begin + SOON));
    }
}

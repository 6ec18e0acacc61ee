//! Histograms of single methods: requested while they are visible, one or those of all copies, and kept when the user
//! sets a mark, to compare later calls with earlier ones.

pub mod chart;
pub mod merged;
pub mod merged_method;
pub mod ranged;

use super::row_poll::{self, PollTime, RowPoll};
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::slowest_calls::RowSlowestCalls;
use std::collections::VecDeque;
use std::time::Duration;

/// Marks kept per connection, at most some 18 KiB each; setting more drops the oldest.
const MARKS: usize = 32;

/// Most rows whose histograms are requested together; asking about more forgets the one asked about longest ago.
pub const ROWS: usize = 32;

/// The agent's answer about a row's histogram.
pub type HistogramAnswer = row_poll::RowAnswer<RowHistogram>;

/// The histograms of one connection.
#[derive(Debug, Default)]
pub struct Histograms {
    /// One per row, the last requested one last.
    polls: VecDeque<(RowId, RowPoll<RowHistogram>)>,
    /// The slowest calls of the visible row; reported with its histogram.
    calls: Option<Box<RowSlowestCalls>>,
    /// One per row, oldest first.
    marks: VecDeque<RowHistogram>,
}

impl Histograms {
    /// Returns whether to request the histogram of a visible row, given how many of its calls have ended.
    pub fn ask(&mut self, row: RowId, exits: u64, now: Duration) -> PollTime {
        let is_old = |known: &HistogramAnswer| known.as_ref().is_ok_and(|known| known.times.exits < exits);
        let place = self.polls.iter().position(|(of, _)| *of == row);
        let known = place.and_then(|place| self.polls.remove(place));
        let (_, mut poll) = known.unwrap_or_else(|| (row, RowPoll::default()));
        let time = poll.ask(row, is_old, now);
        self.polls.push_back((row, poll));
        if self.polls.len() > ROWS {
            self.polls.pop_front();
        }
        time
    }

    /// Applies an answer.
    pub fn take(&mut self, row: RowId, answer: HistogramAnswer) {
        if let Some((_, poll)) = self.polls.iter_mut().find(|(of, _)| *of == row) {
            poll.take(row, answer);
        }
    }

    /// Applies the slowest calls of a row.
    pub fn take_calls(&mut self, row: RowId, calls: Option<Box<RowSlowestCalls>>) {
        if self.polls.back().is_some_and(|(of, _)| *of == row) {
            self.calls = calls;
        }
    }

    /// Returns the slowest calls of a row, if known.
    pub fn calls(&self, row: RowId) -> Option<&RowSlowestCalls> {
        self.calls.as_deref().filter(|calls| calls.row == row)
    }

    /// Forgets a row's slowest calls, because other calls will be kept from now on.
    pub fn forget_calls(&mut self, row: RowId) {
        self.calls.take_if(|calls| calls.row == row);
    }

    /// Begins a new session.
    pub fn begin_session(&mut self) {
        self.calls = None;
        self.polls.iter_mut().for_each(|(_, poll)| poll.begin_session());
    }

    /// Returns the last answer about a row's histogram.
    pub fn of(&self, row: RowId) -> Option<&HistogramAnswer> {
        self.polls.iter().find(|(of, _)| *of == row).and_then(|(_, poll)| poll.of(row))
    }

    /// Keeps the current histogram of a row for comparison.
    pub fn mark(&mut self, row: RowId) {
        let Some(Ok(now)) = self.of(row) else { return };
        let now = now.as_ref().clone();
        self.clear_mark(row);
        self.marks.push_back(now);
        if self.marks.len() > MARKS {
            self.marks.pop_front();
        }
    }

    /// Forgets the mark of a row.
    pub fn clear_mark(&mut self, row: RowId) {
        self.marks.retain(|mark| mark.times.row != row);
    }

    /// Returns the histogram of a row at its mark.
    pub fn marked(&self, row: RowId) -> Option<&RowHistogram> {
        self.marks.iter().find(|mark| mark.times.row == row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::histogram;

    const SECOND: Duration = Duration::from_secs(1);
    const ROW: RowId = RowId(7);

    fn answer(calls: u64) -> HistogramAnswer {
        Ok(Box::new(histogram(ROW.0, &[(100, calls)])))
    }

    #[test]
    fn requests_once_a_second_while_calls_end() {
        let mut histograms = Histograms::default();
        assert_eq!(histograms.ask(ROW, 5, SECOND), PollTime::Now);
        assert_eq!(histograms.ask(ROW, 6, 9 * SECOND), PollTime::No, "the answer is pending");
        histograms.take(ROW, answer(6));
        assert_eq!(histograms.ask(ROW, 6, 9 * SECOND), PollTime::No, "nothing has ended since");
        assert_eq!(histograms.ask(ROW, 7, SECOND), PollTime::At(2 * SECOND));
        assert_eq!(histograms.ask(ROW, 7, 2 * SECOND), PollTime::Now);
        assert_eq!(histograms.ask(RowId(8), 1, 2 * SECOND), PollTime::Now, "another row is visible");
        histograms.take(ROW, answer(7));
        assert!(histograms.of(RowId(8)).is_none(), "that answer was for the previous row");
        assert!(histograms.of(ROW).is_some(), "which may be a copy of the same method");
        histograms.begin_session();
        assert_eq!(
            histograms.ask(RowId(8), 1, 2 * SECOND),
            PollTime::Now,
            "earlier requests are never answered"
        );
    }

    #[test]
    fn histograms_of_copies_are_known_together() {
        let mut histograms = Histograms::default();
        for row in 0..=ROWS as u32 {
            assert_eq!(histograms.ask(RowId(row), 1, SECOND), PollTime::Now);
        }
        for row in (0..=ROWS as u32).rev() {
            histograms.take(RowId(row), answer(1));
        }
        assert!(histograms.of(RowId(0)).is_none(), "the first gave way to the last");
        assert!((1..=ROWS as u32).all(|row| histograms.of(RowId(row)).is_some()));
    }

    #[test]
    fn a_refusal_stands_until_the_next_session() {
        let mut histograms = Histograms::default();
        histograms.ask(ROW, 5, SECOND);
        histograms.take(ROW, Err("its module was unloaded".into()));
        assert!(histograms.of(ROW).is_some_and(Result::is_err));
        assert_eq!(histograms.ask(ROW, 9, 99 * SECOND), PollTime::No);
        histograms.begin_session();
        assert_eq!(histograms.ask(ROW, 9, 99 * SECOND), PollTime::Now);
    }

    #[test]
    fn a_mark_is_kept_for_its_row() {
        let mut histograms = Histograms::default();
        histograms.mark(ROW);
        assert!(histograms.marked(ROW).is_none(), "there is nothing to keep yet");
        for row in 0..=MARKS as u32 {
            histograms.ask(RowId(row), 1, SECOND);
            histograms.take(RowId(row), Ok(Box::new(histogram(row, &[(100, 1)]))));
            histograms.mark(RowId(row));
            histograms.mark(RowId(row));
        }
        assert!(histograms.marked(RowId(0)).is_none() && histograms.marked(RowId(1)).is_some());
        assert_eq!(histograms.marks.len(), MARKS);
        histograms.clear_mark(RowId(1));
        assert!(histograms.marked(RowId(1)).is_none() && histograms.marked(RowId(2)).is_some());
    }
}

//! Histograms of rows, requested while visible: that of the selected method, or those of all its copies. Marks keep one
//! for later comparison.

pub mod chart;
mod copies;
pub mod merged;
pub mod merged_method;
pub mod ranged;

use super::row_poll::{self, PollTime, RowPoll};
use copies::CopyPolls;
pub use copies::MAX_COPIES;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::slowest_calls::RowSlowestCalls;
use std::collections::VecDeque;
use std::time::Duration;

/// Marks kept per connection, at most some 18 KiB each; setting more drops the oldest.
const MARKS: usize = 32;

/// The agent's answer about a row's histogram.
pub type HistogramAnswer = row_poll::RowAnswer<RowHistogram>;

/// The histograms of one connection.
#[derive(Debug, Default)]
pub struct Histograms {
    last: RowPoll<RowHistogram>,
    copies: CopyPolls,
    /// The slowest calls of the visible row; reported with its histogram.
    calls: Option<Box<RowSlowestCalls>>,
    /// One per row, oldest first.
    marks: VecDeque<RowHistogram>,
}

impl Histograms {
    /// Returns whether to request the histogram of a visible row, given how many of its calls have ended.
    pub fn ask(&mut self, row: RowId, exits: u64, now: Duration) -> PollTime {
        let is_old = |known: &HistogramAnswer| known.as_ref().is_ok_and(|known| known.times.exits < exits);
        self.last.ask(row, is_old, now)
    }

    /// Likewise for a copy of a merged method, of which several are requested at a time.
    pub fn ask_copy(&mut self, row: RowId, exits: u64, now: Duration) -> PollTime {
        self.copies.ask(row, exits, now)
    }

    /// Applies an answer.
    pub fn take(&mut self, row: RowId, answer: HistogramAnswer) {
        if self.last.is_about(row) {
            self.copies.take(row, answer.clone());
            self.last.take(row, answer);
        } else {
            self.copies.take(row, answer);
        }
    }

    /// Applies the slowest calls of a row.
    pub fn take_calls(&mut self, row: RowId, calls: Option<Box<RowSlowestCalls>>) {
        if self.last.is_about(row) {
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
        self.last.begin_session();
        self.copies.begin_session();
    }

    /// Returns the last answer about a row's histogram.
    pub fn of(&self, row: RowId) -> Option<&HistogramAnswer> {
        self.last.of(row)
    }

    /// Returns whether a copy has been asked and not answered.
    pub fn is_copy_awaited(&self, row: RowId) -> bool {
        self.copies.is_awaited(row)
    }

    /// Returns the last answer about a copy of a merged method.
    pub fn of_copy(&self, row: RowId) -> Option<&HistogramAnswer> {
        self.copies.of(row)
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
        histograms.begin_session();
        assert_eq!(
            histograms.ask(RowId(8), 1, 2 * SECOND),
            PollTime::Now,
            "earlier requests are never answered"
        );
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

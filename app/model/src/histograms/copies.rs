//! Polls the histograms of several copies of a method.

use crate::row_poll::{PollTime, RowAnswer, RowPoll};
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use std::collections::VecDeque;
use std::time::Duration;

/// Most copies that are polled together, with at most some 18 KiB each. Polling another drops the one polled least recently.
pub const MAX_COPIES: usize = 32;

/// The polls of the copies, the least recent first.
#[derive(Debug, Default)]
pub(super) struct CopyPolls(VecDeque<(RowId, RowPoll<RowHistogram>)>);

impl CopyPolls {
    /// Returns whether to request the histogram of a copy, given how many of its calls have ended.
    pub fn ask(&mut self, row: RowId, exits: u64, now: Duration) -> PollTime {
        let is_old =
            |known: &RowAnswer<RowHistogram>| known.as_ref().is_ok_and(|known| known.times.exits < exits);
        let known = self.0.iter().position(|(of, _)| *of == row).and_then(|place| self.0.remove(place));
        let (_, mut poll) = known.unwrap_or_else(|| (row, RowPoll::default()));
        let time = poll.ask(row, is_old, now);
        self.0.push_back((row, poll));
        if self.0.len() > MAX_COPIES {
            self.0.pop_front();
        }
        time
    }

    /// Applies an answer.
    pub fn take(&mut self, row: RowId, answer: RowAnswer<RowHistogram>) {
        if let Some((_, poll)) = self.0.iter_mut().find(|(of, _)| *of == row) {
            poll.take(row, answer);
        }
    }

    /// Begins a new session, in which earlier requests are never answered.
    pub fn begin_session(&mut self) {
        self.0.iter_mut().for_each(|(_, poll)| poll.begin_session());
    }

    /// Returns whether a copy has been asked and not answered.
    pub fn is_awaited(&self, row: RowId) -> bool {
        self.0.iter().any(|(of, poll)| *of == row && poll.is_awaited())
    }

    /// Returns the last answer about a copy.
    pub fn of(&self, row: RowId) -> Option<&RowAnswer<RowHistogram>> {
        self.0.iter().find(|(of, _)| *of == row).and_then(|(_, poll)| poll.of(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::histogram;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn histograms_of_copies_are_known_together() {
        let mut polls = CopyPolls::default();
        let last = MAX_COPIES as u32;
        assert!((0..=last).all(|row| polls.ask(RowId(row), 1, SECOND) == PollTime::Now));
        assert!(polls.is_awaited(RowId(1)) && !polls.is_awaited(RowId(0)));
        for row in (0..=last).rev() {
            polls.take(RowId(row), Ok(Box::new(histogram(row, &[(100, 1)]))));
        }
        assert!(!polls.is_awaited(RowId(1)));
        assert!(polls.of(RowId(0)).is_none(), "the first gave way to the last");
        assert!((1..=last).all(|row| polls.of(RowId(row)).is_some()));
        assert_eq!(polls.ask(RowId(1), 1, 9 * SECOND), PollTime::No, "nothing has ended since");
        assert_eq!(polls.ask(RowId(2), 2, 9 * SECOND), PollTime::Now);
        polls.begin_session();
        assert_eq!(polls.ask(RowId(2), 2, 9 * SECOND), PollTime::Now, "earlier requests are never answered");
    }
}

//! Polls the agent about a visible row: while there may be news, but not too often.

use redial_protocol::ids::RowId;
use std::time::Duration;

/// The shortest interval between requests.
const INTERVAL: Duration = Duration::from_secs(1);

/// The agent's last answer about a row, or why there is none, as a sentence.
pub type RowAnswer<T> = Result<Box<T>, String>;

/// The answer about the visible row.
#[derive(Debug)]
pub struct RowPoll<T> {
    last: Option<(RowId, RowAnswer<T>)>,
    /// The last requested row and the time of the request, on the clock of `Now::mono`.
    asked: Option<(RowId, Duration)>,
    /// Whether that request is unanswered.
    awaited: bool,
}

/// Whether to send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollTime {
    /// Now; the request counts as sent.
    Now,
    /// Not before this time, on the clock of `Now::mono`.
    At(Duration),
    /// Not before something changes.
    No,
}

impl<T> Default for RowPoll<T> {
    fn default() -> Self {
        RowPoll { last: None, asked: None, awaited: false }
    }
}

impl<T> RowPoll<T> {
    /// Returns whether to request a visible row, given whether the known answer is outdated.
    pub fn ask(&mut self, row: RowId, is_old: impl FnOnce(&RowAnswer<T>) -> bool, now: Duration) -> PollTime {
        if self.of(row).is_some_and(|known| !is_old(known)) {
            return PollTime::No;
        }
        if let Some((_, at)) = self.asked.filter(|(asked, _)| *asked == row) {
            if self.awaited {
                return PollTime::No;
            }
            if now < at + INTERVAL {
                return PollTime::At(at + INTERVAL);
            }
        }
        (self.asked, self.awaited) = (Some((row, now)), true);
        PollTime::Now
    }

    /// Applies an answer.
    pub fn take(&mut self, row: RowId, answer: RowAnswer<T>) {
        // Ignore answers about rows that are no longer visible.
        if self.is_about(row) {
            self.awaited = false;
            self.last = Some((row, answer));
        }
    }

    /// Returns whether a row is the last requested one.
    pub fn is_about(&self, row: RowId) -> bool {
        self.asked.is_some_and(|(asked, _)| asked == row)
    }

    /// Returns whether the last request is unanswered.
    pub fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// Begins a new session, in which earlier requests are never answered.
    pub fn begin_session(&mut self) {
        (self.asked, self.awaited) = (None, false);
        self.last.take_if(|(_, answer)| answer.is_err());
    }

    /// Returns the answer about a row.
    pub fn of(&self, row: RowId) -> Option<&RowAnswer<T>> {
        self.last.as_ref().filter(|(of, _)| *of == row).map(|(_, answer)| answer)
    }
}

//! The callers of the visible method.

use super::row_poll::{self, PollTime, RowPoll};
use redial_protocol::callers::RowCallers;
use redial_protocol::ids::RowId;
use std::time::Duration;

/// The agent's answer about a row's callers.
pub type CallersAnswer = row_poll::RowAnswer<RowCallers>;

/// The callers of the one visible row.
#[derive(Debug, Default)]
pub struct Callers {
    last: RowPoll<RowCallers>,
    /// The row's facts at the last request.
    asked: Option<CallersVersion>,
}

/// Facts that determine whether a row's callers may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallersVersion {
    /// Its number of calls.
    pub calls: u64,
    /// Whether its callers are to be counted.
    pub wanted: bool,
}

impl Callers {
    /// Returns whether to request the callers of a visible row.
    pub fn ask(&mut self, row: RowId, seen: CallersVersion, now: Duration) -> PollTime {
        let asked = self.asked;
        let is_old = |known: &CallersAnswer| match known {
            Ok(_) => asked != Some(seen),
            // Refused: its callers were never counted.
            Err(_) => asked.is_none_or(|asked| asked.wanted != seen.wanted),
        };
        let ask = self.last.ask(row, is_old, now);
        if ask == PollTime::Now {
            self.asked = Some(seen);
        }
        ask
    }

    /// Applies an answer.
    pub fn take(&mut self, row: RowId, answer: CallersAnswer) {
        self.last.take(row, answer);
    }

    /// Begins a new session.
    pub fn begin_session(&mut self) {
        self.last.begin_session();
    }

    /// Returns the last answer about a row's callers.
    pub fn of(&self, row: RowId) -> Option<&CallersAnswer> {
        self.last.of(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: RowId = RowId(7);
    const SECOND: Duration = Duration::from_secs(1);

    fn answer() -> CallersAnswer {
        Ok(Box::new(RowCallers { row: ROW, callers: Vec::new(), others: 1 }))
    }

    #[test]
    fn requests_callers_while_there_are_calls() {
        let mut callers = Callers::default();
        let seen = |calls| CallersVersion { calls, wanted: true };
        assert_eq!(callers.ask(ROW, seen(5), SECOND), PollTime::Now);
        assert_eq!(callers.ask(ROW, seen(6), SECOND), PollTime::No, "the answer is pending");
        callers.take(ROW, answer());
        assert_eq!(callers.ask(ROW, seen(5), 9 * SECOND), PollTime::No, "nothing was called since");
        assert_eq!(callers.ask(ROW, seen(6), SECOND), PollTime::At(2 * SECOND));
        assert_eq!(callers.ask(ROW, seen(6), 2 * SECOND), PollTime::Now);
        assert!(callers.of(ROW).is_some_and(Result::is_ok) && callers.of(RowId(8)).is_none());
    }

    #[test]
    fn a_refusal_stands_until_callers_are_wanted() {
        let mut callers = Callers::default();
        let seen = |calls, wanted| CallersVersion { calls, wanted };
        callers.ask(ROW, seen(5, false), SECOND);
        callers.take(ROW, Err("never counted".into()));
        assert_eq!(callers.ask(ROW, seen(9, false), 9 * SECOND), PollTime::No);
        assert_eq!(callers.ask(ROW, seen(9, true), 9 * SECOND), PollTime::Now);
    }
}

//! The traced calls of the visible method: the latest ones, and those in flight.

use super::row_poll::{self, PollTime, RowPoll};
use redial_protocol::ids::RowId;
use redial_protocol::trace::{TracedCall, TracedMethod};
use std::time::Duration;

/// Calls of one method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCalls {
    /// The method in each form in which it was traced.
    pub methods: Vec<TracedMethod>,
    /// The calls in order of the agent's list.
    pub calls: Vec<TracedCall>,
}

impl RowCalls {
    /// Returns the calls with their methods.
    pub fn with_methods(&self) -> impl DoubleEndedIterator<Item = (&TracedMethod, &TracedCall)> {
        let method = |call: &TracedCall| self.methods.iter().find(|method| method.plan == call.plan);
        self.calls.iter().filter_map(move |call| Some((method(call)?, call)))
    }
}

/// The agent's answer about a row's calls.
pub type CallsAnswer = row_poll::RowAnswer<RowCalls>;

/// The traced calls of the one visible row.
#[derive(Debug, Default)]
pub struct TracedCalls {
    latest: RowPoll<RowCalls>,
    in_flight: RowPoll<RowCalls>,
}

impl TracedCalls {
    /// Returns whether to request the calls of a visible row that is traced: always, since calls in flight begin and end
    /// unseen, but not too often.
    pub fn ask(&mut self, row: RowId, now: Duration) -> PollTime {
        let ask = self.latest.ask(row, |_| true, now);
        if ask == PollTime::Now {
            self.in_flight.ask(row, |_| true, now);
        }
        ask
    }

    /// Applies an answer.
    pub fn take(&mut self, row: RowId, in_flight: bool, answer: CallsAnswer) {
        let poll = if in_flight { &mut self.in_flight } else { &mut self.latest };
        poll.take(row, answer);
    }

    /// Begins a new session.
    pub fn begin_session(&mut self) {
        self.latest.begin_session();
        self.in_flight.begin_session();
    }

    /// Returns the last answer about a row's latest calls.
    pub fn latest(&self, row: RowId) -> Option<&CallsAnswer> {
        self.latest.of(row)
    }

    /// Returns the last answer about a row's calls in flight.
    pub fn in_flight(&self, row: RowId) -> Option<&CallsAnswer> {
        self.in_flight.of(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_both_lists_once_a_second() {
        let (mut calls, row, second) = (TracedCalls::default(), RowId(7), Duration::from_secs(1));
        assert_eq!(calls.ask(row, second), PollTime::Now);
        assert_eq!(calls.ask(row, 9 * second), PollTime::No, "the answers are pending");
        calls.take(row, false, Ok(Box::default()));
        calls.take(row, true, Err("off".into()));
        assert_eq!(calls.ask(row, second), PollTime::At(2 * second));
        assert!(
            calls.latest(row).is_some_and(Result::is_ok) && calls.in_flight(row).is_some_and(Result::is_err)
        );
        assert_eq!(calls.ask(row, 2 * second), PollTime::Now);
    }
}

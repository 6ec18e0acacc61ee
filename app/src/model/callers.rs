//! Who calls the method that is looked at.

use super::looked_at::{self, Ask, LookedAt};
use redial_protocol::callers::RowCallers;
use redial_protocol::ids::RowId;
use std::time::Duration;

/// What is known of a row's callers.
pub type Answer = looked_at::Answer<RowCallers>;

/// The callers of the one row that is looked at.
#[derive(Debug, Default)]
pub struct Callers {
    last: LookedAt<RowCallers>,
    /// What was known of the row when it was asked for last.
    asked: Option<Seen>,
}

/// What tells whether a row's callers may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its calls.
    pub calls: u64,
    /// Whether its callers are wanted.
    pub wanted: bool,
}

impl Callers {
    /// Whether the callers of a row that is looked at are to be asked for.
    pub fn ask(&mut self, row: RowId, seen: Seen, now: Duration) -> Ask {
        let asked = self.asked;
        let is_old = |known: &Answer| match known {
            Ok(_) => asked != Some(seen),
            // Refused: its callers were never counted.
            Err(_) => asked.is_none_or(|asked| asked.wanted != seen.wanted),
        };
        let ask = self.last.ask(row, is_old, now);
        if ask == Ask::Now {
            self.asked = Some(seen);
        }
        ask
    }

    /// Takes an answer in.
    pub fn take(&mut self, row: RowId, answer: Answer) {
        self.last.take(row, answer);
    }

    /// A new session begins.
    pub fn begin_session(&mut self) {
        self.last.begin_session();
    }

    /// What is known of a row's callers.
    pub fn of(&self, row: RowId) -> Option<&Answer> {
        self.last.of(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: RowId = RowId(7);
    const SECOND: Duration = Duration::from_secs(1);

    fn told() -> Answer {
        Ok(Box::new(RowCallers { row: ROW, callers: Vec::new(), others: 1 }))
    }

    #[test]
    fn they_are_asked_for_while_there_are_calls() {
        let mut callers = Callers::default();
        let seen = |calls| Seen { calls, wanted: true };
        assert_eq!(callers.ask(ROW, seen(5), SECOND), Ask::Now);
        assert_eq!(callers.ask(ROW, seen(6), SECOND), Ask::No, "the answer is awaited");
        callers.take(ROW, told());
        assert_eq!(callers.ask(ROW, seen(5), 9 * SECOND), Ask::No, "nothing was called since");
        assert_eq!(callers.ask(ROW, seen(6), SECOND), Ask::At(2 * SECOND));
        assert_eq!(callers.ask(ROW, seen(6), 2 * SECOND), Ask::Now);
        assert!(callers.of(ROW).is_some_and(Result::is_ok) && callers.of(RowId(8)).is_none());
    }

    #[test]
    fn a_refusal_stands_until_they_are_wanted() {
        let mut callers = Callers::default();
        let seen = |calls, wanted| Seen { calls, wanted };
        callers.ask(ROW, seen(5, false), SECOND);
        callers.take(ROW, Err("never counted".into()));
        assert_eq!(callers.ask(ROW, seen(9, false), 9 * SECOND), Ask::No);
        assert_eq!(callers.ask(ROW, seen(9, true), 9 * SECOND), Ask::Now);
    }
}

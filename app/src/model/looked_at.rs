//! What the agent tells of the one row that is looked at, asked for while there is news of it, and not too often.

use redial_protocol::ids::RowId;
use std::time::Duration;

/// How often it is asked for at most.
const EVERY: Duration = Duration::from_secs(1);

/// What is known of a row: what the agent said last, or why it said nothing, as a sentence.
pub type Answer<T> = Result<Box<T>, String>;

/// What is known of the row that is looked at.
#[derive(Debug)]
pub struct LookedAt<T> {
    last: Option<(RowId, Answer<T>)>,
    /// What was asked for last, and when, on the clock of `Now::mono`.
    asked: Option<(RowId, Duration)>,
    /// That is not answered yet.
    awaited: bool,
}

/// Whether to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Now; it counts as asked for.
    Now,
    /// Not before this time, on the clock of `Now::mono`.
    At(Duration),
    /// Not before more is heard.
    No,
}

impl<T> Default for LookedAt<T> {
    fn default() -> Self {
        LookedAt { last: None, asked: None, awaited: false }
    }
}

impl<T> LookedAt<T> {
    /// Whether to ask about a row that is looked at, given whether what is known of it is old.
    pub fn ask(&mut self, row: RowId, is_old: impl FnOnce(&Answer<T>) -> bool, now: Duration) -> Ask {
        if self.of(row).is_some_and(|known| !is_old(known)) {
            return Ask::No;
        }
        if let Some((_, at)) = self.asked.filter(|(asked, _)| *asked == row) {
            if self.awaited {
                return Ask::No;
            }
            if now < at + EVERY {
                return Ask::At(at + EVERY);
            }
        }
        (self.asked, self.awaited) = (Some((row, now)), true);
        Ask::Now
    }

    /// Takes an answer in.
    pub fn take(&mut self, row: RowId, answer: Answer<T>) {
        // Of a row that is no longer looked at nobody wants to know.
        if self.is_about(row) {
            self.awaited = false;
            self.last = Some((row, answer));
        }
    }

    /// Whether a row is the one that was asked about last.
    pub fn is_about(&self, row: RowId) -> bool {
        self.asked.is_some_and(|(asked, _)| asked == row)
    }

    /// A new session begins: what was asked for in the one before is never answered.
    pub fn begin_session(&mut self) {
        (self.asked, self.awaited) = (None, false);
        self.last.take_if(|(_, answer)| answer.is_err());
    }

    /// What is known of a row.
    pub fn of(&self, row: RowId) -> Option<&Answer<T>> {
        self.last.as_ref().filter(|(of, _)| *of == row).map(|(_, answer)| answer)
    }
}

//! What was asked, answered, refused and what became of it, in words; bounded.

use super::ids::ConnectionId;
use super::update::Now;
use std::collections::VecDeque;

/// Entries kept; older ones go.
pub const KEPT: usize = 5_000;

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The user asked for something.
    Request,
    /// The agent answered that it was done.
    Answer,
    /// The agent confirmed that every dial is off.
    AllOff,
    /// The agent, or the window itself, said no; the text says why.
    Refusal,
    /// Nobody said anything: the agent did not answer.
    NoAnswer,
    /// It was tried and did not work.
    Failure,
    /// A method went from one state to another.
    Transition,
    /// A connection came, went or is tried again.
    Connection,
    /// Something the user should know.
    Notice,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number: 1, 2, …, never reused.
    pub serial: u64,
    /// When.
    pub at: Now,
    /// Which connection it concerns.
    pub connection: Option<ConnectionId>,
    /// What kind.
    pub kind: Kind,
    /// One sentence, without a final period.
    pub text: String,
}

/// The log.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    last: u64,
    /// Of each kind the newest, though it be gone from the entries.
    newest: Vec<Entry>,
}

impl Log {
    /// Adds an entry.
    pub fn add(&mut self, at: Now, connection: Option<ConnectionId>, kind: Kind, text: impl Into<String>) {
        self.last += 1;
        if self.entries.len() >= KEPT {
            self.entries.pop_front();
        }
        let entry = Entry { serial: self.last, at, connection, kind, text: text.into() };
        // Of transitions there are many, and nobody asks for the newest.
        if kind != Kind::Transition {
            self.newest.retain(|one| one.kind != kind);
            self.newest.push(entry.clone());
        }
        self.entries.push_back(entry);
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.entries
    }

    /// Entries that went because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.last - self.entries.len() as u64
    }

    /// The newest of a kind other than transitions, for a place where it cannot be overlooked: also one that went.
    pub fn newest(&self, kind: Kind) -> Option<&Entry> {
        self.newest.iter().find(|entry| entry.kind == kind)
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.newest.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_says_so() {
        let mut log = Log::default();
        for number in 0..KEPT as u64 + 7 {
            let kind = if number == 3 { Kind::Refusal } else { Kind::Answer };
            log.add(Now::default(), Some(ConnectionId(1)), kind, format!("entry {number}"));
        }
        assert_eq!((log.entries().len(), log.forgotten()), (KEPT, 7));
        assert_eq!(log.entries().front().map(|entry| entry.text.as_str()), Some("entry 7"));
        assert_eq!(log.newest(Kind::Refusal).map(|entry| entry.serial), Some(4), "though it went");
        log.add(Now::default(), None, Kind::Refusal, "no");
        assert_eq!(log.newest(Kind::Refusal).map(|entry| entry.serial), Some(KEPT as u64 + 8));
        log.clear();
        log.add(Now::default(), None, Kind::Notice, "again");
        assert_eq!(log.newest(Kind::Notice).map(|entry| entry.serial), Some(KEPT as u64 + 9));
    }
}

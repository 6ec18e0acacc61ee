//! What was asked, answered, refused and what became of it, in words; bounded.

use super::ids::ConnectionId;
use super::update::Now;
use std::borrow::Cow;
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
    /// What was turned in this window was taken back, or turned again.
    Undone,
    /// The agent, or the window itself, said no; the text says why.
    Refusal,
    /// Nothing was tried: the window says what is needed first.
    Hint,
    /// Nobody said anything: the agent did not answer.
    NoAnswer,
    /// It was tried and did not work.
    Failure,
    /// A method went from one state to another.
    Transition,
    /// A connection came, went or is tried again.
    Connection,
    /// Another controller took control from this window.
    Control,
    /// The budget turned dials down.
    Budget,
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
    /// The process that it concerns, where it is one.
    pub process: Option<Named>,
    /// What kind.
    pub kind: Kind,
    /// One sentence, without a final period.
    pub text: String,
}

impl Entry {
    /// What it says to somebody who looks at that connection: of any other process, which one it is about.
    pub fn told_to(&self, looking_at: Option<ConnectionId>) -> Cow<'_, str> {
        match self.process.as_ref().filter(|_| looking_at != self.connection) {
            Some(process) => process.named_in(&self.text),
            None => Cow::Borrowed(&self.text),
        }
    }
}

/// A process as sentences name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What it is called.
    pub name: String,
    /// Its process id.
    pub pid: u32,
}

impl Named {
    /// `Shop.dll (4242)`.
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, self.pid)
    }

    /// A sentence about the process, with its name and pid in it.
    pub fn named_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (title, Named { name, pid }) = (self.title(), self);
        if text.contains(&title) || text.contains(&format!("{name} (pid {pid})")) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(match text.split_once(&format!("process {pid}")) {
            Some((before, after)) if !after.starts_with(|next: char| next.is_ascii_digit()) => {
                format!("{before}{title}{after}")
            }
            _ => format!("{title}: {text}"),
        })
    }
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
    /// Adds an entry that names the processes it is about, if it is about any.
    pub fn add(&mut self, at: Now, connection: Option<ConnectionId>, kind: Kind, text: impl Into<String>) {
        self.put(Entry { serial: self.last + 1, at, connection, process: None, kind, text: text.into() });
    }

    /// Adds an entry about one process.
    pub fn add_of(&mut self, at: Now, (id, process): (ConnectionId, Named), kind: Kind, text: String) {
        let (serial, connection, process) = (self.last + 1, Some(id), Some(process));
        self.put(Entry { serial, at, connection, process, kind, text });
    }

    fn put(&mut self, entry: Entry) {
        self.last = entry.serial;
        if self.entries.len() >= KEPT {
            self.entries.pop_front();
        }
        let kind = entry.kind;
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
    fn a_line_names_its_process_where_another_is_looked_at() {
        let mut log = Log::default();
        let shop = || (ConnectionId(1), Named { name: "Shop.dll".into(), pid: 42 });
        for (text, elsewhere) in [
            ("count on Cart.Add", "Shop.dll (42): count on Cart.Add"),
            ("process 42 has ended", "Shop.dll (42) has ended"),
            ("process 421 has ended", "Shop.dll (42): process 421 has ended"),
            ("connected to Shop.dll (pid 42)", "connected to Shop.dll (pid 42)"),
            ("Shop.dll (42): off", "Shop.dll (42): off"),
        ] {
            log.add_of(Now::default(), shop(), Kind::Answer, text.to_owned());
            let entry = log.newest(Kind::Answer).expect("it was added");
            assert_eq!(entry.told_to(Some(ConnectionId(1))), text);
            assert_eq!(entry.told_to(Some(ConnectionId(2))), elsewhere);
            assert_eq!(entry.told_to(None), elsewhere);
        }
        log.add(Now::default(), None, Kind::Answer, "copied");
        assert_eq!(log.newest(Kind::Answer).map(|entry| entry.told_to(None)).as_deref(), Some("copied"));
    }

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

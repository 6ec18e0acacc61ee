//! A bounded log of requests, answers, refusals and their results.

use super::ids::ConnectionId;
use super::ids::SubjectId;
use super::update::Now;
use redial_text::words;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Maximum number of entries; older ones are dropped.
pub const KEPT: usize = 5_000;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// The user requested something.
    Request,
    /// The agent confirmed that a request was carried out.
    Answer,
    /// The agent confirmed that it turned every dial off.
    AllOff,
    /// The agent confirmed that no dial was on.
    NoneOn,
    /// A change of this window was undone or redone.
    Undone,
    /// The agent or the window refused; the text says why.
    Refusal,
    /// Work that took a while is done: a session was saved, hot methods were found.
    Done,
    /// Nothing was attempted; the window says what is needed first.
    Hint,
    /// The agent did not answer.
    NoAnswer,
    /// An attempt failed.
    Failure,
    /// A method changed its state.
    Transition,
    /// A connection was made, lost or is being retried.
    Connection,
    /// Another controller took control from this window.
    Control,
    /// The budget lowered dials.
    Budget,
    /// Something the user should know.
    Notice,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its number: 1, 2, …, never reused.
    pub serial: u64,
    /// Its time.
    pub at: Now,
    /// The process or fleet it concerns.
    pub about: Option<SubjectId>,
    /// The process it concerns, if it is one.
    pub process: Option<ProcessName>,
    /// Its kind.
    pub kind: LogKind,
    /// One sentence, without a final period.
    pub text: String,
}

impl LogEntry {
    /// Returns its text for a view of a process or fleet, with a capital letter; if it concerns another process, the
    /// text names that process. `text_for(None)` always names it.
    pub fn text_for(&self, viewed: Option<SubjectId>) -> Cow<'_, str> {
        let Some(process) = self.process.as_ref().filter(|_| viewed != self.about) else {
            return words::sentence_case(&self.text);
        };
        match process.named_in(&self.text) {
            Cow::Borrowed(text) => words::sentence_case(text),
            Cow::Owned(text) => Cow::Owned(text),
        }
    }
}

/// A process as sentences name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessName {
    /// Its name.
    pub name: String,
    /// Its process id.
    pub pid: u32,
}

impl ProcessName {
    /// `Shop.dll (4242)`.
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, self.pid)
    }

    /// Inserts the process's name and pid into a sentence about it.
    pub fn named_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (title, ProcessName { name, pid }) = (self.title(), self);
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
    entries: VecDeque<LogEntry>,
    last: u64,
    /// Number of entries added before the log was last cleared.
    cleared: u64,
    /// The newest entry of each kind, even if it was dropped from the entries.
    newest: Vec<LogEntry>,
}

impl Log {
    /// Adds an entry with a text that already names the processes it concerns.
    pub fn add(&mut self, at: Now, about: Option<SubjectId>, kind: LogKind, text: impl Into<String>) {
        self.put(LogEntry { serial: self.last + 1, at, about, process: None, kind, text: text.into() });
    }

    /// Adds an entry about one process.
    pub fn add_of(
        &mut self,
        at: Now,
        (id, process): (ConnectionId, ProcessName),
        kind: LogKind,
        text: String,
    ) {
        let (serial, about, process) = (self.last + 1, Some(SubjectId::Process(id)), Some(process));
        self.put(LogEntry { serial, at, about, process, kind, text });
    }

    fn put(&mut self, entry: LogEntry) {
        self.last = entry.serial;
        if self.entries.len() >= KEPT {
            self.entries.pop_front();
        }
        let kind = entry.kind;
        // There are many transitions, and nobody asks for the newest.
        if kind != LogKind::Transition {
            self.newest.retain(|one| one.kind != kind);
            self.newest.push(entry.clone());
        }
        self.entries.push_back(entry);
    }

    /// Returns the entries, oldest first.
    pub fn entries(&self) -> &VecDeque<LogEntry> {
        &self.entries
    }

    /// Returns the number of entries ever added, which is the serial number of the last.
    pub fn total(&self) -> u64 {
        self.last
    }

    /// Returns the number of entries dropped because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.last - self.cleared - self.entries.len() as u64
    }

    /// Returns the newest entry of a kind other than transitions, even if it was dropped, for a prominent
    /// place in the window.
    pub fn newest(&self, kind: LogKind) -> Option<&LogEntry> {
        self.newest.iter().find(|entry| entry.kind == kind)
    }

    /// Removes all entries; they do not count as dropped. The newest of each kind stay known.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.cleared = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_processes_that_are_not_shown() {
        let mut log = Log::default();
        let shop = || (ConnectionId(1), ProcessName { name: "Shop.dll".into(), pid: 42 });
        for (text, here, elsewhere) in [
            ("count on Cart.Add", "Count on Cart.Add", "Shop.dll (42): count on Cart.Add"),
            ("process 42 has ended", "Process 42 has ended", "Shop.dll (42) has ended"),
            ("process 421 has ended", "Process 421 has ended", "Shop.dll (42): process 421 has ended"),
            (
                "connected to Shop.dll (pid 42)",
                "Connected to Shop.dll (pid 42)",
                "Connected to Shop.dll (pid 42)",
            ),
            ("Shop.dll (42): off", "Shop.dll (42): off", "Shop.dll (42): off"),
        ] {
            log.add_of(Now::default(), shop(), LogKind::Answer, text.to_owned());
            let entry = log.newest(LogKind::Answer).expect("it was added");
            assert_eq!(entry.text_for(Some(ConnectionId(1).into())), here);
            assert_eq!(entry.text_for(Some(ConnectionId(2).into())), elsewhere);
            assert_eq!(entry.text_for(None), elsewhere);
        }
        log.add(Now::default(), None, LogKind::Answer, "copied");
        assert_eq!(log.newest(LogKind::Answer).map(|entry| entry.text_for(None)).as_deref(), Some("Copied"));
    }

    #[test]
    fn drops_old_entries_and_counts_them() {
        let mut log = Log::default();
        for number in 0..KEPT as u64 + 7 {
            let kind = if number == 3 { LogKind::Refusal } else { LogKind::Answer };
            log.add(Now::default(), Some(ConnectionId(1).into()), kind, format!("entry {number}"));
        }
        assert_eq!((log.entries().len(), log.forgotten()), (KEPT, 7));
        assert_eq!(log.entries().front().map(|entry| entry.text.as_str()), Some("entry 7"));
        assert_eq!(
            log.newest(LogKind::Refusal).map(|entry| entry.serial),
            Some(4),
            "even though it was dropped"
        );
        log.add(Now::default(), None, LogKind::Refusal, "no");
        assert_eq!(log.newest(LogKind::Refusal).map(|entry| entry.serial), Some(KEPT as u64 + 8));
        log.clear();
        assert_eq!((log.entries().len(), log.forgotten()), (0, 0));
        assert!(log.newest(LogKind::Refusal).is_some(), "it may await an answer");
        log.add(Now::default(), None, LogKind::Notice, "again");
        assert_eq!(log.newest(LogKind::Notice).map(|entry| entry.serial), Some(KEPT as u64 + 9));
    }
}

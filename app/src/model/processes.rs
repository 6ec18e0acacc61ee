//! The processes of the machine, as the panel on the left shows them.

use super::query::Query;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::ProcessKey;
use std::collections::{BTreeMap, HashSet};

/// One process. Rows are told apart by pid and start time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    /// Pid as this machine sees it, and start time. (A container's process knows itself by another pid.)
    pub key: ProcessKey,
    /// File name of the program.
    pub name: String,
    /// The user it runs as.
    pub user: Option<String>,
    /// The service, container or application pool it belongs to.
    pub group: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// Its runtime; absent: none, or unknown.
    pub runtime: Option<RuntimeRow>,
    /// The agent in it.
    pub agent: AgentState,
}

/// The runtime of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeRow {
    /// `coreclr`, `framework`, `nativeaot`, `mono`.
    pub kind: String,
    /// `8.0.31`, as far as known.
    pub version: Option<String>,
    /// Whether Redial is tested on it.
    pub tested: bool,
}

/// What there is to say of a process without the agent.
const WITHOUT_AGENT: &str = "it runs without the agent";

/// Processes that came and ended while rows were still, and keep a row.
const PASSERS_BY: usize = 20;

/// What can be done with a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// Not asked yet.
    Unknown,
    /// The agent answers: it can be connected to.
    Loaded(Box<AgentFacts>),
    /// It runs without the agent, which can be loaded into it now.
    Attachable,
    /// It runs without the agent, which can only be there from its start; the sentence says why.
    LaunchOnly(String),
    /// It is stopped, or paused in a debugger; the sentence says which. Nothing can be asked of it until it goes on.
    Stopped(String),
    /// Whoever may be in it did not answer in time, as the sentence says.
    Silent(String),
    /// This user may not look, or the agent keeps out of the way; the sentence says why.
    Refused(String),
    /// It can never be dialled; the sentence says why.
    None(String),
}

impl AgentState {
    /// Whether connecting makes sense.
    pub fn can_connect(&self) -> bool {
        matches!(self, AgentState::Loaded(_))
    }

    /// One word for a badge.
    pub fn word(&self) -> &'static str {
        match self {
            AgentState::Unknown => "looking…",
            AgentState::Loaded(_) => "loaded",
            AgentState::Attachable => "attachable",
            AgentState::LaunchOnly(_) => "launch-only",
            AgentState::Stopped(_) => "stopped",
            AgentState::Silent(_) => "no answer",
            AgentState::Refused(_) => "refused",
            AgentState::None(_) => "none",
        }
    }

    /// What that word says.
    pub fn meaning(&self) -> &'static str {
        match self {
            AgentState::Unknown => "it was not looked at yet",
            AgentState::Loaded(_) => "the agent is in it; its methods can be dialled",
            AgentState::Attachable => "it runs without the agent, which can be loaded into it now",
            AgentState::LaunchOnly(_) => {
                "it runs without the agent, which can only be there from a program's start"
            }
            AgentState::Silent(_) => "it did not answer in time; it is asked again",
            AgentState::Stopped(_) => "it is stopped, or paused in a debugger",
            AgentState::Refused(_) => "it cannot be looked at",
            AgentState::None(_) => "it can never be dialled",
        }
    }

    /// The sentence to act on, where there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            AgentState::Unknown | AgentState::Loaded(_) | AgentState::Attachable => None,
            AgentState::LaunchOnly(why)
            | AgentState::Stopped(why)
            | AgentState::Silent(why)
            | AgentState::Refused(why)
            | AgentState::None(why) => Some(why),
        }
    }
}

/// What changed since the scanner last spoke.
#[derive(Clone, Debug, Default)]
pub struct ProcessChanges {
    /// Rows that are new or different.
    pub changed: Vec<ProcessRow>,
    /// Processes that ended.
    pub gone: Vec<ProcessKey>,
    /// Why the list is not complete, as a sentence; absent: it is.
    pub trouble: Option<String>,
}

/// All processes, and which of them are shown.
#[derive(Debug, Default)]
pub struct Processes {
    rows: BTreeMap<ProcessKey, ProcessRow>,
    filter: String,
    show_all: bool,
    shown: Vec<ProcessKey>,
    /// The rows as they stand on screen, where each keeps its place while they are still; and how many stood there before
    /// those that came meanwhile.
    standing: Vec<ProcessKey>,
    settled: usize,
    still: bool,
    /// What ended meanwhile.
    ended: BTreeMap<ProcessKey, ProcessRow>,
    edition: u64,
    scanned: bool,
    trouble: Option<String>,
}

/// A row on screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// The process.
    pub row: &'a ProcessRow,
    /// It came while rows kept their places, and has no place of its own yet.
    pub is_new: bool,
    /// It has ended meanwhile.
    pub has_ended: bool,
}

impl Processes {
    /// Takes changes in.
    pub fn apply(&mut self, changes: ProcessChanges) {
        for row in changes.changed {
            self.ended.remove(&row.key);
            self.rows.insert(row.key, row);
        }
        for key in &changes.gone {
            self.ended.extend(self.rows.remove(key).filter(|_| self.still).map(|row| (*key, row)));
        }
        self.trouble = changes.trouble;
        self.scanned = true;
        self.arrange();
    }

    /// While they are still, rows on screen keep their places, whatever comes, ends or changes: what is new stands at the
    /// end. It is meant for as long as the pointer is among them.
    pub fn set_still(&mut self, still: bool) {
        if self.still != still {
            self.still = still;
            self.settle();
        }
    }

    /// The rows as they stand on screen: those of [`Processes::shown`] in their order, or in that of earlier ones.
    pub fn standing(&self) -> impl Iterator<Item = Standing<'_>> {
        (0..self.places()).filter_map(|place| self.standing_at(place))
    }

    /// How many rows stand on screen.
    pub fn places(&self) -> usize {
        self.standing.len()
    }

    /// The row that stands at a place.
    pub fn standing_at(&self, place: usize) -> Option<Standing<'_>> {
        let key = self.standing.get(place)?;
        let there = self.rows.get(key);
        let has_ended = there.is_none();
        let row = there.or_else(|| self.ended.get(key))?;
        Some(Standing { row, is_new: place >= self.settled && !has_ended, has_ended })
    }

    /// Lets each row take its place, unless they are still.
    fn settle(&mut self) {
        if self.still {
            let known: HashSet<ProcessKey> = self.standing.iter().copied().collect();
            self.standing.extend(self.shown.iter().filter(|key| !known.contains(*key)));
            // What ended before it was ever shown has no row.
            self.ended.retain(|key, _| known.contains(key));
            self.drop_passers_by();
            return;
        }
        self.standing.clone_from(&self.shown);
        self.settled = self.standing.len();
        self.ended.clear();
    }

    /// Of what came and ended while rows were still, only the newest stay: a build starts thousands.
    fn drop_passers_by(&mut self) {
        let passers_by = self.standing.iter().skip(self.settled).filter(|key| self.ended.contains_key(key));
        let gone = passers_by.clone().count().saturating_sub(PASSERS_BY);
        let gone: HashSet<ProcessKey> = passers_by.take(gone).copied().collect();
        self.standing.retain(|key| !gone.contains(key));
        self.ended.retain(|key, _| !gone.contains(key));
    }

    /// As [`Processes::settle`]; what was asked for here is shown at once.
    fn settle_anew(&mut self) {
        let still = std::mem::take(&mut self.still);
        self.arrange();
        self.still = still;
    }

    /// The agent of a process answered: it is in there, whatever was found when the process was looked at last.
    pub fn answered(&mut self, key: ProcessKey, facts: Box<AgentFacts>) {
        if let Some(row) = self.rows.get_mut(&key) {
            row.agent = AgentState::Loaded(facts);
            self.arrange();
        }
    }

    /// A connection found no agent in a process, whatever was found when the process was looked at last.
    pub fn has_no_agent(&mut self, key: ProcessKey) {
        if let Some(row) = self.rows.get_mut(&key).filter(|row| row.agent.can_connect()) {
            row.agent = AgentState::LaunchOnly(WITHOUT_AGENT.to_owned());
            self.arrange();
        }
    }

    /// Shows only rows with every word of `text` in name, command, user, group, runtime or pid.
    pub fn set_filter(&mut self, text: &str) {
        if self.filter != text {
            text.clone_into(&mut self.filter);
            self.settle_anew();
        }
    }

    /// The filter as typed.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Shows processes without a .NET runtime too.
    pub fn set_show_all(&mut self, all: bool) {
        if self.show_all != all {
            self.show_all = all;
            self.settle_anew();
        }
    }

    /// Whether processes without a .NET runtime are shown.
    pub fn show_all(&self) -> bool {
        self.show_all
    }

    /// The rows to show: those that can be connected to first, then by name and pid.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &ProcessRow> {
        self.shown.iter().map(|key| &self.rows[key])
    }

    /// One row.
    pub fn get(&self, key: ProcessKey) -> Option<&ProcessRow> {
        self.rows.get(&key)
    }

    /// The row of a pid as this machine sees it.
    pub fn by_pid(&self, pid: u32) -> Option<&ProcessRow> {
        self.rows.values().find(|row| row.key.pid == pid)
    }

    /// Every process known, .NET or not.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Processes that have a .NET runtime, or may have one.
    pub fn dotnet(&self) -> usize {
        self.rows.values().filter(|row| concerns(row)).count()
    }

    /// Whether the first scan is done, so that an empty list means that there is nothing.
    pub fn is_scanned(&self) -> bool {
        self.scanned
    }

    /// Why the list is not complete.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Where a process stands among all, shown or not: to compare; those that have ended come last.
    pub fn place(&self, key: ProcessKey) -> impl Ord + use<> {
        let row = self.rows.get(&key);
        (row.is_none(), row.map(order), key)
    }

    /// Every process, shown or not.
    pub fn all(&self) -> impl Iterator<Item = &ProcessRow> {
        self.rows.values()
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    fn arrange(&mut self) {
        self.edition += 1;
        let query = Query::parse(&self.filter);
        let mut shown: Vec<&ProcessRow> = self
            .rows
            .values()
            .filter(|row| (self.show_all || concerns(row)) && query.matches_text(&searched(row)))
            .collect();
        shown.sort_by_cached_key(|row| order(row));
        self.shown = shown.into_iter().map(|row| row.key).collect();
        self.settle();
    }
}

/// What a process is called, from the file name of its program and its command line: what `dotnet` runs is called by its
/// own name.
pub fn program_name(file: &str, command: Option<&str>) -> String {
    let host = matches!(file, "dotnet" | "dotnet.exe");
    command.filter(|_| host).and_then(program).unwrap_or_else(|| file.to_owned())
}

/// What a process is called: of a program that `dotnet` runs, the program.
pub fn title(row: &ProcessRow) -> String {
    program_name(&row.name, row.command.as_deref())
}

/// A file name without the extension of a program.
pub fn without_extension(name: &str) -> &str {
    let length = name.len();
    let is_program = |extension: &str| {
        length > extension.len()
            && name.get(length - extension.len()..).is_some_and(|end| end.eq_ignore_ascii_case(extension))
    };
    if is_program(".dll") || is_program(".exe") { name.get(..length - 4).unwrap_or(name) } else { name }
}

/// Whether two names are of one program: with or without the extension.
pub fn same_program(one: &str, other: &str) -> bool {
    let (one, other) = (without_extension(one), without_extension(other));
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

/// The program that a command line of `dotnet` runs: `Shop.dll`.
pub fn program(command: &str) -> Option<String> {
    let path = command.split_whitespace().skip(1).find(|word| word.to_ascii_lowercase().ends_with(".dll"))?;
    path.rsplit(['/', '\\']).next().map(str::to_owned)
}

fn concerns(row: &ProcessRow) -> bool {
    row.runtime.is_some() || !matches!(row.agent, AgentState::None(_) | AgentState::Unknown)
}

fn rank(row: &ProcessRow) -> u8 {
    match row.agent {
        AgentState::Loaded(_) => 0,
        AgentState::Attachable => 1,
        AgentState::LaunchOnly(_) => 2,
        AgentState::Unknown => 3,
        AgentState::Stopped(_) => 4,
        AgentState::Silent(_) => 5,
        AgentState::Refused(_) => 6,
        AgentState::None(_) => 7,
    }
}

/// By what can be done, what it is called, and its pid.
fn order(row: &ProcessRow) -> (u8, String, ProcessKey) {
    (rank(row), title(row), row.key)
}

fn searched(row: &ProcessRow) -> String {
    let runtime = row.runtime.as_ref().map(|runtime| (&runtime.kind, runtime.version.as_deref()));
    let (kind, version) = runtime.map_or(("", ""), |(kind, version)| (kind, version.unwrap_or_default()));
    format!(
        "{} {} {} {} {} {kind} {version} {}",
        row.key.pid,
        row.name,
        row.command.as_deref().unwrap_or_default(),
        row.user.as_deref().unwrap_or_default(),
        row.group.as_deref().unwrap_or_default(),
        row.agent.word(),
    )
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;

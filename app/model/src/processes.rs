//! The machine's processes, as the process list shows them.

use super::query::Query;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::ProcessKey;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A process, identified by pid and start time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    /// Pid on this machine, and start time. (A containerized process has another pid inside.)
    pub key: ProcessKey,
    /// File name of the program.
    pub name: String,
    /// The user it runs as.
    pub user: Option<String>,
    /// Its service, container or application pool.
    pub group: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// Its runtime; absent if none or unknown.
    pub runtime: Option<RuntimeRow>,
    /// The agent in it.
    pub agent: AgentState,
}

/// The runtime of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeRow {
    /// `coreclr`, `framework`, `nativeaot`, `mono`.
    pub kind: String,
    /// `8.0.31`, if known.
    pub version: Option<String>,
    /// Whether Redial is tested on it.
    pub tested: bool,
}

/// The reason shown for a process without the agent.
const WITHOUT_AGENT: &str = "it runs without the agent";

/// Rows kept of processes that came and ended while rows kept their places.
const SHORT_LIVED_ROWS: usize = 20;

/// The state of a process, meaning what can be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// Not queried yet.
    Unknown,
    /// The agent answers and accepts connections.
    Loaded(Box<AgentFacts>),
    /// It runs without the agent, which can be loaded now.
    Attachable,
    /// It runs without the agent, which can be loaded only when the program starts; the sentence says why.
    LaunchOnly(String),
    /// It is stopped or paused in a debugger, as the sentence says, and cannot answer until it resumes.
    Stopped(String),
    /// Its agent, if any, did not answer in time; the sentence says more.
    Silent(String),
    /// This user has no access, or the agent is inactive; the sentence says why.
    Refused(String),
    /// It can never be dialled; the sentence says why.
    None(String),
}

impl AgentState {
    /// Returns whether connecting makes sense.
    pub fn can_connect(&self) -> bool {
        matches!(self, AgentState::Loaded(_))
    }

    /// Returns a word for a badge.
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

    /// Explains that word.
    pub fn meaning(&self) -> &'static str {
        match self {
            AgentState::Unknown => "it has not been checked yet",
            AgentState::Loaded(_) => "the agent is loaded; methods can be dialled",
            AgentState::Attachable => "it runs without the agent, which can be loaded now",
            AgentState::LaunchOnly(_) => {
                "it runs without the agent, which can be loaded only when the program starts"
            }
            AgentState::Silent(_) => "it did not answer in time; Redial keeps trying",
            AgentState::Stopped(_) => "it is stopped, or paused in a debugger",
            AgentState::Refused(_) => "it cannot be inspected or dialled",
            AgentState::None(_) => "it can never be dialled",
        }
    }

    /// Returns the sentence to act on, if there is one.
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

/// The changes since the scanner's last report.
#[derive(Clone, Debug, Default)]
pub struct ProcessChanges {
    /// New or changed rows.
    pub changed: Vec<ProcessRow>,
    /// Processes that ended.
    pub gone: Vec<ProcessKey>,
    /// Why the list is incomplete, as a sentence; absent if it is complete.
    pub trouble: Option<String>,
}

/// All processes, and which of them are shown.
#[derive(Debug, Default)]
pub struct Processes {
    rows: BTreeMap<ProcessKey, ProcessRow>,
    filter: String,
    show_all: bool,
    /// Processes that are shown whatever the filter is.
    kept: BTreeSet<ProcessKey>,
    shown: Vec<ProcessKey>,
    /// The rows on screen, which keep their places while `frozen` is set, and how many of them were there
    /// before newer ones.
    visible: Vec<ProcessKey>,
    settled: usize,
    frozen: bool,
    /// Processes that ended meanwhile.
    ended: BTreeMap<ProcessKey, ProcessRow>,
    edition: u64,
    scanned: bool,
    trouble: Option<String>,
}

/// A row on screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisibleProcess<'a> {
    /// The process.
    pub row: &'a ProcessRow,
    /// Whether it appeared while rows kept their places and is not sorted yet.
    pub is_new: bool,
    /// Whether it has ended meanwhile.
    pub has_ended: bool,
}

impl Processes {
    /// Applies changes.
    pub fn apply(&mut self, changes: ProcessChanges) {
        for row in changes.changed {
            self.ended.remove(&row.key);
            self.rows.insert(row.key, row);
        }
        for key in &changes.gone {
            self.ended.extend(self.rows.remove(key).filter(|_| self.frozen).map(|row| (*key, row)));
        }
        self.trouble = changes.trouble;
        self.scanned = true;
        self.arrange();
    }

    /// Keeps rows on screen in their places, whatever appears, ends or changes; new rows go to the end. Meant
    /// for while the pointer is over them.
    pub fn set_frozen(&mut self, frozen: bool) {
        if self.frozen != frozen {
            self.frozen = frozen;
            self.refresh();
        }
    }

    /// Returns the rows on screen: those of [`Processes::shown`] in their order or an earlier one.
    pub fn visible(&self) -> impl Iterator<Item = VisibleProcess<'_>> {
        (0..self.visible_count()).filter_map(|place| self.visible_at(place))
    }

    /// Returns the number of rows on screen.
    pub fn visible_count(&self) -> usize {
        self.visible.len()
    }

    /// Returns the row at a place.
    pub fn visible_at(&self, place: usize) -> Option<VisibleProcess<'_>> {
        let key = self.visible.get(place)?;
        let there = self.rows.get(key);
        let has_ended = there.is_none();
        let row = there.or_else(|| self.ended.get(key))?;
        Some(VisibleProcess { row, is_new: place >= self.settled && !has_ended, has_ended })
    }

    /// Sorts the rows on screen unless they must keep their places.
    fn refresh(&mut self) {
        if self.frozen {
            let known: HashSet<ProcessKey> = self.visible.iter().copied().collect();
            self.visible.extend(self.shown.iter().filter(|key| !known.contains(*key)));
            // Processes that ended before they were ever shown have no row.
            self.ended.retain(|key, _| known.contains(key));
            self.drop_short_lived();
            return;
        }
        self.visible.clone_from(&self.shown);
        self.settled = self.visible.len();
        self.ended.clear();
    }

    /// Of processes that came and ended while rows kept their places, only the newest stay: a build starts
    /// thousands.
    fn drop_short_lived(&mut self) {
        let short_lived = self.visible.iter().skip(self.settled).filter(|key| self.ended.contains_key(key));
        let gone = short_lived.clone().count().saturating_sub(SHORT_LIVED_ROWS);
        let gone: HashSet<ProcessKey> = short_lived.take(gone).copied().collect();
        self.visible.retain(|key| !gone.contains(key));
        self.ended.retain(|key, _| !gone.contains(key));
    }

    /// Like [`Processes::refresh`], but applies a change that the user requested at once.
    fn refresh_now(&mut self) {
        let frozen = std::mem::take(&mut self.frozen);
        self.arrange();
        self.frozen = frozen;
    }

    /// Records that the agent of a process answered, whatever the last scan found.
    pub fn answered(&mut self, key: ProcessKey, facts: Box<AgentFacts>) {
        if let Some(row) = self.rows.get_mut(&key) {
            row.agent = AgentState::Loaded(facts);
            self.arrange();
        }
    }

    /// Records that a connection found no agent in a process, whatever the last scan found.
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
            self.refresh_now();
        }
    }

    /// Returns the filter as typed.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Sets whether to show processes without a .NET runtime.
    pub fn set_show_all(&mut self, all: bool) {
        if self.show_all != all {
            self.show_all = all;
            self.refresh_now();
        }
    }

    /// Returns whether processes without a .NET runtime are shown.
    pub fn show_all(&self) -> bool {
        self.show_all
    }

    /// Sets the processes that are shown whatever the filter is: those in use.
    pub fn keep(&mut self, kept: impl Iterator<Item = ProcessKey>) {
        let kept: BTreeSet<ProcessKey> = kept.collect();
        if self.kept != kept {
            self.kept = kept;
            self.refresh_now();
        }
    }

    /// Returns the rows to show, sorted by state, name and pid.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &ProcessRow> {
        self.shown.iter().map(|key| &self.rows[key])
    }

    /// Returns a row.
    pub fn get(&self, key: ProcessKey) -> Option<&ProcessRow> {
        self.rows.get(&key)
    }

    /// Returns the row of a pid on this machine.
    pub fn by_pid(&self, pid: u32) -> Option<&ProcessRow> {
        self.rows.values().find(|row| row.key.pid == pid)
    }

    /// Returns the number of known processes, .NET or not.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether no process is known.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of processes that have or may have a .NET runtime.
    pub fn dotnet(&self) -> usize {
        self.rows.values().filter(|row| may_be_dotnet(row)).count()
    }

    /// Returns whether the first scan is done, so that an empty list is final.
    pub fn is_scanned(&self) -> bool {
        self.scanned
    }

    /// Returns why the list is incomplete.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Returns a process's place among all, for comparison; ended ones come last.
    pub fn place(&self, key: ProcessKey) -> impl Ord + use<> {
        let row = self.rows.get(&key);
        (row.is_none(), row.map(order), key)
    }

    /// Returns every process, shown or not.
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
            .filter(|row| {
                let fits =
                    || (self.show_all || may_be_dotnet(row)) && query.matches_text(&searched_text(row));
                self.kept.contains(&row.key) || fits()
            })
            .collect();
        shown.sort_by_cached_key(|row| order(row));
        self.shown = shown.into_iter().map(|row| row.key).collect();
        self.refresh();
    }
}

/// Returns a process's title from its program's file name and its command line: if `dotnet` runs a program,
/// the program's name.
pub fn program_name(file: &str, command: Option<&str>) -> String {
    let host = matches!(file, "dotnet" | "dotnet.exe");
    command.filter(|_| host).and_then(program).unwrap_or_else(|| file.to_owned())
}

/// Returns a process's title: if `dotnet` runs a program, the program's name.
pub fn title(row: &ProcessRow) -> String {
    program_name(&row.name, row.command.as_deref())
}

/// Returns a file name without the extension of a program.
pub fn without_extension(name: &str) -> &str {
    let length = name.len();
    let is_program = |extension: &str| {
        length > extension.len()
            && name.get(length - extension.len()..).is_some_and(|end| end.eq_ignore_ascii_case(extension))
    };
    if is_program(".dll") || is_program(".exe") { name.get(..length - 4).unwrap_or(name) } else { name }
}

/// Returns whether two names are of the same program, with or without the extension.
pub fn same_program(one: &str, other: &str) -> bool {
    let (one, other) = (without_extension(one), without_extension(other));
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

/// Returns the program that a command line of `dotnet` runs: `Shop.dll`.
pub fn program(command: &str) -> Option<String> {
    let path = command.split_whitespace().skip(1).find(|word| word.to_ascii_lowercase().ends_with(".dll"))?;
    path.rsplit(['/', '\\']).next().map(str::to_owned)
}

fn may_be_dotnet(row: &ProcessRow) -> bool {
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

/// Sorts by state, title and pid.
fn order(row: &ProcessRow) -> (u8, String, ProcessKey) {
    (rank(row), title(row), row.key)
}

fn searched_text(row: &ProcessRow) -> String {
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

//! Lets processes that start later join the fleet by name, and makes the fleet's changes there too.

use crate::ids::Ticket;
use crate::processes::{AgentState, Processes, same_program, title};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Waits between attempts to reach a process that has just started: its agent and its runtime usually answer within
/// moments.
pub const NEWCOMER: [Duration; 6] = [
    Duration::from_secs(0),
    Duration::from_secs(1),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];
/// The time for which a process that cannot join is not reported, because its agent may come.
const PATIENCE: Duration = Duration::from_secs(3);
/// Changes remembered for processes that start later.
const KEPT: usize = 256;

/// Decides which processes join by themselves, and which changes they get.
#[derive(Debug, Default)]
pub struct AutoJoin {
    names: BTreeSet<String>,
    /// Whether the agent is loaded into those that run without it.
    pub attach: bool,
    /// Processes that ran before, or joined.
    seen: BTreeSet<ProcessKey>,
    /// The edition of the process list that was searched last.
    edition: Option<u64>,
    /// Processes that started since and cannot join as they are.
    left: BTreeMap<ProcessKey, LeftBehind>,
    changes: Vec<Remembered>,
    /// How often loading the agent into a process was tried, and when it is tried again.
    attempts: BTreeMap<ProcessKey, (usize, Duration)>,
}

/// A process that cannot join.
#[derive(Clone, Copy, Debug)]
struct LeftBehind {
    since: Duration,
    is_reported: bool,
}

/// A change of all members, as orders for processes to come.
#[derive(Clone, Debug)]
struct Remembered {
    ticket: Ticket,
    words: String,
    /// None for *all off*.
    orders: Option<Vec<Order>>,
    undone: bool,
}

/// How a process joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// The agent is in it.
    Connect,
    /// The agent is to be loaded into it.
    Attach,
}

impl AutoJoin {
    /// Lets processes of these names join that start from now on.
    pub fn begin(&mut self, names: impl IntoIterator<Item = String>, processes: &Processes) {
        self.names = names.into_iter().collect();
        self.seen = processes.all().map(|row| row.key).collect();
        self.edition = None;
        self.attempts.clear();
        self.left.clear();
    }

    /// Lets no more processes join.
    pub fn end(&mut self) {
        self.names.clear();
        self.left.clear();
        self.attach = false;
    }

    /// Whether processes join.
    pub fn is_on(&self) -> bool {
        !self.names.is_empty()
    }

    /// The names of processes that join.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns processes that started since the last call and can join now. `now` is on the clock of `Now::mono`.
    pub fn newcomers(&mut self, processes: &Processes, now: Duration) -> Vec<(ProcessKey, Join)> {
        if !self.is_on() || self.edition == Some(processes.edition()) {
            return Vec::new();
        }
        self.edition = Some(processes.edition());
        self.left.retain(|key, _| processes.get(*key).is_some());
        self.seen.retain(|key| processes.get(*key).is_some());
        let mut found = Vec::new();
        for row in processes.all().filter(|row| !self.seen.contains(&row.key)) {
            let join = match row.agent {
                AgentState::Loaded(_) => Some(Join::Connect),
                AgentState::Attachable if self.attach => Some(Join::Attach),
                AgentState::Unknown => continue,
                _ => None,
            };
            if !self.names.iter().any(|name| same_program(name, &title(row))) {
                continue;
            }
            match join {
                Some(join) => found.push((row.key, join)),
                None => {
                    self.left.entry(row.key).or_insert(LeftBehind { since: now, is_reported: false });
                }
            }
        }
        for (key, _) in &found {
            self.left.remove(key);
            self.seen.insert(*key);
        }
        found
    }

    /// Returns processes that started since and have been unable to join for long enough to be reported.
    pub fn left_behind(&self, now: Duration) -> impl Iterator<Item = ProcessKey> {
        let old = move |left: &LeftBehind| now.saturating_sub(left.since) >= PATIENCE;
        self.left.iter().filter(move |(_, left)| old(left)).map(|(key, _)| *key)
    }

    /// Returns those of them that were not reported yet, and marks them as reported.
    pub fn take_unreported(&mut self, now: Duration) -> Vec<ProcessKey> {
        let mut new: Vec<ProcessKey> = self.left_behind(now).collect();
        let report = |left: &mut LeftBehind| !std::mem::replace(&mut left.is_reported, true);
        new.retain(|key| self.left.get_mut(key).is_some_and(report));
        new
    }

    /// Searches the process list again, because other processes may join now.
    pub fn search_again(&mut self) {
        self.edition = None;
    }

    /// Whether to try now to load the agent into a process that joined. Each true counts as an attempt and delays the
    /// next.
    pub fn try_again(&mut self, process: ProcessKey, now: Duration) -> bool {
        let (tried, due) = self.attempts.entry(process).or_insert((0, now));
        if now < *due {
            return false;
        }
        *tried += 1;
        // The last wait repeats.
        *due = now + NEWCOMER.get(*tried).or(NEWCOMER.last()).copied().unwrap_or_default();
        true
    }

    /// Forgets the attempts of other processes: they have the agent, or have ended.
    pub fn retain_attempts(&mut self, keep: impl Fn(ProcessKey) -> bool) {
        self.attempts.retain(|process, _| keep(*process));
    }

    /// Whether loading the agent into a process was tried.
    pub fn was_tried(&self, process: ProcessKey) -> bool {
        self.attempts.contains_key(&process)
    }

    /// When the next attempt or report is due, on the clock of `Now::mono`.
    pub fn due(&self) -> Option<Duration> {
        let left = self.left.values().filter(|left| !left.is_reported).map(|left| left.since + PATIENCE);
        self.attempts.values().map(|(_, due)| *due).chain(left).min()
    }

    /// Remembers a change of all members.
    pub(super) fn note(&mut self, ticket: Ticket, words: &str, orders: Vec<Order>) {
        self.push(Remembered { ticket, words: words.to_owned(), orders: Some(orders), undone: false });
    }

    /// Remembers that everything was turned off.
    pub(super) fn all_off(&mut self, ticket: Ticket) {
        self.push(Remembered { ticket, words: String::new(), orders: None, undone: false });
    }

    fn push(&mut self, change: Remembered) {
        self.changes.push(change);
        if self.changes.len() > KEPT {
            // The two oldest become one: they are too old to be undone singly.
            let oldest = self.changes.remove(0);
            if let Some(second) = self.changes.first_mut()
                && let (Some(mut orders), Some(later)) =
                    (oldest.orders.filter(|_| !oldest.undone), &mut second.orders)
            {
                orders.append(later);
                *later = orders;
            }
        }
    }

    /// Notes that a change was undone, or made again under another ticket.
    pub(super) fn undone(&mut self, made: Ticket, by: Ticket, redo: bool) {
        if let Some(change) = self.changes.iter_mut().find(|change| change.ticket == made) {
            change.undone = !redo;
            if redo {
                change.ticket = by;
            }
        }
    }

    /// Forgets a change that all processes refused.
    pub(super) fn failed(&mut self, ticket: Ticket) {
        self.changes.retain(|change| change.ticket != ticket);
    }

    /// Returns the changes to make in a process that joins, oldest first, without orders that later ones replace.
    pub(super) fn standing(&self) -> Vec<(Ticket, &str, Vec<Order>)> {
        let made: Vec<&Remembered> = self.changes.iter().filter(|change| !change.undone).collect();
        let since = made.iter().rposition(|change| change.orders.is_none()).map_or(0, |at| at + 1);
        let made = made.get(since..).unwrap_or_default();
        let mut last: BTreeMap<&str, Ticket> = BTreeMap::new();
        for change in made {
            for order in change.orders.iter().flatten() {
                last.insert(&order.pattern, change.ticket);
            }
        }
        let (mut standing, mut some_on) = (Vec::new(), false);
        for change in made {
            let stands = |order: &&Order| last.get(order.pattern.as_str()) == Some(&change.ticket);
            let mut orders: Vec<Order> = change.orders.iter().flatten().filter(stands).cloned().collect();
            some_on |= orders.iter().any(|order| order.level != Level::Off);
            // Orders to turn off are void while nothing is on.
            orders.retain(|_| some_on);
            if !orders.is_empty() {
                standing.push((change.ticket, change.words.as_str(), orders));
            }
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::{ProcessChanges, ProcessRow};

    fn shop(pid: u32) -> ProcessRow {
        ProcessRow {
            key: ProcessKey { pid, start: 1 },
            name: "shop".into(),
            user: None,
            group: None,
            command: None,
            runtime: None,
            agent: AgentState::Attachable,
        }
    }

    #[test]
    fn retries_loading_the_agent_until_it_succeeds() {
        let (mut join, process) = (AutoJoin::default(), shop(1).key);
        let mut tried = Vec::new();
        for second in 0..60 {
            if join.try_again(process, Duration::from_secs(second)) {
                tried.push(second);
            }
        }
        assert_eq!(tried, [0, 1, 2, 4, 9, 19, 29, 39, 49, 59]);
        assert_eq!(join.due(), Some(Duration::from_secs(69)));
        join.retain_attempts(|_| false);
        assert_eq!((join.due(), join.was_tried(process)), (None, false));
    }

    #[test]
    fn forgets_processes_that_are_gone() {
        let (mut join, mut processes) =
            (AutoJoin { attach: true, ..AutoJoin::default() }, Processes::default());
        processes.apply(ProcessChanges { changed: vec![shop(1)], ..ProcessChanges::default() });
        join.begin(["shop".to_owned()], &processes);
        let gone = vec![shop(1).key];
        processes.apply(ProcessChanges { changed: vec![shop(2)], gone, ..ProcessChanges::default() });
        let found = join.newcomers(&processes, Duration::ZERO);
        assert_eq!(found, [(shop(2).key, Join::Attach)]);
        assert_eq!(join.seen, BTreeSet::from([shop(2).key]));
    }
}

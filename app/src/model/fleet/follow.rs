//! Processes of some names that start later: they join, and what was turned in all is turned there too.

use super::{Connections, Fleet};
use crate::model::connection::{Connection, Status};
use crate::model::ids::{FLEET, Ticket};
use crate::model::log::{Kind, Log};
use crate::model::processes::{AgentState, Processes, same_program, title};
use crate::model::turns::Turn;
use crate::model::update::Now;
use crate::output::words;
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Waits after the first failure to reach a process that has just started, the second …: an agent comes, and a runtime
/// answers, within moments of a program's start.
pub const NEWCOMER: [Duration; 6] = [
    Duration::from_secs(0),
    Duration::from_secs(1),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];
/// A process that has started and still cannot join after this time is told of: until then its agent may come.
const PATIENCE: Duration = Duration::from_secs(3);
/// Turns remembered for those that start later.
const KEPT: usize = 256;

/// Which processes join by themselves.
#[derive(Debug, Default)]
pub struct Follow {
    names: BTreeSet<String>,
    /// Whether the agent is loaded into those that run without it.
    pub attach: bool,
    /// Processes that were there before, or joined.
    seen: BTreeSet<ProcessKey>,
    edition: Option<u64>,
    /// Processes that started since and cannot join as they are: since when that is known, and whether it was told.
    left: BTreeMap<ProcessKey, (Duration, bool)>,
    turns: Vec<Remembered>,
    /// How often the agent was asked to be loaded into a process, and when that is to be tried again.
    tries: BTreeMap<ProcessKey, (usize, Duration)>,
}

/// A turn of all of them, as orders for those to come.
#[derive(Clone, Debug)]
struct Remembered {
    ticket: Ticket,
    words: String,
    /// None: everything off.
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

impl Follow {
    /// Begins to follow processes of these names: those that are there are none that start later.
    pub fn begin(&mut self, names: impl IntoIterator<Item = String>, processes: &Processes) {
        self.names = names.into_iter().collect();
        self.seen = processes.all().map(|row| row.key).collect();
        self.edition = None;
        self.tries.clear();
        self.left.clear();
    }

    /// Follows nobody any more.
    pub fn end(&mut self) {
        self.names.clear();
        self.left.clear();
        self.attach = false;
    }

    /// Whether some are followed.
    pub fn is_on(&self) -> bool {
        !self.names.is_empty()
    }

    /// The names that are followed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Processes that started since, and can join now. `now` is on `Now::mono`'s clock.
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
                None => drop(self.left.entry(row.key).or_insert((now, false))),
            }
        }
        for (key, _) in &found {
            self.left.remove(key);
            self.seen.insert(*key);
        }
        found
    }

    /// Processes that started since and do not join, and for how long that has been known to be told of.
    pub fn left_behind(&self, now: Duration) -> impl Iterator<Item = ProcessKey> {
        let old = move |since: &Duration| now.saturating_sub(*since) >= PATIENCE;
        self.left.iter().filter(move |(_, (since, _))| old(since)).map(|(key, _)| *key)
    }

    /// Those of them that were not told of yet.
    pub fn to_be_told(&mut self, now: Duration) -> Vec<ProcessKey> {
        let mut new: Vec<ProcessKey> = self.left_behind(now).collect();
        new.retain(|key| self.left.get_mut(key).is_some_and(|(_, told)| !std::mem::replace(told, true)));
        new
    }

    /// Looks at processes again: something else about them is wanted now.
    pub fn look_again(&mut self) {
        self.edition = None;
    }

    /// The agent could not be loaded into a process that joined: whether to try again now. When, if later, is noted.
    pub fn try_again(&mut self, process: ProcessKey, now: Duration) -> bool {
        let (tried, due) = self.tries.entry(process).or_insert((0, now));
        if now < *due {
            return false;
        }
        *tried += 1;
        // The last wait again and again.
        *due = now + NEWCOMER.get(*tried).or(NEWCOMER.last()).copied().unwrap_or_default();
        true
    }

    /// Keeps the tries of these processes only: the others have the agent, or have ended.
    pub fn keep_trying(&mut self, which: impl Fn(ProcessKey) -> bool) {
        self.tries.retain(|process, _| which(*process));
    }

    /// Whether the agent was to be loaded into a process that joined.
    pub fn was_tried(&self, process: ProcessKey) -> bool {
        self.tries.contains_key(&process)
    }

    /// When something is to be tried again, on `Now::mono`'s clock.
    pub fn due(&self) -> Option<Duration> {
        let left = self.left.values().filter(|(_, told)| !told).map(|(since, _)| *since + PATIENCE);
        self.tries.values().map(|(_, due)| *due).chain(left).min()
    }

    /// Notes a turn of all of them.
    pub(super) fn note(&mut self, ticket: Ticket, words: &str, orders: Vec<Order>) {
        self.push(Remembered { ticket, words: words.to_owned(), orders: Some(orders), undone: false });
    }

    /// Everything was turned off.
    pub(super) fn all_off(&mut self, ticket: Ticket) {
        self.push(Remembered { ticket, words: String::new(), orders: None, undone: false });
    }

    fn push(&mut self, turn: Remembered) {
        self.turns.push(turn);
        if self.turns.len() > KEPT {
            // The two oldest become one: too old to be undone by itself.
            let oldest = self.turns.remove(0);
            if let Some(second) = self.turns.first_mut()
                && let (Some(mut orders), Some(later)) =
                    (oldest.orders.filter(|_| !oldest.undone), &mut second.orders)
            {
                orders.append(later);
                *later = orders;
            }
        }
    }

    /// A turn was taken back, or done again under another number.
    pub(super) fn undone(&mut self, made: Ticket, by: Ticket, redo: bool) {
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.ticket == made) {
            turn.undone = !redo;
            if redo {
                turn.ticket = by;
            }
        }
    }

    /// A turn was refused everywhere.
    pub(super) fn failed(&mut self, ticket: Ticket) {
        self.turns.retain(|turn| turn.ticket != ticket);
    }

    /// What is to be set in a process that joins: turns, oldest first, without what later ones make void.
    fn standing(&self) -> Vec<(Ticket, &str, Vec<Order>)> {
        let done: Vec<&Remembered> = self.turns.iter().filter(|turn| !turn.undone).collect();
        let since = done.iter().rposition(|turn| turn.orders.is_none()).map_or(0, |at| at + 1);
        let done = done.get(since..).unwrap_or_default();
        let mut last: BTreeMap<&str, Ticket> = BTreeMap::new();
        for turn in done {
            for order in turn.orders.iter().flatten() {
                last.insert(&order.pattern, turn.ticket);
            }
        }
        let (mut standing, mut some_on) = (Vec::new(), false);
        for turn in done {
            let stands = |order: &&Order| last.get(order.pattern.as_str()) == Some(&turn.ticket);
            let mut orders: Vec<Order> = turn.orders.iter().flatten().filter(stands).cloned().collect();
            some_on |= orders.iter().any(|order| order.level != Level::Off);
            // Nothing has to be turned off where nothing was turned on before.
            orders.retain(|_| some_on);
            if !orders.is_empty() {
                standing.push((turn.ticket, turn.words.as_str(), orders));
            }
        }
        standing
    }
}

impl Fleet {
    /// Turns in processes that joined what was turned in all of them, as soon as they answer.
    pub(super) fn greet(
        &mut self,
        all: &mut Connection,
        connections: &mut Connections,
        log: &mut Log,
        now: Now,
    ) -> Vec<Turn> {
        let mut turns = Vec::new();
        for member in self.members.iter_mut().filter(|member| member.is_new || !member.owed.is_empty()) {
            let Some(theirs) = connections.get_mut(&member.connection) else { continue };
            if theirs.status != Status::Live {
                continue;
            }
            let (is_new, owed) = (std::mem::take(&mut member.is_new), std::mem::take(&mut member.owed));
            let mut standing = self.follow.standing();
            standing.retain(|(ticket, ..)| is_new || owed.contains(ticket));
            if is_new {
                let set = match standing.as_slice() {
                    [] => "nothing is set there, for nothing was turned on in all of them".to_owned(),
                    [(_, only, _)] => format!("set there as in the others: {only}"),
                    [(_, first, _), rest @ ..] => {
                        let more = words::count(rest.len() as u64, "more turn", "more turns");
                        format!("set there as in the others: {first}, and {more}")
                    }
                };
                let text = format!("{} has started and joins; {set}", theirs.title());
                log.add(now, Some(FLEET), Kind::Connection, text);
            }
            for (ticket, words, orders) in standing {
                let turn = theirs.turn_later(orders, words, now);
                self.made.entry(ticket).or_default().push((member.connection, turn.ticket));
                let mut sent = super::hear::Sent::new(
                    all.ticket(),
                    format!("{words} in {}", member.title),
                    Default::default(),
                );
                sent.wait_for(member.connection, turn.ticket);
                self.sent.push(sent);
                turns.push(turn);
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::processes::{ProcessChanges, ProcessRow};

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
    fn an_agent_that_could_not_be_loaded_is_tried_for_as_long_as_it_takes() {
        let (mut follow, process) = (Follow::default(), shop(1).key);
        let mut tried = Vec::new();
        for second in 0..60 {
            if follow.try_again(process, Duration::from_secs(second)) {
                tried.push(second);
            }
        }
        assert_eq!(tried, [0, 1, 2, 4, 9, 19, 29, 39, 49, 59]);
        assert_eq!(follow.due(), Some(Duration::from_secs(69)));
        follow.keep_trying(|_| false);
        assert_eq!((follow.due(), follow.was_tried(process)), (None, false));
    }

    #[test]
    fn of_processes_that_are_gone_nothing_is_kept() {
        let (mut follow, mut processes) =
            (Follow { attach: true, ..Follow::default() }, Processes::default());
        processes.apply(ProcessChanges { changed: vec![shop(1)], ..ProcessChanges::default() });
        follow.begin(["shop".to_owned()], &processes);
        let gone = vec![shop(1).key];
        processes.apply(ProcessChanges { changed: vec![shop(2)], gone, ..ProcessChanges::default() });
        let found = follow.newcomers(&processes, Duration::ZERO);
        assert_eq!(found, [(shop(2).key, Join::Attach)]);
        assert_eq!(follow.seen, BTreeSet::from([shop(2).key]));
    }
}

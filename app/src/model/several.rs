//! Which processes are looked at: one, or several, merged or side by side.

use super::connection::{Connection, Status, Step, Targets};
use super::fleet::plan::Asked;
use super::fleet::{Errand, Fleet, Join, MOST_PROCESSES, Settled, has_ended};
use super::ids::{ConnectionId, FLEET, Node, Ticket};
use super::log::Kind;
use super::processes::{AgentState, ProcessRow, same_program, title};
use super::selection::Mode;
use super::state::Model;
use super::update::{Now, Retry};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use std::time::Duration;

/// How several processes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Their methods as one list: numbers are sums, a dial is for all of them.
    #[default]
    Merged,
    /// Their methods in one list, a row for each process that has one.
    Apart,
    /// A list each, beside each other.
    Beside,
}

/// The processes chosen, and what holds them together.
#[derive(Debug, Default)]
pub struct Several {
    /// In the order they were chosen.
    pub(super) processes: Vec<ProcessKey>,
    /// Where a range begins.
    anchor: Option<ProcessKey>,
    /// How they are shown.
    pub(super) arrangement: Arrangement,
    /// There while there are several.
    pub(super) fleet: Option<Fleet>,
    /// Those that are in sight side by side.
    pub(super) in_sight: Vec<ConnectionId>,
}

impl Model {
    /// The processes chosen, in the order they were.
    pub fn chosen(&self) -> &[ProcessKey] {
        &self.several.processes
    }

    /// How several are shown.
    pub fn arrangement(&self) -> Arrangement {
        self.several.arrangement
    }

    /// What holds several together; None while there is at most one.
    pub fn fleet(&self) -> Option<&Fleet> {
        self.several.fleet.as_ref()
    }

    /// The same, to be changed.
    pub fn fleet_mut(&mut self) -> Option<&mut Fleet> {
        self.several.fleet.as_mut()
    }

    /// Whether several are looked at in one list.
    pub fn is_merged(&self) -> bool {
        self.current == Some(FLEET)
    }

    /// Chooses a process alone, in or out, or everything shown up to it from the one chosen last.
    pub fn choose(&mut self, process: ProcessKey, mode: Mode) {
        let Several { processes, anchor, fleet, .. } = &mut self.several;
        match mode {
            Mode::Replace => {
                *processes = vec![process];
                if let Some(fleet) = fleet {
                    fleet.follow.end();
                }
            }
            Mode::Toggle => match processes.iter().position(|one| *one == process) {
                Some(at) => drop(processes.remove(at)),
                None => processes.push(process),
            },
            Mode::Extend => {
                let there = self.processes.standing().filter(|one| !one.has_ended);
                let shown: Vec<ProcessKey> = there.map(|one| one.row.key).collect();
                let place = |key: ProcessKey| shown.iter().position(|one| *one == key);
                let from = anchor.and_then(place).or(place(process)).unwrap_or(0);
                let to = place(process).unwrap_or(from);
                *processes = shown.get(from.min(to)..=from.max(to)).unwrap_or_default().to_vec();
                return;
            }
        }
        *anchor = Some(process);
    }

    /// Chooses every process of a name that can be turned, or may be.
    pub fn choose_named(&mut self, name: &str) {
        self.several.processes = self.named(name).collect();
        self.several.anchor = self.several.processes.first().copied();
    }

    /// Processes of a name that can be turned, or could be.
    pub fn named(&self, name: &str) -> impl Iterator<Item = ProcessKey> {
        let rows =
            self.processes.shown().filter(move |row| is_able(&row.agent) && same_program(name, &title(row)));
        rows.map(|row| row.key)
    }

    /// The first name in the list that several processes have which can be turned, or could be.
    pub fn first_namesakes(&self) -> Option<String> {
        let mut seen: Vec<String> = Vec::new();
        let able = self.processes.shown().filter(|row| is_able(&row.agent)).map(title);
        for name in able {
            // The list is in the order of what can be done, and then of names.
            if seen.iter().any(|other| same_program(other, &name)) {
                return Some(name);
            }
            seen.push(name);
        }
        None
    }

    /// Chooses these besides.
    pub fn choose_more(&mut self, more: impl IntoIterator<Item = ProcessKey>) {
        for process in more {
            if !self.several.processes.contains(&process) {
                self.several.processes.push(process);
            }
        }
    }

    /// Shows several merged or beside each other.
    pub fn arrange(&mut self, arrangement: Arrangement) {
        self.several.arrangement = arrangement;
    }

    /// Makes what is looked at what was chosen: connections that are new, for the worker. More than can be looked at
    /// together are left out, which the log says.
    pub fn look_at_chosen(
        &mut self,
        name: impl Fn(&Model, ProcessKey) -> String,
        now: Now,
    ) -> Vec<ConnectionId> {
        let over = self.several.processes.len().saturating_sub(MOST_PROCESSES);
        if over > 0 {
            self.several.processes.truncate(MOST_PROCESSES);
            let left_out =
                if over == 1 { "1 process is".to_owned() } else { format!("{over} processes are") };
            let text = format!("{left_out} left out: at most {MOST_PROCESSES} are looked at together");
            self.log.add(now, None, Kind::Refusal, text);
        }
        let mut new = Vec::new();
        let before = self.current;
        for process in self.several.processes.clone() {
            let name = name(self, process);
            let (id, is_new) = self.open(process, &name);
            new.extend(is_new.then_some(id));
        }
        let members: Vec<ConnectionId> =
            self.several.processes.iter().filter_map(|one| Some(self.connection_to(*one)?.id)).collect();
        let grows = self.several.fleet.as_ref().is_some_and(|fleet| fleet.follow.is_on());
        if members.is_empty() || members.len() == 1 && !grows {
            if let Some(mut fleet) = self.several.fleet.take() {
                let picked = members.first().and_then(|only| fleet.picked_in(*only, &self.connections));
                fleet.dissolve(&mut self.connections);
                let only = members.first().and_then(|only| self.connections.get_mut(only));
                if let Some((only, method)) = only.filter(|one| one.selection.is_empty()).zip(picked) {
                    only.click(Node::Method(method), Mode::Replace);
                }
            }
            self.current = members.first().copied();
            return new;
        }
        self.connections.entry(FLEET).or_insert_with(Fleet::merged);
        let fleet = self.several.fleet.get_or_insert_default();
        // Who follows processes has a fleet before anybody joins it.
        let is_new = fleet.members().is_empty();
        fleet.set_members(&members, &mut self.connections);
        if let Some(alone) = before.filter(|id| is_new && members.contains(id)) {
            self.connections.get(&alone).into_iter().for_each(|alone| fleet.carry(alone));
        }
        let looked_at = before.filter(|id| members.contains(id));
        self.current = self.rearranged(looked_at).or(members.first().copied());
        new
    }

    /// Gives several the rows of their arrangement, in which what was picked is picked still. What is looked at then: of those
    /// side by side the same one, or one that has what is picked; None: any.
    fn rearranged(&mut self, looked_at: Option<ConnectionId>) -> Option<ConnectionId> {
        let running: Vec<ConnectionId> = self.running().into_iter().map(|member| member.id).collect();
        let Several { arrangement, fleet, .. } = &self.several;
        let (fleet, all) = (fleet.as_ref()?, self.connections.get_mut(&FLEET)?);
        if *arrangement == Arrangement::Apart {
            fleet.part(all, looked_at, &running);
            return Some(FLEET);
        }
        let owners = fleet.join(all);
        match arrangement {
            Arrangement::Beside => {
                let owner = running.iter().find(|id| owners.contains(id));
                looked_at.or(owner.or(running.first()).copied())
            }
            Arrangement::Merged | Arrangement::Apart => Some(FLEET),
        }
    }

    /// The connections whose methods are looked at: of several merged what they are merged into, side by side all.
    fn looked_at(&self) -> Vec<ConnectionId> {
        match self.is_beside() {
            true => self.members().map(|member| member.id).chain([FLEET]).collect(),
            false => self.current.into_iter().collect(),
        }
    }

    /// Whoever looks at something again begins without a selection: a key would turn what was selected long ago.
    pub fn forget_selections(&mut self) {
        let looked_at = self.looked_at();
        let others = self.connections.values_mut().filter(|one| !looked_at.contains(&one.id));
        others.for_each(|one| one.selection.reset());
    }

    /// Notes which of those side by side are in sight.
    pub fn show_beside(&mut self, ids: &[ConnectionId]) {
        if self.several.in_sight != ids {
            self.several.in_sight = ids.to_vec();
            self.line_up();
        }
    }

    /// Looks at one of those shown beside each other.
    pub fn focus(&mut self, id: ConnectionId) {
        if self.members().any(|member| member.id == id) {
            self.current = Some(id);
        }
    }

    /// The connections of the processes chosen, in their order: also of the only one.
    pub fn members(&self) -> impl Iterator<Item = &Connection> {
        self.several.processes.iter().filter_map(|process| self.connection_to(*process))
    }

    /// Those of them that have not ended, in the order of the list of processes.
    pub fn running(&self) -> Vec<&Connection> {
        let mut running: Vec<&Connection> = self.members().filter(|one| !has_ended(&one.status)).collect();
        running.sort_by_cached_key(|one| self.processes.place(one.process));
        running
    }

    /// Those of them that have ended, the first to end first.
    pub fn ended(&self) -> Vec<&Connection> {
        let mut ended: Vec<&Connection> = self.members().filter(|member| has_ended(&member.status)).collect();
        ended.sort_by_key(|member| match member.status {
            Status::Lost { since, .. } => since,
            Status::Connecting | Status::Attaching | Status::Live => Duration::MAX,
        });
        ended
    }

    /// Forgets chosen processes that have ended, but for so many of them, the last to end: connections to be closed.
    pub fn drop_ended(&mut self, keep: usize) -> Vec<ConnectionId> {
        let ended: Vec<(ConnectionId, ProcessKey)> =
            self.ended().into_iter().map(|member| (member.id, member.process)).collect();
        let ended = ended.get(..ended.len().saturating_sub(keep)).unwrap_or_default().to_vec();
        self.several.processes.retain(|process| !ended.iter().any(|(_, gone)| gone == process));
        ended.into_iter().map(|(id, _)| id).collect()
    }

    /// From now on processes of these names that start join, as what is looked at does.
    pub fn begin_follow(&mut self, names: Vec<String>) {
        if self.several.arrangement == Arrangement::Beside && self.several.fleet.is_none() {
            self.several.arrangement = Arrangement::Merged;
        }
        let fleet = self.several.fleet.get_or_insert_default();
        fleet.follow.begin(names, &self.processes);
    }

    /// Processes that started since, and are to join.
    pub fn newcomers(&mut self, now: Now) -> Vec<(ProcessKey, Join)> {
        self.forget_tries();
        let Several { fleet, processes: chosen, .. } = &mut self.several;
        let Some(fleet) = fleet else { return Vec::new() };
        let found = fleet.follow.newcomers(&self.processes, now.mono);
        for key in fleet.follow.to_be_told(now.mono).into_iter().filter(|key| !chosen.contains(key)) {
            if let Some(row) = self.processes.get(key) {
                let text = format!("{} ({}) {}", title(row), key.pid, why_left(row));
                self.log.add(now, Some(FLEET), Kind::Notice, text);
            }
        }
        found
    }

    /// Processes of the names that are followed which do not join, and why, as half a sentence.
    pub fn left_behind(&self, now: Now) -> Vec<(String, String)> {
        let left = self.fleet().into_iter().flat_map(|fleet| fleet.follow.left_behind(now.mono));
        let rows = left.filter(|key| !self.chosen().contains(key)).filter_map(|key| self.processes.get(key));
        rows.map(|row| (format!("{} ({})", title(row), row.key.pid), why_left(row))).collect()
    }

    /// Forgets the tries to load the agent into processes that have it, or have ended.
    fn forget_tries(&mut self) {
        let waits = |connection: &Connection| match connection.status {
            Status::Live => false,
            _ => !has_ended(&connection.status),
        };
        let waiting: Vec<ProcessKey> =
            self.members().filter(|member| waits(member)).map(|member| member.process).collect();
        if let Some(fleet) = &mut self.several.fleet {
            fleet.follow.keep_trying(|process| waiting.contains(&process));
        }
    }

    /// Processes that joined, and into which the agent could not be loaded though it can be.
    pub fn not_attached(&self) -> Vec<(ConnectionId, ProcessKey)> {
        let Some(follow) = self.fleet().map(|fleet| &fleet.follow).filter(|follow| follow.attach) else {
            return Vec::new();
        };
        let waits = |member: &&Connection| {
            let row = self.processes.get(member.process);
            member.status.retry() == Some(Retry::WithAgent)
                && member.not_attached.is_some()
                && follow.was_tried(member.process)
                && row.is_some_and(|row| row.agent == AgentState::Attachable)
        };
        self.members().filter(waits).map(|member| (member.id, member.process)).collect()
    }

    /// Brings what is merged up to date.
    pub(super) fn settle_several(&mut self, now: Now) -> Settled {
        let Some(fleet) = &mut self.several.fleet else { return Settled::default() };
        fleet.settle(&mut self.connections, &mut self.log, now)
    }

    /// Turns everything off in every process chosen, and wherever else this window holds dials: what to send.
    pub fn all_off(&mut self, now: Now) -> Vec<Errand> {
        let mut errands = self.chosen_off(now);
        let others: Vec<ConnectionId> = self.held_elsewhere().map(|connection| connection.id).collect();
        for id in others {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            let ticket = connection.all_off(&mut self.log, now);
            errands.push(Errand { connection: connection.id, step: Step::AllOff(ticket) });
        }
        errands
    }

    /// Processes that are not chosen, and in which this window holds dials.
    pub fn held_elsewhere(&self) -> impl Iterator<Item = &Connection> {
        let is_chosen = |id| self.current == Some(id) || self.members().any(|member| member.id == id);
        let others = self.connections.values().filter(|connection| connection.id != FLEET);
        others.filter(move |connection| connection.holds_here() && !is_chosen(connection.id))
    }

    fn chosen_off(&mut self, now: Now) -> Vec<Errand> {
        if let Some(fleet) = &mut self.several.fleet {
            return fleet.all_off(&mut self.connections, &mut self.log, now);
        }
        let Some(connection) = self.current.and_then(|id| self.connections.get_mut(&id)) else {
            return Vec::new();
        };
        let ticket = connection.all_off(&mut self.log, now);
        vec![Errand { connection: connection.id, step: Step::AllOff(ticket) }]
    }

    /// Turns methods of a connection, or of all that are merged: what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn turn(
        &mut self,
        id: ConnectionId,
        (targets, level, take): (&Targets, Level, bool),
        now: Now,
    ) -> Result<(Ticket, Vec<Errand>), String> {
        if id == FLEET
            && let Some(fleet) = &mut self.several.fleet
        {
            return fleet.turn(&mut self.connections, (targets, level, take), &mut self.log, now);
        }
        let connection = self.connections.get_mut(&id).ok_or("no process is looked at")?;
        let turn = connection.turn(targets, level, take, &mut self.log, now)?;
        Ok((turn.ticket, vec![Errand { connection: id, step: Step::Turn(turn) }]))
    }

    /// Asks what a turn of what is looked at would do: what to send to each agent, or why it cannot be asked.
    pub fn ask_plans(&mut self, targets: &Targets, level: Level) -> Vec<Asked> {
        if self.is_merged()
            && let Some(fleet) = &self.several.fleet
        {
            return fleet.ask_plans(&mut self.connections, targets, level);
        }
        let current = self.current.and_then(|id| self.connections.get_mut(&id));
        current.map(|connection| (connection.id, connection.ask_plan(targets, level))).into_iter().collect()
    }

    /// Undoes the last turn of what is looked at, or does it again: what to send.
    pub fn undo(&mut self, redo: bool, now: Now) -> Vec<Errand> {
        if self.is_merged()
            && let Some(fleet) = &mut self.several.fleet
        {
            return fleet.undo(&mut self.connections, redo, &mut self.log, now);
        }
        let Some(connection) = self.current.and_then(|id| self.connections.get_mut(&id)) else {
            return Vec::new();
        };
        let step = connection.undo(redo, &mut self.log, now);
        // Why not stands in the log already.
        step.map(|step| Errand { connection: connection.id, step }).into_iter().collect()
    }
}

/// Whether a process can be turned, or could be.
fn is_able(agent: &AgentState) -> bool {
    matches!(agent, AgentState::Loaded(_) | AgentState::Attachable)
}

/// Why a process does not join by itself, and what to do about it.
fn why_left(row: &ProcessRow) -> String {
    match row.agent.reason() {
        None => "started without the agent and does not join: tick “load the agent into them”, or its own box in the \
                 list of processes"
            .to_owned(),
        Some(why) => format!("started and cannot join: {why}"),
    }
}

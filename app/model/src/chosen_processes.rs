//! The processes that the user chose to watch: one, or several, merged or side by side.

use super::connection::{Connection, Status, UndoStep};
use super::fleet::plan::PlanRequest;
use super::fleet::{Fleet, Join, MOST_PROCESSES, MemberRequest, RemainingWork, has_ended};
use super::ids::SubjectId;
use super::ids::{ConnectionId, Node, Ticket};
use super::log::LogKind;
use super::method_table::Targets;
use super::process_choice::{Arrangement, ProcessChoice};
use super::processes::{AgentState, ProcessRow, same_program, title};
use super::selection::SelectionMode;
use super::state::Model;
use super::update::{Now, Retry};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use std::time::Duration;

impl Model {
    /// Returns the chosen processes in the order of choosing.
    pub fn chosen(&self) -> &[ProcessKey] {
        &self.choice.processes
    }

    /// Returns how several are shown.
    pub fn arrangement(&self) -> Arrangement {
        self.choice.arrangement
    }

    /// Returns the fleet; `None` for at most one process.
    pub fn fleet(&self) -> Option<&Fleet> {
        self.choice.fleet.as_ref()
    }

    /// Returns the fleet mutably.
    pub fn fleet_mut(&mut self) -> Option<&mut Fleet> {
        self.choice.fleet.as_mut()
    }

    /// Returns whether several are shown in one list.
    pub fn is_merged(&self) -> bool {
        self.current == Some(SubjectId::Fleet)
    }

    /// Chooses only this process, toggles it, or chooses everything shown from the last chosen one to it.
    pub fn choose(&mut self, process: ProcessKey, mode: SelectionMode) {
        let ProcessChoice { processes, anchor, fleet, .. } = &mut self.choice;
        match mode {
            SelectionMode::Replace => {
                *processes = vec![process];
                if let Some(fleet) = fleet {
                    fleet.auto_join.end();
                }
            }
            SelectionMode::Toggle => match processes.iter().position(|one| *one == process) {
                Some(at) => drop(processes.remove(at)),
                None => processes.push(process),
            },
            SelectionMode::Extend => {
                let there = self.processes.visible().filter(|one| !one.has_ended);
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

    /// Chooses every process of a name that is or may be dialable.
    pub fn choose_named(&mut self, name: &str) {
        self.choice.processes = self.named(name).collect();
        self.choice.anchor = self.choice.processes.first().copied();
    }

    /// Returns the processes of a name that are or may be dialable.
    pub fn named(&self, name: &str) -> impl Iterator<Item = ProcessKey> {
        let rows = self
            .processes
            .shown()
            .filter(move |row| can_be_dialled(&row.agent) && same_program(name, &title(row)));
        rows.map(|row| row.key)
    }

    /// Returns the first name in the list that several dialable processes share.
    pub fn first_namesakes(&self) -> Option<String> {
        let mut seen: Vec<String> = Vec::new();
        let able = self.processes.shown().filter(|row| can_be_dialled(&row.agent)).map(title);
        for name in able {
            // The list is sorted by state, then by name.
            if seen.iter().any(|other| same_program(other, &name)) {
                return Some(name);
            }
            seen.push(name);
        }
        None
    }

    /// Adds to the chosen processes.
    pub fn choose_more(&mut self, more: impl IntoIterator<Item = ProcessKey>) {
        for process in more {
            if !self.choice.processes.contains(&process) {
                self.choice.processes.push(process);
            }
        }
    }

    /// Sets how several are shown.
    pub fn arrange(&mut self, arrangement: Arrangement) {
        self.choice.arrangement = arrangement;
    }

    /// Opens and closes views for the chosen processes; returns new connections for the worker. Skips
    /// processes beyond the limit and logs that.
    pub fn look_at_chosen(
        &mut self,
        name: impl Fn(&Model, ProcessKey) -> String,
        now: Now,
    ) -> Vec<ConnectionId> {
        let over = self.choice.processes.len().saturating_sub(MOST_PROCESSES);
        if over > 0 {
            self.choice.processes.truncate(MOST_PROCESSES);
            let left_out =
                if over == 1 { "1 process is".to_owned() } else { format!("{over} processes are") };
            let text = format!("{left_out} skipped: at most {MOST_PROCESSES} can be watched together");
            self.log.add(now, None, LogKind::Refusal, text);
        }
        let mut new = Vec::new();
        let before = self.current;
        for process in self.choice.processes.clone() {
            let name = name(self, process);
            let (id, is_new) = self.open(process, &name);
            new.extend(is_new.then_some(id));
        }
        let members: Vec<ConnectionId> =
            self.choice.processes.iter().filter_map(|one| Some(self.connection_to(*one)?.id)).collect();
        let grows = self.choice.fleet.as_ref().is_some_and(|fleet| fleet.auto_join.is_on());
        if members.is_empty() || members.len() == 1 && !grows {
            let only = members.first().copied();
            if let Some(fleet) = self.choice.fleet.take() {
                let connection = only.and_then(|only| self.connections.get(&only));
                let selected = connection.and_then(|only| fleet.selected_in(only));
                fleet.dissolve(&mut self.connections);
                let table = only.and_then(|only| self.connections.get_mut(&only)).map(|only| &mut only.table);
                if let Some((table, method)) = table.filter(|one| one.selection.is_empty()).zip(selected) {
                    table.click(Node::Method(method), SelectionMode::Replace);
                }
            }
            self.current = only.map(SubjectId::Process);
            return new;
        }
        let fleet = self.choice.fleet.get_or_insert_default();
        // When following processes, the fleet exists before it has members.
        let is_new = fleet.members().is_empty();
        fleet.set_members(&members, &mut self.connections);
        let before = before.and_then(SubjectId::process).filter(|id| members.contains(id));
        if let Some(alone) = before.filter(|_| is_new).and_then(|id| self.connections.get(&id)) {
            fleet.carry_selection(alone);
        }
        self.current = self.rearrange(before).or(members.first().map(|first| SubjectId::Process(*first)));
        new
    }

    /// Arranges the rows of several processes and preserves their selection. Returns what to show: side by side the
    /// process that was `current`, or one with the selected method; `None` for any.
    fn rearrange(&mut self, current: Option<ConnectionId>) -> Option<SubjectId> {
        let running: Vec<ConnectionId> = self.running().into_iter().map(|member| member.id).collect();
        let fleet = self.choice.fleet.as_mut()?;
        match self.choice.arrangement {
            Arrangement::Separate => fleet.split_rows(current, &running),
            Arrangement::Merged => drop(fleet.merge_rows()),
            Arrangement::SideBySide => {
                let owners = fleet.merge_rows();
                let owner = running.iter().find(|id| owners.contains(id));
                let shown = current.or(owner.or(running.first()).copied());
                return shown.map(SubjectId::Process);
            }
        }
        Some(SubjectId::Fleet)
    }

    /// Returns the connections whose own methods are shown: side by side all, and none when merged.
    fn shown_connections(&self) -> Vec<ConnectionId> {
        match self.is_beside() {
            true => self.members().map(|member| member.id).collect(),
            false => self.current.and_then(SubjectId::process).into_iter().collect(),
        }
    }

    /// Clears the selections of hidden connections: otherwise a key could change a selection from long ago.
    pub fn forget_selections(&mut self) {
        let shown = self.shown_connections();
        let others = self.connections.values_mut().filter(|one| !shown.contains(&one.id));
        others.for_each(|one| one.table.selection.reset());
    }

    /// Sets which columns are visible while side by side.
    pub fn show_beside(&mut self, ids: &[ConnectionId]) {
        if self.choice.in_sight != ids {
            self.choice.in_sight = ids.to_vec();
            self.align_rows();
        }
    }

    /// Focuses one of the columns.
    pub fn focus(&mut self, id: ConnectionId) {
        if self.members().any(|member| member.id == id) {
            self.current = Some(SubjectId::Process(id));
        }
    }

    /// Returns the connections of the chosen processes in order, even of a single one.
    pub fn members(&self) -> impl Iterator<Item = &Connection> {
        self.choice.processes.iter().filter_map(|process| self.connection_to(*process))
    }

    /// Returns those that have not ended, in the order of the process list.
    pub fn running(&self) -> Vec<&Connection> {
        let mut running: Vec<&Connection> =
            self.members().filter(|one| !has_ended(&one.session.status)).collect();
        running.sort_by_cached_key(|one| self.processes.place(one.process));
        running
    }

    /// Returns those that have ended, the first to end first.
    pub fn ended(&self) -> Vec<&Connection> {
        let mut ended: Vec<&Connection> =
            self.members().filter(|member| has_ended(&member.session.status)).collect();
        ended.sort_by_key(|member| match member.session.status {
            Status::Lost { since, .. } => since,
            Status::Connecting | Status::Attaching | Status::Live => Duration::MAX,
        });
        ended
    }

    /// Forgets chosen processes that have ended, except the last `keep`; returns connections to close.
    pub fn drop_ended(&mut self, keep: usize) -> Vec<ConnectionId> {
        let ended: Vec<(ConnectionId, ProcessKey)> =
            self.ended().into_iter().map(|member| (member.id, member.process)).collect();
        let ended = ended.get(..ended.len().saturating_sub(keep)).unwrap_or_default().to_vec();
        self.choice.processes.retain(|process| !ended.iter().any(|(_, gone)| gone == process));
        ended.into_iter().map(|(id, _)| id).collect()
    }

    /// Adds processes with these names when they start, arranged as now.
    pub fn begin_follow(&mut self, names: Vec<String>) {
        if self.choice.arrangement == Arrangement::SideBySide && self.choice.fleet.is_none() {
            self.choice.arrangement = Arrangement::Merged;
        }
        let fleet = self.choice.fleet.get_or_insert_default();
        fleet.auto_join.begin(names, &self.processes);
    }

    /// Returns processes that started since the last call and are to join.
    pub fn newcomers(&mut self, now: Now) -> Vec<(ProcessKey, Join)> {
        self.forget_attempts();
        let ProcessChoice { fleet, processes: chosen, .. } = &mut self.choice;
        let Some(fleet) = fleet else { return Vec::new() };
        let found = fleet.auto_join.newcomers(&self.processes, now.mono);
        for key in fleet.auto_join.take_unreported(now.mono).into_iter().filter(|key| !chosen.contains(key)) {
            if let Some(row) = self.processes.get(key) {
                let text = format!("{} ({}) {}", title(row), key.pid, why_left(row));
                self.log.add(now, Some(SubjectId::Fleet), LogKind::Notice, text);
            }
        }
        found
    }

    /// Returns followed processes that do not join, each with the reason as half a sentence.
    pub fn left_behind(&self, now: Now) -> Vec<(String, String)> {
        let left = self.fleet().into_iter().flat_map(|fleet| fleet.auto_join.left_behind(now.mono));
        let rows = left.filter(|key| !self.chosen().contains(key)).filter_map(|key| self.processes.get(key));
        rows.map(|row| (format!("{} ({})", title(row), row.key.pid), why_left(row))).collect()
    }

    /// Forgets failed attach attempts for processes that have the agent by now or have ended.
    fn forget_attempts(&mut self) {
        let waits = |connection: &Connection| match &connection.session.status {
            Status::Live => false,
            status => !has_ended(status),
        };
        let waiting: Vec<ProcessKey> =
            self.members().filter(|member| waits(member)).map(|member| member.process).collect();
        if let Some(fleet) = &mut self.choice.fleet {
            fleet.auto_join.retain_attempts(|process| waiting.contains(&process));
        }
    }

    /// Returns members into which loading the agent failed although it is possible.
    pub fn not_attached(&self) -> Vec<(ConnectionId, ProcessKey)> {
        let auto_join = self.fleet().map(|fleet| &fleet.auto_join).filter(|auto_join| auto_join.attach);
        let Some(auto_join) = auto_join else { return Vec::new() };
        let waits = |member: &&Connection| {
            let row = self.processes.get(member.process);
            member.session.status.retry() == Some(Retry::WithAgent)
                && member.session.not_attached.is_some()
                && auto_join.was_tried(member.process)
                && row.is_some_and(|row| row.agent == AgentState::Attachable)
        };
        self.members().filter(waits).map(|member| (member.id, member.process)).collect()
    }

    /// Updates the fleet.
    pub(super) fn refresh_fleet(&mut self, now: Now) -> RemainingWork {
        let Some(fleet) = &mut self.choice.fleet else { return RemainingWork::default() };
        fleet.refresh(&mut self.connections, &mut self.log, now)
    }

    /// Turns everything off in every chosen process and wherever else this window holds dials; returns what
    /// to send.
    pub fn all_off(&mut self, now: Now) -> Vec<MemberRequest> {
        let mut requests = self.chosen_off(now);
        let others: Vec<ConnectionId> = self.held_elsewhere().map(|connection| connection.id).collect();
        for id in others {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            let ticket = connection.all_off(&mut self.log, now);
            requests.push(MemberRequest { connection: connection.id, step: UndoStep::AllOff(ticket) });
        }
        requests
    }

    /// Returns processes that are not chosen but in which this window holds dials.
    pub fn held_elsewhere(&self) -> impl Iterator<Item = &Connection> {
        let is_chosen =
            |id| self.current == Some(SubjectId::Process(id)) || self.members().any(|member| member.id == id);
        let connections = self.connections.values();
        connections.filter(move |connection| connection.holds_dials() && !is_chosen(connection.id))
    }

    fn chosen_off(&mut self, now: Now) -> Vec<MemberRequest> {
        if let Some(fleet) = &mut self.choice.fleet {
            return fleet.all_off(&mut self.connections, &mut self.log, now);
        }
        let current = self.current.and_then(SubjectId::process);
        let Some(connection) = current.and_then(|id| self.connections.get_mut(&id)) else {
            return Vec::new();
        };
        let ticket = connection.all_off(&mut self.log, now);
        vec![MemberRequest { connection: connection.id, step: UndoStep::AllOff(ticket) }]
    }

    /// Turns methods of one process or of the fleet; returns the requests to send.
    ///
    /// # Errors
    /// A sentence, which is already in the log.
    pub fn set_level(
        &mut self,
        subject: SubjectId,
        (targets, level, take): (&Targets, Level, bool),
        now: Now,
    ) -> Result<(Ticket, Vec<MemberRequest>), String> {
        match subject {
            SubjectId::Process(id) => {
                let connection = self.connections.get_mut(&id).ok_or("no process is selected")?;
                let change = connection.set_level(targets, level, take, &mut self.log, now)?;
                Ok((change.ticket, vec![MemberRequest { connection: id, step: UndoStep::Change(change) }]))
            }
            SubjectId::Fleet => {
                let fleet = self.choice.fleet.as_mut().ok_or("no process is chosen")?;
                fleet.set_level(&mut self.connections, (targets, level, take), &mut self.log, now)
            }
        }
    }

    /// Asks for plans of a change to the visible methods; returns the requests for each agent, or why it cannot be
    /// asked.
    pub fn ask_plans(&mut self, targets: &Targets, level: Level) -> Vec<PlanRequest> {
        match self.current {
            Some(SubjectId::Process(id)) => {
                let connection = self.connections.get_mut(&id);
                connection.map(|connection| (id, connection.ask_plan(targets, level))).into_iter().collect()
            }
            Some(SubjectId::Fleet) => {
                let fleet = self.choice.fleet.as_ref();
                fleet.map(|fleet| fleet.ask_plans(&mut self.connections, targets, level)).unwrap_or_default()
            }
            None => Vec::new(),
        }
    }

    /// Undoes or redoes the last change to the visible methods; returns the requests to send.
    pub fn undo(&mut self, redo: bool, now: Now) -> Vec<MemberRequest> {
        match self.current {
            Some(SubjectId::Process(id)) => {
                let Some(connection) = self.connections.get_mut(&id) else { return Vec::new() };
                // A refusal is in the log already.
                let step = connection.undo(redo, &mut self.log, now);
                step.map(|step| MemberRequest { connection: id, step }).into_iter().collect()
            }
            Some(SubjectId::Fleet) => {
                let Some(fleet) = &mut self.choice.fleet else { return Vec::new() };
                fleet.undo(&mut self.connections, redo, &mut self.log, now)
            }
            None => Vec::new(),
        }
    }
}

/// Returns whether a process is or may be dialable.
fn can_be_dialled(agent: &AgentState) -> bool {
    matches!(agent, AgentState::Loaded(_) | AgentState::Attachable)
}

/// Returns why a process does not join by itself, with advice.
fn why_left(row: &ProcessRow) -> String {
    match row.agent.reason() {
        None => "started without the agent and does not join: tick “Load the agent into them”, or its own box in the \
                 process list"
            .to_owned(),
        Some(why) => format!("started but cannot join: {why}"),
    }
}

//! Commands for several processes: selection, arrangement, sending requests to each, and processes that join
//! later.

use super::App;
use super::list_options::ListOptions;
use crate::commands::UiCommand;
use crate::views;
use crate::views::menu_bar::DialsOn;
use eframe::egui;
use redial_model::Model;
use redial_model::connection::{Connection, Status, UndoStep};
use redial_model::fleet::{Join, MOST_PROCESSES, MemberRequest, RemainingWork};
use redial_model::ids::ConnectionId;
use redial_model::ids::SubjectId;
use redial_model::log::LogKind;
use redial_model::process_choice::Arrangement;
use redial_model::processes::AgentState;
use redial_model::selection::SelectionMode;
use redial_model::update::Now;
use redial_protocol::ids::ProcessKey;
use redial_protocol::state::CopyState;
use redial_text::words;

/// Ended processes that stay visible while others join.
const ENDED: usize = 8;
/// The title of a process until its name is known.
pub(super) const UNNAMED: &str = "process";

impl App {
    /// Executes a command about several processes.
    pub(super) fn execute_for_fleet(&mut self, command: UiCommand) {
        match command {
            UiCommand::Choose(process, mode) => {
                self.model.choose(process, mode);
                self.columns.order.clear();
                self.look_at_chosen();
            }
            UiCommand::ChooseNamed(name) => {
                self.model.choose_named(&name);
                self.columns.order.clear();
                self.look_at_chosen();
            }
            UiCommand::ChooseNamesakes => {
                let named = self.model.members().next().or(self.model.current_process());
                if let Some(name) = named.map(|connection| connection.name.clone()) {
                    self.execute_for_fleet(UiCommand::ChooseNamed(name));
                }
            }
            UiCommand::Arrange(arrangement) => {
                self.model.arrange(arrangement);
                self.columns.order.clear();
                self.look_at_chosen();
                let running = self.model.running();
                let place =
                    running.iter().position(|one| self.model.current == Some(SubjectId::Process(one.id)));
                self.columns.from = place.unwrap_or(0);
            }
            UiCommand::Focus(id) => self.focus(id),
            UiCommand::SideBySideFrom(place) => self.columns.from = place,
            UiCommand::Follow => self.follow(),
            UiCommand::FollowAttach => {
                if let Some(fleet) = self.model.fleet_mut() {
                    fleet.auto_join.attach = !fleet.auto_join.attach;
                    fleet.auto_join.search_again();
                }
            }
            UiCommand::LastNumbers => {
                self.dialogs.last_numbers = match self.dialogs.last_numbers {
                    Some(_) => None,
                    None => Some(views::last_numbers::LastNumbersState::default()),
                };
            }
            UiCommand::DropEnded => self.drop_ended(0),
            _ => {}
        }
    }

    /// Shows the selected processes.
    pub(super) fn look_at_chosen(&mut self) {
        let (before, now) = (self.model.current, self.now());
        self.note_looks();
        let new = self.model.look_at_chosen(name_of, now);
        self.connect(&new);
        if let Some(ListOptions { mut filter, sort, frozen }) = self.looks.clone() {
            // These are settings, which can change while nothing is shown.
            filter.hide_framework = self.settings.hide_framework;
            filter.hide_generated = self.settings.hide_generated;
            self.model.change_list(|table| {
                table.set_sort(sort);
                table.list.set_frozen(frozen);
                table.set_filter(filter);
            });
        }
        self.model.forget_selections();
        let chosen: Vec<ConnectionId> = self.model.members().map(|member| member.id).collect();
        self.columns.tables.retain(|id, _| chosen.contains(id));
        if before != self.model.current {
            self.reset_views();
        }
    }

    /// Remembers filter and order for the next process shown; call it before closing a connection.
    pub(super) fn note_looks(&mut self) {
        if let Some(list) = self.model.list().map(|table| &table.list) {
            let filter = list.filter().clone();
            self.looks = Some(ListOptions { filter, sort: list.sort(), frozen: list.is_frozen() });
        }
    }

    fn connect(&mut self, new: &[ConnectionId]) {
        for id in new {
            if let Some(connection) = self.model.connections.get(id) {
                self.workers.connect(*id, connection.process);
            }
        }
        // New processes get the same settings as the others.
        self.follow_settings();
    }

    /// Resets the views after another process became current.
    pub(super) fn reset_views(&mut self) {
        self.methods = views::methods::MethodsState::default();
        self.columns.tables.clear();
        self.columns.scroll = 0.0;
        if let Some(table) = self.model.current_table() {
            self.methods.text.clone_from(&table.list.filter().text);
        }
        self.dialogs.close_questions();
        self.last_change = None;
        self.follow_settings();
    }

    /// Makes one of the processes side by side the current one.
    fn focus(&mut self, id: ConnectionId) {
        let current = |app: &App| app.model.current_process().map(|connection| connection.id);
        let before = current(self);
        self.model.focus(id);
        let Some(before) = before.filter(|before| *before != id && current(self) == Some(id)) else {
            return;
        };
        let mut state = self.columns.tables.remove(&id).unwrap_or_default();
        state.text.clone_from(&self.methods.text);
        self.columns.tables.insert(before, std::mem::replace(&mut self.methods, state));
        self.dialogs.close_questions();
    }

    /// Switches one list of several processes between merged and one row per process.
    pub(super) fn merge_or_part(&mut self) {
        let other = match self.model.arrangement() {
            Arrangement::Merged => Arrangement::Separate,
            Arrangement::Separate | Arrangement::SideBySide => Arrangement::Merged,
        };
        self.methods.find_again = true;
        self.execute_for_fleet(UiCommand::Arrange(other));
    }

    fn follow(&mut self) {
        let now = self.now();
        let names: Vec<String> = self.model.members().map(|member| member.name.clone()).collect();
        let on = self.model.fleet().is_some_and(|fleet| fleet.auto_join.is_on());
        let text = match on {
            true => {
                if let Some(fleet) = self.model.fleet_mut() {
                    fleet.auto_join.end();
                }
                "Processes that start later no longer join".to_owned()
            }
            false => {
                self.model.begin_follow(names);
                let names = self.model.fleet().into_iter().flat_map(|fleet| fleet.auto_join.names());
                let names: Vec<String> = names.map(str::to_owned).collect();
                format!("Processes named {} that start from now on join", words::all(&names))
            }
        };
        self.model.log.add(now, Some(SubjectId::Fleet), LogKind::Notice, text);
        self.look_at_chosen();
    }

    /// Makes room for `number` processes by removing old ended ones.
    fn make_room(&mut self, number: usize) {
        let running = self.model.running().len();
        let keep = ENDED.min(MOST_PROCESSES.saturating_sub(running + number));
        let ended: Vec<String> = self.model.ended().into_iter().map(Connection::title).collect();
        let gone = ended.len().saturating_sub(keep);
        if gone == 0 {
            return;
        }
        let titles = words::all(ended.get(..gone).unwrap_or_default());
        let text = format!("{titles} ended before others and left the list with their last numbers");
        let now = self.now();
        self.model.log.add(now, Some(SubjectId::Fleet), LogKind::Notice, text);
        self.drop_ended(keep);
    }

    fn drop_ended(&mut self, keep: usize) {
        self.note_looks();
        let ended = self.model.drop_ended(keep);
        for id in ended {
            self.workers.disconnect(id);
            self.model.close(id);
            self.columns.tables.remove(&id);
        }
        self.look_at_chosen();
    }

    /// Sends requests to the agents.
    pub(super) fn send(&mut self, requests: Vec<MemberRequest>) {
        for MemberRequest { connection, step } in requests {
            match step {
                UndoStep::UndoChange { ticket, of } => self.workers.take_back(connection, ticket, of),
                UndoStep::Change(change) => self.workers.change(change),
                UndoStep::AllOff(ticket) => self.workers.all_off(connection, ticket),
            }
        }
    }

    /// Brings the model up to date and sends the resulting requests; returns whether there is more to do.
    pub(super) fn refresh(&mut self, context: &egui::Context, now: Now) -> bool {
        let settled = self.model.refresh(now);
        self.carry_out(context, settled, now)
    }

    /// Does the same in the frame of a gesture.
    pub(super) fn refresh_after_gesture(&mut self, context: &egui::Context, now: Now) {
        let settled = self.model.refresh_after_gesture(now);
        self.carry_out(context, settled, now);
    }

    fn carry_out(&mut self, context: &egui::Context, settled: RemainingWork, now: Now) -> bool {
        let RemainingWork { more, due, changes } = settled;
        if let Some(due) = due {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        changes.into_iter().for_each(|change| self.workers.change(change));
        more
    }

    /// Adds processes that started since, if the user asked for that.
    pub(super) fn await_newcomers(&mut self) {
        let now = self.now();
        let found = self.model.newcomers(now);
        if !found.is_empty() {
            self.make_room(found.len());
            self.model.choose_more(found.iter().map(|(process, _)| *process));
            self.look_at_chosen();
        }
        for (process, join) in found {
            let Some(id) = self.model.connection_to(process).map(|connection| connection.id) else {
                continue;
            };
            let Some(fleet) = self.model.fleet_mut() else { return };
            fleet.mark_new(id);
            if join == Join::Attach && fleet.auto_join.try_again(process, now.mono) {
                self.workers.attach(id);
            }
        }
        for (id, process) in self.model.not_attached() {
            let Some(fleet) = self.model.fleet_mut() else { return };
            if fleet.auto_join.try_again(process, now.mono) {
                self.workers.attach(id);
            }
        }
    }

    /// Returns the connections that a command applies to.
    pub(super) fn affected(&self, which: impl Fn(&Connection) -> bool) -> Vec<ConnectionId> {
        let affected = self.model.members().filter(|member| match self.model.current {
            Some(SubjectId::Process(current)) => member.id == current,
            Some(SubjectId::Fleet) => true,
            None => false,
        });
        affected.filter(|member| which(member)).map(|member| member.id).collect()
    }

    /// Returns whether the agent can be loaded into a connection's process.
    pub(super) fn is_attachable(&self, connection: &Connection) -> bool {
        let row = self.model.processes.get(connection.process);
        !matches!(connection.session.status, Status::Live | Status::Attaching)
            && row.is_some_and(|row| row.agent == AgentState::Attachable)
    }

    /// Returns the number of dials that *All dials off* would turn off.
    pub(super) fn dials_on(&self) -> DialsOn {
        let all = || self.model.members().chain(self.model.held_elsewhere());
        let live = all().filter(|connection| connection.session.status == Status::Live);
        let on = [CopyState::Asked, CopyState::Live, CopyState::Reverting];
        let of = |connection: &Connection| -> (u64, u64) {
            let known = on.map(|state| connection.table.live.count(state) as u64).iter().sum();
            (known, connection.dials_of_others().min(known))
        };
        let (known, others) = live.map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        DialsOn { known, others, more: all().any(Connection::is_reading_dials) }
    }

    /// Keeps selected and launched processes in the process list, whatever its filter is.
    pub(super) fn keep_processes_in_use(&mut self) {
        let launched = self.model.launched.values().filter(|launched| launched.runs());
        let launched = launched.filter_map(|launched| {
            launched.agent.or_else(|| Some(self.model.processes.by_pid(launched.pid?)?.key))
        });
        let used: Vec<_> = self.model.chosen().iter().copied().chain(launched).collect();
        self.model.processes.keep(used.into_iter());
    }

    /// Shows a single process.
    pub(super) fn select(&mut self, process: ProcessKey) {
        self.model.choose(process, SelectionMode::Replace);
        self.look_at_chosen();
    }

    /// Shows a launched program: alone, or in addition to several selected processes.
    pub(super) fn look_at_launched(&mut self, process: ProcessKey) {
        if self.model.fleet().is_none() {
            return self.select(process);
        }
        let title = format!("{} ({})", name_of(&self.model, process), process.pid);
        let text =
            format!("{title} was added to the selected processes. Click it in the list to see it alone.");
        let now = self.now();
        self.model.log.add(now, Some(SubjectId::Fleet), LogKind::Notice, text);
        self.model.choose_more([process]);
        self.look_at_chosen();
    }

    /// With several processes, switches between merged rows and rows per process.
    pub(super) fn split_or_merge(&mut self) {
        if self.model.fleet().is_none() {
            self.settings.merge_copies = !self.settings.merge_copies;
            return self.follow_settings();
        }
        self.merge_or_part();
    }
}

/// Returns a process's name.
fn name_of(model: &Model, process: ProcessKey) -> String {
    let launched = model.launched.values().find(|launched| launched.agent == Some(process));
    let launched = launched.and_then(|launched| views::processes::program(&launched.what));
    let known = model.processes.get(process).map(views::processes::title);
    known.or(launched).unwrap_or_else(|| UNNAMED.to_owned())
}

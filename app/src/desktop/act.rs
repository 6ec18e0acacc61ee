//! What each command does.

use super::several::UNNAMED;
use super::turning::Move;
use super::{App, copy};
use crate::commands::Command;
use crate::model::connection::{Connection, Shape, Status};
use crate::model::ids::{Node, Ticket};
use crate::model::list::{Filter, Key, Sort};
use crate::model::log::Kind;
use crate::model::update::Retry;
use crate::output::words;
use crate::views;
use crate::views::launch::Plan;
use eframe::egui;

impl App {
    /// Carries a command out.
    pub(super) fn act(&mut self, context: &egui::Context, command: Command) {
        self.keep_still(context, &command);
        match command {
            Command::AllOff => self.all_off(),
            Command::ToggleSelected => self.turn_selected(Move::Toggle),
            Command::TurnUp => self.turn_selected(Move::Up),
            Command::TurnDown => self.turn_selected(Move::Down),
            Command::TurnTo(level) => self.turn_selected(Move::To(level)),
            Command::Turn { targets, level } => self.turn_or_ask(targets, level),
            Command::ConfirmTurn => {
                if let Some(bulk) = self.confirm.take() {
                    self.turn(bulk.targets, bulk.level, false);
                }
            }
            Command::ShareTurn => {
                if let Some(asked) = self.sharing.take() {
                    self.turn_or_ask_large(asked.sharing.with, asked.level);
                }
            }
            Command::LeaveShared => {
                if let Some((level, Some(without))) =
                    self.sharing.take().map(|asked| (asked.level, asked.sharing.without))
                {
                    self.turn_or_ask_large(without, level);
                }
            }
            Command::CancelTurn(ticket) => {
                if self.model.is_merged() {
                    let parts = self.model.fleet().map(|fleet| fleet.parts(ticket)).unwrap_or_default();
                    parts.into_iter().for_each(|(id, part)| self.workers.cancel(id, part));
                } else if let Some(id) = self.model.current {
                    self.workers.cancel(id, ticket);
                }
            }
            Command::UndoOfAnyone => self.undo_of_anyone(),
            Command::UndoOfBudget(of) => self.undo_of_budget(of),
            Command::Budget => {
                let stands = self.model.current().and_then(|connection| connection.agent.as_ref());
                self.budget = stands.map(|agent| views::budget::State::of(&agent.cost_budget));
            }
            Command::SetBudget(limit) => {
                if let Some(id) = self.model.current {
                    self.workers.set_budget(id, limit);
                }
            }
            Command::MergeCopies => self.split_or_merge(),
            Command::Choose(..)
            | Command::ChooseNamed(_)
            | Command::ChooseNamesakes
            | Command::Arrange(_)
            | Command::Focus(_)
            | Command::BesideFrom(_)
            | Command::Follow
            | Command::FollowAttach
            | Command::LastNumbers
            | Command::DropEnded => self.act_on_several(command),
            Command::SetUp => self.set_up = Some(views::setup::State::default()),
            Command::CopyText(text) => {
                context.copy_text(text);
                let now = self.now();
                self.model.log.add(now, None, Kind::Notice, "copied the lines");
            }
            Command::Agent => self.agent = !self.agent,
            Command::NotOffered(level) => {
                self.refuse(
                    &Command::NotOffered(level),
                    &format!("{level} is {}", crate::ui::knob::why_not(level, views::face::NOT_OFFERED)),
                );
            }
            Command::Undo => self.undo(false),
            Command::Redo => self.undo(true),
            Command::TakeControl => {
                match self.last_turn.clone().filter(|_| self.situation().control_elsewhere) {
                    Some((_, targets, level)) => self.turn(targets, level, true),
                    None => self.model.current.into_iter().for_each(|id| self.workers.take_control(id)),
                }
            }
            Command::TakeControlOf(id) => self.workers.take_control(id),
            Command::Select(process) => self.select(process),
            Command::FindProcess(text) => self.find_process(&text),
            Command::AllProcesses(all) => self.model.processes.set_show_all(all),
            Command::Attach => {
                let ids = self.meant(|one| self.is_attachable(one));
                ids.into_iter().for_each(|id| self.workers.attach(id));
            }
            Command::Reconnect => self.reconnect(),
            Command::Disconnect => self.disconnect(),
            Command::Launch => (self.launch, self.palette) = (true, None),
            Command::StartLaunch => match views::launch::plan(&self.settings.launch) {
                Ok(plan) => {
                    self.start(plan);
                    self.asked = self.launching;
                }
                Err(why) => self.refuse(&Command::StartLaunch, &why),
            },
            Command::StartDemo => {
                if let Some(plan) = self.demo.clone() {
                    self.start(plan);
                }
            }
            Command::Stop => {
                let meant = self.model.launched_to_stop().into_iter().map(|(ticket, _)| ticket);
                let meant: Vec<Ticket> = meant.collect();
                meant.into_iter().for_each(|ticket| self.stop_launched(ticket));
            }
            Command::StopLaunched(ticket) => self.stop_launched(ticket),
            Command::FocusFilter => self.methods.focus_filter = true,
            Command::Filter(text) => {
                self.methods.text.clone_from(&text);
                self.change_filter(|filter| filter.text = text);
            }
            Command::ClearFilter => self.clear_filter(),
            Command::Pick(node, mode) => self.model.change_list(|list| list.click(node, mode)),
            Command::Expand(node) => self.model.change_list(|list| list.tree.toggle(node)),
            Command::Sort(sort) => {
                self.model.change_list(|connection| connection.set_sort(sort));
                self.methods.let_go();
                // Who sorts looks at what comes first, save for one row that is looked at already.
                self.methods.to_top = self.model.list().is_some_and(|list| list.selection.len() != 1);
            }
            Command::OnlyDialled => self.change_filter(|filter| filter.only_dialled = !filter.only_dialled),
            Command::OffAgain => {
                self.change_filter(|filter| filter.off_again = !filter.off_again);
                self.methods.follow = true;
            }
            Command::HideFramework => {
                self.settings.hide_framework = !self.settings.hide_framework;
                self.follow_settings();
            }
            Command::Tree => {
                self.settings.tree = !self.settings.tree;
                self.follow_settings();
            }
            Command::HoldOrder => self.model.change_list(|connection| {
                let hold = connection.list.hold();
                connection.list.set_hold(!hold);
            }),
            Command::SortAgain => {
                self.model.change_list(Connection::sort_again);
                self.methods.let_go();
            }
            Command::MarkHistogram(row) => self.change(|connection| connection.histograms.mark(row)),
            Command::ClearMark(row) => self.change(|connection| connection.histograms.clear_mark(row)),
            Command::SelectAll => {
                self.model.change_list(Connection::select_all);
                // Space is to turn what is selected now, not to write into the filter.
                context.memory_mut(|memory| memory.surrender_focus(views::methods::filter_id()));
            }
            Command::Copy(form) => self.copy(context, form),
            Command::Log => self.settings.log_open = !self.settings.log_open,
            Command::Theme(theme) => self.look(context, |settings| settings.theme = theme),
            Command::ZoomIn => self.look(context, |settings| settings.zoom = (settings.zoom + 0.1).min(3.0)),
            Command::ZoomOut => self.look(context, |settings| settings.zoom = (settings.zoom - 0.1).max(0.6)),
            Command::ZoomReset => self.look(context, |settings| settings.zoom = 1.0),
            Command::Palette => self.palette = Some(views::palette::State::default()),
            Command::Keys => self.keys = true,
            Command::Escape => self.escape(),
            Command::Quit => context.send_viewport_cmd(egui::ViewportCommand::Close),
        }
        self.save_settings();
    }

    /// Whoever turns one method by a key finds it where it was; whoever turns many wants to see which are called most.
    fn keep_still(&mut self, context: &egui::Context, command: &Command) {
        let by_key = command.turns_selected();
        let one = match command {
            Command::Turn { targets, .. } => targets.methods.len() == 1,
            _ => self.model.current().is_some_and(|connection| connection.selection.len() == 1),
        };
        if one && (by_key || matches!(command, Command::Turn { .. })) {
            self.methods.keep_still(context);
        } else if by_key {
            self.methods.let_go();
        }
    }

    fn stop_launched(&mut self, ticket: Ticket) {
        let now = self.now();
        if let Some(kill) = self.model.begin_stop(ticket, now) {
            self.workers.stop_launched(ticket, kill);
        }
    }

    /// Says why a command was not carried out.
    pub(super) fn refuse(&mut self, command: &Command, why: &str) {
        let now = self.now();
        self.model.log.add(now, None, Kind::Refusal, format!("{}: {why}", command.name()));
    }

    /// Says what is needed for a command first.
    pub(super) fn hint(&mut self, command: &Command, why: &str) {
        let now = self.now();
        self.model.log.add(now, None, Kind::Hint, format!("{}: {why}", command.name()));
    }

    pub(super) fn change(&mut self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.model.current_mut() {
            change(connection);
        }
    }

    fn look(&mut self, context: &egui::Context, change: impl FnOnce(&mut crate::persist::Settings)) {
        change(&mut self.settings);
        self.apply_look(context);
    }

    fn all_off(&mut self) {
        let now = self.now();
        if self.model.current.is_none() {
            let text = "all dials off: no process is looked at, so this window holds no dial";
            self.model.log.add(now, None, Kind::Notice, text);
        }
        let some_on = self.model.list().is_some_and(Connection::wants_some);
        let errands = self.model.all_off(now);
        self.send(errands);
        if some_on {
            // The numbers that were looked at must not go with the dials.
            self.change_filter(|filter| filter.off_again |= filter.only_dialled);
        }
    }

    /// What is remembered of the methods' form, for the processes looked at.
    pub(super) fn follow_settings(&mut self) {
        let (hide_framework, tree) = (self.settings.hide_framework, self.settings.tree);
        let merged = self.settings.merge_copies;
        self.methods.find_again = true;
        self.model.change_list(|connection| {
            let filter = Filter { hide_framework, ..connection.list.filter().clone() };
            connection.set_filter(filter);
            connection.shape = if tree { Shape::Tree } else { Shape::List };
            if !connection.catalogue.spans_processes() {
                connection.catalogue.set_merged(merged);
            }
        });
    }

    fn dialled_first(&mut self) {
        self.model.change_list(|connection| {
            let filter = connection.list.filter().clone();
            connection.set_filter(Filter { only_dialled: true, ..filter });
            connection.set_sort(Sort { key: Key::Rate, descending: true });
        });
    }

    /// Opens the groups of a tree that stand alone, once: of one AppDomain nothing but its name is to be seen else.
    /// Whether there may be more to open once these are shown.
    pub(super) fn unfold(&mut self) -> bool {
        let Some(list) = self.model.list().filter(|list| list.shape == Shape::Tree) else { return false };
        if self.methods.unfolded || !list.catalogue.is_complete() {
            return false;
        }
        let rows = list.tree.rows();
        let alone = rows.last().filter(|last| rows.iter().filter(|row| row.depth == last.depth).count() == 1);
        match alone.filter(|row| !row.expanded && !matches!(row.node, Node::Method(_))).map(|row| row.node) {
            Some(node) => self.model.change_list(|list| list.tree.set_expanded(node, true)),
            None => self.methods.unfolded = !rows.is_empty(),
        }
        !self.methods.unfolded
    }

    /// Looks at what was asked for on the command line or launched, once it is there.
    pub(super) fn await_processes(&mut self) {
        // A launched program has its agent before the list of processes has it.
        for connection in self.model.connections.values_mut().filter(|one| one.name == UNNAMED) {
            if let Some(row) = self.model.processes.get(connection.process) {
                connection.name = views::processes::title(row);
            }
        }
        if let Some(pid) = self.awaited
            && self.model.processes.is_scanned()
        {
            self.awaited = None;
            match self.model.processes.by_pid(pid).map(|row| row.key) {
                Some(key) => {
                    self.select(key);
                    if std::mem::take(&mut self.dialled) {
                        self.dialled_first();
                    }
                }
                None => {
                    let now = self.now();
                    self.model.log.add(now, None, Kind::Refusal, format!("there is no process {pid}"));
                }
            }
        }
        for id in self.model.met_agent() {
            self.workers.retry(id);
        }
        self.await_start();
        let Some(launched) = self.launching.and_then(|ticket| self.model.launched.get(&ticket)) else {
            return;
        };
        if let Some(key) = launched.agent {
            self.launching = None;
            self.look_at_launched(key);
        } else if launched.ended.is_some() {
            self.launching = None;
        }
    }

    /// Closes the launch dialog when its program runs; keeps it open, with the reason, when it cannot be started.
    fn await_start(&mut self) {
        let Some(launched) = self.asked.and_then(|ticket| self.model.launched.get(&ticket)) else { return };
        if launched.pid.is_some() {
            self.launch = false;
            // What could not be started is not offered again.
            self.settings.launched();
            self.save_settings();
        } else if let Some(why) = &launched.ended {
            self.launch_trouble = Some((self.settings.launch.clone(), why.clone()));
        } else {
            return;
        }
        self.asked = None;
    }

    fn find_process(&mut self, text: &str) {
        self.model.processes.set_filter(text);
        self.processes.set_text(text);
    }

    fn reconnect(&mut self) {
        let lost = self.meant(|one| one.status != Status::Live && one.status.retry() != Some(Retry::Never));
        lost.into_iter().for_each(|id| self.workers.retry(id));
    }

    fn disconnect(&mut self) {
        self.note_looks();
        for id in self.meant(|_| true) {
            self.workers.disconnect(id);
            self.model.close(id);
        }
        self.look_at_chosen();
    }

    fn start(&mut self, plan: Plan) {
        let what =
            std::iter::once(&plan.program).chain(&plan.arguments).cloned().collect::<Vec<_>>().join(" ");
        let now = self.now();
        let ticket = self.model.begin_launch(&what, now);
        self.model.name_launch(ticket, plan.title());
        self.launching = Some(ticket);
        self.workers.launch(ticket, plan);
    }

    fn clear_filter(&mut self) {
        self.methods.text.clear();
        self.methods.find_again = true;
        self.change_filter(|filter| filter.text.clear());
    }

    fn change_filter(&mut self, change: impl FnOnce(&mut Filter)) {
        self.model.change_list(|connection| {
            let mut filter = connection.list.filter().clone();
            change(&mut filter);
            connection.set_filter(filter);
        });
    }

    fn copy(&mut self, context: &egui::Context, form: crate::commands::Form) {
        self.model.change_list(Connection::complete);
        let Some(lines) = self.model.current.and_then(|id| self.model.lines(id)) else { return };
        let (text, rows) = copy::table(lines, form);
        context.copy_text(text);
        let rows = words::methods(rows as u64);
        let now = self.now();
        self.model.log.add(now, None, Kind::Notice, format!("copied {rows}"));
    }

    fn escape(&mut self) {
        let asked = self.confirm.take().is_some() || self.sharing.take().is_some();
        let sheet = self.set_up.take().is_some() || self.budget.take().is_some();
        if asked || self.palette.take().is_some() || sheet {
        } else if self.keys || self.launch || self.agent || self.last_numbers.is_some() {
            (self.keys, self.launch, self.agent, self.last_numbers) = (false, false, false, None);
        } else if !self.close_what_stays(&self.situation()) {
            self.clear_filter();
        }
    }
}

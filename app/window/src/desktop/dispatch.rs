//! Executes commands.

use super::change_requests::TurnDirection;
use super::fleet_commands::UNNAMED;
use super::{App, clipboard};
use crate::commands::{LogTab, SessionPurpose, UiCommand};
use crate::settings::columns::ColumnLayout;
use crate::settings::layouts::PanelId;
use crate::views;
use crate::views::file_list::FileListState;
use eframe::egui;
use redial_model::connection::{Connection, Status};
use redial_model::ids::{Node, Ticket};
use redial_model::list::{Filter, Sort, SortKey};
use redial_model::log::LogKind;
use redial_model::method_table::{MethodTable, Shape};
use redial_model::selection::SelectionMode;
use redial_model::subject::Subject;
use redial_model::update::Retry;
use redial_text::words;

impl App {
    /// Executes a command.
    pub(super) fn execute(&mut self, context: &egui::Context, command: UiCommand) {
        self.keep_still(context, &command);
        match command {
            UiCommand::AllOff => self.all_off(),
            UiCommand::ToggleSelected => self.change_selected(TurnDirection::Toggle),
            UiCommand::TurnUp => self.change_selected(TurnDirection::Up),
            UiCommand::TurnDown => self.change_selected(TurnDirection::Down),
            UiCommand::TurnTo(level) => self.change_selected(TurnDirection::To(level)),
            UiCommand::Turn { targets, level } => self.set_or_ask(targets, level),
            UiCommand::ConfirmChange => {
                if let Some(bulk) = self.dialogs.confirm.take() {
                    self.set_level(bulk.targets, bulk.level, false);
                }
            }
            UiCommand::ConfirmSharing => {
                if let Some(asked) = self.dialogs.sharing.take() {
                    self.set_or_ask_large(asked.sharing.with, asked.level);
                }
            }
            UiCommand::ExcludeShared => {
                if let Some((level, Some(without))) =
                    self.dialogs.sharing.take().map(|asked| (asked.level, asked.sharing.without))
                {
                    self.set_or_ask_large(without, level);
                }
            }
            UiCommand::CancelChange(ticket) => {
                let parts = match self.model.current() {
                    Some(Subject::Process(connection)) => vec![(connection.id, ticket)],
                    Some(Subject::Fleet(fleet)) => fleet.parts(ticket),
                    None => Vec::new(),
                };
                parts.into_iter().for_each(|(id, part)| self.workers.cancel(id, part));
            }
            UiCommand::UndoOfAnyone => self.undo_of_anyone(),
            UiCommand::UndoOfBudget(of) => self.undo_of_budget(of),
            UiCommand::Budget => {
                self.dialogs.budget = self.model.current_process().and_then(views::budget::BudgetState::of);
            }
            UiCommand::SetBudget(of, limit) => self.workers.set_budget(of, limit),
            UiCommand::DialSets
            | UiCommand::SaveDialSet(_)
            | UiCommand::ApplyDialSet(_)
            | UiCommand::DeleteDialSet(_) => self.execute_for_dial_sets(command),
            UiCommand::SaveFilter(text) => {
                if let Err(why) = self.settings.toggle_filter(&text) {
                    self.refuse(&UiCommand::SaveFilter(text), &why);
                }
            }
            UiCommand::FindHot => self.find_hot(),
            UiCommand::CancelHot => self.cancel_hot(),
            UiCommand::ExportSpeedscope => self.ask_for_session(SessionPurpose::Speedscope),
            UiCommand::ExportPicture => self.ask_for_session(SessionPurpose::Picture(None)),
            UiCommand::ExportPanel(panel) => self.ask_for_session(SessionPurpose::Picture(Some(panel))),
            UiCommand::SaveSession => self.ask_for_session(SessionPurpose::Save),
            UiCommand::OpenSession => self.ask_for_session(SessionPurpose::Open),
            UiCommand::CompareSession => self.ask_for_session(SessionPurpose::Compare),
            UiCommand::Session(purpose, file) => self.start_session_job(purpose, &file),
            UiCommand::MergeCopies => self.split_or_merge(),
            UiCommand::Choose(..)
            | UiCommand::ChooseNamed(_)
            | UiCommand::ChooseNamesakes
            | UiCommand::Arrange(_)
            | UiCommand::Focus(_)
            | UiCommand::SideBySideFrom(_)
            | UiCommand::Follow
            | UiCommand::FollowAttach
            | UiCommand::LastNumbers
            | UiCommand::DropEnded => self.execute_for_fleet(command),
            UiCommand::SetUp => self.dialogs.set_up = Some(views::setup_dialog::SetupState::default()),
            UiCommand::CopyText(text) => {
                context.copy_text(text);
                let now = self.now();
                self.model.log.add(now, None, LogKind::Notice, "Copied the setup lines");
            }
            UiCommand::Agent => self.dialogs.agent = !self.dialogs.agent,
            UiCommand::NotOffered(level) => {
                self.refuse(
                    &UiCommand::NotOffered(level),
                    &format!("{level} is {}", crate::commands::NOT_OFFERED),
                );
            }
            UiCommand::Undo => self.undo(false),
            UiCommand::Redo => self.undo(true),
            UiCommand::TakeControl => self.take_control(),
            UiCommand::TakeControlOf(id) => self.workers.take_control(id),
            UiCommand::Select(process) => {
                self.select(process);
                // The arrow keys move through its methods, or Enter loads the agent.
                context.memory_mut(|memory| memory.focused().map(|focused| memory.surrender_focus(focused)));
            }
            UiCommand::FindProcess(text) => self.find_process(&text),
            UiCommand::AllProcesses(all) => self.model.processes.set_show_all(all),
            UiCommand::Attach => {
                let ids = self.affected(|one| self.is_attachable(one));
                ids.into_iter().for_each(|id| self.workers.attach(id));
            }
            UiCommand::Reconnect => self.reconnect(),
            UiCommand::Disconnect => self.disconnect(),
            UiCommand::Launch => (self.dialogs.launch, self.dialogs.palette) = (true, None),
            UiCommand::StartLaunch => match views::launch_dialog::plan(&self.settings.launch) {
                Ok(plan) => {
                    self.start(plan);
                    self.pending.from_dialog = self.pending.launch;
                }
                Err(why) => self.refuse(&UiCommand::StartLaunch, &why),
            },
            UiCommand::Browse(choice) => {
                let folder = match &self.dialogs.session {
                    Some(question) if choice.is_session() => question.folder(),
                    _ => views::file_list::first_folder(&self.settings.launch),
                };
                self.dialogs.files = Some(FileListState::new(choice, folder.clone()));
                self.folders.read(context, folder);
            }
            UiCommand::OpenFolder(folder) => self.folders.read(context, folder),
            UiCommand::ChooseFile(choice, path) if choice.is_session() => {
                self.dialogs.session.iter_mut().for_each(|question| question.choose(choice, &path));
            }
            UiCommand::ChooseFile(choice, path) => {
                views::file_list::enter(&mut self.settings.launch, choice, &path);
            }
            UiCommand::StartDemo => self.start_demo(),
            UiCommand::Stop => {
                let affected = self.model.launched_to_stop().into_iter().map(|(ticket, _)| ticket);
                let affected: Vec<Ticket> = affected.collect();
                affected.into_iter().for_each(|ticket| self.stop_launched(ticket));
            }
            UiCommand::StopLaunched(ticket) => self.stop_launched(ticket),
            UiCommand::FocusFilter if self.model.list().is_some_and(|table| !table.catalogue.is_empty()) => {
                self.show_panel(PanelId::Methods);
                self.methods.focus_filter = true;
            }
            UiCommand::FocusFilter => {
                self.show_panel(PanelId::Processes);
                self.processes.focus();
            }
            UiCommand::Filter(text) => {
                self.methods.text.clone_from(&text);
                self.change_filter(|filter| filter.text = text);
            }
            UiCommand::ClearFilter => self.clear_filter(),
            UiCommand::Pick(node, mode) => {
                self.model.change_list(|list| list.click(node, mode));
                if mode == SelectionMode::Replace {
                    self.note_place();
                }
            }
            UiCommand::Reveal(_) | UiCommand::ShowHidden | UiCommand::Back | UiCommand::Forward => {
                self.execute_navigation(context, command);
            }
            UiCommand::Expand(node) => self.model.change_list(|list| list.tree.toggle(node)),
            UiCommand::Sort(sort) => {
                self.model.change_list(|table| table.set_sort(sort));
                self.methods.release_rows();
                // Sorting shows the top of the list, unless a single row is selected.
                self.methods.to_top = self.model.list().is_some_and(|list| list.selection.len() != 1);
            }
            UiCommand::SetColumns(columns) => self.settings.columns = columns,
            UiCommand::ResetColumns => self.settings.columns = ColumnLayout::default(),
            UiCommand::Columns => (self.dialogs.columns, self.dialogs.palette) = (true, None),
            UiCommand::OnlyDialled => self.change_filter(|filter| filter.only_dialled = !filter.only_dialled),
            UiCommand::OffAgain => {
                self.change_filter(|filter| filter.off_again = !filter.off_again);
                self.methods.follow = true;
            }
            UiCommand::HideFramework => {
                self.settings.hide_framework = !self.settings.hide_framework;
                self.follow_settings();
            }
            UiCommand::HideGenerated => {
                self.settings.hide_generated = !self.settings.hide_generated;
                self.follow_settings();
            }
            UiCommand::Tree => {
                self.settings.tree = !self.settings.tree;
                self.follow_settings();
            }
            UiCommand::Pin => self.toggle_pins(),
            UiCommand::FreezeOrder => self.model.change_list(|table| {
                let frozen = table.list.is_frozen();
                table.list.set_frozen(!frozen);
            }),
            UiCommand::SortAgain => {
                self.model.change_list(MethodTable::sort_again);
                self.methods.release_rows();
            }
            UiCommand::Numbers(choice) => self.choose_numbers(choice),
            UiCommand::MarkHistogram(row) => self.change(|connection| connection.histograms.mark(row)),
            UiCommand::ClearMark(row) => self.change(|connection| connection.histograms.clear_mark(row)),
            UiCommand::SelectAll => {
                self.model.change_list(MethodTable::select_all);
                // Space must turn the selection, not type into the filter.
                context.memory_mut(|memory| memory.surrender_focus(views::methods_toolbar::filter_id()));
            }
            UiCommand::Copy(form) => self.copy(context, form),
            UiCommand::Events
            | UiCommand::PauseEvents
            | UiCommand::ClearEvents
            | UiCommand::EventsOfAll
            | UiCommand::FilterEvents(_)
            | UiCommand::EventsOfProcess(_)
            | UiCommand::SortEvents(_)
            | UiCommand::GroupEvents(_)
            | UiCommand::SortGroups(_)
            | UiCommand::ShowGroup(_)
            | UiCommand::SelectEvent(_)
            | UiCommand::CopyEvent(_)
            | UiCommand::CopyValue(_)
            | UiCommand::SetCondition(_) => self.execute_for_events(context, command),
            UiCommand::Lower(_)
            | UiCommand::ShowEvent(..)
            | UiCommand::ExpandCaller(_)
            | UiCommand::ShowInTimeline
            | UiCommand::OpenInEditor(..)
            | UiCommand::SetEditor(_) => {
                self.execute_for_lower_panel(command);
            }
            UiCommand::ClearLines(LogTab::Log) => self.model.log.clear(),
            UiCommand::ClearLines(LogTab::Output) => self.model.output.clear(),
            UiCommand::Log => self.toggle_panel(PanelId::Log),
            UiCommand::ProcessList => self.toggle_panel(PanelId::Processes),
            UiCommand::Details => self.toggle_panel(PanelId::Details),
            UiCommand::ToggleSection(section) => self.settings.toggle_section(section),
            UiCommand::Panel(_)
            | UiCommand::MovablePanels
            | UiCommand::MovePanel(..)
            | UiCommand::Layouts
            | UiCommand::SaveLayout(_)
            | UiCommand::ChooseLayout(_)
            | UiCommand::DeleteLayout(_)
            | UiCommand::ResetLayout => self.execute_for_layouts(command),
            UiCommand::Theme(theme) => self.look(context, |settings| settings.theme = theme),
            UiCommand::Compact => self.look(context, |settings| settings.compact = !settings.compact),
            UiCommand::ZoomIn => {
                self.look(context, |settings| settings.zoom = (settings.zoom + 0.1).min(3.0))
            }
            UiCommand::ZoomOut => {
                self.look(context, |settings| settings.zoom = (settings.zoom - 0.1).max(0.6))
            }
            UiCommand::ZoomReset => self.look(context, |settings| settings.zoom = 1.0),
            UiCommand::Palette => self.dialogs.palette = Some(views::palette::PaletteState::default()),
            UiCommand::Keys => self.dialogs.keys = true,
            UiCommand::Escape => {
                if !self.escape_events(context) {
                    self.escape();
                }
            }
            UiCommand::Quit => context.send_viewport_cmd(egui::ViewportCommand::Close),
        }
        self.save_settings();
    }

    /// A method turned by a key stays in place; after a change of many methods the list sorts, to show which
    /// are called most.
    fn keep_still(&mut self, context: &egui::Context, command: &UiCommand) {
        let by_key = command.changes_selected();
        let one = match command {
            UiCommand::Turn { targets, .. } => targets.methods.len() == 1,
            _ => self.model.current_table().is_some_and(|table| table.selection.len() == 1),
        };
        if one && (by_key || matches!(command, UiCommand::Turn { .. })) {
            self.methods.keep_still(context);
        } else if by_key {
            self.methods.release_rows();
        }
    }

    fn stop_launched(&mut self, ticket: Ticket) {
        let now = self.now();
        if let Some(kill) = self.model.begin_stop(ticket, now) {
            self.workers.stop_launched(ticket, kill);
        }
    }

    /// Reports why a command was not carried out.
    pub(super) fn refuse(&mut self, command: &UiCommand, why: &str) {
        let now = self.now();
        self.model.log.add(now, None, LogKind::Refusal, format!("{}: {why}", command.name()));
    }

    /// Reports the prerequisite of a command.
    pub(super) fn hint(&mut self, command: &UiCommand, why: &str) {
        let now = self.now();
        self.model.log.add(now, None, LogKind::Hint, format!("{}: {why}", command.name()));
    }

    pub(super) fn change(&mut self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.model.current_process_mut() {
            change(connection);
        }
    }

    fn look(&mut self, context: &egui::Context, change: impl FnOnce(&mut crate::settings::Settings)) {
        change(&mut self.settings);
        self.apply_look(context);
    }

    fn all_off(&mut self) {
        let now = self.now();
        if self.model.current.is_none() {
            let text = "All dials off: no process is selected, so this window holds no dials";
            self.model.log.add(now, None, LogKind::Notice, text);
        }
        self.cancel_searches();
        let some_on = self.model.list().is_some_and(MethodTable::has_wanted_dials);
        let errands = self.model.all_off(now);
        self.send(errands);
        if some_on {
            // The numbers in view must not disappear with the dials.
            self.change_filter(|filter| filter.off_again |= filter.only_dialled);
        }
    }

    /// Applies the settings of the method list to the current processes.
    pub(super) fn follow_settings(&mut self) {
        let (hide_framework, hide_generated) = (self.settings.hide_framework, self.settings.hide_generated);
        let (tree, merged) = (self.settings.tree, self.settings.merge_copies);
        self.methods.find_again = true;
        self.model.change_list(|table| {
            let filter = Filter { hide_framework, hide_generated, ..table.list.filter().clone() };
            table.set_filter(filter);
            table.shape = if tree { Shape::Tree } else { Shape::List };
            if !table.catalogue.spans_processes() {
                table.catalogue.set_merged(merged);
            }
        });
    }

    fn dialled_first(&mut self) {
        self.model.change_list(|table| {
            let filter = table.list.filter().clone();
            table.set_filter(Filter { only_dialled: true, ..filter });
            table.set_sort(Sort { key: SortKey::Rate, descending: true });
        });
    }

    /// Expands groups of the tree that are the only one on their level, once; otherwise a single module
    /// would show nothing but its name. Returns whether there may be more to expand in the next frame.
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

    /// Shows the process requested on the command line, or a launched one, as soon as it is there.
    pub(super) fn await_processes(&mut self) {
        // A launched program's agent can connect before the process list shows it.
        for connection in self.model.connections.values_mut().filter(|one| one.name == UNNAMED) {
            if let Some(row) = self.model.processes.get(connection.process) {
                connection.name = views::processes::title(row);
            }
        }
        if let Some(pid) = self.pending.pid
            && self.model.processes.is_scanned()
        {
            self.pending.pid = None;
            match self.model.processes.by_pid(pid).map(|row| row.key) {
                Some(key) => {
                    self.select(key);
                    if std::mem::take(&mut self.pending.dialled) {
                        self.dialled_first();
                    }
                }
                None => {
                    let now = self.now();
                    self.model.log.add(now, None, LogKind::Refusal, format!("There is no process {pid}"));
                }
            }
        }
        for id in self.model.take_newly_reachable() {
            self.workers.retry(id);
        }
        self.await_start();
        let Some(launched) = self.pending.launch.and_then(|ticket| self.model.launched.get(&ticket)) else {
            return;
        };
        if let Some(key) = launched.agent {
            self.pending.launch = None;
            self.look_at_launched(key);
        } else if launched.ended.is_some() {
            self.pending.launch = None;
        }
    }

    /// Closes the launch dialog when its program runs; if it cannot be started, the dialog stays open with
    /// the reason.
    fn await_start(&mut self) {
        let Some(launched) = self.pending.from_dialog.and_then(|ticket| self.model.launched.get(&ticket))
        else {
            return;
        };
        if launched.pid.is_some() {
            self.dialogs.launch = false;
            // Programs that could not be started are not offered again.
            self.settings.launched();
            self.save_settings();
        } else if let Some(why) = &launched.ended {
            self.pending.failed = Some((self.settings.launch.clone(), why.clone()));
        } else {
            return;
        }
        self.pending.from_dialog = None;
    }

    fn find_process(&mut self, text: &str) {
        self.model.processes.set_filter(text);
        self.processes.set_text(text);
    }

    fn reconnect(&mut self) {
        let lost = self.affected(|one| {
            one.session.status != Status::Live && one.session.status.retry() != Some(Retry::Never)
        });
        lost.into_iter().for_each(|id| self.workers.retry(id));
    }

    fn disconnect(&mut self) {
        self.note_looks();
        for id in self.affected(|_| true) {
            self.workers.disconnect(id);
            self.model.close(id);
        }
        self.look_at_chosen();
    }

    fn clear_filter(&mut self) {
        self.methods.text.clear();
        self.methods.find_again = true;
        self.change_filter(|filter| filter.text.clear());
    }

    pub(super) fn change_filter(&mut self, change: impl FnOnce(&mut Filter)) {
        self.model.change_list(|table| {
            let mut filter = table.list.filter().clone();
            change(&mut filter);
            table.set_filter(filter);
        });
    }

    fn copy(&mut self, context: &egui::Context, form: crate::commands::CopyFormat) {
        self.model.change_list(MethodTable::complete);
        let Some(lines) = self.model.current.and_then(|id| self.model.lines(id)) else { return };
        let (text, rows) = clipboard::table(lines, form);
        context.copy_text(text);
        let rows = words::methods(rows as u64);
        let now = self.now();
        self.model.log.add(now, None, LogKind::Notice, format!("Copied {rows}"));
    }

    fn escape(&mut self) {
        if !self.dialogs.close() && !self.close_pending_notification(&self.command_context()) {
            self.clear_filter();
        }
    }
}

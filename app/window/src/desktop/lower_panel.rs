//! The tabs of the panel below the methods.

use super::App;
use crate::commands::{CommandContext, UiCommand};
use crate::settings::LowerTab;
use crate::settings::layouts::PanelId;
use crate::ui::theme::Palette;
use crate::views::timeline::ShownProcess;
use crate::views::{calls, charts, timeline};
use eframe::egui::{self, Frame, Margin, Ui};
use redial_model::Model;
use redial_model::caller_tree::CallerTree;
use redial_model::connection::{Connection, Status};
use redial_model::ids::ConnectionId;
use redial_protocol::level::Level;
use std::sync::Arc;

impl App {
    /// Brings the shown tab up to date.
    pub(super) fn refresh_lower_panel(&mut self, context: &egui::Context) {
        self.refresh_code(context);
        let (now, shows_calls) = (self.now().mono, self.shows(PanelId::Calls));
        let App { model, lower, workers, .. } = self;
        if let Some(subject) = model.current() {
            lower.timeline.look_at(subject.id());
        }
        let shown = process_of_calls(model, lower.calls.process);
        let Some(connection) = shown.and_then(|id| model.connections.get_mut(&id)) else { return };
        lower.calls.look_at(connection.id);
        if shows_calls && calls::shows_callers(&lower.calls, connection) {
            let Connection { id, caller_tree, table, session, .. } = connection;
            if session.status == Status::Live {
                let asked = caller_tree.ask(table, now);
                asked.into_iter().for_each(|row| workers.callers(*id, row));
            }
        } else if shows_calls && let Some(due) = lower.calls.refresh(connection.events.history_mut(), now) {
            context.request_repaint_after(due);
        }
    }

    /// Shows the content of a tab in the rest of `ui`.
    pub(super) fn show_lower(
        &mut self,
        ui: &mut Ui,
        shown: LowerTab,
        context: &CommandContext,
        commands: &mut Vec<UiCommand>,
    ) {
        if shown == LowerTab::Events {
            return self.show_calls(ui, context, commands);
        }
        if shown == LowerTab::Code {
            if let Some(text) = self.show_code(ui, commands) {
                empty(ui, text);
            }
            return;
        }
        let now = self.now().unix_ms;
        let App { model, lower, .. } = self;
        if shown == LowerTab::Charts {
            if model.charts.charted().next().is_none() {
                empty(ui, "Select methods whose dials are on to see their calls, durations and exceptions.");
                return;
            }
            bar(ui, |ui| charts::header(ui, &mut lower.charts, &model.charts));
            charts::show(ui, &mut lower.charts, &model.charts, now);
            return;
        }
        if shown == LowerTab::Timeline && model.is_merged() {
            let processes = shown_processes(model);
            if timeline::range(&processes).is_none() {
                empty(ui, "Calls of traced methods appear here, for each process.");
                return;
            }
            bar(ui, |ui| timeline::header(ui, &mut lower.timeline, &processes, commands));
            timeline::show(ui, &mut lower.timeline, &processes, commands);
            return;
        }
        let fleet = model.current().and_then(|subject| subject.fleet());
        let connection =
            process_of_calls(model, lower.calls.process).and_then(|id| model.connections.get(&id));
        let Some(connection) = connection else {
            empty(ui, "Select a process to see its calls.");
            return;
        };
        let shows_callers = shown == LowerTab::Calls && CallerTree::has_any(&connection.table);
        if connection.events.history().spans().is_empty() && !shows_callers && fleet.is_none() {
            empty(ui, nothing(connection, shown));
            return;
        }
        match shown {
            LowerTab::Timeline => {
                let process = ShownProcess::alone(connection.id, &connection.events);
                bar(ui, |ui| timeline::header(ui, &mut lower.timeline, &process, commands));
                timeline::show(ui, &mut lower.timeline, &process, commands);
            }
            LowerTab::Calls => {
                bar(ui, |ui| calls::header(ui, &mut lower.calls, (connection, fleet), commands));
                calls::show(ui, &mut lower.calls, connection, commands);
            }
            LowerTab::Events | LowerTab::Charts | LowerTab::Code => {}
        }
    }

    /// Executes a command of the tabs.
    pub(super) fn execute_for_lower_panel(&mut self, command: UiCommand) {
        match command {
            UiCommand::Lower(tab) => self.toggle_panel(PanelId::of_tab(tab)),
            UiCommand::ExpandCaller(path) => {
                let shown = process_of_calls(&self.model, self.lower.calls.process);
                if let Some(connection) = shown.and_then(|id| self.model.connections.get_mut(&id)) {
                    connection.caller_tree.toggle(&path);
                }
            }
            UiCommand::OpenInEditor(file, line) => self.open_in_editor(&file, line),
            UiCommand::SetEditor(command) => self.settings.editor = command,
            UiCommand::ShowEvent(process, number) => {
                let connection = self.model.connections.get(&process);
                let event = connection.and_then(|connection| connection.events.by_number(number));
                let event = event.map(Arc::clone);
                if let Some(events) = self.model.current_events_mut() {
                    events.select(event);
                }
                // Calls of methods that are not selected are hidden otherwise.
                self.events.of_all = true;
                self.events.follow = true;
                self.show_panel(PanelId::Events);
            }
            UiCommand::ShowInTimeline => {
                let App { model, lower, .. } = self;
                let span = model.current().and_then(|subject| {
                    let event = subject.events().selected()?;
                    let process = subject.process().map_or(event.connection, |one| one.id);
                    let history = model.connections.get(&process)?.events.history();
                    Some((process, *history.span(event.call.number)?))
                });
                if let Some((process, span)) = span {
                    lower.timeline.reveal(process, span);
                }
                self.show_panel(PanelId::Timeline);
            }
            _ => {}
        }
    }
}

/// Returns the process for the tree of calls: of several, the one that the user chose, or the first with traced calls.
fn process_of_calls(model: &Model, chosen: Option<ConnectionId>) -> Option<ConnectionId> {
    let subject = model.current()?;
    let Some(fleet) = subject.fleet() else { return subject.process().map(|one| one.id) };
    let members = || fleet.members().iter().map(|member| member.connection);
    let has_calls = |id: &ConnectionId| {
        model.connections.get(id).is_some_and(|one| !one.events.history().spans().is_empty())
    };
    members()
        .find(|id| Some(*id) == chosen)
        .or_else(|| members().find(has_calls))
        .or_else(|| members().next())
}

/// Returns the processes of the fleet, for the timeline.
fn shown_processes(model: &Model) -> Vec<ShownProcess<'_>> {
    let fleet = model.current().and_then(|subject| subject.fleet());
    let members = fleet.into_iter().flat_map(|fleet| fleet.members());
    ShownProcess::together(members.filter_map(|member| {
        let connection = model.connections.get(&member.connection)?;
        Some((connection.id, connection.title(), &connection.events))
    }))
}

/// Shows the line above a tab's content.
pub(super) fn bar(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    Frame::new().fill(Palette::of(ui).panel).inner_margin(Margin::symmetric(10, 4)).show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        add(ui);
    });
}

/// Shows why there is nothing to show.
pub(super) fn empty(ui: &mut Ui, text: &str) {
    // The panel must not shrink with its content.
    ui.set_min_size(ui.available_size());
    ui.add_space(12.0);
    ui.vertical_centered(|ui| ui.weak(text));
}

fn nothing(connection: &Connection, tab: LowerTab) -> &'static str {
    match connection.table.live.rows().any(|row| row.wanted >= Level::Trace) {
        false if tab == LowerTab::Calls => {
            "Turn a method's dial to trace (3) to see its calls, or tick “Count callers” of a timed method to see its \
            callers."
        }
        true => "The next calls of traced methods appear here.",
        false => "Turn a method's dial to trace (3) to see its calls.",
    }
}

//! The panel of traced calls: what it collects, where it is shown, and its commands.

use super::App;
use super::panels::SizedPanel;
use crate::commands::{CallFormat, CommandContext, UiCommand};
use crate::settings::layouts::PanelId;
use crate::ui::theme::Palette;
use crate::views::events::{self, EventsKey};
use crate::views::{calls, lower_panel, timeline};
use eframe::egui::{self, Frame, Margin, Panel, Rangef, Ui};
use redial_link::machine;
use redial_model::connection::{Connection, Status};
use redial_model::events::{EventFilter, Events, TracedEvent};
use redial_model::fleet::MemberRequest;
use redial_model::log::LogKind;
use redial_model::method_set::MethodSet;
use redial_model::subject::Subject;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::trace::Outcome;
use redial_text::json::{TracedCallJson, safe_json};
use redial_text::traced_calls::line;
use std::collections::BTreeSet;

/// Height that the method list keeps above the panel, points.
const METHODS: f32 = 120.0;
/// Least height of the panel, points.
const LEAST: f32 = 110.0;

impl App {
    /// Collects calls while the panel is shown, and brings the current process's calls up to date. Returns whether there
    /// is more to do.
    pub(super) fn refresh_events(&mut self, context: &egui::Context) -> bool {
        let is_open = self.shows_lower();
        // The link to the calls is needed while movable panels show charts or source alone.
        let shows_calls = if self.dock.is_some() { self.shows_calls() } else { is_open };
        context.data_mut(|data| data.insert_temp(events::shown_id(), shows_calls));
        self.take_back_conditions();
        self.stream_events();
        self.refresh_charts(context);
        if !is_open {
            return false;
        }
        let (held, of_all, now) = (self.events.is_held(), self.events.of_all, self.now().mono);
        if self.model.is_merged() {
            let more = self.refresh_merged_events(context);
            self.refresh_lower_panel(context);
            return more;
        }
        let Some(connection) = self.model.current_process_mut() else { return false };
        let is_traced = connection.table.live.wanted(Level::Trace).is_some_and(|rows| rows.count() > 0);
        let live = connection.session.status == Status::Live;
        let asked = if is_traced && live { Some(connection.events.poll(now)) } else { None };
        if asked.is_none() {
            connection.events.clear_in_flight();
        }
        let key = events_key(connection, of_all);
        if self.events.key.replace(key) != Some(key) {
            let rows = shown_rows(connection).filter(|_| !of_all);
            let rows = rows.map(|rows| connection.events.rows_where(|(row, _)| rows.contains(&row)));
            let mut query = connection.events.query().clone();
            query.rows = rows;
            query.set_text(&self.events.text);
            connection.events.set_query(query);
        }
        let (id, more) = (connection.id, connection.events.refresh(held));
        self.refresh_lower_panel(context);
        match asked {
            Some(Ok(())) => self.workers.calls_in_flight(id),
            Some(Err(Some(at))) => context.request_repaint_after(at.saturating_sub(now)),
            Some(Err(None)) | None => {}
        }
        more
    }

    /// Starts to collect the calls of the current process while the panel is shown, and stops when it is hidden. A
    /// process that was shown meanwhile goes on.
    pub(super) fn stream_events(&mut self) {
        let (open, current) = (self.shows_lower(), self.model.current_process().map(|one| one.id));
        let is_merged = self.model.is_merged();
        if let Some(fleet) = self.model.fleet_mut() {
            self.workers.free(fleet.events.take_gone());
        }
        for connection in self.model.connections.values_mut() {
            self.workers.free(connection.events.take_gone());
            let is_shown = Some(connection.id) == current || is_merged && connection.in_fleet;
            let wanted = open && (connection.events.is_streaming() || is_shown);
            if connection.session.status == Status::Live && connection.events.change_stream(wanted) {
                self.workers.collect_calls(connection.id, wanted);
            }
        }
    }

    /// Shows the panel below the methods, if it is open.
    pub(super) fn show_events(&mut self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let loaded = self.model.current_table().is_some_and(|table| !table.catalogue.is_empty());
        if !self.settings.events_open || !loaded {
            return;
        }
        let room = ui.available_height();
        let panel = SizedPanel {
            panel: Panel::bottom("events").frame(Frame::new().fill(Palette::of(ui).base)),
            name: "events",
            flat: true,
            wanted: self.settings.events_height.unwrap_or(room * 0.5),
            range: Rangef::new(LEAST.min(room * 0.6), (room - METHODS).max(room * 0.6)),
        };
        let now = self.command_context();
        let dragged = panel.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let shown = self.settings.lower_tab;
            self.panel_areas.note(PanelId::of_tab(shown), ui);
            lower_panel::tabs(ui, shown, commands);
            self.show_lower(ui, shown, &now, commands);
        });
        self.settings.events_height = dragged.or(self.settings.events_height);
    }

    /// Shows the table of traced calls and the selected one in the rest of `ui`.
    pub(super) fn show_calls(&mut self, ui: &mut Ui, now: &CommandContext, commands: &mut Vec<UiCommand>) {
        let unix_ns = self.now().unix_ms.saturating_mul(1_000_000);
        {
            let App { model, events: state, settings, .. } = self;
            let Some(subject) = model.current() else { return };
            let bar = Frame::new().fill(Palette::of(ui).panel).inner_margin(Margin::symmetric(10, 4));
            bar.show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 4.0;
                events::header(ui, state, subject, now, commands);
                events::conditions(ui, state, (subject, &model.connections), commands);
            });
            let is_shown = subject.events().groups().is_none() && ui.available_width() >= events::BOTH;
            let details = subject.events().selected().filter(|_| is_shown);
            if let Some(event) = details {
                let wide = ui.available_width();
                let details = SizedPanel {
                    panel: Panel::right("call").frame(
                        Frame::new().fill(Palette::of(ui).panel).inner_margin(Margin::symmetric(10, 6)),
                    ),
                    name: "call",
                    flat: false,
                    wanted: settings.call_width.unwrap_or((wide * 0.36).min(420.0)),
                    range: Rangef::new(180.0, (wide * 0.6).max(180.0)),
                };
                let dragged = details.show(ui, |ui| events::selected(ui, subject, event, unix_ns, commands));
                settings.call_width = dragged.or(settings.call_width);
            }
            events::calls(ui, state, subject, unix_ns, commands);
        }
    }

    /// Executes a command of the panel.
    pub(super) fn execute_for_events(&mut self, context: &egui::Context, command: UiCommand) {
        match command {
            UiCommand::Events => self.toggle_panel(PanelId::Events),
            UiCommand::PauseEvents => self.change_events(|events| {
                let paused = events.is_paused();
                events.set_paused(!paused);
            }),
            UiCommand::ClearEvents => {
                self.change_events(Events::clear);
                if self.model.is_merged() {
                    let members = self.model.connections.values_mut().filter(|one| one.in_fleet);
                    members.for_each(|member| member.events.clear());
                }
                self.lower.clear();
            }
            UiCommand::EventsOfAll => self.events.of_all = !self.events.of_all,
            UiCommand::FilterEvents(text) => self.change_events(|events| {
                let mut query = events.query().clone();
                query.set_text(&text);
                events.set_query(query);
            }),
            UiCommand::EventsOfProcess(process) => self.change_events(|events| {
                let mut query = events.query().clone();
                query.process = process;
                events.set_query(query);
            }),
            UiCommand::SortEvents(column) => {
                self.change_events(|events| {
                    let mut query = events.query().clone();
                    query.ascending = query.column == column && !query.ascending;
                    query.column = column;
                    events.set_query(query);
                });
                self.events.follow = true;
            }
            UiCommand::GroupEvents(key) => self.change_events(|events| events.group_by(key)),
            UiCommand::SortGroups(column) => self.change_events(|events| {
                events.groups_mut().into_iter().for_each(|groups| groups.sort_by(column));
            }),
            UiCommand::ShowGroup(condition) => {
                self.events.text = with_condition(&self.events.text, &condition);
                let text = self.events.text.clone();
                self.change_events(|events| {
                    events.group_by(None);
                    let mut query = events.query().clone();
                    query.set_text(&text);
                    events.set_query(query);
                });
            }
            UiCommand::SelectEvent(event) => self.change_events(|events| events.select(event)),
            UiCommand::CopyEvent(format) => self.copy_event(context, format),
            UiCommand::CopyValue(text) => {
                context.copy_text(text);
                let now = self.now();
                self.model.log.add(now, None, LogKind::Notice, "Copied a value");
            }
            UiCommand::SetCondition(targets) => self.set_or_ask(targets, Level::Trace),
            _ => {}
        }
    }

    fn change_events(&mut self, change: impl FnOnce(&mut Events)) {
        if let Some(events) = self.model.current_events_mut() {
            change(events);
        }
    }

    /// Takes back changes whose conditions do not fit their methods, and shows why.
    fn take_back_conditions(&mut self) {
        let now = self.now();
        let mut requests = Vec::new();
        for connection in self.model.connections.values_mut() {
            if let Some((refused, step)) = connection.take_back_condition(&mut self.model.log, now) {
                requests.push(MemberRequest { connection: connection.id, step });
                self.events.editor.take_refusal(connection.id, refused);
            }
        }
        self.send(requests);
    }

    /// Handles Escape in the panel's fields, rows and canvases. Returns whether one of them had the focus.
    pub(super) fn escape_events(&mut self, context: &egui::Context) -> bool {
        let focused = context.memory(|memory| memory.focused());
        let Some(id) = focused else { return false };
        let stays = match id {
            id if id == events::condition_id() => self.events.editor.escape(),
            id if id == events::filter_id() => {
                self.events.key = None;
                !std::mem::take(&mut self.events.text).is_empty()
            }
            id if id == events::rows_id() => {
                self.change_events(|events| events.select(None));
                false
            }
            id if id == calls::search_id() => !std::mem::take(&mut self.lower.calls.search).is_empty(),
            // Escape leaves a canvas and keeps the filter of methods. A dialog over it comes first.
            id if [calls::canvas_id(), timeline::canvas_id()].contains(&id)
                && !self.dialogs.is_any_open() =>
            {
                false
            }
            _ => return false,
        };
        if !stays {
            context.memory_mut(|memory| memory.surrender_focus(id));
        }
        true
    }

    fn copy_event(&mut self, context: &egui::Context, format: CallFormat) {
        let now = self.now();
        let Some(subject) = self.model.current() else { return };
        let Some(event) = subject.events().selected() else { return };
        let owner = subject.process().map(|one| one.id).unwrap_or(event.connection);
        let Some(owner) = self.model.connections.get(&owner) else { return };
        let mut text = copied(subject, owner, event, format, now.unix_ms.saturating_mul(1_000_000));
        if subject.fleet().is_some() && format == CallFormat::Text {
            text = format!("{}  {text}", owner.title());
        }
        context.copy_text(text);
        self.model.log.add(now, None, LogKind::Notice, "Copied a call");
    }
}

/// Returns a filter that also demands a condition. Words cannot be joined with one; they give way to it.
fn with_condition(filter: &str, condition: &str) -> String {
    match EventFilter::parse(filter) {
        Ok(EventFilter::Condition(_)) => format!("({filter}) && {condition}"),
        _ => condition.to_owned(),
    }
}

fn copied(
    subject: Subject<'_>,
    owner: &Connection,
    event: &TracedEvent,
    format: CallFormat,
    now: u64,
) -> String {
    match format {
        CallFormat::Text => line(&event.method, &event.call, now),
        CallFormat::Json => {
            let age = Some(now.saturating_sub(event.call.start_unix_ns));
            let age = age.filter(|_| event.call.outcome == Outcome::InFlight);
            let (host, dropped) = (machine::host_name(), subject.events().dropped_like(event));
            let process = (host.as_deref(), owner.process.pid);
            safe_json::line(&TracedCallJson::new(process, &event.method, &event.call, age, dropped))
        }
    }
}

/// Returns what decides which rows are shown.
fn events_key(connection: &Connection, of_all: bool) -> EventsKey {
    let table = &connection.table;
    EventsKey {
        connection: connection.id,
        of_all,
        selection: table.selection.edition(),
        methods: (table.catalogue.edition(), table.list.edition(), table.live.rows_edition()),
        traced: connection.events.methods().count(),
    }
}

/// Returns the rows of the selected methods; None without a selection.
fn shown_rows(connection: &Connection) -> Option<BTreeSet<RowId>> {
    let table = &connection.table;
    if table.selection.is_empty() {
        return None;
    }
    Some(rows_of(connection, &table.turned_by_selection().methods))
}

/// Returns the rows of traced methods that are among `methods`.
pub(super) fn rows_of(connection: &Connection, methods: &MethodSet) -> BTreeSet<RowId> {
    let method = |row: RowId| connection.table.live.row(row).and_then(|row| row.method);
    let is_meant = |row: RowId| method(row).is_some_and(|method| methods.contains(method));
    connection.events.rows_where(|(row, _)| is_meant(row)).into_iter().map(|(row, _)| row).collect()
}

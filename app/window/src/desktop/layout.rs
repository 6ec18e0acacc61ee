//! The window's layout.

use super::panels::SizedPanel;
use super::{App, empty_state};
use crate::commands::UiCommand;
use crate::settings::layouts::PanelId;
use crate::ui::theme::Palette;
use crate::views;
use crate::views::empty_views::EmptyReason;
use crate::views::{
    agent, change_progress, columns_dialog, confirmation, connection_loss, empty_views, ended_process,
    fleet_header, key_sheet, last_numbers, launch_dialog, log, menu_bar, methods, methods_toolbar, palette,
    processes, sharing_dialog, status_bar,
};
use eframe::egui::{CentralPanel, Frame, Margin, Panel, Rangef, Ui};
use redial_model::processes::AgentState;
use redial_model::state::LaunchedProgram;
use redial_model::update::Retry;
use redial_model::visible_rows::VisibleRows;
use redial_text::words;

/// Initial widths of process list and details panel by window width, points; interpolated in between. Narrow windows leave
/// more room to the methods.
const WIDTHS: [(f32, [f32; 2]); 3] =
    [(1_024.0, [176.0, 228.0]), (1_180.0, [250.0, 270.0]), (1_600.0, [250.0, 320.0])];
/// Height that the log keeps below a notification, points: margins, its header and one line.
const LOG_BESIDE: f32 = 72.0;
/// Largest initial width of the details panel beside side-by-side tables, points.
const BESIDE: f32 = 270.0;
/// Width that method list and details panel need side by side, points.
const BOTH: f32 = 740.0;

/// Returns the initial widths of process list and details panel in a window, points.
pub(super) fn initial_widths(window: f32) -> [f32; 2] {
    let [narrow, usual, wide] = WIDTHS;
    let (from, to) = if window < usual.0 { (narrow, usual) } else { (usual, wide) };
    let part = ((window - from.0) / (to.0 - from.0)).clamp(0.0, 1.0);
    [0, 1].map(|panel| (from.1[panel] + part * (to.1[panel] - from.1[panel])).round())
}

impl App {
    /// Draws the window.
    pub(super) fn layout(&mut self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        let now = self.command_context();
        self.panel_areas.clear();
        let colours = Palette::of(ui);
        let frame = |fill| Frame::new().fill(fill).inner_margin(Margin::symmetric(10, 6));
        let on = self.dials_on();
        Panel::top("bar")
            .frame(frame(colours.raised))
            .show(ui, |ui| menu_bar::show(ui, (&self.model, &now), (on, &self.settings.layouts), commands));
        let mono = self.now().mono;
        Panel::bottom("strip")
            .frame(frame(colours.raised))
            .show(ui, |ui| status_bar::show(ui, &self.model, mono, commands));
        let room = ui.ctx().content_rect().size();
        let notifications = self.current_notifications(ui, &now);
        if self.dock.is_some() {
            if let Some(notifications) = &notifications {
                self.notifications_panel(ui, notifications, commands);
            }
            self.methods.no_panel = false;
            CentralPanel::no_frame()
                .frame(Frame::new().fill(colours.base))
                .show(ui, |ui| self.show_dock(ui, &now, commands));
            return self.overlays(ui, &now, commands);
        }
        if self.settings.log_open {
            // Notifications take room from the log, as long as one of its lines stays visible.
            let notification_height = self.notification_height;
            let least = notifications.as_ref().map_or(0.0, |_| notification_height + LOG_BESIDE);
            let wanted = self.settings.log_height.unwrap_or((room.y * 0.17).clamp(70.0, 150.0));
            let log = SizedPanel {
                panel: Panel::bottom("log").frame(frame(colours.panel)),
                name: "log",
                flat: true,
                wanted: wanted.max(least),
                range: Rangef::new(60.0, (room.y * 0.5).max(60.0)),
            };
            let dragged = log.show(ui, |ui| {
                self.panel_areas.note(PanelId::Log, ui);
                match &notifications {
                    Some(notifications) => self.show_notifications(ui, notifications, commands),
                    // The widgets below keep their ids.
                    None => ui.skip_ahead_auto_ids(1),
                }
                log::show(ui, &mut self.log, &self.model, commands);
            });
            // Ignores a height that changed because of the notification.
            let dragged = dragged.filter(|_| self.notification_height == notification_height);
            self.settings.log_height = dragged.or(self.settings.log_height);
        } else if let Some(notifications) = &notifications {
            self.notifications_panel(ui, notifications, commands);
        }
        let [processes_width, detail_width] = initial_widths(room.x);
        let processes = SizedPanel {
            panel: Panel::left("processes").frame(frame(colours.panel)),
            name: "processes",
            flat: false,
            wanted: self.settings.processes_width.unwrap_or(processes_width),
            range: Rangef::new(140.0, (room.x * 0.35).max(140.0)),
        };
        if self.settings.processes_open {
            let dragged = processes.show(ui, |ui| {
                self.panel_areas.note(PanelId::Processes, ui);
                processes::show(ui, &mut self.processes, &self.model, mono, commands);
            });
            self.settings.processes_width = dragged.or(self.settings.processes_width);
        }
        let beside = self.model.is_beside();
        // Side-by-side tables need the room, too.
        let initial = if beside { detail_width.min(BESIDE) } else { detail_width };
        let width = self.settings.detail_width.unwrap_or(initial);
        // In a narrow window the method list needs the room more.
        let wide = match beside {
            true => ui.available_width() - width >= fleet_header::TWO,
            false => ui.available_width() > BOTH,
        };
        let wanted = self.settings.details_open
            && self.model.current_table().is_some_and(|table| !table.catalogue.is_empty());
        self.methods.no_panel = wanted && !wide && !beside;
        if wanted && wide {
            let detail = SizedPanel {
                panel: Panel::right("detail").frame(frame(colours.panel)),
                name: "detail",
                flat: false,
                wanted: width,
                range: Rangef::new(200.0, 500.0),
            };
            let dragged = detail.show(ui, |ui| {
                self.panel_areas.note(PanelId::Details, ui);
                self.show_details(ui, commands);
            });
            self.settings.detail_width = dragged.or(self.settings.detail_width);
            self.ask_about_looked_at(ui.ctx());
        }
        CentralPanel::no_frame()
            .frame(Frame::new().fill(colours.base))
            .show(ui, |ui| self.middle(ui, &now, commands));
        self.overlays(ui, &now, commands);
    }

    /// Draws notifications at the bottom of `ui`.
    fn notifications_panel(
        &mut self,
        ui: &mut Ui,
        notifications: &super::notifications::NotificationBar,
        commands: &mut Vec<UiCommand>,
    ) {
        let panel =
            Panel::bottom("notifications").frame(Frame::NONE).show_separator_line(false).resizable(false);
        panel.show(ui, |ui| self.show_notifications(ui, notifications, commands));
    }

    /// Draws the methods and, in the standard layout, the panel below them in the rest of `ui`.
    pub(super) fn middle(
        &mut self,
        ui: &mut Ui,
        now: &crate::commands::CommandContext,
        commands: &mut Vec<UiCommand>,
    ) {
        ui.spacing_mut().item_spacing.y = 0.0;
        fleet_header::bar(ui, &self.model, self.now(), now, commands);
        if !self.settings.layouts.movable {
            self.show_events(ui, commands);
            self.panel_areas.note_at(PanelId::Methods, ui.available_rect_before_wrap());
        }
        if self.model.is_beside() {
            return self.beside(ui, now, commands);
        }
        let mono = self.now().mono;
        let App { model, methods: state, suggestions, .. } = self;
        let ended = ended_process::of(model);
        let unread = model.current_table().is_none_or(|table| table.catalogue.is_empty());
        if let Some(launched) = ended.filter(|_| unread) {
            ended_process::show(ui, launched, model, now, commands);
            return;
        }
        let Some(subject) = model.current() else {
            let any = model
                .processes
                .shown()
                .any(|row| row.agent.can_connect() || row.agent == AgentState::Attachable);
            empty_views::show(ui, &EmptyReason::NoProcess { any }, now, commands);
            return;
        };
        if subject.table().catalogue.is_empty() {
            empty_state::show(ui, model, subject, now, commands);
            return;
        }
        let colours = Palette::of(ui);
        ui.spacing_mut().item_spacing.y = 0.0;
        Frame::new().fill(colours.panel).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            methods_toolbar::show(ui, state, subject, (now, &self.settings), commands);
        });
        if let Some(connection) = subject.process().filter(|one| one.session.loss.is_some()) {
            let how = {
                // Nobody knows how a program ended that another one started, or this window does not know it yet.
                let has_ended = connection.session.status.retry() == Some(Retry::Never);
                let is_fine = model.was_stopped(connection.process)
                    || ended.map_or(has_ended, LaunchedProgram::has_succeeded);
                (ended.map(LaunchedProgram::ending), is_fine)
            };
            // Above the rows, the notice would move another row under the pointer.
            Panel::bottom("loss").frame(Frame::NONE).show_separator_line(false).show(ui, |ui| {
                connection_loss::show(ui, connection, how, mono, commands);
            });
        }
        if change_progress::is_any(subject, mono) {
            // The same holds for the progress of a change.
            Panel::bottom("progress").frame(Frame::NONE).show_separator_line(false).show(ui, |ui| {
                change_progress::show(ui, subject, mono, commands);
            });
        }
        if subject.table().row_count() == 0 {
            empty_state::show_none(ui, subject, suggestions, now, commands);
            return;
        }
        methods::table(
            ui,
            state,
            (VisibleRows::of(subject), &[]),
            methods::Needs::of([subject], &self.settings.columns),
            commands,
        );
    }

    fn overlays(
        &mut self,
        ui: &mut Ui,
        now: &crate::commands::CommandContext,
        commands: &mut Vec<UiCommand>,
    ) {
        let context = ui.ctx().clone();
        if let Some(bulk) = &mut self.dialogs.confirm
            && confirmation::show(&context, bulk, &self.model.connections, commands)
            && !commands.contains(&UiCommand::ConfirmChange)
        {
            self.dialogs.confirm = None;
        }
        if let Some(question) = &mut self.dialogs.sharing
            && sharing_dialog::show(&context, question, commands)
            && !commands.iter().any(|one| matches!(one, UiCommand::ConfirmSharing | UiCommand::ExcludeShared))
        {
            self.dialogs.sharing = None;
        }
        if self.dialogs.agent {
            self.dialogs.agent = self
                .model
                .current_process()
                .is_some_and(|connection| !agent::show(&context, connection, self.now(), now, commands));
        }
        if let Some(state) = &mut self.dialogs.last_numbers
            && last_numbers::show(&context, state, &self.model, commands)
        {
            self.dialogs.last_numbers = None;
        }
        if let Some(state) = &mut self.dialogs.dial_sets {
            let of = self.model.current_process();
            let programs = &self.settings.programs;
            if of.is_none_or(|one| views::dial_sets::show(&context, state, (one, programs), commands)) {
                self.dialogs.dial_sets = None;
            }
        }
        if self.dialogs.columns {
            self.dialogs.columns = !columns_dialog::show(&context, &self.settings.columns, commands);
        }
        if let Some(state) = &mut self.dialogs.layouts
            && views::layouts::show(&context, state, &self.settings.layouts, commands)
        {
            self.dialogs.layouts = None;
        }
        if let Some(state) = &mut self.dialogs.budget {
            let of = self.model.connections.get(&state.connection());
            if of.is_none_or(|connection| views::budget::show(&context, state, connection, commands)) {
                self.dialogs.budget = None;
            }
        }
        if let Some(question) = &mut self.dialogs.session
            && views::saved_session::ask(&context, question, commands)
        {
            self.dialogs.session = None;
        }
        if let Some(table) = &self.dialogs.saved_table
            && views::saved_session::show(&context, table)
        {
            self.dialogs.saved_table = None;
        }
        if let Some(state) = &mut self.dialogs.set_up
            && views::setup_dialog::show(&context, state, commands)
        {
            self.dialogs.set_up = None;
        }
        let stopped = self.model.launched_to_stop().into_iter().map(|(_, launched)| launched.named());
        let stopped = words::all(&stopped.collect::<Vec<_>>());
        let stopped = Some(stopped).filter(|names| !names.is_empty());
        if let Some(state) = &mut self.dialogs.palette
            && palette::show(
                &context,
                state,
                palette::Searched {
                    model: &self.model,
                    columns: &self.settings.columns,
                    layouts: &self.settings.layouts,
                    now,
                    stops: stopped.as_deref(),
                },
                commands,
            )
        {
            self.dialogs.palette = None;
        }
        if self.dialogs.keys && key_sheet::show(&context) {
            self.dialogs.keys = false;
        }
        let trouble = self.pending.failed.as_ref().filter(|(of, _)| *of == self.settings.launch);
        let progress = match (self.pending.from_dialog, trouble) {
            (Some(_), _) => launch_dialog::LaunchProgress::Starting,
            (None, Some((_, why))) => launch_dialog::LaunchProgress::Failed(why.clone()),
            (None, None) => launch_dialog::LaunchProgress::None,
        };
        let settings = &mut self.settings;
        if let Some(files) = &mut self.dialogs.files {
            self.folders.deliver(files);
            if views::file_list::show(&context, files, commands) {
                self.dialogs.files = None;
            }
        }
        if self.dialogs.launch
            && launch_dialog::show(&context, &mut settings.launch, &settings.recent, &progress, commands)
        {
            self.dialogs.launch = false;
        }
    }
}

//! Where everything stands in the window.

use super::panels::Sized;
use super::{App, unread};
use crate::commands::Command;
use crate::model::lines::Lines;
use crate::model::processes::AgentState;
use crate::model::state::Launched;
use crate::output::words;
use crate::ui::theme::Palette;
use crate::views;
use crate::views::empty::Why;
use crate::views::{
    agent, bar, confirm, detail, empty, ended, keys, last_numbers, launch, log, loss, methods, palette,
    processes, progress, several, sharing, strip,
};
use eframe::egui::{self, CentralPanel, Frame, Margin, Panel, Rangef, Ui};

/// Width of the processes until it is dragged, points.
pub(super) const PROCESSES: f32 = 250.0;
/// The same of the selection.
const DETAIL: f32 = 270.0;
/// Room that the log keeps below what is told, points: margins, its head and a line.
const LOG_BESIDE: f32 = 72.0;
/// Room that the methods and the selection need to stand beside each other, points.
const BOTH: f32 = 700.0;

impl App {
    /// Draws everything.
    pub(super) fn layout(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let situation = self.situation();
        let colours = Palette::of(ui);
        let frame = |fill| Frame::new().fill(fill).inner_margin(Margin::symmetric(10, 6));
        let on = self.dials_on();
        Panel::top("bar").frame(frame(colours.raised)).show(ui, |ui| bar::show(ui, &situation, on, commands));
        let mono = self.now().mono;
        Panel::bottom("strip")
            .frame(frame(colours.raised))
            .show(ui, |ui| strip::show(ui, &self.model, mono, commands));
        let room = ui.ctx().content_rect().size();
        let told = self.telling(ui, &situation);
        if self.settings.log_open {
            // What is told takes its room from the log, as far as a line of that stays in sight.
            let told_height = self.told_height;
            let least = told.as_ref().map_or(0.0, |_| told_height + LOG_BESIDE);
            let wanted = self.settings.log_height.unwrap_or((room.y * 0.17).clamp(70.0, 150.0));
            let log = Sized {
                panel: Panel::bottom("log").frame(frame(colours.panel)),
                name: "log",
                flat: true,
                wanted: wanted.max(least),
                range: Rangef::new(60.0, (room.y * 0.5).max(60.0)),
            };
            let dragged = log.show(ui, |ui| {
                match &told {
                    Some(told) => self.tell(ui, told, commands),
                    // What stands below keeps its name for the toolkit.
                    None => ui.skip_ahead_auto_ids(1),
                }
                log::show(ui, &mut self.log, &self.model);
            });
            // Nobody dragged what is higher because more is told.
            let dragged = dragged.filter(|_| self.told_height == told_height);
            self.settings.log_height = dragged.or(self.settings.log_height);
        } else if let Some(told) = &told {
            let panel = Panel::bottom("told").frame(Frame::NONE).show_separator_line(false).resizable(false);
            panel.show(ui, |ui| self.tell(ui, told, commands));
        }
        let processes = Sized {
            panel: Panel::left("processes").frame(frame(colours.panel)),
            name: "processes",
            flat: false,
            wanted: self.settings.processes_width.unwrap_or(PROCESSES),
            range: Rangef::new(140.0, (room.x * 0.35).max(140.0)),
        };
        let dragged =
            processes.show(ui, |ui| processes::show(ui, &mut self.processes, &self.model, mono, commands));
        self.settings.processes_width = dragged.or(self.settings.processes_width);
        // In a narrow window the methods need the room more.
        let width = self.settings.detail_width.unwrap_or(DETAIL);
        let beside = self.model.is_beside();
        let wide = match beside {
            true => ui.available_width() - width >= several::TWO,
            false => ui.available_width() > BOTH,
        };
        let wanted = self.model.current().is_some_and(|connection| !connection.catalogue.is_empty());
        self.methods.no_panel = wanted && !wide && !beside;
        if wanted && wide {
            let detail = Sized {
                panel: Panel::right("detail").frame(frame(colours.panel)),
                name: "detail",
                flat: false,
                wanted: width,
                range: Rangef::new(200.0, 500.0),
            };
            let dragged = detail.show(ui, |ui| {
                // The bar stands beside the numbers, not on them.
                let scroll = &mut ui.spacing_mut().scroll;
                scroll.floating_allocated_width = scroll.bar_width + scroll.bar_inner_margin;
                let lines = self.model.current.and_then(|id| self.model.lines(id));
                let mut area = egui::ScrollArea::vertical().auto_shrink(false);
                if lines.is_some_and(|lines| detail::is_another(ui, lines)) {
                    area = area.vertical_scroll_offset(0.0);
                }
                area.show(ui, |ui| {
                    let Some(lines) = lines else { return };
                    several::whose(ui, lines);
                    if !lines.lacks_picked() {
                        detail::show(ui, lines.own, commands);
                    }
                });
            });
            self.settings.detail_width = dragged.or(self.settings.detail_width);
            self.ask_about_looked_at(ui.ctx());
        }
        CentralPanel::no_frame()
            .frame(Frame::new().fill(colours.base))
            .show(ui, |ui| self.middle(ui, &situation, commands));
        self.overlays(ui, &situation, commands);
    }

    fn middle(&mut self, ui: &mut Ui, situation: &crate::commands::Situation, commands: &mut Vec<Command>) {
        ui.spacing_mut().item_spacing.y = 0.0;
        several::bar(ui, &self.model, self.now(), situation, commands);
        if self.model.is_beside() {
            return self.beside(ui, situation, commands);
        }
        let mono = self.now().mono;
        let App { model, methods: state, near, .. } = self;
        let ended = ended::of(model);
        let unread = model.current().is_none_or(|connection| connection.catalogue.is_empty());
        if let Some(launched) = ended.filter(|_| unread) {
            ended::show(ui, launched, model, situation, commands);
            return;
        }
        let Some(connection) = model.current() else {
            let any = model
                .processes
                .shown()
                .any(|row| row.agent.can_connect() || row.agent == AgentState::Attachable);
            empty::show(ui, &Why::NoProcess { any }, situation, commands);
            return;
        };
        if connection.catalogue.is_empty() {
            unread::show(ui, model, connection, situation, commands);
            return;
        }
        let colours = Palette::of(ui);
        ui.spacing_mut().item_spacing.y = 0.0;
        Frame::new().fill(colours.panel).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            methods::toolbar(ui, state, connection, situation, commands);
        });
        if connection.loss.is_some() {
            let how = (ended.map(Launched::ending), model.was_stopped(connection.process));
            // Above the rows it would put another one under the pointer.
            Panel::bottom("loss").frame(Frame::NONE).show_separator_line(false).show(ui, |ui| {
                loss::show(ui, connection, how, mono, commands);
            });
        }
        progress::show(ui, connection, mono, commands);
        if connection.row_count() == 0 {
            unread::show_none(ui, connection, near, situation, commands);
            return;
        }
        methods::table(ui, state, Lines::of(connection), methods::Needs::of([connection]), commands);
    }

    fn overlays(&mut self, ui: &mut Ui, situation: &crate::commands::Situation, commands: &mut Vec<Command>) {
        let context = ui.ctx().clone();
        if let Some(bulk) = &mut self.confirm
            && confirm::show(&context, bulk, &self.model.connections, commands)
            && !commands.contains(&Command::ConfirmTurn)
        {
            self.confirm = None;
        }
        if let Some(question) = &mut self.sharing
            && sharing::show(&context, question, commands)
            && !commands.iter().any(|one| matches!(one, Command::ShareTurn | Command::LeaveShared))
        {
            self.sharing = None;
        }
        if self.agent {
            self.agent = self.model.current().is_some_and(|connection| {
                !agent::show(&context, connection, self.now(), situation, commands)
            });
        }
        if let Some(state) = &mut self.last_numbers
            && last_numbers::show(&context, state, &self.model, commands)
        {
            self.last_numbers = None;
        }
        if let Some(state) = &mut self.budget {
            let stands = self.model.current().and_then(|connection| connection.agent.as_ref());
            if stands.is_none_or(|agent| views::budget::show(&context, state, &agent.cost_budget, commands)) {
                self.budget = None;
            }
        }
        if let Some(state) = &mut self.set_up
            && views::setup::show(&context, state, commands)
        {
            self.set_up = None;
        }
        let stopped = self.model.launched_to_stop().into_iter().map(|(_, launched)| launched.named());
        let stopped = words::all(&stopped.collect::<Vec<_>>());
        let stopped = Some(stopped).filter(|names| !names.is_empty());
        if let Some(state) = &mut self.palette
            && palette::show(&context, state, (situation, stopped.as_deref()), commands)
        {
            self.palette = None;
        }
        if self.keys && keys::show(&context) {
            self.keys = false;
        }
        let trouble = self.launch_trouble.as_ref().filter(|(of, _)| *of == self.settings.launch);
        let progress = match (self.asked, trouble) {
            (Some(_), _) => launch::Progress::Starting,
            (None, Some((_, why))) => launch::Progress::Failed(why.clone()),
            (None, None) => launch::Progress::None,
        };
        let settings = &mut self.settings;
        if self.launch && launch::show(&context, &mut settings.launch, &settings.recent, &progress, commands)
        {
            self.launch = false;
        }
    }
}

//! The processes on the left: which there are, their runtime, whether the agent is in them, what can be done.

pub use crate::model::processes::{program, title};

use super::strip::stop_word;
use crate::commands::Command;
use crate::model::Model;
use crate::model::ids::Ticket;
use crate::model::processes::{AgentState, ProcessRow, Processes, Standing};
use crate::model::selection::Mode;
use crate::model::state::Launched;
use crate::output::words;
use crate::ui::list::Scroll;
use crate::ui::theme::{BODY, Palette, SMALL};
use eframe::egui::text::LayoutJob;
use eframe::egui::{
    self, Align, Align2, Color32, CornerRadius, FontId, Layout, Popup, Rect, Sense, TextEdit, TextFormat, Ui,
    pos2, vec2,
};
use std::time::Duration;

const ROW: f32 = 46.0;

/// What the view itself remembers.
#[derive(Debug, Default)]
pub struct State {
    text: String,
    scroll: Scroll,
    /// The pointer is over the rows, or a menu of one of them is open.
    over: bool,
}

impl State {
    /// Whether rows are to keep their places.
    pub fn is_still(&self) -> bool {
        self.over
    }

    /// Puts a text into the field.
    pub fn set_text(&mut self, text: &str) {
        text.clone_into(&mut self.text);
    }
}

/// Shows the panel.
pub fn show(ui: &mut Ui, state: &mut State, model: &Model, mono: Duration, commands: &mut Vec<Command>) {
    let processes = &model.processes;
    head(ui, state, model, commands);
    let number = processes.places();
    if number == 0 {
        state.over = false;
        empty(ui, processes, commands);
        return;
    }
    let window = state.scroll.show(ui, "processes", number, ROW);
    let menu = state.over && Popup::is_any_open(ui.ctx());
    let over = menu || ui.rect_contains_pointer(window.rect);
    if std::mem::replace(&mut state.over, over) != over {
        ui.ctx().request_repaint();
    }
    for index in window.rows.clone() {
        let Some(row) = processes.standing_at(index) else { continue };
        let key = row.row.key;
        let chosen = model.chosen().contains(&key);
        let launched = model.launched_as(key.pid).filter(|_| !row.has_ended);
        one(ui, (window.row_rect(index), window.rect), row, (chosen, launched, mono), commands);
    }
}

/// What there is to choose together: all of the name chosen first, else of the first name that several have. It stands
/// beside the heading, so that nothing moves when it comes or goes.
fn together(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let name = model.members().next().map(|first| first.name.clone()).or_else(|| model.first_namesakes());
    let Some(name) = name else { return };
    let (mut all, mut chosen) = (0, 0);
    for key in model.named(&name) {
        all += 1;
        chosen += usize::from(model.chosen().contains(&key));
    }
    if all < 2 || chosen == all {
        return;
    }
    let said = format!("Choose all {all} named {name}");
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = format!("all {all} {name}");
        let button = ui.add(egui::Button::new(text).small().truncate());
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &said));
        let keys = Command::ChooseNamesakes.keys(ui.ctx()).filter(|_| chosen > 0);
        let keys = keys.map(|keys| format!(" ({keys})")).unwrap_or_default();
        if button.on_hover_text(format!("{said}, to look at them together{keys}")).clicked() {
            commands.push(Command::ChooseNamed(name));
        }
    });
}

fn head(ui: &mut Ui, state: &mut State, model: &Model, commands: &mut Vec<Command>) {
    let processes = &model.processes;
    ui.horizontal(|ui| {
        ui.strong("Processes");
        let (shown, all) = (processes.shown().len(), processes.len());
        if processes.is_scanned() {
            ui.weak(words::grouped(shown as u64)).on_hover_text(format!(
                "shown, of {} of this machine: those with .NET (the others, too, where that is ticked) that have what is typed",
                words::count(all as u64, "process", "processes")
            ));
        }
        together(ui, model, commands);
    });
    let edit = TextEdit::singleline(&mut state.text)
        .hint_text("name, pid, user, command")
        .desired_width(f32::INFINITY);
    if ui.add(edit).accessible_name("find a process").changed() {
        commands.push(Command::FindProcess(state.text.clone()));
    }
    let mut all = processes.show_all();
    if ui.checkbox(&mut all, "also those without .NET").changed() {
        commands.push(Command::AllProcesses(all));
    }
    if let Some(trouble) = processes.trouble() {
        let colour = Palette::of(ui).bad;
        ui.colored_label(colour, trouble);
    }
    ui.add_space(2.0);
}

fn empty(ui: &mut Ui, processes: &Processes, commands: &mut Vec<Command>) {
    ui.add_space(12.0);
    if !processes.is_scanned() {
        ui.weak("looking for processes…");
    } else if !processes.filter().trim().is_empty() {
        ui.label("No process has that in its name, pid, user or command.");
        if ui.button("Show all").clicked() {
            commands.push(Command::FindProcess(String::new()));
        }
    } else {
        ui.label("No .NET process runs here.");
        ui.weak("Start one, and it appears by itself.");
        ui.add_space(4.0);
        if ui.button("Launch…").clicked() {
            commands.push(Command::Launch);
        }
    }
}

/// One process.
fn one(
    ui: &mut Ui,
    (rect, clip): (Rect, Rect),
    standing: Standing<'_>,
    (picked, launched, mono): (bool, Option<(Ticket, &Launched)>, Duration),
    commands: &mut Vec<Command>,
) {
    let palette = Palette::of(ui);
    let Standing { row, is_new, has_ended } = standing;
    let sense = if has_ended { Sense::hover() } else { Sense::click() };
    let response = ui.interact(rect.intersect(clip), ui.scope_id().with(row.key), sense);
    let agent = if has_ended { "ended".to_owned() } else { format!("agent {}", row.agent.word()) };
    let said = format!("{} {}, {}, {agent}", title(row), row.key.pid, runtime(row));
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::ListItem, true, picked, &said));
    let painter = ui.painter_at(rect.intersect(clip));
    if picked {
        painter.rect_filled(rect, CornerRadius::same(4), palette.selected);
    } else if response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(4), palette.hover);
    }
    if response.has_focus() {
        let stroke = egui::Stroke::new(1.5, palette.accent);
        painter.rect_stroke(rect.shrink(1.0), CornerRadius::same(4), stroke, egui::StrokeKind::Inside);
    }
    let (colour, filled) = if has_ended { (palette.weak, false) } else { dot(&row.agent, palette) };
    let centre = pos2(rect.left() + 12.0, rect.top() + 15.0);
    if filled {
        painter.circle_filled(centre, 5.0, colour);
    } else {
        painter.circle_stroke(centre, 4.5, egui::Stroke::new(1.5, colour));
    }
    let right = rect.right() - 8.0;
    let pid = painter.text(
        pos2(right, rect.top() + 15.0),
        Align2::RIGHT_CENTER,
        row.key.pid,
        FontId::monospace(SMALL),
        palette.weak,
    );
    let left = rect.left() + 26.0;
    line(
        &painter,
        pos2(left, rect.top() + 5.0),
        pid.left() - left - 8.0,
        &[(&title(row), BODY, if has_ended { palette.weak } else { palette.text })],
    );
    let new = if is_new { "new  " } else { "" };
    let word = if has_ended { "ended  ".to_owned() } else { format!("{}  ", row.agent.word()) };
    let second =
        [(new, SMALL, palette.accent), (word.as_str(), SMALL, colour), (&runtime(row), SMALL, palette.weak)];
    line(&painter, pos2(left, rect.top() + 25.0), right - left, &second);
    if has_ended {
        response.on_hover_text("it has ended; its row goes when the pointer leaves the list");
        return;
    }
    if response.clicked() {
        commands.push(ui.input(|input| match (input.modifiers.shift, input.modifiers.command) {
            (true, _) => Command::Choose(row.key, Mode::Extend),
            (false, true) => Command::Choose(row.key, Mode::Toggle),
            (false, false) => Command::Select(row.key),
        }));
    }
    let box_at = Rect::from_center_size(pos2(rect.left() + 12.0, rect.top() + 33.0), vec2(14.0, 14.0));
    tick(ui, box_at, clip, row, picked, commands);
    response.context_menu(|ui| {
        let name = title(row);
        for (text, command) in [
            ("Look at it alone".to_owned(), Command::Select(row.key)),
            (
                if picked { "Leave it out" } else { "Choose it besides" }.to_owned(),
                Command::Choose(row.key, Mode::Toggle),
            ),
            (format!("Choose all named {name}"), Command::ChooseNamed(name)),
        ] {
            if ui.button(text).clicked() {
                commands.push(command);
                ui.close();
            }
        }
        if let Some((ticket, launched)) = launched {
            ui.separator();
            let stop = Command::StopLaunched(ticket);
            let left = launched.left_alone(mono);
            left.into_iter().for_each(|left| ui.ctx().request_repaint_after(left));
            let text = format!("{} it", stop_word(launched));
            let button = ui.add_enabled(left.is_none(), egui::Button::new(text));
            if button.on_hover_text(stop.explained().unwrap_or_default()).clicked() {
                commands.push(stop);
                ui.close();
            }
        }
    });
    response.on_hover_ui(|ui| {
        explain(ui, row, launched.is_some());
        if is_new {
            ui.weak("new: it takes its place in the list when the pointer leaves it");
        }
    });
}

/// The box that chooses a process besides others.
fn tick(ui: &Ui, rect: Rect, clip: Rect, row: &ProcessRow, on: bool, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let place = rect.expand(3.0).intersect(clip);
    let response = ui.interact(place, ui.scope_id().with(("choose", row.key)), Sense::click());
    let said = format!("choose {} {}", title(row), row.key.pid);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, on, &said));
    let painter = ui.painter_at(clip);
    let lively = response.hovered() || response.has_focus();
    let colour = if lively { palette.accent } else { palette.weak };
    painter.rect_stroke(rect, 3.0, egui::Stroke::new(1.2, colour), egui::StrokeKind::Inside);
    if on {
        let at = |x: f32, y: f32| pos2(rect.left() + x * rect.width(), rect.top() + y * rect.height());
        let stroke = egui::Stroke::new(2.0, palette.accent);
        painter.line(vec![at(0.22, 0.52), at(0.42, 0.72), at(0.80, 0.28)], stroke);
    }
    let clicked = response.clicked();
    response.on_hover_text("chooses it besides others, to look at them together");
    if clicked {
        commands.push(Command::Choose(row.key, Mode::Toggle));
    }
}

fn line(painter: &egui::Painter, at: egui::Pos2, width: f32, parts: &[(&str, f32, Color32)]) {
    let mut job = LayoutJob::default();
    for (text, size, colour) in parts {
        job.append(text, 0.0, TextFormat::simple(FontId::proportional(*size), *colour));
    }
    job.wrap = egui::text::TextWrapping::truncate_at_width(width.max(10.0));
    let galley = painter.layout_job(job);
    painter.galley(at, galley, Color32::PLACEHOLDER);
}

fn dot(agent: &AgentState, palette: &Palette) -> (Color32, bool) {
    match agent {
        AgentState::Loaded(_) => (palette.live, true),
        AgentState::Attachable => (palette.live, false),
        AgentState::LaunchOnly(_) | AgentState::Stopped(_) => (palette.weak, false),
        AgentState::Unknown | AgentState::None(_) => (palette.weak, false),
        AgentState::Silent(_) => (palette.asked, false),
        AgentState::Refused(_) => (palette.bad, false),
    }
}

fn runtime(row: &ProcessRow) -> String {
    let Some(runtime) = &row.runtime else { return row.user.clone().unwrap_or_default() };
    let name = words::runtime(&runtime.kind);
    let version = runtime.version.as_deref().unwrap_or("");
    let user = row.user.as_deref().map(|user| format!(" · {user}")).unwrap_or_default();
    format!("{name} {version}{user}").replace("  ", " ")
}

fn explain(ui: &mut Ui, row: &ProcessRow, launched: bool) {
    ui.set_max_width(420.0);
    ui.strong(format!("{} ({})", row.name, row.key.pid));
    if let Some(command) = &row.command {
        ui.label(command);
    }
    if let Some(group) = &row.group {
        ui.weak(format!("part of {group}"));
    }
    if let Some(runtime) = row.runtime.as_ref().filter(|runtime| !runtime.tested) {
        let version = runtime.version.as_deref().unwrap_or("of this version");
        let name = words::runtime(&runtime.kind);
        ui.weak(format!("{name} {version} is newer or older than what Redial is tested on"));
    }
    ui.label(format!("{}: {}", row.agent.word(), row.agent.reason().unwrap_or(row.agent.meaning())));
    match row.agent {
        AgentState::Attachable => drop(ui.weak("pick it, and a button loads the agent into it")),
        AgentState::LaunchOnly(_) => drop(ui.weak("“Launch…” starts it anew with the agent in it")),
        _ => {}
    }
    if launched {
        ui.weak("launched from here; the other mouse button has “Stop it”");
    }
    if let AgentState::Loaded(facts) = &row.agent {
        let live = words::methods(facts.live);
        ui.weak(format!("agent {}, {live} live", facts.agent_version));
        if let Some(holder) = &facts.holder {
            ui.weak(format!("controlled by {} (pid {})", holder.program, holder.pid));
        }
    }
}

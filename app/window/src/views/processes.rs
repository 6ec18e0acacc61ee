//! The process list on the left, with each process's runtime, its agent and the available actions.

pub use redial_model::processes::{program, title};

use super::status_bar::stop_word;
use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::list::Scroll;
use crate::ui::theme::{BODY, Palette, SMALL};
use eframe::egui::text::LayoutJob;
use eframe::egui::{
    self, Align, Align2, Color32, CornerRadius, EventFilter, FontId, Id, Key, Layout, Modifiers, Popup, Rect,
    Sense, TextEdit, TextFormat, Ui, pos2, vec2,
};
use redial_model::Model;
use redial_model::ids::Ticket;
use redial_model::processes::{AgentState, ProcessRow, Processes, VisibleProcess};
use redial_model::selection::SelectionMode;
use redial_model::state::LaunchedProgram;
use redial_text::{programs, words};
use std::time::Duration;

const ROW: f32 = 46.0;

/// The view's own state.
#[derive(Debug, Default)]
pub struct ProcessListState {
    text: String,
    scroll: Scroll,
    /// The pointer is over the rows, or a menu of one of them is open.
    over: bool,
    /// Move the keyboard focus to the filter.
    focus_filter: bool,
}

/// Returns the id of the filter field.
pub fn filter_id() -> Id {
    Id::unique("Process filter")
}

impl ProcessListState {
    /// Returns whether rows must keep their places.
    pub fn is_still(&self) -> bool {
        self.over
    }

    /// Moves the keyboard focus to the filter.
    pub fn focus(&mut self) {
        self.focus_filter = true;
    }

    /// Sets the filter's text.
    pub fn set_text(&mut self, text: &str) {
        text.clone_into(&mut self.text);
    }
}

/// Shows the panel.
pub fn show(
    ui: &mut Ui,
    state: &mut ProcessListState,
    model: &Model,
    mono: Duration,
    commands: &mut Vec<UiCommand>,
) {
    let processes = &model.processes;
    let step = head(ui, state, model, commands);
    let number = processes.visible_count();
    if number == 0 {
        state.over = false;
        empty(ui, processes, commands);
        return;
    }
    move_focus(ui, &mut state.scroll, processes);
    let first = processes.visible().enumerate().find(|(_, row)| !row.has_ended).filter(|_| step.is_some());
    if let (Some(FilterKey::Down), Some((index, _))) = (step, first) {
        state.scroll.bring_into_view(index);
    }
    let window = state.scroll.show(ui, "processes", number, ROW);
    let menu = state.over && Popup::is_any_open(ui.ctx());
    let over = menu || ui.rect_contains_pointer(window.rect);
    if std::mem::replace(&mut state.over, over) != over {
        ui.ctx().request_repaint();
    }
    if let (Some(step), Some((_, first))) = (step, first) {
        match step {
            FilterKey::Down => {
                ui.memory_mut(|memory| memory.request_focus(ui.scope_id().with(first.row.key)))
            }
            FilterKey::Enter => commands.push(UiCommand::Select(first.row.key)),
        }
    }
    for index in window.rows.clone() {
        let Some(row) = processes.visible_at(index) else { continue };
        let key = row.row.key;
        let chosen = model.chosen().contains(&key);
        let launched = model.launched_as(key.pid).filter(|_| !row.has_ended);
        one(ui, (window.row_rect(index), window.rect), row, (chosen, launched, mono), commands);
    }
}

/// Moves the focus between rows with the arrow keys, scrolling as needed; Up on the first row focuses the filter.
fn move_focus(ui: &Ui, scroll: &mut Scroll, processes: &Processes) {
    let Some(focused) = ui.memory(|memory| memory.focused()).filter(|id| *id != filter_id()) else { return };
    if !ui.input(|input| input.key_pressed(Key::ArrowDown) || input.key_pressed(Key::ArrowUp)) {
        return;
    }
    let id = |row: &VisibleProcess<'_>| ui.scope_id().with(row.row.key);
    let rows = || processes.visible().enumerate().filter(|(_, row)| !row.has_ended);
    let Some(here) = rows().position(|(_, row)| id(&row) == focused) else { return };
    let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key)) as isize;
    let Some(next) = here.checked_add_signed(pressed(Key::ArrowDown) - pressed(Key::ArrowUp)) else {
        return ui.memory_mut(|memory| memory.request_focus(filter_id()));
    };
    if let Some((index, row)) = rows().nth(next).or_else(|| rows().last()) {
        scroll.bring_into_view(index);
        ui.memory_mut(|memory| memory.request_focus(id(&row)));
    }
}

/// Offers to select all processes of a name: that of the first selected process, else the first name that
/// several processes share. The button stands beside the heading, so that nothing moves when it appears.
fn together(ui: &mut Ui, model: &Model, commands: &mut Vec<UiCommand>) {
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
    let accessible_name = format!("Select all {all} processes named {name}");
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = fitting(ui, [format!("All {all} {name}"), format!("All {all}")]);
        let button = ui.add(egui::Button::new(text).small());
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &accessible_name));
        let keys = UiCommand::ChooseNamesakes.keys(ui.ctx()).filter(|_| chosen > 0);
        let keys = keys.map(|keys| format!(" ({keys})")).unwrap_or_default();
        if button.on_hover_text(format!("{accessible_name} to see them together{keys}")).clicked() {
            commands.push(UiCommand::ChooseNamed(name));
        }
    });
}

/// Returns the first text of a small button that fits beside a gap, or the last one.
fn fitting(ui: &Ui, texts: [String; 2]) -> String {
    let room = ui.available_width() - 2.0 * ui.spacing().button_padding.x - ui.spacing().item_spacing.x;
    let font = egui::TextStyle::Body.resolve(ui.style());
    let fits = |text: &str| width(ui.painter(), text, font.clone()) <= room;
    let [long, short] = texts;
    if fits(&long) { long } else { short }
}

/// A key in the filter that concerns the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterKey {
    /// Goes to the first row.
    Down,
    /// Selects the first row.
    Enter,
}

/// Shows what is above the rows; returns the key pressed in the filter.
fn head(
    ui: &mut Ui,
    state: &mut ProcessListState,
    model: &Model,
    commands: &mut Vec<UiCommand>,
) -> Option<FilterKey> {
    let processes = &model.processes;
    ui.horizontal(|ui| {
        ui.strong("Processes");
        let (shown, all) = (processes.shown().len(), processes.len());
        if processes.is_scanned() {
            ui.weak(words::grouped(shown as u64)).on_hover_text(format!(
                "Shown, out of {} on this machine: .NET processes (all, if that is ticked) that match \
                the filter",
                words::count(all as u64, "process", "processes")
            ));
        }
        together(ui, model, commands);
    });
    let edit = TextEdit::singleline(&mut state.text)
        .id(filter_id())
        .hint_text("Filter processes")
        .desired_width(f32::INFINITY);
    let field = ui.add(edit).accessible_name("Filter processes");
    let field = field.on_hover_text("Part of a name, a PID, a user or a command line");
    if std::mem::take(&mut state.focus_filter) {
        field.request_focus();
    }
    if field.changed() {
        commands.push(UiCommand::FindProcess(state.text.clone()));
    }
    let pressed = |key| ui.input(|input| input.key_pressed(key));
    let key = match (field.has_focus(), field.lost_focus()) {
        (true, _) if pressed(Key::ArrowDown) => Some(FilterKey::Down),
        (_, true) if pressed(Key::Enter) && !state.text.trim().is_empty() => Some(FilterKey::Enter),
        _ => None,
    };
    let mut all = processes.show_all();
    if ui.checkbox(&mut all, "Show non-.NET processes").changed() {
        commands.push(UiCommand::AllProcesses(all));
    }
    if let Some(trouble) = processes.trouble() {
        let colour = Palette::of(ui).bad;
        ui.colored_label(colour, capitalized(trouble));
    }
    ui.add_space(2.0);
    key
}

fn empty(ui: &mut Ui, processes: &Processes, commands: &mut Vec<UiCommand>) {
    ui.add_space(12.0);
    if !processes.is_scanned() {
        ui.weak("Looking for processes…");
    } else if !processes.filter().trim().is_empty() {
        ui.label("No processes match. The filter searches name, pid, user and command.");
        if ui.button("Show all").clicked() {
            commands.push(UiCommand::FindProcess(String::new()));
        }
    } else {
        ui.label("No .NET processes are running.");
        ui.weak("Start one; it appears here automatically.");
        ui.add_space(4.0);
        if ui.button("Launch…").clicked() {
            commands.push(UiCommand::Launch);
        }
    }
}

/// Shows one process.
fn one(
    ui: &mut Ui,
    (rect, clip): (Rect, Rect),
    standing: VisibleProcess<'_>,
    (selected, launched, mono): (bool, Option<(Ticket, &LaunchedProgram)>, Duration),
    commands: &mut Vec<UiCommand>,
) {
    let palette = Palette::of(ui);
    let VisibleProcess { row, is_new, has_ended } = standing;
    let sense = if has_ended { Sense::hover() } else { Sense::click() };
    let response = ui.interact(rect.intersect(clip), ui.scope_id().with(row.key), sense);
    let agent = if has_ended { "ended".to_owned() } else { format!("agent {}", row.agent.word()) };
    let accessible_name =
        format!("{} {}, {}, {agent}", title(row), row.key.pid, runtimes(row).next().unwrap_or_default());
    response
        .widget_info(|| egui::WidgetInfo::selected(egui::Role::ListItem, true, selected, &accessible_name));
    let painter = ui.painter_at(rect.intersect(clip));
    if selected {
        painter.rect_filled(rect, CornerRadius::same(4), palette.selected);
    } else if response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(4), palette.hover);
    }
    if response.has_focus() {
        let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
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
    let font = FontId::proportional(SMALL);
    let room = right - left - width(&painter, &format!("{new}{word}"), font.clone());
    let mut runtimes = runtimes(row);
    let runtime = runtimes.find(|text| width(&painter, text, font.clone()) <= room).unwrap_or_default();
    let second =
        [(new, SMALL, palette.accent), (word.as_str(), SMALL, colour), (&runtime, SMALL, palette.weak)];
    line(&painter, pos2(left, rect.top() + 25.0), right - left, &second);
    if has_ended {
        response.on_hover_text(
            "This process has ended. Its row disappears when the pointer leaves the \
                               list.",
        );
        return;
    }
    if response.clicked() {
        commands.push(ui.input(|input| match (input.modifiers.shift, input.modifiers.command) {
            (true, _) => UiCommand::Choose(row.key, SelectionMode::Extend),
            (false, true) => UiCommand::Choose(row.key, SelectionMode::Toggle),
            (false, false) => UiCommand::Select(row.key),
        }));
    }
    let box_at = Rect::from_center_size(pos2(rect.left() + 12.0, rect.top() + 33.0), vec2(14.0, 14.0));
    tick(ui, box_at, clip, row, selected, commands);
    response.context_menu(|ui| {
        let name = title(row);
        for (text, command) in [
            ("Show only this process".to_owned(), UiCommand::Select(row.key)),
            (
                if selected { "Remove from the selection" } else { "Add to the selection" }.to_owned(),
                UiCommand::Choose(row.key, SelectionMode::Toggle),
            ),
            (format!("Select all named {name}"), UiCommand::ChooseNamed(name)),
        ] {
            if ui.button(text).clicked() {
                commands.push(command);
                ui.close();
            }
        }
        if let Some((ticket, launched)) = launched {
            ui.separator();
            let stop = UiCommand::StopLaunched(ticket);
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
            ui.weak("New: the row moves to its place when the pointer leaves the list.");
        }
    });
}

/// Shows the checkbox that adds a process to the selection.
fn tick(ui: &Ui, rect: Rect, clip: Rect, row: &ProcessRow, on: bool, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    let place = rect.expand(3.0).intersect(clip);
    let response = ui.interact(place, ui.scope_id().with(("choose", row.key)), Sense::click());
    let accessible_name = format!("Select {} {}", title(row), row.key.pid);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, on, &accessible_name));
    let painter = ui.painter_at(clip);
    let highlighted = response.hovered() || response.has_focus();
    let colour = if highlighted { palette.accent } else { palette.weak };
    painter.rect_stroke(rect, 3.0, egui::Stroke::new(1.2, colour), egui::StrokeKind::Inside);
    if on {
        let at = |x: f32, y: f32| pos2(rect.left() + x * rect.width(), rect.top() + y * rect.height());
        let stroke = egui::Stroke::new(2.0, palette.accent);
        painter.line(vec![at(0.22, 0.52), at(0.42, 0.72), at(0.80, 0.28)], stroke);
    }
    let clicked = response.clicked();
    response.on_hover_text("Adds this process to the selection, to see several together");
    if clicked {
        commands.push(UiCommand::Choose(row.key, SelectionMode::Toggle));
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

/// Returns the runtime and the user of a process, the longest text first: `.NET 8.0.31 · deploy`, `.NET 8.0.31`, `.NET 8.0`.
fn runtimes(row: &ProcessRow) -> impl Iterator<Item = String> {
    let user = row.user.clone().unwrap_or_default();
    let texts = match &row.runtime {
        None => vec![user],
        Some(runtime) => {
            let (name, version) = (words::runtime(&runtime.kind), runtime.version.as_deref().unwrap_or(""));
            let exact = format!("{name} {version}").trim_end().to_owned();
            let mut dots = version.match_indices('.').map(|(at, _)| at);
            let short = dots.nth(1).and_then(|second| version.get(..second));
            let with_user = (!user.is_empty()).then(|| format!("{exact} · {user}"));
            let short = short.map(|version| format!("{name} {version}"));
            with_user.into_iter().chain([exact]).chain(short).collect()
        }
    };
    texts.into_iter()
}

/// Returns the width of a text on one line, points.
fn width(painter: &egui::Painter, text: &str, font: FontId) -> f32 {
    painter.layout_no_wrap(text.to_owned(), font, Color32::WHITE).size().x
}

fn explain(ui: &mut Ui, row: &ProcessRow, launched: bool) {
    ui.set_max_width(420.0);
    ui.strong(format!("{} ({})", row.name, row.key.pid));
    if let Some(command) = &row.command {
        ui.label(command);
    }
    if let Some(group) = &row.group {
        ui.weak(format!("Part of {group}"));
    }
    if let Some(runtime) = row.runtime.as_ref().filter(|runtime| !runtime.tested) {
        let version = runtime.version.as_deref().unwrap_or("of this version");
        let name = words::runtime(&runtime.kind);
        ui.weak(format!("Redial is not tested on {name} {version}"));
    }
    let reason = row.agent.reason().unwrap_or(row.agent.meaning());
    ui.label(capitalized(&format!("{}: {reason}", row.agent.word())));
    match row.agent {
        AgentState::Attachable => drop(ui.weak("Select it, then load the agent.")),
        AgentState::LaunchOnly(_) => drop(ui.weak("Use “Launch…” to start it again with the agent.")),
        _ => {}
    }
    if launched {
        ui.weak("Launched from this window. The context menu has “Stop it”.");
    }
    if let AgentState::Loaded(facts) = &row.agent {
        let live = words::methods(facts.live);
        ui.weak(format!("Agent {}, {live} live", facts.agent_version));
        if let Some(holder) = &facts.holder {
            ui.weak(format!("Controlled by {}", programs::controller(holder)));
        }
    }
}

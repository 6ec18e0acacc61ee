//! How a program is started with the agent by other means than from here: the lines of `redial env`, to be copied.

use crate::commands::Command;
use crate::setup::{Means, recipe};
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, Frame, Label, RichText, ScrollArea, TextEdit, Ui, vec2};

/// The means, as `--for` names them; those that end in a colon take a name.
const MEANS: [(&str, &str); 7] = [
    ("shell", "a shell (sh, bash, zsh)"),
    ("powershell", "PowerShell"),
    ("systemd", "a systemd service"),
    ("docker", "Docker"),
    ("kubernetes", "Kubernetes"),
    ("iis:", "an application pool of IIS"),
    ("windows-service:", "a Windows service"),
];

/// Height of the lines where there is room, points.
const HEIGHT: f32 = 330.0;

/// What the dialog remembers while it is open.
#[derive(Debug)]
pub struct State {
    chosen: usize,
    name: String,
    /// The lines for what is chosen, or why there are none; made again when that changes.
    lines: Option<Result<String, String>>,
}

impl Default for State {
    fn default() -> State {
        let chosen = if cfg!(windows) { 1 } else { 0 };
        State { chosen, name: String::new(), lines: None }
    }
}

impl State {
    fn takes_name(&self) -> bool {
        MEANS.get(self.chosen).is_some_and(|(word, _)| word.ends_with(':'))
    }

    fn lines(&mut self) -> &Result<String, String> {
        let (word, name) = (MEANS.get(self.chosen).map_or("", |(word, _)| word), &self.name);
        self.lines.get_or_insert_with(|| {
            let means = if word.ends_with(':') { format!("{word}{}", name.trim()) } else { word.to_owned() };
            let recipe = Means::parse(&means).and_then(|means| recipe(&means))?;
            Ok(recipe.text().join("\n") + "\n")
        })
    }
}

/// Shows it; true when it is to be closed.
pub fn show(context: &egui::Context, state: &mut State, commands: &mut Vec<Command>) -> bool {
    let mut open = true;
    let room = context.content_rect().size();
    egui::Window::new("How to start a program with the agent")
        .open(&mut open)
        .resizable(false)
        .collapsible(false)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .show(context, |ui| {
            ui.set_width((room.x - 60.0).min(860.0));
            inside(ui, state, (room.y - 240.0).clamp(80.0, HEIGHT), commands);
        });
    !open
}

fn inside(ui: &mut Ui, state: &mut State, height: f32, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.label("Programs that are started by something else get the agent through their environment.");
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| {
        choose(ui, state);
        let lines = state.lines();
        let copy = ui.add_enabled(lines.is_ok(), egui::Button::new("Copy the lines"));
        if let Ok(lines) = lines
            && copy.clicked()
        {
            commands.push(Command::CopyText(lines.clone()));
        }
    });
    ui.horizontal_wrapped(|ui| {
        let word = MEANS.get(state.chosen).map_or("", |(word, _)| word);
        let name = if state.takes_name() { state.name.trim() } else { "" };
        ui.weak("the same as");
        ui.label(RichText::new(format!("redial env --for {word}{name}")).monospace());
    });
    ui.add_space(4.0);
    let chosen = state.chosen;
    let lines = state.lines();
    Frame::new().fill(palette.base).corner_radius(4).inner_margin(8).show(ui, |ui| {
        let width = ui.available_width();
        // Always of one size, or the dialog would move with what is chosen; and each begins with its first line.
        let area =
            ScrollArea::both().id_salt(("lines", chosen)).max_height(height).min_scrolled_height(height);
        area.auto_shrink(false).show(ui, |ui| match lines {
            Ok(lines) => lines.lines().for_each(|line| show_line(ui, line, width)),
            Err(why) => drop(ui.colored_label(palette.bad, why)),
        });
    });
}

/// A line as it is to be typed: in one, since a line broken in two would be typed wrong. Comments are only read, and need no
/// scrolling to be.
fn show_line(ui: &mut Ui, line: &str, width: f32) {
    ui.spacing_mut().item_spacing.y = 1.0;
    let label = Label::new(RichText::new(line).monospace());
    if line.starts_with('#') {
        ui.scope(|ui| {
            ui.set_max_width(width);
            ui.add(label.wrap());
        });
    } else {
        ui.add(label.extend());
    }
}

fn choose(ui: &mut Ui, state: &mut State) {
    let label = ui.label("Started by");
    let now = MEANS.get(state.chosen).map_or("", |(_, text)| text);
    let chosen = egui::ComboBox::new("means", "").selected_text(now).width(220.0).show_ui(ui, |ui| {
        for (index, (_, text)) in MEANS.iter().enumerate() {
            if ui.selectable_label(index == state.chosen, *text).clicked() {
                (state.chosen, state.lines) = (index, None);
            }
        }
    });
    chosen.response.labelled_by(label.id);
    if state.takes_name() {
        let edit = TextEdit::singleline(&mut state.name).hint_text("its name").desired_width(160.0);
        if ui.add(edit).accessible_name("name of the pool or service").changed() {
            state.lines = None;
        }
    }
}

#[cfg(test)]
impl State {
    /// What a click on one of the means and typing a name do.
    pub fn choose(&mut self, means: &str, name: &str) {
        self.chosen = MEANS.iter().position(|(word, _)| *word == means).expect("one of them");
        (self.name, self.lines) = (name.to_owned(), None);
    }
}

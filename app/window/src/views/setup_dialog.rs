//! The setup dialog: the output of `redial env`, to copy, for programs started by other means.

use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::theme::Palette;
use eframe::egui::{self, Frame, Label, RichText, ScrollArea, TextEdit, Ui};
use redial_link::setup::{StartMethod, recipe};

/// The means, as `--for` names them. Those that end in a colon need a name.
const MEANS: [(&str, &str); 7] = [
    ("shell", "Shell (sh, bash, zsh)"),
    ("powershell", "PowerShell"),
    ("systemd", "systemd service"),
    ("docker", "Docker"),
    ("kubernetes", "Kubernetes"),
    ("iis:", "IIS application pool"),
    ("windows-service:", "Windows service"),
];

/// Height of the lines where they fit, points.
const HEIGHT: f32 = 330.0;

/// The dialog's state while it is open.
#[derive(Debug)]
pub struct SetupState {
    chosen: usize,
    name: String,
    /// The lines for the chosen means, or an error; cleared when the choice changes.
    lines: Option<Result<String, String>>,
}

impl Default for SetupState {
    fn default() -> SetupState {
        let chosen = if cfg!(windows) { 1 } else { 0 };
        SetupState { chosen, name: String::new(), lines: None }
    }
}

impl SetupState {
    fn takes_name(&self) -> bool {
        MEANS.get(self.chosen).is_some_and(|(word, _)| word.ends_with(':'))
    }

    fn lines(&mut self) -> &Result<String, String> {
        let (word, name) = (MEANS.get(self.chosen).map_or("", |(word, _)| word), &self.name);
        self.lines.get_or_insert_with(|| {
            let means = if word.ends_with(':') { format!("{word}{}", name.trim()) } else { word.to_owned() };
            let recipe = StartMethod::parse(&means).and_then(|means| recipe(&means))?;
            Ok(recipe.text().join("\n") + "\n")
        })
    }
}

/// Shows the dialog; returns true when it should close.
pub fn show(context: &egui::Context, state: &mut SetupState, commands: &mut Vec<UiCommand>) -> bool {
    let room = context.content_rect().size();
    !dialog::show(context, dialog::titled("Set up the agent"), |ui| {
        ui.set_width((room.x - 60.0).min(860.0));
        inside(ui, state, (room.y - 240.0).clamp(80.0, HEIGHT), commands);
    })
}

fn inside(ui: &mut Ui, state: &mut SetupState, height: f32, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    ui.label("A program started by other means gets the agent through its environment.");
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| {
        choose(ui, state);
        let lines = state.lines();
        let copy = ui.add_enabled(lines.is_ok(), egui::Button::new("Copy"));
        if let Ok(lines) = lines
            && copy.clicked()
        {
            commands.push(UiCommand::CopyText(lines.clone()));
        }
    });
    ui.horizontal_wrapped(|ui| {
        let word = MEANS.get(state.chosen).map_or("", |(word, _)| word);
        let name = if state.takes_name() { state.name.trim() } else { "" };
        ui.weak("Same as");
        ui.label(RichText::new(format!("redial env --for {word}{name}")).monospace());
    });
    ui.add_space(4.0);
    let chosen = state.chosen;
    let lines = state.lines();
    Frame::new().fill(palette.base).corner_radius(4).inner_margin(8).show(ui, |ui| {
        let width = ui.available_width();
        // Of constant size, so that the dialog does not move with the choice; each means starts at its first
        // line.
        let area =
            ScrollArea::both().id_salt(("lines", chosen)).max_height(height).min_scrolled_height(height);
        area.auto_shrink(false).show(ui, |ui| match lines {
            Ok(lines) => lines.lines().for_each(|line| show_line(ui, line, width)),
            Err(why) => drop(ui.colored_label(palette.bad, capitalized(why))),
        });
    });
}

/// Shows a line to copy. Commands are never wrapped, because they would be typed wrong; comments are.
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

fn choose(ui: &mut Ui, state: &mut SetupState) {
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
        let edit = TextEdit::singleline(&mut state.name).hint_text("Name").desired_width(160.0);
        if ui.add(edit).accessible_name("Name of the pool or service").changed() {
            state.lines = None;
        }
    }
}

#[cfg(test)]
impl SetupState {
    /// Chooses a means and types a name.
    pub fn choose(&mut self, means: &str, name: &str) {
        self.chosen = MEANS.iter().position(|(word, _)| *word == means).expect("one of them");
        (self.name, self.lines) = (name.to_owned(), None);
    }
}

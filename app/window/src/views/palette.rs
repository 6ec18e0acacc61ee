//! The command palette: all commands, filtered as you type; unavailable ones show the reason.

use crate::commands::{CommandContext, UiCommand, listed};
use crate::ui::capitalized;
use crate::ui::text_width::GlyphWidths;
use crate::ui::theme::Palette;
use eframe::egui::text::LayoutJob;
use eframe::egui::{self, Align2, Button, Id, Key, RichText, TextEdit, TextFormat, TextStyle, Ui, vec2};

/// Least gap between a command's name and the text beside it, including the button's margins, points.
const GAP: f32 = 40.0;

/// The palette's state while it is open.
#[derive(Debug, Default)]
pub struct PaletteState {
    text: String,
    /// `None` until the user types or uses the arrows, so that Enter alone does nothing.
    highlighted: Option<usize>,
    focused: bool,
}

impl PaletteState {
    /// Appends text typed before the field had the focus.
    pub fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.highlighted = (!self.text.trim().is_empty()).then_some(0);
    }

    /// Returns the field's text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Returns the field's id.
pub fn field_id() -> Id {
    Id::unique("find a command")
}

/// Shows the palette; returns true when it should close. `stops` is the launched program that the stop
/// command would stop.
pub fn show(
    context: &egui::Context,
    state: &mut PaletteState,
    (now, stops): (&CommandContext, Option<&str>),
    commands: &mut Vec<UiCommand>,
) -> bool {
    let mut close = false;
    let response = egui::Window::new("Commands")
        .title_bar(false)
        .resizable(false)
        .anchor(Align2::CENTER_TOP, vec2(0.0, 64.0))
        .fixed_size(vec2(520.0, 420.0))
        .show(context, |ui| close = inside(ui, state, (now, stops), commands));
    let outside = response.is_some_and(|shown| shown.response.clicked_elsewhere()) && state.focused;
    state.focused = true;
    close || outside
}

fn inside(
    ui: &mut Ui,
    state: &mut PaletteState,
    (now, stops): (&CommandContext, Option<&str>),
    commands: &mut Vec<UiCommand>,
) -> bool {
    let matching = matching(&state.text);
    let moved = ui.input_mut(|input| {
        input.count_and_consume_key(egui::Modifiers::NONE, Key::ArrowDown) as isize
            - input.count_and_consume_key(egui::Modifiers::NONE, Key::ArrowUp) as isize
    });
    let last = matching.len().saturating_sub(1);
    state.highlighted = match state.highlighted {
        Some(highlighted) => Some(highlighted.saturating_add_signed(moved).min(last)),
        None if moved > 0 => Some((moved as usize - 1).min(last)),
        None => None,
    };
    let edit = TextEdit::singleline(&mut state.text)
        .id(field_id())
        .hint_text("Type a command")
        .desired_width(f32::INFINITY);
    let field = ui.add(edit).accessible_name("Find a command");
    if !state.focused {
        field.request_focus();
    }
    if field.changed() {
        state.highlighted = (!state.text.trim().is_empty()).then_some(0);
    }
    let entered = ui.input(|input| input.key_pressed(Key::Enter));
    let mut done = false;
    egui::ScrollArea::vertical().max_height(360.0).auto_shrink(false).show(ui, |ui| {
        if matching.is_empty() {
            ui.weak("No commands match");
        }
        for (index, command) in matching.iter().enumerate() {
            let highlighted = state.highlighted == Some(index);
            let chosen = entry(ui, command, (highlighted, moved != 0), (now, stops));
            if chosen || (entered && highlighted && command.enabled(now).is_ok()) {
                commands.push(command.clone());
                done = true;
            }
        }
    });
    done
}

fn entry(
    ui: &mut Ui,
    command: &UiCommand,
    (highlighted, moved): (bool, bool),
    (now, stops): (&CommandContext, Option<&str>),
) -> bool {
    let palette = Palette::of(ui);
    let enabled = command.enabled(now);
    let name = label(command, stops);
    let (why, keys) = (enabled.err().map(capitalized), command.keys(ui.ctx()));
    let colour = if why.is_some() { palette.weak } else { palette.text };
    let plain = |style: TextStyle| TextFormat::simple(style.resolve(ui.style()), colour);
    let mut job = LayoutJob::default();
    job.append(&name, 0.0, plain(TextStyle::Button));
    let right = why.or(keys);
    if let Some(right) = &right {
        job.append(right, GAP, plain(TextStyle::Small));
    }
    // A reason can be longer than the room beside the name.
    let below = GlyphWidths::of(ui.ctx()).text(&job) > ui.available_width();
    let mut button = match (&right, below) {
        (Some(right), true) => {
            let mut job = LayoutJob::default();
            job.append(&format!("{name}\n"), 0.0, plain(TextStyle::Button));
            job.append(right, 0.0, plain(TextStyle::Small));
            Button::new(job).wrap()
        }
        (right, _) => {
            let button = Button::new(RichText::new(name).color(colour));
            match right {
                Some(right) => button.right_text(RichText::new(right).small().color(palette.weak)),
                None => button,
            }
        }
    };
    button = button
        .min_size(vec2(ui.available_width(), 0.0))
        .selected(highlighted)
        .frame_when_inactive(highlighted);
    let response = ui.add(button);
    if highlighted && moved {
        response.scroll_to_me(None);
    }
    response.clicked() && enabled.is_ok()
}

/// Returns a command's name, with the program it would stop.
fn label(command: &UiCommand, stops: Option<&str>) -> String {
    match (command, stops) {
        (UiCommand::Stop, Some(program)) => format!("{}: {program}", command.name()),
        _ => command.name().to_owned(),
    }
}

/// Returns the commands whose names contain every word of `text`, in menu order.
fn matching(text: &str) -> Vec<UiCommand> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let fits = |command: &&UiCommand| {
        let name = command.name().to_lowercase();
        words.iter().all(|word| name.contains(word))
    };
    listed().filter(fits).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_words_in_any_order() {
        assert_eq!(matching("off all").first(), Some(&UiCommand::AllOff));
        assert_eq!(matching("").len(), listed().count());
        assert!(matching("no such thing").is_empty());
    }

    #[test]
    fn stop_command_names_its_program() {
        let shop = Some("dotnet Shop.dll (pid 9)");
        assert_eq!(label(&UiCommand::Stop, shop), "Stop the launched program: dotnet Shop.dll (pid 9)");
        assert_eq!(label(&UiCommand::Stop, None), UiCommand::Stop.name());
        assert_eq!(label(&UiCommand::AllOff, shop), UiCommand::AllOff.name());
    }
}

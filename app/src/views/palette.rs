//! The palette: every command by name, filtered as one types; what cannot be done now says why.

use crate::commands::{Command, Situation, listed};
use crate::ui::theme::Palette;
use crate::ui::widths::Widths;
use eframe::egui::text::LayoutJob;
use eframe::egui::{self, Align2, Button, Id, Key, RichText, TextEdit, TextFormat, TextStyle, Ui, vec2};

/// Room between a command's name and what stands beside it, at least, and that of a button's own margins; points.
const GAP: f32 = 40.0;

/// The palette while it is open.
#[derive(Debug, Default)]
pub struct State {
    text: String,
    /// None until something is typed or the arrows are used: Enter alone does nothing.
    picked: Option<usize>,
    focused: bool,
}

impl State {
    /// Appends what was typed before it had the focus.
    pub fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.picked = (!self.text.trim().is_empty()).then_some(0);
    }

    /// What is written in its field.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The field's id.
pub fn field_id() -> Id {
    Id::unique("find a command")
}

/// Shows it; true when it is to be closed. `stops`: the launched program that the command to stop one means.
pub fn show(
    context: &egui::Context,
    state: &mut State,
    (now, stops): (&Situation, Option<&str>),
    commands: &mut Vec<Command>,
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
    state: &mut State,
    (now, stops): (&Situation, Option<&str>),
    commands: &mut Vec<Command>,
) -> bool {
    let found = found(&state.text);
    let moved = ui.input_mut(|input| {
        input.count_and_consume_key(egui::Modifiers::NONE, Key::ArrowDown) as isize
            - input.count_and_consume_key(egui::Modifiers::NONE, Key::ArrowUp) as isize
    });
    let last = found.len().saturating_sub(1);
    state.picked = match state.picked {
        Some(picked) => Some(picked.saturating_add_signed(moved).min(last)),
        None if moved > 0 => Some((moved as usize - 1).min(last)),
        None => None,
    };
    let edit = TextEdit::singleline(&mut state.text)
        .id(field_id())
        .hint_text("type a command")
        .desired_width(f32::INFINITY);
    let field = ui.add(edit).accessible_name("find a command");
    if !state.focused {
        field.request_focus();
    }
    if field.changed() {
        state.picked = (!state.text.trim().is_empty()).then_some(0);
    }
    let entered = ui.input(|input| input.key_pressed(Key::Enter));
    let mut done = false;
    egui::ScrollArea::vertical().max_height(360.0).auto_shrink(false).show(ui, |ui| {
        if found.is_empty() {
            ui.weak("no command has that in its name");
        }
        for (index, command) in found.iter().enumerate() {
            let picked = state.picked == Some(index);
            let chosen = entry(ui, command, (picked, moved != 0), (now, stops));
            if chosen || (entered && picked && command.enabled(now).is_ok()) {
                commands.push(command.clone());
                done = true;
            }
        }
    });
    done
}

fn entry(
    ui: &mut Ui,
    command: &Command,
    (picked, moved): (bool, bool),
    (now, stops): (&Situation, Option<&str>),
) -> bool {
    let palette = Palette::of(ui);
    let enabled = command.enabled(now);
    let name = said(command, stops);
    let (why, keys) = (enabled.err().map(str::to_owned), command.keys(ui.ctx()));
    let colour = if why.is_some() { palette.weak } else { palette.text };
    let plain = |style: TextStyle| TextFormat::simple(style.resolve(ui.style()), colour);
    let mut job = LayoutJob::default();
    job.append(&name, 0.0, plain(TextStyle::Button));
    let right = why.or(keys);
    if let Some(right) = &right {
        job.append(right, GAP, plain(TextStyle::Small));
    }
    // Why not is a sentence, and may be longer than there is room beside the name.
    let below = Widths::of(ui.ctx()).text(&job) > ui.available_width();
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
    button = button.min_size(vec2(ui.available_width(), 0.0)).selected(picked).frame_when_inactive(picked);
    let response = ui.add(button);
    if picked && moved {
        response.scroll_to_me(None);
    }
    response.clicked() && enabled.is_ok()
}

/// A command's words, with the name of the program that it would stop.
fn said(command: &Command, stops: Option<&str>) -> String {
    match (command, stops) {
        (Command::Stop, Some(program)) => format!("{}: {program}", command.name()),
        _ => command.name().to_owned(),
    }
}

/// The commands whose names have every word of `text`, in their order.
fn found(text: &str) -> Vec<Command> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let fits = |command: &&Command| {
        let name = command.name().to_lowercase();
        words.iter().all(|word| name.contains(word))
    };
    listed().filter(fits).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_order() {
        assert_eq!(found("off all").first(), Some(&Command::AllOff));
        assert_eq!(found("").len(), listed().count());
        assert!(found("no such thing").is_empty());
    }

    #[test]
    fn a_program_that_would_be_stopped_is_named() {
        let shop = Some("dotnet Shop.dll (pid 9)");
        assert_eq!(said(&Command::Stop, shop), "Stop the launched program: dotnet Shop.dll (pid 9)");
        assert_eq!(said(&Command::Stop, None), Command::Stop.name());
        assert_eq!(said(&Command::AllOff, shop), Command::AllOff.name());
    }
}

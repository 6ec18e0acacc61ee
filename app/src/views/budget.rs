//! What the dials of a process may cost together, to be seen and set.

use crate::commands::Command;
use crate::output::budget;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, Button, Key, RichText, TextEdit, Ui, vec2};
use redial_protocol::cost::{CostBudget, Share};

/// What the dialog remembers while it is open.
#[derive(Debug, Default)]
pub struct State {
    /// The percentage as typed.
    text: String,
    /// The keyboard went to it.
    begun: bool,
}

impl State {
    /// For a process where that stands.
    pub fn of(stands: &CostBudget) -> State {
        let text = stands.limit.map_or_else(String::new, |limit| limit.percent().to_string());
        State { text, begun: false }
    }

    /// What is typed, or why that is no budget; None: nothing is.
    fn typed(&self) -> Option<Result<Share, String>> {
        let text = Some(self.text.trim()).filter(|text| !text.is_empty())?;
        let typed = Share::parse_budget(text).map_err(|error| error.to_string());
        Some(
            typed.and_then(|limit| {
                limit.ok_or_else(|| "the button beside it switches the budget off".to_owned())
            }),
        )
    }
}

/// Shows it; true when it is to be closed.
pub fn show(
    context: &egui::Context,
    state: &mut State,
    stands: &CostBudget,
    commands: &mut Vec<Command>,
) -> bool {
    let mut open = true;
    let mut done = false;
    let room = context.content_rect().size();
    egui::Window::new("What dials may cost")
        .open(&mut open)
        .resizable(false)
        .collapsible(false)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .show(context, |ui| {
            ui.set_width((room.x - 60.0).clamp(200.0, 520.0));
            done = inside(ui, state, stands, commands);
        });
    !open || done
}

fn inside(ui: &mut Ui, state: &mut State, stands: &CostBudget, commands: &mut Vec<Command>) -> bool {
    let palette = Palette::of(ui);
    ui.label(
        "Where the dials of this process cost more together, the agent turns the costliest down by itself, from time to \
         count and from count to off, only as far as needed, and never up again. It says so, and it can be undone.",
    );
    ui.add_space(6.0);
    let mut done = false;
    ui.horizontal(|ui| {
        let label = ui.label("Percent of one processor");
        let edit = ui.add(TextEdit::singleline(&mut state.text).desired_width(70.0).hint_text("5"));
        let edit = edit.labelled_by(label.id);
        if !std::mem::replace(&mut state.begun, true) {
            edit.request_focus();
        }
        let typed = state.typed();
        let limit = typed.and_then(Result::ok);
        let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let set = ui.add_enabled(limit.is_some(), Button::new("Set")).clicked();
        if let Some(limit) = limit.filter(|_| set || entered) {
            commands.push(Command::SetBudget(Some(limit)));
            done = true;
        }
        if ui.add_enabled(stands.limit.is_some(), Button::new("Switch off")).clicked() {
            commands.push(Command::SetBudget(None));
            done = true;
        }
    });
    if let Some(Err(why)) = state.typed() {
        ui.label(RichText::new(why).color(palette.bad));
    }
    ui.add_space(6.0);
    ui.weak(budget::standing(stands));
    for line in budget::effects(stands) {
        ui.weak(line);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_read_or_told_to_be_wrong() {
        let typed = |text: &str| State { text: text.to_owned(), begun: true }.typed();
        assert_eq!(typed(" 2.5 "), Some(Ok(Share(250))));
        assert_eq!(typed(" "), None);
        assert!(matches!(typed("off"), Some(Err(why)) if why.contains("switches the budget off")));
        assert!(matches!(typed("much"), Some(Err(why)) if why.contains("percent of one processor")));
        let stands = CostBudget { limit: Some(Share(725)), ..CostBudget::default() };
        assert_eq!(State::of(&stands).text, "7.25");
    }
}

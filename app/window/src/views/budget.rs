//! The dialog of the overhead budget.

use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::theme::Palette;
use eframe::egui::{self, Button, Id, Key, RichText, TextEdit, Ui};
use redial_model::connection::{Connection, Status};
use redial_model::ids::ConnectionId;
use redial_protocol::cost::{CostBudget, Share};
use redial_text::budget;
use redial_text::diagnostics::Reader;

/// The dialog's state while it is open.
#[derive(Debug)]
pub struct BudgetState {
    /// The process, which stays the same whatever is selected meanwhile.
    connection: ConnectionId,
    /// The percentage as typed.
    text: String,
    /// The text field has received the keyboard focus.
    begun: bool,
}

impl BudgetState {
    /// Returns the state for a process, once its agent has reported a budget.
    pub fn of(connection: &Connection) -> Option<BudgetState> {
        let agent = connection.agent.as_ref()?;
        Some(BudgetState { connection: connection.id, text: text_of(&agent.cost_budget), begun: false })
    }

    /// Returns the connection to the process.
    pub fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Returns the typed budget or the reason why it is invalid; `None` if nothing is typed.
    fn typed(&self) -> Option<Result<Share, String>> {
        let text = Some(self.text.trim()).filter(|text| !text.is_empty())?;
        let typed = Share::parse_budget(text).map_err(|error| error.to_string());
        Some(typed.and_then(|limit| limit.ok_or_else(|| "use “Switch off” to remove the budget".to_owned())))
    }
}

/// Returns a budget as text to edit.
fn text_of(current: &CostBudget) -> String {
    current.limit.map_or_else(String::new, |limit| limit.percent().to_string())
}

/// Shows the dialog; returns true when it should close.
pub fn show(
    context: &egui::Context,
    state: &mut BudgetState,
    connection: &Connection,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let Some(agent) = connection.agent.as_ref().filter(|_| connection.session.status == Status::Live) else {
        return true;
    };
    let current = &agent.cost_budget;
    let mut done = false;
    let room = context.content_rect().size();
    let title = format!("Overhead budget of {}", connection.title());
    let open = dialog::show(context, dialog::titled(title).id(Id::unique("Overhead budget")), |ui| {
        ui.set_width((room.x - 60.0).clamp(200.0, 520.0));
        done = inside(ui, state, current, commands);
    });
    !open || done
}

fn inside(ui: &mut Ui, state: &mut BudgetState, current: &CostBudget, commands: &mut Vec<UiCommand>) -> bool {
    let palette = Palette::of(ui);
    ui.label(
        "When the dials of this process cost more than the budget, the agent turns the most expensive \
        ones down: from time to count, then from count to off, and only as far as needed. It never \
        turns them up again. It reports each step, and you can undo it.",
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
            commands.push(UiCommand::SetBudget(state.connection, Some(limit)));
            done = true;
        }
        if ui.add_enabled(current.limit.is_some(), Button::new("Switch off")).clicked() {
            commands.push(UiCommand::SetBudget(state.connection, None));
            done = true;
        }
    });
    if let Some(Err(why)) = state.typed() {
        ui.label(RichText::new(capitalized(&why)).color(palette.bad));
    }
    ui.add_space(6.0);
    ui.weak(capitalized(&budget::summary(current)));
    for line in budget::effects(current, Reader::Window) {
        ui.weak(capitalized(&line));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_text_is_parsed_or_rejected() {
        let typed = |text: &str| {
            BudgetState { connection: ConnectionId(1), text: text.to_owned(), begun: true }.typed()
        };
        assert_eq!(typed(" 2.5 "), Some(Ok(Share(250))));
        assert_eq!(typed(" "), None);
        assert!(matches!(typed("off"), Some(Err(why)) if why.contains("remove the budget")));
        assert!(matches!(typed("much"), Some(Err(why)) if why.contains("percentage of one processor")));
        let current = CostBudget { limit: Some(Share(725)), ..CostBudget::default() };
        assert_eq!(text_of(&current), "7.25");
    }
}

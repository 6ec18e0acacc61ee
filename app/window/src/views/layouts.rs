//! The dialog of layouts: save the current one under a name, choose or delete a saved one.

use crate::commands::UiCommand;
use crate::settings::layouts::{Layouts, NAME};
use crate::ui::dialog;
use eframe::egui::{self, Button, Key, TextEdit, Ui};

/// The dialog's state while it is open.
#[derive(Debug, Default)]
pub struct LayoutsState {
    /// The name for the layout to save.
    name: String,
    focused: bool,
}

/// Shows the dialog; returns true when it should close.
pub fn show(
    context: &egui::Context,
    state: &mut LayoutsState,
    layouts: &Layouts,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let room = context.content_rect().size();
    !dialog::show(context, dialog::titled("Layouts"), |ui| {
        ui.set_width((room.x - 60.0).clamp(200.0, 420.0));
        let area = egui::ScrollArea::vertical().max_height(room.y * 0.5);
        area.show(ui, |ui| saved(ui, layouts, commands));
        ui.separator();
        save(ui, state, layouts, commands);
    })
}

fn saved(ui: &mut Ui, layouts: &Layouts, commands: &mut Vec<UiCommand>) {
    if layouts.named.is_empty() {
        ui.weak("None saved yet. Arrange the panels, then save them here.");
    }
    for layout in &layouts.named {
        ui.horizontal(|ui| {
            let choose = ui.button("Use").accessible_name(format!("Use {}", layout.name));
            if choose.clicked() {
                commands.push(UiCommand::ChooseLayout(layout.name.clone()));
            }
            let delete = ui.button("Delete").accessible_name(format!("Delete {}", layout.name));
            if delete.clicked() {
                commands.push(UiCommand::DeleteLayout(layout.name.clone()));
            }
            ui.add(egui::Label::new(&layout.name).truncate());
        });
    }
}

fn save(ui: &mut Ui, state: &mut LayoutsState, layouts: &Layouts, commands: &mut Vec<UiCommand>) {
    ui.horizontal(|ui| {
        let label = ui.label("Save the current layout as");
        let edit = ui.add(
            TextEdit::singleline(&mut state.name).desired_width(140.0).hint_text("name").char_limit(NAME),
        );
        let edit = edit.labelled_by(label.id);
        if !std::mem::replace(&mut state.focused, true) {
            edit.request_focus();
        }
        let name = state.name.trim().to_owned();
        let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let text = if layouts.get(&name).is_some() { "Replace" } else { "Save" };
        let clicked = ui.add_enabled(!name.is_empty(), Button::new(text)).clicked();
        if !name.is_empty() && (entered || clicked) {
            commands.push(UiCommand::SaveLayout(name));
            state.name.clear();
        }
    });
}

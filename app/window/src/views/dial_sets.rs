//! The dialog of a program's dial sets: save what is on now, apply a saved set. Nothing is applied by itself.

use crate::commands::UiCommand;
use crate::settings::programs::{SavedDialSet, SavedPrograms};
use crate::ui::dialog;
use eframe::egui::{self, Button, Id, Key, TextEdit, Ui};
use redial_model::connection::{Connection, Status};
use redial_protocol::dialset;
use redial_text::words;

/// The dialog's state while it is open.
#[derive(Debug, Default)]
pub struct DialSetsState {
    /// The name for the set to save.
    name: String,
}

/// Shows the dialog; returns true when it should close.
pub fn show(
    context: &egui::Context,
    state: &mut DialSetsState,
    (connection, programs): (&Connection, &SavedPrograms),
    commands: &mut Vec<UiCommand>,
) -> bool {
    let room = context.content_rect().size();
    let title = format!("Dial sets of {}", connection.name);
    !dialog::show(context, dialog::titled(title).id(Id::unique("Dial sets")), |ui| {
        ui.set_width((room.x - 60.0).clamp(200.0, 480.0));
        let saved = programs.get(&connection.name).map_or(&[][..], |program| &program.dial_sets);
        sets(ui, saved, connection, commands);
        ui.separator();
        save(ui, state, connection, commands);
    })
}

fn sets(ui: &mut Ui, saved: &[SavedDialSet], connection: &Connection, commands: &mut Vec<UiCommand>) {
    if saved.is_empty() {
        ui.weak(
            "None saved yet. Turn dials, then save them here; they are offered when the program returns.",
        );
    }
    let live = connection.session.status == Status::Live;
    for set in saved {
        ui.horizontal(|ui| {
            let orders = dialset::parse(&set.text).map_or(0, |orders| orders.len());
            let apply = ui.add_enabled(live && orders > 0, Button::new("Apply"));
            if apply.accessible_name(format!("Apply {}", set.name)).clicked() {
                commands.push(UiCommand::ApplyDialSet(set.name.clone()));
            }
            let delete = ui.button("Delete").accessible_name(format!("Delete {}", set.name));
            if delete.clicked() {
                commands.push(UiCommand::DeleteDialSet(set.name.clone()));
            }
            ui.label(&set.name).on_hover_text(&set.text);
            ui.weak(words::count(orders as u64, "order", "orders"));
        });
    }
}

fn save(ui: &mut Ui, state: &mut DialSetsState, connection: &Connection, commands: &mut Vec<UiCommand>) {
    let standing = connection.orders.as_ref().map_or(0, |orders| orders.standing.len());
    if standing == 0 {
        ui.weak("No dials are on in this process, so there is nothing to save.");
        return;
    }
    ui.horizontal(|ui| {
        let label = ui.label("Save what is on now as");
        let edit = ui.add(TextEdit::singleline(&mut state.name).desired_width(160.0).hint_text("name"));
        let edit = edit.labelled_by(label.id);
        let name = state.name.trim().to_owned();
        let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let clicked = ui.add_enabled(!name.is_empty(), Button::new("Save")).clicked();
        if !name.is_empty() && (entered || clicked) {
            commands.push(UiCommand::SaveDialSet(name));
            state.name.clear();
        }
    });
}

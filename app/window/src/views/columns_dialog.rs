//! The dialog that arranges the columns of the method table, for keyboard and pointer.

use crate::commands::UiCommand;
use crate::settings::columns::{ColumnLayout, TableColumn, WIDTHS};
use crate::ui::capitalized;
use crate::ui::dialog;
use eframe::egui::{self, Button, DragValue, Grid};

/// Shows the dialog; returns true when it should close.
pub fn show(context: &egui::Context, layout: &ColumnLayout, commands: &mut Vec<UiCommand>) -> bool {
    let mut changed = None;
    let open = dialog::show(context, dialog::titled("Columns"), |ui| {
        ui.weak("Dial and method always come first. The times appear once a method is timed.");
        ui.add_space(6.0);
        Grid::new("columns").num_columns(4).show(ui, |ui| {
            let columns: Vec<TableColumn> = layout.columns().iter().map(|choice| choice.column).collect();
            for (place, column) in columns.iter().enumerate() {
                let name = column.name();
                let mut shown = !layout.get(*column).hidden;
                if ui.checkbox(&mut shown, capitalized(name)).changed() {
                    changed = Some(layout.with_hidden(*column, !shown));
                }
                let mut width = layout.width(*column);
                let edit = DragValue::new(&mut width).range(WIDTHS).suffix(" px").max_decimals(0);
                if ui.add(edit).accessible_name(format!("Width of {name}")).changed() {
                    changed = Some(layout.with_width(*column, Some(width)));
                }
                for (text, other) in [
                    ("Up", place.checked_sub(1).and_then(|other| columns.get(other))),
                    ("Down", columns.get(place + 1)),
                ] {
                    let button = ui.add_enabled(other.is_some(), Button::new(text));
                    let button = button.accessible_name(format!("Move {name} {}", text.to_lowercase()));
                    if let Some(other) = other.filter(|_| button.clicked()) {
                        changed = Some(layout.with_moved(*column, *other));
                    }
                }
                ui.end_row();
            }
        });
        ui.add_space(6.0);
        if ui.button(UiCommand::ResetColumns.name()).clicked() {
            commands.push(UiCommand::ResetColumns);
        }
    });
    commands.extend(changed.map(UiCommand::SetColumns));
    !open
}

//! The context menu of the column headers: hides, moves and shows columns.

use crate::commands::UiCommand;
use crate::settings::columns::{ColumnLayout, TableColumn};
use crate::ui::capitalized;
use eframe::egui::{Popup, Response, Ui};

/// Shows the menu of a header if it is open; `column` is the header's column, unless it is dial or method.
pub fn show(
    ui: &Ui,
    header: &Response,
    column: Option<TableColumn>,
    layout: &ColumnLayout,
    commands: &mut Vec<UiCommand>,
) {
    if header.secondary_clicked() || Popup::is_any_open(ui.ctx()) {
        Popup::context_menu(header).show(|ui| entries(ui, column, layout, commands));
    }
}

fn entries(ui: &mut Ui, column: Option<TableColumn>, layout: &ColumnLayout, commands: &mut Vec<UiCommand>) {
    let mut chosen = None;
    if let Some(column) = column {
        if ui.button(format!("Hide {}", column.name())).clicked() {
            chosen = Some(UiCommand::SetColumns(layout.with_hidden(column, true)));
        }
        for (text, other) in
            [("Move left", neighbour(layout, column, -1)), ("Move right", neighbour(layout, column, 1))]
        {
            if let Some(other) = other
                && ui.button(text).clicked()
            {
                chosen = Some(UiCommand::SetColumns(layout.with_moved(column, other)));
            }
        }
        ui.separator();
    }
    for choice in layout.columns() {
        let mut shown = !choice.hidden;
        if ui.checkbox(&mut shown, capitalized(choice.column.name())).changed() {
            commands.push(UiCommand::SetColumns(layout.with_hidden(choice.column, !shown)));
        }
    }
    ui.separator();
    for command in [UiCommand::Columns, UiCommand::ResetColumns] {
        if ui.button(command.name()).clicked() {
            chosen = Some(command);
        }
    }
    if let Some(command) = chosen {
        commands.push(command);
        ui.close();
    }
}

/// Returns the next column to the left (-1) or right (1) that is not hidden.
pub fn neighbour(layout: &ColumnLayout, column: TableColumn, step: isize) -> Option<TableColumn> {
    let columns = layout.columns();
    let mut at = columns.iter().position(|choice| choice.column == column)?;
    loop {
        at = at.checked_add_signed(step)?;
        let choice = columns.get(at)?;
        if !choice.hidden {
            return Some(choice.column);
        }
    }
}

//! The sheet of keyboard shortcuts.

use crate::commands::listed;
use crate::ui::dialog;
use eframe::egui::{self, Grid, RichText, vec2};

/// Keys that are not commands.
const OTHERS: &[(&str, &str)] = &[
    ("Up Down Home End", "Move through the methods (also Page Up, Page Down)"),
    ("Right Left", "In the tree: expand or collapse a group, go in or out"),
    ("Shift+Up Shift+Down", "Select several methods (also Ctrl+click)"),
    ("Esc", "Close the open dialog, or clear the filter"),
    ("Tab", "Next control; a focused knob takes arrows, Space, 0–3"),
];

/// Shows the sheet; returns true when it should close.
pub fn show(context: &egui::Context) -> bool {
    // The whole sheet, where it fits.
    let height = context.content_rect().height() - 60.0;
    !dialog::show(context, dialog::titled("Keyboard shortcuts").default_height(height), |ui| {
        let commands = listed().filter_map(|command| Some((command.keys(context)?, command.name())));
        let others = OTHERS.iter().map(|(keys, message)| ((*keys).to_owned(), *message));
        let all: Vec<(String, &str)> = commands.chain(others).collect();
        let room = context.content_rect().size();
        // One column in a narrow window.
        let columns = if room.x < 760.0 { 1 } else { 2 };
        let lines = all.len().div_ceil(columns);
        egui::ScrollArea::vertical().max_height(room.y - 110.0).show(ui, |ui| {
            let grid = Grid::new("keys").num_columns(2 * columns).striped(true).min_row_height(18.0);
            grid.spacing(vec2(18.0, 4.0)).show(ui, |ui| {
                for line in 0..lines {
                    for (keys, message) in all.iter().skip(line).step_by(lines) {
                        ui.label(RichText::new(keys).monospace());
                        ui.label(*message);
                    }
                    ui.end_row();
                }
            });
        });
    })
}

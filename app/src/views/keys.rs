//! The sheet of keys.

use crate::commands::listed;
use eframe::egui::{self, Align2, Grid, RichText, vec2};

/// What is no command of its own.
const OTHERS: &[(&str, &str)] = &[
    ("Up Down Home End", "Move through the methods; Page Up and Down, too"),
    ("Right Left", "On a group of the tree: open or close it, go in or out"),
    ("Shift+Up Shift+Down", "Select several; Ctrl+click, too"),
    ("Esc", "Close what is open, else clear the filter"),
    ("Tab", "Next control; a knob takes arrows, Space, 0–3 for itself"),
];

/// Shows it; true when it is to be closed.
pub fn show(context: &egui::Context) -> bool {
    let mut open = true;
    egui::Window::new("Keys")
        .open(&mut open)
        .resizable(false)
        .collapsible(false)
        // All of it, where there is room.
        .default_height(context.content_rect().height() - 60.0)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .show(context, |ui| {
            let commands = listed().filter_map(|command| Some((command.keys(context)?, command.name())));
            let others = OTHERS.iter().map(|(keys, what)| ((*keys).to_owned(), *what));
            let all: Vec<(String, &str)> = commands.chain(others).collect();
            let room = context.content_rect().size();
            // In a narrow window under each other.
            let columns = if room.x < 760.0 { 1 } else { 2 };
            let lines = all.len().div_ceil(columns);
            egui::ScrollArea::vertical().max_height(room.y - 110.0).show(ui, |ui| {
                let grid = Grid::new("keys").num_columns(2 * columns).striped(true).min_row_height(18.0);
                grid.spacing(vec2(18.0, 4.0)).show(ui, |ui| {
                    for line in 0..lines {
                        for (keys, what) in all.iter().skip(line).step_by(lines) {
                            ui.label(RichText::new(keys).monospace());
                            ui.label(*what);
                        }
                        ui.end_row();
                    }
                });
            });
        });
    !open
}

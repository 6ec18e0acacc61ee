//! The sheet of keys.

use crate::commands::LISTED;
use eframe::egui::{self, Align2, Grid, RichText, vec2};

/// What is no command of its own.
const OTHERS: &[(&str, &str)] = &[
    ("Up Down Home End", "Move through the methods; Page Up and Down, too"),
    ("Shift+Up Shift+Down", "Select several; Ctrl+click, too"),
    ("Esc", "Close what is open, else clear the filter"),
    ("Tab", "Next control; a knob takes arrows, Space, 0–3"),
];

/// Shows it; true when it is to be closed.
pub fn show(context: &egui::Context) -> bool {
    let mut open = true;
    egui::Window::new("Keys")
        .open(&mut open)
        .resizable(false)
        .collapsible(false)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .show(context, |ui| {
            let listed = LISTED.iter().filter_map(|command| Some((command.keys(context)?, command.name())));
            let others = OTHERS.iter().map(|(keys, what)| ((*keys).to_owned(), *what));
            let all: Vec<(String, &str)> = listed.chain(others).collect();
            let half = all.len().div_ceil(2);
            let grid = Grid::new("keys").num_columns(4).striped(true).min_row_height(18.0);
            grid.spacing(vec2(18.0, 4.0)).show(ui, |ui| {
                for row in 0..half {
                    for (keys, what) in [all.get(row), all.get(row + half)].into_iter().flatten() {
                        ui.label(RichText::new(keys).monospace());
                        ui.label(*what);
                    }
                    ui.end_row();
                }
            });
        });
    !open
}

//! The sheet of keys.

use crate::commands::LISTED;
use eframe::egui::{self, Align2, Grid, RichText, vec2};

/// What is no command of its own.
const OTHERS: &[(&str, &str)] = &[
    ("Up, Down, Page Up, Page Down, Home, End", "Move through the methods"),
    ("Shift + these, Ctrl + click", "Select several"),
    ("Esc", "Close what is open, else clear the filter"),
    ("Tab", "Next control; every knob takes arrows, Space, 0–3"),
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
            Grid::new("keys").num_columns(2).striped(true).spacing(vec2(24.0, 5.0)).show(ui, |ui| {
                for (keys, what) in OTHERS {
                    ui.label(RichText::new(*keys).monospace());
                    ui.label(*what);
                    ui.end_row();
                }
                for command in LISTED {
                    let Some(shortcut) = command.shortcut() else { continue };
                    ui.label(RichText::new(context.format_shortcut(&shortcut)).monospace());
                    ui.label(command.name());
                    ui.end_row();
                }
            });
        });
    !open
}

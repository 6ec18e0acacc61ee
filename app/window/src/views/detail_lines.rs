//! Lines of a name and a value in the panel of the selection.

use super::cells::NumberAge;
use crate::ui::theme::Palette;
use eframe::egui::{RichText, Ui};

/// Shows a name and its value at both ends of a line.
pub fn pair(ui: &mut Ui, name: &str, value: &str) {
    line(ui, name, RichText::new(value).monospace());
}

/// Shows a name and a number; a last known value is dimmed.
pub fn number(ui: &mut Ui, name: &str, number: NumberAge, value: &str) {
    let colour = number.colour(Palette::of(ui));
    line(ui, name, RichText::new(value).monospace().color(colour));
}

pub(super) fn line(ui: &mut Ui, name: &str, value: RichText) {
    line_of(ui, 0.0, name, value);
}

/// Shows a line of at least this height, with both texts in its middle. Nothing here is clickable, so lines
/// can stand closer than buttons.
pub(super) fn line_of(ui: &mut Ui, height: f32, name: &str, value: RichText) {
    ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = height;
        ui.horizontal(|ui| {
            ui.weak(name);
            ui.with_layout(eframe::egui::Layout::right_to_left(eframe::egui::Align::Center), |ui| {
                ui.add(eframe::egui::Label::new(value).truncate());
            });
        });
    });
}

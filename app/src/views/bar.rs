//! The bar at the top: what can be started, how it looks, and the one button that turns everything off.

use crate::commands::{Command, Form, Situation};
use crate::persist::ThemeChoice;
use crate::ui::theme::Palette;
use eframe::egui::{Align, Button, Layout, RichText, Stroke, Ui};

/// Shows the bar. `on` is the number of dials that are not off.
pub fn show(ui: &mut Ui, now: &Situation, on: u64, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        ui.label(RichText::new("Redial").size(17.0).strong());
        ui.add_space(8.0);
        ui.menu_button("Process", |ui| {
            for command in [
                Command::Launch,
                Command::StartDemo,
                Command::Reconnect,
                Command::Disconnect,
                Command::TakeControl,
                Command::Quit,
            ] {
                item(ui, command, now, commands);
            }
        });
        ui.menu_button("Methods", |ui| {
            for command in [
                Command::FocusFilter,
                Command::ClearFilter,
                Command::OnlyDialled,
                Command::HideFramework,
                Command::Tree,
                Command::HoldOrder,
                Command::SelectAll,
                Command::Copy(Form::Text),
                Command::Copy(Form::Markdown),
                Command::Copy(Form::Csv),
            ] {
                item(ui, command, now, commands);
            }
        });
        ui.menu_button("View", |ui| {
            for command in [
                Command::Log,
                Command::Theme(ThemeChoice::Dark),
                Command::Theme(ThemeChoice::Light),
                Command::Theme(ThemeChoice::System),
                Command::ZoomIn,
                Command::ZoomOut,
                Command::ZoomReset,
                Command::Palette,
                Command::Keys,
            ] {
                item(ui, command, now, commands);
            }
        });
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let text = match on {
                0 => "All dials off".to_owned(),
                on => format!("All dials off ({})", crate::output::words::grouped(on)),
            };
            let label = RichText::new(text).strong().color(palette.on_alarm);
            let button = Button::new(label).fill(palette.alarm).stroke(Stroke::new(1.0, palette.bad));
            let response = ui.add(button.shortcut_text(RichText::new("F9").color(palette.on_alarm)));
            let response = response.on_hover_text(
                "turns every dial of this process off, whoever set it; the agent confirms when every method runs \
                 its original code again",
            );
            if response.clicked() {
                commands.push(Command::AllOff);
            }
            if ui.button("Launch…").clicked() {
                commands.push(Command::Launch);
            }
        });
    });
}

/// One entry of a menu, disabled with its reason.
fn item(ui: &mut Ui, command: Command, now: &Situation, commands: &mut Vec<Command>) {
    let enabled = command.enabled(now);
    let mut button = Button::new(command.name());
    if let Some(keys) = command.keys(ui.ctx()) {
        button = button.shortcut_text(keys);
    }
    let response = ui.add_enabled(enabled.is_ok(), button);
    let response = match enabled {
        Ok(()) => response,
        Err(why) => response.on_disabled_hover_text(why),
    };
    if response.clicked() {
        commands.push(command);
        ui.close();
    }
}

//! The bar at the top: every command in menus, and the one button that turns everything off.

use crate::commands::{Command, MENUS, Situation};
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{Align, Button, Layout, RichText, Role, Stroke, Ui, WidgetInfo};

/// Below this width the menus become one, points.
const NARROW: f32 = 660.0;

/// Dials that are not off.
#[derive(Clone, Copy, Debug)]
pub struct On {
    /// So many, as far as they are read.
    pub known: u64,
    /// There may be more: some are not read yet.
    pub more: bool,
}

/// Shows the bar.
pub fn show(ui: &mut Ui, now: &Situation, on: On, commands: &mut Vec<Command>) {
    let wide = ui.available_width() >= NARROW;
    ui.horizontal(|ui| {
        if wide {
            ui.label(RichText::new("Redial").size(TITLE).strong());
            ui.add_space(8.0);
            menus(ui, now, commands);
        } else {
            ui.menu_button("Menu", |ui| menus(ui, now, commands));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            all_off(ui, on, now, commands);
            if wide && ui.button("Launch…").on_hover_text("starts a program with the agent in it").clicked()
            {
                commands.push(Command::Launch);
            }
        });
    });
}

fn menus(ui: &mut Ui, now: &Situation, commands: &mut Vec<Command>) {
    for (name, entries) in MENUS {
        ui.menu_button(*name, |ui| {
            for command in *entries {
                entry(ui, command, now, commands);
            }
        });
    }
}

fn all_off(ui: &mut Ui, on: On, now: &Situation, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let several = now.running() + now.held_elsewhere;
    let whose = if several > 1 { format!(" in {several} processes") } else { String::new() };
    let text = match on.known {
        0 => format!("{}{whose}", Command::AllOff.name()),
        on => format!("{}{whose} ({})", Command::AllOff.name(), crate::output::words::grouped(on)),
    };
    let keys = RichText::new(Command::AllOff.keys(ui.ctx()).unwrap_or_default());
    // Always there; red only while there is something to turn off, rimmed with red while there may be.
    let button = match on {
        On { known: 0, more: false } => {
            Button::new(RichText::new(text)).shortcut_text(keys.color(palette.weak))
        }
        On { known: 0, more: true } => Button::new(RichText::new(text).strong())
            .stroke(Stroke::new(1.0, palette.bad))
            .shortcut_text(keys.color(palette.text)),
        _ => Button::new(RichText::new(text).strong().color(palette.on_alarm))
            .fill(palette.alarm)
            .stroke(Stroke::new(1.0, palette.bad))
            .shortcut_text(keys.color(palette.on_alarm)),
    };
    let response = ui.add(button);
    let mut hint = "turns every dial off, whoever set it, in every process chosen, and wherever else this window holds dials; the \
         agents confirm when every method runs its original code again"
        .to_owned();
    if on.more {
        hint.push_str("\nthe dials that are on are still being read: those are turned off, too");
    }
    let response = response.on_hover_text(hint);
    if response.clicked() {
        commands.push(Command::AllOff);
    }
}

/// One entry of a menu, disabled with its reason.
fn entry(ui: &mut Ui, command: &Command, now: &Situation, commands: &mut Vec<Command>) {
    let enabled = command.enabled(now);
    let on = command.is_on(now);
    let mut button = Button::new(command.name()).selected(on == Some(true));
    if let Some(keys) = command.keys(ui.ctx()) {
        button = button.shortcut_text(keys);
    }
    let response = ui.add_enabled(enabled.is_ok(), button);
    if let Some(on) = on {
        let info = || WidgetInfo::selected(Role::CheckBox, enabled.is_ok(), on, command.name());
        response.widget_info(info);
    }
    let response = match enabled {
        Ok(()) => match command.explained() {
            Some(text) => response.on_hover_text(text),
            None => response,
        },
        Err(why) => response.on_disabled_hover_text(why),
    };
    if response.clicked() {
        commands.push(command.clone());
        ui.close();
    }
}

//! The bar at the top: menus, the process on display, *Launch…* and *All dials off*.

use crate::commands::{CallFormat, CommandContext, LAYOUT_MENU, MENUS, RangeChoice, UiCommand};
use crate::settings::ThemeChoice;
use crate::settings::layouts::Layouts;
use crate::ui::capitalized;
use crate::ui::icons::{self, Icon};
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{
    Align, AtomExt, Button, Id, Layout, MenuBar, RichText, Role, Stroke, Ui, Vec2, WidgetInfo, vec2,
};
use redial_model::Model;
use redial_protocol::level::Level;
use redial_text::words;
use std::sync::Arc;

/// Below this width one menu holds all the others, points.
const NARROW: f32 = 800.0;

/// Least width of *All dials off*, points: with the number of a few dials.
const LEAST_ALL_OFF: f32 = 168.0;

/// Room of an icon before an entry, points.
const ICON: Vec2 = vec2(16.0, 16.0);

/// Dials that are on.
#[derive(Clone, Copy, Debug)]
pub struct DialsOn {
    /// How many are known so far.
    pub known: u64,
    /// Those that this window did not set: kept dials, except those of its searches for hot methods, and dials of another
    /// controller.
    pub others: u64,
    /// More may follow: the catalogue is still loading.
    pub more: bool,
}

/// Shows the bar.
pub fn show(
    ui: &mut Ui,
    (model, now): (&Model, &CommandContext),
    (on, layouts): (DialsOn, &Layouts),
    commands: &mut Vec<UiCommand>,
) {
    let wide = ui.available_width() >= NARROW;
    let outlined = Arc::clone(ui.style());
    MenuBar::new().ui(ui, |ui| {
        if wide {
            ui.label(RichText::new("Redial").size(TITLE).strong());
            ui.add_space(8.0);
            menus(ui, layouts, now, commands);
        } else {
            ui.menu_button("Menu", |ui| menus(ui, layouts, now, commands));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            // These two look like buttons, unlike the menus.
            ui.set_style(outlined);
            all_off(ui, on, now, commands);
            if wide {
                let launch = ui.add(Button::new((icons::text(Icon::Play), "Launch…")));
                launch.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Launch…"));
                if launch.on_hover_text("Starts a program with the agent in it").clicked() {
                    commands.push(UiCommand::Launch);
                }
            }
            super::status_bar::heading(ui, model);
        });
    });
}

fn menus(ui: &mut Ui, layouts: &Layouts, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    for (name, entries) in MENUS {
        ui.menu_button(*name, |ui| {
            for command in *entries {
                if begins_group(command) {
                    ui.separator();
                }
                entry(ui, command, now, commands);
            }
            if *name == LAYOUT_MENU {
                saved_layouts(ui, layouts, commands);
            }
        });
    }
}

/// Offers the layouts that the user saved.
fn saved_layouts(ui: &mut Ui, layouts: &Layouts, commands: &mut Vec<UiCommand>) {
    if layouts.named.is_empty() {
        return;
    }
    ui.separator();
    for layout in &layouts.named {
        let entry = ui.add(Button::new((RichText::new("").atom_size(ICON), layout.name.as_str())));
        entry.widget_info(|| WidgetInfo::labeled(Role::Button, true, &layout.name));
        if entry.clicked() {
            commands.push(UiCommand::ChooseLayout(layout.name.clone()));
            ui.close();
        }
    }
}

/// Returns whether a line separates the command from those before it in its menu.
fn begins_group(command: &UiCommand) -> bool {
    matches!(
        command,
        UiCommand::ToggleSelected
            | UiCommand::TurnTo(Level::Off)
            | UiCommand::Undo
            | UiCommand::DialSets
            | UiCommand::TakeControl
            | UiCommand::FocusFilter
            | UiCommand::Tree
            | UiCommand::Pin
            | UiCommand::Numbers(RangeChoice::Total)
            | UiCommand::SelectAll
            | UiCommand::CopyEvent(CallFormat::Text)
            | UiCommand::SetUp
            | UiCommand::ChooseNamesakes
            | UiCommand::Follow
            | UiCommand::LastNumbers
            | UiCommand::Quit
            | UiCommand::Columns
            | UiCommand::Theme(ThemeChoice::Dark)
            | UiCommand::Compact
            | UiCommand::Palette
            | UiCommand::ResetLayout
    )
}

fn all_off(ui: &mut Ui, on: DialsOn, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    let several = now.processes.running() + now.processes.held_elsewhere;
    let scope = if several > 1 { format!(" in {several} processes") } else { String::new() };
    let text = match on.known {
        0 => format!("{}{scope}", UiCommand::AllOff.name()),
        known => {
            let others = match on.others {
                0 => String::new(),
                others if others >= known => ", none yours".to_owned(),
                others => format!(", {} not yours", words::grouped(others)),
            };
            format!("{}{scope} ({}{others})", UiCommand::AllOff.name(), words::grouped(known))
        }
    };
    let keys = RichText::new(UiCommand::AllOff.keys(ui.ctx()).unwrap_or_default());
    // The button is always enabled. It is outlined in red while dials are on or may be, and filled under the pointer.
    let hovered_id = Id::unique("All dials off is under the pointer");
    let is_hovered = ui.data(|data| data.get_temp(hovered_id)).unwrap_or(false);
    let button = match on {
        DialsOn { known: 0, more: false, .. } => {
            Button::new((icons::text(Icon::PowerOff), RichText::new(&text)))
                .shortcut_text(keys.color(palette.weak))
        }
        _ if !is_hovered => Button::new((icons::text(Icon::PowerOff), RichText::new(&text).strong()))
            .stroke(Stroke::new(1.0, palette.bad))
            .shortcut_text(keys.color(palette.text)),
        _ => Button::new((
            icons::text(Icon::PowerOff).color(palette.on_alarm),
            RichText::new(&text).strong().color(palette.on_alarm),
        ))
        .fill(palette.alarm)
        .stroke(Stroke::new(1.0, palette.bad))
        .shortcut_text(keys.color(palette.on_alarm)),
    };
    // As wide with a few dials on as without, so that its neighbours stay where they are.
    let response = ui.add(button.min_size(vec2(LEAST_ALL_OFF, 0.0)));
    if response.hovered() != is_hovered {
        ui.data_mut(|data| data.insert_temp(hovered_id, response.hovered()));
        ui.ctx().request_repaint();
    }
    let label = format!("{text} {}", UiCommand::AllOff.keys(ui.ctx()).unwrap_or_default());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let mut hint = "Turns every dial off, whoever set it, in all selected processes and wherever else \
                   this window holds dials. Each agent confirms when every method runs its original \
                   code again."
        .to_owned();
    if on.others > 0 {
        let others = on.others.min(on.known);
        hint.push_str(&format!(
            "\n{} set by this window or its search for hot methods, {} by others.",
            words::count(on.known - others, "dial", "dials"),
            words::grouped(others)
        ));
    }
    if on.more {
        hint.push_str("\nDials that are still being read are turned off, too.");
    }
    let response = response.on_hover_text(hint);
    if response.clicked() {
        commands.push(UiCommand::AllOff);
    }
}

/// Shows a menu entry; a disabled one explains the reason.
fn entry(ui: &mut Ui, command: &UiCommand, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    let enabled = command.enabled(now);
    let on = command.is_on(now);
    // A switch that is on has a tick in place of its icon.
    let icon = if on == Some(true) { Some(Icon::Check) } else { command.icon() };
    let icon = icon.map_or_else(|| RichText::new(""), icons::text).atom_size(ICON);
    let mut button = Button::new((icon, command.name()));
    let keys = command.keys(ui.ctx());
    if let Some(keys) = &keys {
        button = button.shortcut_text(keys.as_str());
    }
    let response = ui.add_enabled(enabled.is_ok(), button);
    let label = [Some(command.name()), keys.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    response.widget_info(|| match on {
        Some(on) => WidgetInfo::selected(Role::CheckBox, enabled.is_ok(), on, command.name()),
        None => WidgetInfo::labeled(Role::Button, enabled.is_ok(), &label),
    });
    let response = match enabled {
        Ok(()) => match command.explained() {
            Some(text) => response.on_hover_text(text),
            None => response,
        },
        Err(why) => response.on_disabled_hover_text(capitalized(why)),
    };
    if response.clicked() {
        commands.push(command.clone());
        ui.close();
    }
}

//! The button that chooses a value to group the shown calls by.

use crate::commands::UiCommand;
use eframe::egui::{self, ScrollArea, Ui};
use redial_model::call_groups::GroupKey;
use redial_model::events::{EventRow, Events};
use std::collections::BTreeSet;

/// The number of latest calls that decide the offer.
const LOOKED_AT: usize = 200;
/// Most values that are offered.
const MAX_OFFERED: usize = 120;
/// Height of the menu, points.
const HEIGHT: f32 = 360.0;

/// Shows the button.
pub fn show(ui: &mut Ui, events: &Events, commands: &mut Vec<UiCommand>) {
    let chosen = events.groups().map(|groups| groups.key());
    let title = match chosen {
        Some(key) => format!("By {} ▼", short(&super::groups::title(key))),
        None => "Group ▼".to_owned(),
    };
    let menu = ui.menu_button(title, |ui| {
        let mut entry = |ui: &mut Ui, key: Option<&GroupKey>, text: &str| {
            if ui.selectable_label(chosen == key, text).clicked() {
                commands.push(UiCommand::GroupEvents(key.cloned()));
                ui.close();
            }
        };
        entry(ui, None, "Each call");
        ui.separator();
        for key in [GroupKey::Outcome, GroupKey::Thread, GroupKey::Method] {
            entry(ui, Some(&key), &super::groups::title(&key));
        }
        let keys = offered(events);
        if !keys.is_empty() {
            ui.separator();
        }
        ScrollArea::vertical().max_height(HEIGHT).show(ui, |ui| {
            keys.iter().for_each(|key| entry(ui, Some(key), &key.to_string()));
        });
    });
    let label = chosen.map_or("Group calls".to_owned(), |key| format!("Calls grouped by {key}"));
    menu.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
    let hint = "Adds up the shown calls by the value of an argument, of one of its fields, or of the result:\n\
                how many, how long on average, p99.";
    menu.response.on_hover_text(hint);
}

/// Returns the values that the latest shown calls have.
fn offered(events: &Events) -> Vec<GroupKey> {
    let view = events.view();
    let mut keys: Vec<GroupKey> = Vec::new();
    let mut per_row: BTreeSet<(EventRow, bool)> = BTreeSet::new();
    for event in (0..view.len().min(LOOKED_AT)).filter_map(|row| view.at(row)) {
        // A failed call of a method shows no result.
        let returned = matches!(event.call.outcome, redial_protocol::trace::Outcome::Returned(_));
        if !per_row.insert((event.row(), returned)) {
            continue;
        }
        for key in GroupKey::of(&event.method, &event.call) {
            if !keys.contains(&key) && keys.len() < MAX_OFFERED {
                keys.push(key);
            }
        }
    }
    keys
}

/// Shortens a name to fit the button.
fn short(name: &str) -> String {
    redial_text::width::cut_middle(name, 24)
}

//! The panel of traced calls: a table of those that ended and those in flight, or of their groups, and the values of the
//! selected call.

mod call_details;
mod completion_list;
mod condition_editor;
mod edited_methods;
mod group_menu;
mod groups;
mod ids;
mod process_titles;
mod state;
mod table;

use edited_methods::EditedMethods;
pub use ids::{condition_id, field_keys, filter_id, rows_id, shown_id};
use process_titles::ProcessTitles;
pub use state::{EventsKey, EventsState};

use crate::commands::{CallFormat, CommandContext, UiCommand};
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::containers::menu::MenuButton;
use eframe::egui::{self, Align, Button, Label, Layout, RichText, TextEdit, Ui};
use redial_model::connection::Connections;
use redial_model::events::{Events, TracedEvent};
use redial_model::fleet::Fleet;
use redial_model::ids::ConnectionId;
use redial_model::subject::Subject;
use redial_protocol::level::Level;
use redial_text::words;

/// Width of the panel from which the selected call stands beside the table, points.
pub const BOTH: f32 = 560.0;

/// Shows the line above the table: filter, switches and numbers.
pub fn header(
    ui: &mut Ui,
    state: &mut EventsState,
    subject: Subject<'_>,
    now: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    ui.horizontal(|ui| {
        let events = subject.events();
        let edit = TextEdit::singleline(&mut state.text)
            .id(filter_id())
            .event_filter(field_keys(false))
            .hint_text("Text or condition")
            .desired_width((ui.available_width() * 0.3).clamp(120.0, 320.0));
        let field = ui.add(edit).accessible_name("Event filter");
        let field = field.on_hover_text("Any text, or a condition like duration > duration(\"10ms\")");
        if field.changed() {
            commands.push(UiCommand::FilterEvents(state.text.clone()));
        }
        let switch =
            |ui: &mut Ui, on: bool, text: &str, command: UiCommand, commands: &mut Vec<UiCommand>| {
                let keys = command.keys(ui.ctx()).map(|keys| format!(" ({keys})")).unwrap_or_default();
                let hint = format!("{}{keys}\n{}", command.name(), command.explained().unwrap_or_default());
                let mut value = on;
                if ui.checkbox(&mut value, text).on_hover_text(hint).changed() {
                    commands.push(command);
                }
            };
        if let Some(fleet) = subject.fleet() {
            of_process(ui, fleet, commands);
        }
        group_menu::show(ui, events, commands);
        switch(ui, state.of_all, "All methods", UiCommand::EventsOfAll, commands);
        switch(ui, events.is_paused(), "Pause", UiCommand::PauseEvents, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            // The tab of a movable panel has a button of its own.
            if !now.switches.movable_panels {
                let close = ui.add(Button::new("×").small().frame(false));
                close.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Hide events"));
                if close.on_hover_text("Hide events").clicked() {
                    commands.push(UiCommand::Events);
                }
            }
            super::lower_panel::clear(ui, commands);
            let copy = UiCommand::CopyEvent(CallFormat::Json);
            if copy.enabled(now).is_ok() {
                MenuButton::from_button(Button::new("Copy").small()).ui(ui, |ui| {
                    for format in [CallFormat::Text, CallFormat::Json] {
                        let command = UiCommand::CopyEvent(format);
                        if ui.button(command.name()).clicked() {
                            commands.push(command);
                            ui.close();
                        }
                    }
                });
            }
            let (text, hint) = numbers(events, state.held);
            let label = Label::new(RichText::new(text).size(SMALL).color(Palette::of(ui).weak)).truncate();
            ui.add(label).on_hover_text(hint);
        });
    });
}

/// Shows a mistake in the filter, and condition and limits of the selected methods' traces.
pub fn conditions(
    ui: &mut Ui,
    state: &mut EventsState,
    (subject, connections): (Subject<'_>, &Connections),
    commands: &mut Vec<UiCommand>,
) {
    if let Some(error) = subject.events().filter_problem(&state.text) {
        let text = format!("Filter: {}", error.problem);
        ui.add(Label::new(RichText::new(text).size(SMALL).color(Palette::of(ui).bad)).wrap());
    }
    if let Some(methods) = EditedMethods::of(subject, connections) {
        condition_editor::show(ui, &mut state.editor, &methods, commands);
    }
}

/// Returns how many calls are shown, how many arrived since, and an explanation.
fn numbers(events: &Events, held: bool) -> (String, String) {
    let (kept, dropped) = events.kept();
    let shown = events.view().len();
    let mut text = match (events.groups(), shown < kept) {
        (Some(groups), _) => words::count(groups.len() as u64, "group", "groups"),
        (None, true) => {
            format!("{} of {}", words::grouped(shown as u64), words::count(kept as u64, "call", "calls"))
        }
        (None, false) => words::count(kept as u64, "call", "calls"),
    };
    let mut hint = format!(
        "Calls shown, out of those collected. The latest {} are kept.",
        words::grouped(redial_model::events::MAX_EVENTS as u64)
    );
    if let Some(groups) = events.groups() {
        hint = format!(
            "Groups of {} shown so far, also of those no longer kept.",
            words::count(groups.calls(), "call", "calls")
        );
    }
    let later = events.later();
    if later > 0 {
        text = format!("{} new · {text}", words::grouped(later));
        hint.push_str(match (events.is_paused(), held) {
            (true, _) => "\nThe new ones appear when you continue.",
            (false, true) => "\nThe new ones appear when the pointer leaves the rows.",
            (false, false) => "",
        });
    }
    let lost = [
        (dropped, "dropped in favour of later ones"),
        (events.not_captured(), "not captured: beyond the allowed rate, without memory, or undecided"),
        (events.unread(), "dropped by the agent because they came too fast"),
    ];
    for (number, why) in lost.into_iter().filter(|(number, _)| *number > 0) {
        hint.push_str(&format!("\n{}: {why}", words::count(number, "call", "calls")));
    }
    if events.not_captured() + events.unread() > 0 {
        text = format!("{} missing · {text}", words::grouped(events.not_captured() + events.unread()));
    }
    (text, hint)
}

/// Shows the table, or why it is empty, in the rest of `ui`. `now` is Unix time in nanoseconds.
pub fn calls(
    ui: &mut Ui,
    state: &mut EventsState,
    subject: Subject<'_>,
    now: u64,
    commands: &mut Vec<UiCommand>,
) {
    let events = subject.events();
    match events.groups() {
        Some(groups) if !groups.is_empty() => return groups::show(ui, state, groups, commands),
        None if !events.view().is_empty() || events.in_flight().next().is_some() => {}
        _ => {
            state.held = false;
            return empty(ui, &nothing(subject, state));
        }
    }
    table::show(ui, state, (events, &ProcessTitles::of(subject)), now, commands);
}

fn empty(ui: &mut Ui, text: &str) {
    // The panel must not shrink with its content.
    ui.set_min_size(ui.available_size());
    ui.add_space(12.0);
    ui.vertical_centered(|ui| ui.weak(text));
}

/// Chooses the process whose calls are shown.
fn of_process(ui: &mut Ui, fleet: &Fleet, commands: &mut Vec<UiCommand>) {
    let chosen = fleet.events.query().process;
    let title = chosen.map_or("All processes", |process| fleet.title_of(process));
    let menu = ui.menu_button(format!("{title} ▼"), |ui| {
        let mut entry = |process: Option<ConnectionId>, title: &str| {
            if ui.selectable_label(chosen == process, title).clicked() {
                commands.push(UiCommand::EventsOfProcess(process));
                ui.close();
            }
        };
        entry(None, "All processes");
        for member in fleet.members() {
            entry(Some(member.connection), fleet.title_of(member.connection));
        }
    });
    let label = format!("Events of {title}");
    menu.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
    menu.response.on_hover_text("The process whose calls are shown");
}

fn nothing(subject: Subject<'_>, state: &EventsState) -> String {
    let events = subject.events();
    let traced = |row: &redial_model::live::LiveRow| row.wanted >= Level::Trace;
    let any = subject.table().live.rows().any(traced);
    let selected = events.query().rows.is_some();
    match (events.kept().0, any) {
        (kept, _) if kept > 0 && events.query().process.is_some() && !events.query().is_filtered() => {
            "No calls of this process. Choose “All processes” to see the others.".to_owned()
        }
        (kept, _) if kept > 0 && events.query().is_filtered() => "No calls match the filter.".to_owned(),
        (kept, _) if kept > 0 && selected && !state.of_all => {
            "No calls of the selected methods. Tick “All methods” to see the others.".to_owned()
        }
        (_, true) => match events.trouble() {
            Some(why) => format!("No calls to show: {why}."),
            None => "The next calls of traced methods appear here.".to_owned(),
        },
        (_, false) => "Turn a method's dial to trace (3) to see its calls.".to_owned(),
    }
}

/// Shows the selected call.
pub fn selected(
    ui: &mut Ui,
    subject: Subject<'_>,
    event: &TracedEvent,
    now: u64,
    commands: &mut Vec<UiCommand>,
) {
    if let Some(fleet) = subject.fleet() {
        ui.label(RichText::new(fleet.title_of(event.connection)).size(SMALL).color(Palette::of(ui).weak));
    }
    call_details::show(ui, event, now, commands);
}

//! The tree of traced calls, as rows and as a flame graph.

mod callers;
mod columns;
mod flame;
mod nodes;
mod state;
mod tree;

pub use nodes::{canvas_id, search_id};
pub use state::{CallsState, CallsView};

use crate::commands::UiCommand;
use crate::ui::segmented::{self, Segment};
use crate::ui::theme::{Palette, SMALL};
use crate::views::events::field_keys;
use eframe::egui::{self, Align, Button, Key, Label, Layout, Modifiers, RichText, TextEdit, Ui};
use redial_model::call_history::ROOT;
use redial_model::caller_tree::CallerTree;
use redial_model::connection::Connection;
use redial_model::fleet::Fleet;
use redial_model::ids::ConnectionId;
use redial_text::words;

/// The views with their names and sources.
const VIEWS: [(CallsView, &str, &str); 3] = [
    (CallsView::Tree, "Tree", "The tree of traced calls"),
    (CallsView::Flame, "Flame graph", "The same tree as bars"),
    (CallsView::Callers, "Callers", "The callers of methods with counted callers, without traced calls"),
];

/// Returns the view that is shown: without traced calls, that of callers.
fn view(state: &CallsState, connection: &Connection) -> CallsView {
    if connection.events.history().spans().is_empty() { CallsView::Callers } else { state.view }
}

/// Returns whether callers are in view.
pub fn shows_callers(state: &CallsState, connection: &Connection) -> bool {
    view(state, connection) == CallsView::Callers
}

/// Shows the line above the calls of a process, perhaps one of `fleet`.
pub fn header(
    ui: &mut Ui,
    state: &mut CallsState,
    (connection, fleet): (&Connection, Option<&Fleet>),
    commands: &mut Vec<UiCommand>,
) {
    let history = connection.events.history();
    ui.horizontal(|ui| {
        if let Some(fleet) = fleet {
            choose_process(ui, state, connection.id, fleet);
        }
        let shown = view(state, connection);
        let segments = VIEWS.map(|(value, text, hint)| {
            let enabled = value == CallsView::Callers || !history.spans().is_empty();
            let hint = if enabled { hint } else { "No call was traced yet." }.to_owned();
            Segment { hint, enabled, ..Segment::new(value, text) }
        });
        if let Some(view) = segmented::show(ui, "View of calls", &segments, Some(shown)) {
            state.view = view;
        }
        ui.separator();
        if shown == CallsView::Callers {
            let text = "From callers: all calls since callers are counted, of each method by itself";
            ui.add(Label::new(RichText::new(text).size(SMALL).color(Palette::of(ui).weak)).truncate());
            return;
        }
        let go = |ui: &mut Ui, can: bool, sign: &str, name: &str, keys: &str| {
            let response = ui.add_enabled(can, Button::new(sign).small());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, can, name));
            response.on_hover_text(format!("{name} ({keys})")).clicked()
        };
        let keys = ui.input_mut(|input| {
            let mut pressed = |key| state.has_focus && input.consume_key(Modifiers::ALT, key);
            [pressed(Key::ArrowLeft), pressed(Key::ArrowRight)]
        });
        if go(ui, state.can_go_back(), "←", "Zoom back", "Alt+Left") || keys[0] {
            state.back();
        }
        if go(ui, state.can_go_forward(), "→", "Zoom forward", "Alt+Right") || keys[1] {
            state.forward();
        }
        if go(ui, state.top() != ROOT, "All", "Show all calls", "Home") {
            state.zoom(ROOT);
        }
        let edit = TextEdit::singleline(&mut state.search)
            .id(search_id())
            .event_filter(field_keys(false))
            .hint_text("Search methods")
            .desired_width((ui.available_width() * 0.25).clamp(76.0, 220.0));
        ui.add(edit).accessible_name("Search calls");
        if state.has_search() {
            let text = words::count(state.matches() as u64, "match", "matches");
            ui.add(Label::new(RichText::new(text).size(SMALL)).truncate());
        }
        // The list of several processes has other rows.
        if fleet.is_none()
            && let Some(row) = state.selected_row(history)
            && let Some(method) = connection.table.live.row(row).and_then(|row| row.method)
            && ui
                .add(Button::new("Select method").small())
                .on_hover_text("Selects the method in the list above")
                .clicked()
        {
            commands.push(UiCommand::Pick(
                redial_model::ids::Node::Method(method),
                redial_model::selection::SelectionMode::Replace,
            ));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let (text, hint) = numbers(connection, state);
            let label = Label::new(RichText::new(text).size(SMALL).color(Palette::of(ui).weak)).truncate();
            ui.add(label).on_hover_text(hint);
        });
    });
}

/// Chooses the process of several.
fn choose_process(ui: &mut Ui, state: &mut CallsState, shown: ConnectionId, fleet: &Fleet) {
    let title = fleet.title_of(shown);
    let menu = ui.menu_button(format!("{title} ▼"), |ui| {
        for member in fleet.members() {
            let name = fleet.title_of(member.connection);
            if ui.selectable_label(member.connection == shown, name).clicked() {
                state.process = Some(member.connection);
                ui.close();
            }
        }
    });
    let label = format!("Calls of {title}");
    menu.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
    menu.response.on_hover_text("Shows the calls of another process");
}

/// Returns the number of calls in the tree, and what to know about it.
fn numbers(connection: &Connection, state: &CallsState) -> (String, String) {
    let events = &connection.events;
    let tree = events.history().tree();
    let text = words::count(state.calls(), "traced call", "traced calls");
    let mut hint = "Traced calls of all methods by their traced callers, since the panel was first shown or cleared. \
                    An async call that waited counts its whole duration as total, and as self the time in which it ran."
        .to_owned();
    let released = events.history().nesting().released();
    if released > 0 {
        let (calls, whose) = match released {
            1 => ("1 call is".to_owned(), "its caller"),
            _ => (format!("{} calls are", words::grouped(released)), "their callers"),
        };
        hint.push_str(&format!("\n{calls} listed at the top: {whose} had not ended."));
    }
    if tree.is_full() {
        hint.push_str("\nThere are too many places: further ones count as “other methods”.");
    }
    let missing = events.not_captured() + events.unread();
    match missing {
        0 => (text, hint),
        _ => {
            hint.push_str("\nSome calls are missing, so times of callers may include them.");
            (format!("{} missing · {text}", words::grouped(missing)), hint)
        }
    }
}

/// Shows the calls in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut CallsState, connection: &Connection, commands: &mut Vec<UiCommand>) {
    let history = connection.events.history();
    match view(state, connection) {
        CallsView::Tree => tree::show(ui, state, history),
        CallsView::Flame => flame::show(ui, state, history),
        CallsView::Callers if CallerTree::has_any(&connection.table) => {
            callers::show(ui, state, connection, commands);
        }
        CallsView::Callers => {
            ui.set_min_size(ui.available_size());
            ui.add_space(12.0);
            ui.vertical_centered(|ui| ui.weak("Tick “Count callers” of a timed method to see its callers."));
        }
    }
}

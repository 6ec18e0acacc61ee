//! The method panel in the middle: filter, column headers, and the rows of table or tree.

use super::column_headers::{Headers, HeadersState};
use super::columns::{Columns, ExtraRoom, PLACE, SUMMED, WORD};
use super::number_range;
use super::rows;
use crate::commands::{CommandContext, UiCommand};
use crate::settings::columns::ColumnLayout;
use crate::settings::{self, Settings};
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::list::Scroll;
use crate::ui::theme::{Palette, row_height};
use eframe::egui::{
    self, Align, Button, Id, Label, Layout, Popup, Rect, RichText, Role, TextEdit, TextStyle, TextWrapMode,
    Ui, WidgetInfo, vec2,
};
use redial_model::ids::Node;
use redial_model::list::SortKey;
use redial_model::method_table::{MethodTable, Shape};
use redial_model::subject::Subject;
use redial_model::visible_rows::VisibleRows;
use redial_protocol::ids::RowId;
use redial_protocol::state::CopyState as DialState;
use redial_text::words;
use std::time::Duration;

/// The view's own state.
#[derive(Debug, Default)]
pub struct MethodsState {
    /// The filter's text.
    pub text: String,
    /// Move the keyboard focus to the filter.
    pub focus_filter: bool,
    /// Scroll the focused row into view.
    pub follow: bool,
    /// The same, unless rows are sorted by numbers and the top is visible.
    pub find_again: bool,
    /// Scroll to the first row.
    pub to_top: bool,
    /// The tree's single groups were expanded.
    pub unfolded: bool,
    /// Number of rows that fit, for Page Up and Page Down.
    pub page: usize,
    /// The details panel does not fit beside them.
    pub no_panel: bool,
    /// The rows drawn in this frame and the position of the first; `None` after a frame has taken it.
    drawn: Option<(usize, Vec<Node>)>,
    /// The rows of the visible methods.
    pub visible: Vec<RowId>,
    /// The column headers.
    headers: HeadersState,
    scroll: Scroll,
    focus: Option<(Node, usize)>,
    /// The pointer moved, clicked or scrolled among the rows and has not left since. Rows that scroll under a
    /// resting pointer are not kept still.
    pointed_at: bool,
    /// Time until which the rows keep their places anyway, seconds on the toolkit's clock.
    still_until: f64,
}

/// Width that names give up to numbers where neighbouring tables show the same names, points.
const LESS: f32 = 60.0;
/// Time for which rows keep their places after the pointer left or a key changed one, seconds: the next click
/// or key must not hit another method.
const STILL: f64 = 2.0;

/// Time for which the button that sorts again waits for a resting pointer, seconds.
const WAITS: f32 = 20.0;

/// Number of rows whose names cost next to nothing to lay out.
const FEW: usize = 5;
/// Width of the button of saved filters with the space before it, points.
const FILTERS: f32 = 42.0;
/// Width of the buttons *Back* and *Forward*, points.
const STEP: f32 = 26.0;
/// Least width for the hint about the details panel, points.
const HINT: f32 = 60.0;

impl MethodsState {
    /// Returns whether more than a few visible rows were not drawn in the last frame, so that their names
    /// need a layout. Call it once per frame. If the last frame drew nothing because the window was hidden,
    /// neither will the next one.
    pub fn shows_new(&mut self, table: &MethodTable) -> bool {
        let Some((first, drawn)) = self.drawn.take() else { return false };
        let in_view = (first..).take(self.page.max(FEW + 1)).map_while(|place| table.row_at(place));
        in_view.filter(|row| !drawn.contains(row)).nth(FEW).is_some()
    }

    /// Returns whether rows must keep their places.
    pub fn is_still(&self, context: &egui::Context) -> bool {
        self.pointed_at || context.input(|input| input.time) < self.still_until
    }

    /// Keeps the rows in place for a moment, because a key changes one of them.
    pub fn keep_still(&mut self, context: &egui::Context) {
        self.still_until = context.input(|input| input.time) + STILL;
    }

    /// Lets the rows move again until the pointer next moves.
    pub fn release_rows(&mut self) {
        (self.pointed_at, self.still_until) = (false, 0.0);
    }

    /// Scrolls along with the tables beside it.
    pub fn share_scroll(&mut self, offset: f64) {
        self.scroll.share(offset);
    }

    /// Stops following the focused row; side by side, one table follows it for all.
    pub fn leave_focus(&mut self) {
        self.focus = None;
    }

    /// Returns the position the user has scrolled to since.
    pub fn scrolled(&self) -> Option<f64> {
        self.scroll.moved()
    }

    /// Tracks the pointer among the rows. While a menu is open rows keep their places, since it belongs to
    /// one of them.
    fn note_pointer(&mut self, ui: &Ui, rows: Rect) {
        let menu = Popup::is_any_open(ui.ctx());
        let over = menu || ui.rect_contains_pointer(rows);
        let (time, busy) = ui.input(|input| {
            let pointer = &input.pointer;
            let comes = input.events.iter().any(|event| matches!(event, egui::Event::PointerMoved(_)));
            let moves = comes || input.smooth_scroll_delta().y != 0.0;
            (input.time, moves || pointer.any_down() || pointer.any_released())
        });
        if over {
            self.pointed_at |= busy || menu;
        } else if std::mem::take(&mut self.pointed_at) {
            self.still_until = time + STILL;
        }
        if time < self.still_until {
            ui.ctx().request_repaint_after(Duration::from_secs_f64(self.still_until - time));
        }
    }
}

/// Returns the id of the filter field.
pub fn filter_id() -> Id {
    Id::unique("Method filter")
}

/// Shows the filter and the switches.
pub fn toolbar(
    ui: &mut Ui,
    state: &mut MethodsState,
    subject: Subject<'_>,
    (now, settings): (&CommandContext, &Settings),
    commands: &mut Vec<UiCommand>,
) {
    let table = subject.table();
    // A frame that shows no rows has drawn none.
    state.drawn = Some((0, Vec::new()));
    state.visible.clear();
    let spans = table.catalogue.spans_processes();
    ui.horizontal(|ui| {
        for (command, way) in
            [(UiCommand::Back, TriangleDirection::Left), (UiCommand::Forward, TriangleDirection::Right)]
        {
            step_button(ui, command, way, now, commands);
        }
        let (text, hint) = totals(subject);
        let font = TextStyle::Body.resolve(ui.style());
        let galley = ui.painter().layout_no_wrap(text.clone(), font, Palette::of(ui).text);
        // In steps, so that another digit does not move the field's end; leaves room for the spinner.
        let beside = ((galley.size().x / 30.0).ceil() * 30.0).max(110.0) + 40.0 + FILTERS;
        let edit = TextEdit::singleline(&mut state.text)
            .id(filter_id())
            .hint_text("Filter by any part of a name; all words must match  ( / )")
            .desired_width((ui.available_width() - beside).max(80.0));
        let field = ui.add(edit).accessible_name("Method filter");
        if std::mem::take(&mut state.focus_filter) {
            field.request_focus();
        }
        if field.changed() {
            commands.push(UiCommand::Filter(state.text.clone()));
        }
        saved_filters(ui, state.text.trim(), &settings.filters, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(text).truncate()).on_hover_text(hint);
            if !table.catalogue.is_complete() && now.is_live() {
                ui.spinner();
            }
        });
    });
    ui.horizontal_wrapped(|ui| {
        let filter = table.list.filter();
        // With several processes this is chosen above.
        let copies = !spans && (table.catalogue.has_copies() || table.catalogue.has_domains());
        for (there, on, text, command) in [
            (true, filter.only_dialled, "Only dialled", UiCommand::OnlyDialled),
            (true, filter.hide_framework, "Hide framework", UiCommand::HideFramework),
            (true, table.shape == Shape::Tree, "Tree", UiCommand::Tree),
            (copies, table.catalogue.is_merged(), "Merge copies", UiCommand::MergeCopies),
            (true, table.list.is_frozen(), "Freeze", UiCommand::FreezeOrder),
        ] {
            if !there {
                continue;
            }
            let mut value = on;
            let shortcut = command.keys(ui.ctx()).unwrap_or_default();
            let more = command.explained().map(|text| format!("\n{text}")).unwrap_or_default();
            if ui
                .checkbox(&mut value, text)
                .on_hover_text(format!("{} ({shortcut}){more}", command.name()))
                .changed()
            {
                commands.push(command.clone());
            }
        }
        number_range::choice(ui, now, commands);
        // Last, because it appears and disappears.
        if table.list.filter().only_dialled {
            off_again(ui, table, commands);
        }
        hidden_generated(ui, table, commands);
        dial_sets(ui, subject, settings, commands);
        if state.no_panel && ui.available_size_before_wrap().x > HINT {
            no_panel(ui);
        }
    });
}

/// Shows the menu of saved filters.
fn saved_filters(ui: &mut Ui, text: &str, saved: &[String], commands: &mut Vec<UiCommand>) {
    let menu = ui.menu_button("▼", |ui| {
        for filter in saved {
            if ui.button(filter).clicked() {
                commands.push(UiCommand::Filter(filter.clone()));
                ui.close();
            }
        }
        if saved.is_empty() {
            ui.weak("No filters saved yet");
        }
        ui.separator();
        let is_saved = saved.iter().any(|filter| filter == text);
        let name = if is_saved { "Remove this filter" } else { "Save this filter" };
        let is_full = !is_saved && saved.len() >= settings::FILTERS;
        let button = ui.add_enabled(!text.is_empty() && !is_full, Button::new(name));
        let why = match is_full {
            true => format!("{} filters are saved already. Remove one first.", settings::FILTERS),
            false => "The filter is empty.".to_owned(),
        };
        if button.on_disabled_hover_text(why).clicked() {
            commands.push(UiCommand::SaveFilter(text.to_owned()));
            ui.close();
        }
    });
    menu.response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Saved filters"));
    menu.response.on_hover_text("Saved filters");
}

/// Offers the program's dial sets.
fn dial_sets(ui: &mut Ui, subject: Subject<'_>, settings: &Settings, commands: &mut Vec<UiCommand>) {
    let program = subject.process().and_then(|connection| settings.programs.get(&connection.name));
    if program.is_none_or(|program| program.dial_sets.is_empty()) {
        return;
    }
    let hint = UiCommand::DialSets.explained().unwrap_or_default();
    if ui.link(UiCommand::DialSets.name()).on_hover_text(hint).clicked() {
        commands.push(UiCommand::DialSets);
    }
}

/// Shows a button that steps through the methods looked at.
fn step_button(
    ui: &mut Ui,
    command: UiCommand,
    way: TriangleDirection,
    now: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    let enabled = command.enabled(now);
    let button = ui.add_enabled(enabled.is_ok(), Button::new("").min_size(vec2(STEP, 0.0)));
    button.widget_info(|| WidgetInfo::labeled(Role::Button, enabled.is_ok(), command.name()));
    let palette = Palette::of(ui);
    let colour = if enabled.is_ok() { palette.text } else { palette.groove };
    icons::triangle(ui.painter(), button.rect.center(), way, 5.0, colour);
    let keys = command.keys(ui.ctx()).unwrap_or_default();
    let explained = command.explained().unwrap_or_default();
    let button = button.on_hover_text(format!("{} ({keys})\n{explained}", command.name()));
    if button.clicked() {
        commands.push(command);
    }
}

/// Shows the number of dialled methods that are off again, as a link that lists them.
fn off_again(ui: &mut Ui, table: &MethodTable, commands: &mut Vec<UiCommand>) {
    let list = &table.list;
    let text = match (list.filter().off_again, list.off_again() as u64) {
        (true, _) if table.live.count(DialState::Off) == 0 => return,
        (true, _) => "Hide methods now off".to_owned(),
        (false, 0) => return,
        (false, methods) => format!("{} now off · show", words::grouped(methods)),
    };
    let hint = UiCommand::OffAgain.explained().unwrap_or_default();
    if ui.link(text).on_hover_text(hint).clicked() {
        commands.push(UiCommand::OffAgain);
    }
}

/// Shows the number of methods hidden because the compiler wrote them, as a link that lists them.
fn hidden_generated(ui: &mut Ui, table: &MethodTable, commands: &mut Vec<UiCommand>) {
    let list = &table.list;
    let text = match (list.filter().hide_generated, list.generated() as u64) {
        (true, 0) => return,
        (true, methods) => format!("{} compiler-generated hidden · show", words::grouped(methods)),
        (false, _) if !table.catalogue.generated().any() => return,
        (false, _) => UiCommand::HideGenerated.name().to_owned(),
    };
    let hint = UiCommand::HideGenerated.explained().unwrap_or_default();
    // A link broken over two lines could be clicked between them.
    let before = ui.style_mut().wrap_mode.replace(TextWrapMode::Extend);
    let link = ui.link(text).on_hover_text(hint);
    ui.style_mut().wrap_mode = before;
    if link.clicked() {
        commands.push(UiCommand::HideGenerated);
    }
}

/// Explains at the end of the line how to see the details panel.
fn no_panel(ui: &mut Ui) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = RichText::new("Widen the window to see details").small().color(Palette::of(ui).weak);
        let keys = UiCommand::ZoomOut.keys(ui.ctx()).unwrap_or_default();
        ui.add(Label::new(text).truncate()).on_hover_text(format!(
            "The details panel (large knob, numbers, histogram, notes) appears on the right when there \
            is room: widen the window, shrink the process list, or zoom out ({keys})."
        ));
    });
}

/// Returns how many methods are shown out of how many, and an explanation.
fn totals(subject: Subject<'_>) -> (String, &'static str) {
    let table = subject.table();
    let (shown, all) = (table.list.shown() as u64, table.list.all() as u64);
    let text = match shown == all {
        true => words::methods(all),
        false => format!("{} of {}", words::grouped(shown), words::methods(all)),
    };
    let catalogue = &table.catalogue;
    match (catalogue.spans_processes(), catalogue.is_merged()) {
        (false, _) => (text, "Methods shown, out of all methods of the process"),
        (true, merged) => {
            let hint = match merged {
                true => "Methods shown, out of all methods. A method in several processes counts once.",
                false => {
                    "Methods shown, out of all methods. A method in several processes counts once \
                         per process."
                }
            };
            (format!("{text} in {}", subject.title()), hint)
        }
    }
}

/// Needs of the content that determine columns. Tables side by side share their columns, so each gets what
/// any of them needs.
#[derive(Clone, Copy, Debug)]
pub struct Needs<'a> {
    /// The columns that the user wants.
    layout: &'a ColumnLayout,
    /// A method is or was timed.
    timed: bool,
    /// Extra width for states.
    state: f32,
}

impl<'a> Needs<'a> {
    /// Returns the combined needs of processes whose tables are shown together, with columns as in `layout`.
    pub fn of<'b>(together: impl IntoIterator<Item = Subject<'b>>, layout: &'a ColumnLayout) -> Needs<'a> {
        let nothing = Needs { layout, timed: false, state: WORD };
        together.into_iter().fold(nothing, |needs, one| Needs {
            layout,
            timed: needs.timed || one.table().live.is_timed(),
            state: needs.state.max(state_room(one)),
        })
    }
}

/// Shows headers and rows in the rest of `ui`.
pub fn table(
    ui: &mut Ui,
    state: &mut MethodsState,
    lines: VisibleRows<'_>,
    needs: Needs<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let (own, list) = (lines.own.table(), lines.list.table());
    ui.spacing_mut().item_spacing.y = 0.0;
    let row = row_height(ui);
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), row));
    ui.advance_cursor_after_rect(head);
    let count = lines.len();
    keep_focus(state, list, row);
    if std::mem::take(&mut state.to_top) {
        state.scroll.bring_into_view(0);
    }
    // Over the dial of the focused row the wheel turns the dial instead of scrolling.
    let turning = lines.own.obstacle().is_none()
        && own.selection.focus().is_some_and(|node| {
            let dial = ui.ctx().read_response(rows::dial_id(ui, node));
            dial.is_some_and(|dial| dial.hovered())
        });
    let mut wheel = 0.0;
    if turning {
        wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
    }
    let window = state.scroll.show(ui, "methods", count, row);
    ui.input_mut(|input| input.smooth_scroll_delta.y += wheel);
    state.page = state.scroll.page(row);
    let before = match (own.catalogue.interleaves(), lines.is_beside()) {
        (true, _) => PLACE,
        (false, true) => -LESS,
        (false, false) => 0.0,
    };
    let Needs { layout, timed, state: room } = needs;
    let besides = ExtraRoom { before, state: room, compared: lines.is_beside() };
    let dragged = state.headers.dragged(layout);
    let layout = dragged.as_ref().unwrap_or(layout);
    let columns = Columns::of(window.rect, besides, timed, list.list.sort().key, layout);
    state.note_pointer(ui, window.rect);
    let pointed_at = state.pointed_at;
    // Side by side, the pointer over any table freezes the order of all.
    let by_pointer = pointed_at || lines.is_beside();
    let headers = Headers { columns: &columns, layout, subject: lines.list, by_pointer };
    let at_sign = headers.show(ui, head, &mut state.headers, commands);
    let came = ui.input(|input| input.pointer.time_since_last_movement()) < WAITS;
    if at_sign && came && (state.is_still(ui.ctx()) || lines.is_beside()) {
        // Nothing may move under a pointer that is about to click the button that sorts again.
        state.keep_still(ui.ctx());
    }
    let painter = ui.painter_at(window.rect);
    rows::show(ui, &painter, &window, &columns, (lines, pointed_at), commands);
    let drawn = window.rows.clone().filter_map(|place| list.row_at(place)).collect();
    state.drawn = Some((window.rows.start, drawn));
    state.visible = window.rows.clone().filter_map(|place| row_of(own, lines.at(place)?.node?)).collect();
}

/// Returns the row of a method that stands for no other copies.
fn row_of(table: &MethodTable, node: Node) -> Option<RowId> {
    let Node::Method(method) = node else { return None };
    table.live.of_method(method).filter(|_| table.merged(method).is_none()).map(|row| row.id)
}

/// Returns the extra width for states: single methods have one word, sums several.
fn state_room(subject: Subject<'_>) -> f32 {
    let table = subject.table();
    let catalogue = &table.catalogue;
    let single = table.shape == Shape::List && !(catalogue.is_merged() && catalogue.has_copies());
    let agent = subject.process().and_then(|connection| connection.agent.as_ref());
    let is_stepped = agent.is_some_and(|agent| agent.cost_budget.stepped > 0);
    match (catalogue.spans_processes(), single) {
        (true, _) => SUMMED,
        // Some states mention the budget.
        (false, _) if is_stepped => SUMMED,
        (false, true) => WORD,
        (false, false) => 0.0,
    }
}

/// Keeps the focused row in place on screen while rows above it come and go, and scrolls to it when the
/// keyboard moved it. A view of the top rows, sorted by numbers, stays at the top.
fn keep_focus(state: &mut MethodsState, table: &MethodTable, row: f32) {
    // With several selected rows, none is the one to follow.
    let one = table.selection.len() <= 1;
    let now =
        table.selection.focus().filter(|_| one || state.follow || state.find_again).zip(table.focus_place());
    let by_number = table.list.sort().key != SortKey::Name;
    let first = by_number && state.scroll.is_at_top(row);
    if let (Some((before, from)), Some((node, to))) = (state.focus, now)
        && !first
        && before == node
        && from != to
        && state.scroll.shows(from, row)
    {
        state.scroll.shift(to as f64 - from as f64, row);
    }
    state.follow |= std::mem::take(&mut state.find_again) && !first;
    if let Some((_, place)) = now.filter(|_| std::mem::take(&mut state.follow)) {
        state.scroll.bring_into_view(place);
    }
    state.focus = now;
}

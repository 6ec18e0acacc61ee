//! The method panel in the middle: column headers and the rows of table or tree.

use super::column_headers::{Headers, HeadersState};
use super::columns::{Columns, ExtraRoom, PLACE, SUMMED, SharedNames, WORD};
use super::rows;
use crate::commands::UiCommand;
use crate::settings::columns::ColumnLayout;
use crate::ui::list::Scroll;
use crate::ui::theme::row_height;
use eframe::egui::{self, Popup, Rect, Ui, vec2};
use redial_model::ids::Node;
use redial_model::list::SortKey;
use redial_model::method_table::{MethodTable, Shape};
use redial_model::subject::Subject;
use redial_model::visible_rows::VisibleRows;
use redial_protocol::ids::RowId;
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

/// Time for which rows keep their places after the pointer left or a key changed one, seconds: the next click
/// or key must not hit another method.
const STILL: f64 = 2.0;

/// Time for which the button that sorts again waits for a resting pointer, seconds.
const WAITS: f32 = 20.0;

/// Number of rows whose names cost next to nothing to lay out.
const FEW: usize = 5;

impl MethodsState {
    /// Returns whether more than a few visible rows were not drawn in the last frame, so that their names
    /// need a layout. Call it once per frame. If the last frame drew nothing because the window was hidden,
    /// neither will the next one.
    pub fn shows_new(&mut self, table: &MethodTable) -> bool {
        let Some((first, drawn)) = self.drawn.take() else { return false };
        let in_view = (first..).take(self.page.max(FEW + 1)).map_while(|place| table.row_at(place));
        in_view.filter(|row| !drawn.contains(row)).nth(FEW).is_some()
    }

    /// Begins a frame; one that shows no rows has drawn none.
    pub fn begin_frame(&mut self) {
        self.drawn = Some((0, Vec::new()));
        self.visible.clear();
    }

    /// Returns the layout with the width of the column whose edge the user drags.
    pub fn resized(&self, layout: &ColumnLayout) -> Option<ColumnLayout> {
        self.headers.dragged(layout)
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
    /// Side by side, the names that the tables share.
    beside: Option<SharedNames>,
}

impl<'a> Needs<'a> {
    /// Returns the combined needs of processes whose tables are shown together, with columns as in `layout`.
    pub fn of<'b>(together: impl IntoIterator<Item = Subject<'b>>, layout: &'a ColumnLayout) -> Needs<'a> {
        let nothing = Needs { layout, timed: false, state: WORD, beside: None };
        together.into_iter().fold(nothing, |needs, one| Needs {
            layout,
            timed: needs.timed || one.table().live.is_timed(),
            state: needs.state.max(state_room(one)),
            beside: None,
        })
    }

    /// Returns the same for a table side by side, with the names that the tables share.
    pub fn with_names(self, names: SharedNames) -> Needs<'a> {
        Needs { beside: Some(names), ..self }
    }

    /// Returns the columns for a table of this size whose rows are `sorted`.
    pub fn columns(self, rect: Rect, sorted: SortKey) -> Columns {
        self.columns_of(rect, 0.0, (sorted, self.layout))
    }

    fn columns_of(self, rect: Rect, before: f32, (sorted, layout): (SortKey, &ColumnLayout)) -> Columns {
        let besides = ExtraRoom { before, state: self.state, beside: self.beside };
        Columns::of(rect, besides, self.timed, sorted, layout)
    }
}

/// Shows headers and rows in the rest of `ui`. `others`: the rows of the tables beside this one.
pub fn table(
    ui: &mut Ui,
    state: &mut MethodsState,
    (lines, others): (VisibleRows<'_>, &[VisibleRows<'_>]),
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
    let before = if own.catalogue.interleaves() { PLACE } else { 0.0 };
    let dragged = state.resized(needs.layout);
    let layout = dragged.as_ref().unwrap_or(needs.layout);
    let columns = needs.columns_of(window.rect, before, (list.list.sort().key, layout));
    state.note_pointer(ui, window.rect);
    let pointed_at = state.pointed_at;
    // Side by side, the pointer over any table freezes the order of all.
    let by_pointer = pointed_at || lines.is_beside();
    let headers =
        Headers { columns: &columns, layout, subject: lines.list, by_pointer, compares: !others.is_empty() };
    let at_sign = headers.show(ui, head, &mut state.headers, commands);
    let came = ui.input(|input| input.pointer.time_since_last_movement()) < WAITS;
    if at_sign && came && (state.is_still(ui.ctx()) || lines.is_beside()) {
        // Nothing may move under a pointer that is about to click the button that sorts again.
        state.keep_still(ui.ctx());
    }
    let painter = ui.painter_at(window.rect);
    rows::show(ui, (&painter, &columns), &window, (lines, others, pointed_at), commands);
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

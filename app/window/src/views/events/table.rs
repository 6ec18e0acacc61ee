//! The table of calls: those in flight on top, then those that ended.

use super::ids::rows_id;
use super::process_titles::ProcessTitles;
use super::state::EventsState;
use crate::commands::{CallFormat, UiCommand};
use crate::ui::capitalized;
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::local_time;
use crate::ui::row_keys;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{self, Align2, Color32, FontId, Painter, Popup, Rangef, Rect, Sense, Ui, pos2, vec2};
use redial_model::events::{EventColumn, Events, TracedEvent};
use redial_protocol::peer_text::clean;
use redial_protocol::trace::Outcome;
use redial_text::traced_calls::{arguments, duration, line, name, outcome};
use redial_text::width::cut_end;
use std::sync::Arc;

/// Height of a row, points.
const ROW: f32 = 20.0;
/// Height of the headers, points.
const HEAD: f32 = 22.0;
/// Space between columns, points.
const GAP: f32 = 10.0;
/// Widths of columns, in digits.
const TIME: f32 = 13.0;
const THREAD: f32 = 7.0;
const DURATION: f32 = 8.0;
/// Widths of the table below which the thread and the time are left out, points.
const WITH_THREAD: f32 = 620.0;
const WITH_TIME: f32 = 380.0;

/// A column with its position.
#[derive(Clone, Copy)]
struct Place {
    column: EventColumn,
    range: Rangef,
}

impl EventsState {
    /// Moves the selection by a number of rows, as far as there are some.
    pub fn step(&mut self, events: &Events, by: isize) -> Option<Arc<TracedEvent>> {
        let in_flight: Vec<_> = events.in_flight().cloned().collect();
        let count = in_flight.len() + events.view().len();
        let row = |event: &Arc<TracedEvent>| {
            let position = in_flight.iter().position(|one| one == event);
            position.or_else(|| Some(in_flight.len() + events.view().row_of(event)?))
        };
        let now = events.selected().and_then(row);
        let next = now.map_or(0, |row| row.saturating_add_signed(by)).min(count.checked_sub(1)?);
        self.scroll.bring_into_view(next);
        at(&in_flight, events, next)
    }

    /// Returns the number of rows that fit.
    pub fn page(&self) -> usize {
        self.scroll.page(ROW)
    }
}

fn at(in_flight: &[Arc<TracedEvent>], events: &Events, row: usize) -> Option<Arc<TracedEvent>> {
    match row.checked_sub(in_flight.len()) {
        None => in_flight.get(row).cloned(),
        Some(row) => events.view().at(row).cloned(),
    }
}

/// Shows headers and rows in the rest of `ui`.
pub fn show(
    ui: &mut Ui,
    state: &mut EventsState,
    (events, titles): (&Events, &ProcessTitles),
    now: u64,
    commands: &mut Vec<UiCommand>,
) {
    ui.spacing_mut().item_spacing.y = 0.0;
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), HEAD));
    ui.advance_cursor_after_rect(head);
    let in_flight: Vec<Arc<TracedEvent>> = events.in_flight().cloned().collect();
    let count = in_flight.len() + events.view().len();
    if std::mem::take(&mut state.follow)
        && let Some(row) = events.selected().and_then(|event| events.view().row_of(event))
    {
        state.scroll.bring_into_view(in_flight.len() + row);
    }
    let window = state.scroll.show(ui, "events", count, ROW);
    let font = FontId::monospace(SMALL);
    let digit = ui.fonts_mut(|fonts| fonts.glyph_width(&font, '0'));
    let one_method = events.query().rows.as_ref().is_some_and(|rows| rows.len() == 1);
    let columns = columns(window.rect, digit, one_method, titles.are_shown());
    let rect = head.with_max_x(window.rect.right());
    headers(ui, head, rect, &columns, events, commands);
    focus(ui, state, window.rect, events, commands);
    let over = ui.rect_contains_pointer(window.rect) || Popup::is_any_open(ui.ctx()) && state.held;
    // A resting pointer, under which the panel opened, holds nothing.
    let moves = ui.input(|input| input.pointer.is_moving() || input.pointer.any_down());
    state.held = over && (state.held || moves);
    let painter = ui.painter_at(window.rect);
    for row in window.rows.clone() {
        let Some(event) = at(&in_flight, events, row) else { continue };
        let (rect, clip) = (window.row_rect(row), window.row_rect(row).intersect(window.rect));
        let id = ui.scope_id().with(("event", Arc::as_ptr(&event) as usize));
        let response = ui.interact(clip, id, Sense::click());
        let chosen = events.selected().is_some_and(|selected| *selected == event);
        response.widget_info(|| {
            let line = line(&event.method, &event.call, now);
            let of = titles.get(event.connection);
            let text = if of.is_empty() { line } else { format!("{of}  {line}") };
            egui::WidgetInfo::selected(egui::Role::Row, true, chosen, text)
        });
        let palette = Palette::of(ui);
        let fill = match (chosen, response.hovered()) {
            (true, _) => Some(palette.selected),
            (false, true) => Some(palette.hover),
            (false, false) => (row % 2 == 1).then_some(palette.stripe),
        };
        if let Some(fill) = fill {
            painter.rect_filled(rect, 0.0, fill);
        }
        for place in &columns {
            let text = text(place.column, (&event, titles), now);
            cell(&painter, *place, rect, (&event, &text), (&font, digit), palette);
        }
        if row + 1 == in_flight.len() {
            painter.hline(rect.x_range(), rect.bottom() - 0.5, egui::Stroke::new(1.0, palette.line));
        }
        if response.clicked() || response.secondary_clicked() {
            commands.push(UiCommand::SelectEvent(Some(Arc::clone(&event))));
            ui.memory_mut(|memory| memory.request_focus(rows_id()));
        }
        menu(&response, &columns, (&event, titles, now), commands);
    }
    if ui.memory(|memory| memory.has_focus(rows_id())) {
        let stroke = egui::Stroke::new(1.0, Palette::of(ui).accent);
        painter.rect_stroke(window.rect.shrink(0.5), 0.0, stroke, egui::StrokeKind::Inside);
    }
}

/// Offers to copy the row, or the cell that was clicked.
fn menu(
    response: &egui::Response,
    columns: &[Place],
    (event, titles, now): (&TracedEvent, &ProcessTitles, u64),
    commands: &mut Vec<UiCommand>,
) {
    let under = response.interact_pointer_pos();
    let clicked = under.and_then(|at| columns.iter().find(|place| place.range.contains(at.x)));
    let memory = egui::Id::unique("cell of a call");
    if let Some(place) = clicked.filter(|_| response.secondary_clicked()) {
        response.ctx.data_mut(|data| data.insert_temp(memory, place.column));
    }
    Popup::context_menu(response).show(|ui| {
        let column = ui.data(|data| data.get_temp::<EventColumn>(memory)).unwrap_or_default();
        if ui.button(format!("Copy {}", title(column))).clicked() {
            commands.push(UiCommand::CopyValue(text(column, (event, titles), now)));
            ui.close();
        }
        for format in [CallFormat::Text, CallFormat::Json] {
            let command = UiCommand::CopyEvent(format);
            if ui.button(command.name()).clicked() {
                commands.push(command);
                ui.close();
            }
        }
        let command = UiCommand::ShowInTimeline;
        if !titles.are_shown() && ui.button(command.name()).clicked() {
            commands.push(command);
            ui.close();
        }
    });
}

/// Makes the rows take the focus, and moves the selection by keys.
fn focus(ui: &mut Ui, state: &mut EventsState, rows: Rect, events: &Events, commands: &mut Vec<UiCommand>) {
    let response = ui.interact(rows, rows_id(), Sense::focusable_noninteractive());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Table, true, "Events"));
    if !response.has_focus() {
        return;
    }
    let by = row_keys::steps(ui, rows_id(), state.page());
    if by != 0
        && let Some(event) = state.step(events, by)
    {
        commands.push(UiCommand::SelectEvent(Some(event)));
    }
}

fn columns(rect: Rect, digit: f32, one_method: bool, several: bool) -> Vec<Place> {
    let wide = rect.width();
    let mut left = rect.left() + 6.0;
    let mut places = Vec::new();
    let mut add = |column, width: f32| {
        places.push(Place { column, range: Rangef::new(left, left + width) });
        left += width + GAP;
    };
    if wide >= WITH_TIME {
        add(EventColumn::Time, TIME * digit);
    }
    if wide >= WITH_THREAD {
        add(EventColumn::Thread, THREAD * digit);
    }
    add(EventColumn::Duration, DURATION * digit);
    if several {
        add(EventColumn::Process, (wide * 0.12).clamp(70.0, 160.0));
    }
    if !one_method {
        add(EventColumn::Method, (wide * 0.18).clamp(80.0, 240.0));
    }
    let rest = (rect.right() - left - GAP).max(2.0);
    places.push(Place { column: EventColumn::Arguments, range: Rangef::new(left, left + rest * 0.58) });
    let from = left + rest * 0.58 + GAP;
    places.push(Place { column: EventColumn::Outcome, range: Rangef::new(from, rect.right().max(from)) });
    places
}

/// Returns the name of a column.
fn title(column: EventColumn) -> &'static str {
    match column {
        EventColumn::Time => "time",
        EventColumn::Thread => "thread",
        EventColumn::Duration => "duration",
        EventColumn::Process => "process",
        EventColumn::Method => "method",
        EventColumn::Arguments => "arguments",
        EventColumn::Outcome => "result",
    }
}

fn is_number(column: EventColumn) -> bool {
    matches!(column, EventColumn::Thread | EventColumn::Duration)
}

fn headers(
    ui: &mut Ui,
    head: Rect,
    rect: Rect,
    columns: &[Place],
    events: &Events,
    commands: &mut Vec<UiCommand>,
) {
    let palette = Palette::of(ui);
    ui.painter_at(head).rect_filled(head, 0.0, palette.raised);
    for Place { column, range } in columns {
        let name = title(*column);
        let place = Rect::from_x_y_ranges(*range, rect.y_range()).expand2(vec2(GAP / 2.0, 0.0));
        let response = ui.interact(place, ui.scope_id().with(("head of events", name)), Sense::click());
        let query = events.query();
        let chosen = query.column == *column;
        response.widget_info(|| {
            let text = format!("Sort events by {name}");
            egui::WidgetInfo::selected(egui::Role::ColumnHeader, true, chosen, text)
        });
        let colour = if response.hovered() || chosen { palette.text } else { palette.weak };
        let (x, align) = match is_number(*column) {
            true => (range.max, Align2::RIGHT_CENTER),
            false => (range.min, Align2::LEFT_CENTER),
        };
        let painter = ui.painter_at(place);
        let font = FontId::proportional(SMALL);
        let text = capitalized(name);
        let written = painter.text(pos2(x, place.center().y), align, text, font, colour);
        if chosen {
            let way = if query.ascending { TriangleDirection::Up } else { TriangleDirection::Down };
            let x = if is_number(*column) { written.left() - 8.0 } else { written.right() + 8.0 };
            icons::triangle(&painter, pos2(x, place.center().y), way, 4.0, palette.accent);
        }
        if response.has_focus() {
            let stroke = egui::Stroke::new(1.5, palette.accent);
            painter.rect_stroke(place.shrink(1.0), 2.0, stroke, egui::StrokeKind::Inside);
        }
        if response.on_hover_text(format!("Click to sort by {name}; again to reverse the order.")).clicked() {
            commands.push(UiCommand::SortEvents(*column));
        }
    }
}

/// Returns the text of a cell.
fn text(column: EventColumn, (event, titles): (&TracedEvent, &ProcessTitles), now: u64) -> String {
    let call = &event.call;
    let text = match column {
        EventColumn::Time => local_time::time_of_day(call.start_unix_ns),
        EventColumn::Thread if call.thread == 0 => "–".to_owned(),
        EventColumn::Thread => call.thread.to_string(),
        EventColumn::Duration => duration(call, now),
        EventColumn::Process => titles.cell(event.connection),
        EventColumn::Method => name(&event.method).to_owned(),
        EventColumn::Arguments => arguments(&event.method, call),
        EventColumn::Outcome => match &call.outcome {
            Outcome::InFlight => "in flight".to_owned(),
            _ => {
                let text = outcome(call);
                text.strip_prefix(" = ").unwrap_or(text.trim_start()).to_owned()
            }
        },
    };
    clean(&text).into_owned()
}

fn cell(
    painter: &Painter,
    Place { column, range }: Place,
    row: Rect,
    (event, text): (&TracedEvent, &str),
    (font, digit): (&FontId, f32),
    palette: &Palette,
) {
    let text = cut_end(text, (range.span() / digit) as usize);
    let (x, align) = match is_number(column) {
        true => (range.max, Align2::RIGHT_CENTER),
        false => (range.min, Align2::LEFT_CENTER),
    };
    let colour = colour(column, event, palette);
    let painter =
        painter.with_clip_rect(painter.clip_rect().intersect(Rect::from_x_y_ranges(range, row.y_range())));
    painter.text(pos2(x, row.center().y), align, text, font.clone(), colour);
}

fn colour(column: EventColumn, event: &TracedEvent, palette: &Palette) -> Color32 {
    match (column, &event.call.outcome) {
        (EventColumn::Outcome, Outcome::Thrown { .. }) => palette.bad,
        (EventColumn::Outcome | EventColumn::Duration, Outcome::InFlight) => palette.accent,
        (EventColumn::Time | EventColumn::Thread | EventColumn::Process, _) => palette.weak,
        _ => palette.text,
    }
}

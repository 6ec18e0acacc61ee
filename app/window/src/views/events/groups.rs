//! The shown calls in groups: a row for each value, with the number of its calls and their durations.

use super::ids::rows_id;
use super::state::EventsState;
use crate::commands::UiCommand;
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::row_keys;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{
    self, Align2, FontId, Key, Modifiers, Painter, Popup, Rangef, Rect, Sense, Stroke, Ui, pos2, vec2,
};
use redial_model::call_groups::{CallGroup, GroupColumn, GroupKey, GroupTitle};
use redial_model::events::EventGroups;
use redial_text::width::cut_end;
use redial_text::words;

/// Height of a row, points.
const ROW: f32 = 20.0;
/// Height of the headers, points.
const HEAD: f32 = 22.0;
/// Width of a number, points.
const NUMBER: f32 = 84.0;
/// Width of the share of the time, points.
const SHARE: f32 = 92.0;
/// Width of the table below which fewer columns are shown, points.
const NARROW: f32 = 620.0;
/// Widest column of values: beyond it a row's numbers would stand too far from its value.
const MOST_VALUE: f32 = 640.0;

/// The number columns, from left to right.
const NUMBERS: [GroupColumn; 6] = [
    GroupColumn::Total,
    GroupColumn::Calls,
    GroupColumn::Mean,
    GroupColumn::P99,
    GroupColumn::Max,
    GroupColumn::Exceptions,
];
/// Those of a narrow table.
const FEW_NUMBERS: [GroupColumn; 3] = [GroupColumn::Calls, GroupColumn::Mean, GroupColumn::P99];

/// The positions of all columns.
struct Columns {
    value: Rangef,
    share: Option<Rangef>,
    numbers: Vec<(GroupColumn, Rangef)>,
}

impl Columns {
    fn of(rect: Rect) -> Columns {
        let wide = rect.width() >= NARROW;
        let shown: &[GroupColumn] = if wide { &NUMBERS } else { &FEW_NUMBERS };
        let used = 20.0 + NUMBER * shown.len() as f32 + if wide { SHARE } else { 0.0 };
        let left = rect.left() + 6.0;
        let mut at = left + (rect.width() - used).clamp(40.0, MOST_VALUE);
        let value = Rangef::new(left, at);
        let share = wide.then(|| Rangef::new(at + 8.0, at + SHARE));
        at = share.map_or(at, |share| share.max);
        let numbers = shown.iter().map(|column| {
            at += NUMBER;
            (*column, Rangef::new(at - NUMBER, at))
        });
        Columns { value, share, numbers: numbers.collect() }
    }
}

/// Returns the name of a key.
pub fn title(key: &GroupKey) -> String {
    match key {
        GroupKey::Outcome => "Outcome".to_owned(),
        GroupKey::Thread => "Thread".to_owned(),
        GroupKey::Method => "Method".to_owned(),
        GroupKey::Argument(..) | GroupKey::Result(_) => key.to_string(),
    }
}

/// Shows headers and rows in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut EventsState, groups: &EventGroups, commands: &mut Vec<UiCommand>) {
    ui.spacing_mut().item_spacing.y = 0.0;
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), HEAD));
    ui.advance_cursor_after_rect(head);
    let window = state.group_scroll.show(ui, "groups of events", groups.len(), ROW);
    let columns = Columns::of(window.rect);
    headers(ui, head, &columns, groups, commands);
    keys(ui, state, window.rect, groups, commands);
    let over = ui.rect_contains_pointer(window.rect) || Popup::is_any_open(ui.ctx()) && state.held;
    let moves = ui.input(|input| input.pointer.is_moving() || input.pointer.any_down());
    state.held = over && (state.held || moves);
    let painter = ui.painter_at(window.rect);
    let all = groups.total_ns().max(1) as f64;
    for row in window.rows.clone() {
        let Some(group) = groups.at(row) else { continue };
        let rect = window.row_rect(row);
        let id = ui.scope_id().with(("group of events", row));
        let response = ui.interact(rect.intersect(window.rect), id, Sense::click());
        let chosen = state.group.as_ref() == Some(&group.title);
        response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, chosen, read_out(group)));
        let palette = Palette::of(ui);
        let fill = match (chosen, response.hovered()) {
            (true, _) => Some(palette.selected),
            (false, true) => Some(palette.hover),
            (false, false) => (row % 2 == 1).then_some(palette.stripe),
        };
        if let Some(fill) = fill {
            painter.rect_filled(rect, 0.0, fill);
        }
        paint(&painter, group, (&columns, rect), group.total_ns as f64 / all, palette);
        if response.clicked() || response.secondary_clicked() {
            state.group = Some(group.title.clone());
            ui.memory_mut(|memory| memory.request_focus(rows_id()));
        }
        if response.double_clicked() {
            commands.extend(shown_alone(group));
        }
        Popup::context_menu(&response).show(|ui| {
            if let Some(command) = shown_alone(group)
                && ui.button("Show these calls").clicked()
            {
                commands.push(command);
                ui.close();
            }
            if ui.button("Copy value").clicked() {
                commands.push(UiCommand::CopyValue(text(group).to_owned()));
                ui.close();
            }
        });
        if response.hovered() {
            response.on_hover_text(hint(group));
        }
    }
    if ui.memory(|memory| memory.has_focus(rows_id())) {
        let stroke = Stroke::new(1.0, Palette::of(ui).accent);
        painter.rect_stroke(window.rect.shrink(0.5), 0.0, stroke, egui::StrokeKind::Inside);
    }
}

fn text(group: &CallGroup) -> &str {
    match &group.title {
        GroupTitle::Value(text) => text,
        GroupTitle::Missing => "no such value",
        GroupTitle::Others => "other values",
    }
}

fn hint(group: &CallGroup) -> String {
    let value = text(group);
    match group.condition {
        Some(_) => format!("{value}\nDouble-click to show these calls."),
        None => value.to_owned(),
    }
}

/// Returns the command that shows the calls of a group, if a condition says which they are.
fn shown_alone(group: &CallGroup) -> Option<UiCommand> {
    group.condition.clone().map(UiCommand::ShowGroup)
}

fn read_out(group: &CallGroup) -> String {
    let mean = group.mean_ns().map(|ns| format!(", mean {}", words::duration(ns))).unwrap_or_default();
    let p99 = group.quantile_ns(990).map(|ns| format!(", p99 {}", words::duration(ns))).unwrap_or_default();
    let failed = match group.exceptions {
        0 => String::new(),
        number => format!(", {}", words::count(number, "exception", "exceptions")),
    };
    format!("{}: {}{mean}{p99}{failed}", text(group), words::count(group.calls, "call", "calls"))
}

fn paint(
    painter: &Painter,
    group: &CallGroup,
    (columns, rect): (&Columns, Rect),
    share: f64,
    palette: &Palette,
) {
    let font = FontId::monospace(SMALL);
    let value = Rect::from_x_y_ranges(columns.value, rect.y_range());
    let colour = match group.title {
        GroupTitle::Value(_) => palette.text,
        GroupTitle::Missing | GroupTitle::Others => palette.weak,
    };
    let digit = painter.layout_no_wrap("0".to_owned(), font.clone(), colour).size().x.max(1.0);
    let shown = cut_end(text(group), (value.width() / digit) as usize);
    painter.text(value.left_center(), Align2::LEFT_CENTER, shown, font.clone(), colour);
    if let Some(range) = columns.share {
        let bar = Rect::from_x_y_ranges(range, rect.y_range()).shrink2(vec2(4.0, 3.0));
        let filled = vec2(bar.width() * share.clamp(0.0, 1.0) as f32, bar.height());
        painter.rect_filled(bar, 2.0, palette.groove.gamma_multiply(0.35));
        painter.rect_filled(Rect::from_min_size(bar.min, filled), 2.0, palette.accent.gamma_multiply(0.45));
        let percent = match 100.0 * share {
            ..0.1 => "< 0.1 %".to_owned(),
            percent => words::percent(percent),
        };
        let at = pos2(bar.right() - 3.0, bar.center().y);
        painter.text(at, Align2::RIGHT_CENTER, percent, FontId::monospace(11.0), palette.text);
    }
    for (column, range) in &columns.numbers {
        let colour = match (*column, group.exceptions) {
            (GroupColumn::Exceptions, 0) => palette.weak,
            (GroupColumn::Exceptions, _) => palette.bad,
            _ => palette.text,
        };
        let at = pos2(range.max - 4.0, rect.center().y);
        painter.text(at, Align2::RIGHT_CENTER, number(*column, group), font.clone(), colour);
    }
}

fn number(column: GroupColumn, group: &CallGroup) -> String {
    let duration = |ns: Option<u64>| ns.map_or("–".to_owned(), words::duration);
    match column {
        GroupColumn::Value => text(group).to_owned(),
        GroupColumn::Calls => words::grouped(group.calls),
        GroupColumn::Total => words::duration(group.total_ns),
        GroupColumn::Mean => duration(group.mean_ns()),
        GroupColumn::P99 => duration(group.quantile_ns(990)),
        GroupColumn::Max => duration(group.mean_ns().map(|_| group.max_ns)),
        GroupColumn::Exceptions if group.exceptions == 0 => "–".to_owned(),
        GroupColumn::Exceptions => words::grouped(group.exceptions),
    }
}

/// Returns the name of a column.
fn name(column: GroupColumn, key: &GroupKey) -> String {
    match column {
        GroupColumn::Value => title(key),
        GroupColumn::Calls => "Calls".to_owned(),
        GroupColumn::Total => "Total".to_owned(),
        GroupColumn::Mean => "Mean".to_owned(),
        GroupColumn::P99 => "p99".to_owned(),
        GroupColumn::Max => "Max".to_owned(),
        GroupColumn::Exceptions => "Exceptions".to_owned(),
    }
}

fn headers(ui: &mut Ui, head: Rect, columns: &Columns, groups: &EventGroups, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    ui.painter_at(head).rect_filled(head, 0.0, palette.raised);
    let font = FontId::proportional(SMALL);
    if let Some(share) = columns.share {
        let at = pos2(share.min + 4.0, head.center().y);
        ui.painter_at(head).text(at, Align2::LEFT_CENTER, "Share of time", font.clone(), palette.weak);
    }
    let (sorted_by, is_reversed) = groups.sorted_by();
    let value = [(GroupColumn::Value, columns.value)];
    for (column, range) in value.iter().chain(&columns.numbers).copied() {
        let name = name(column, groups.key());
        let place = Rect::from_x_y_ranges(range, head.y_range());
        let response = ui.interact(place, ui.scope_id().with(("head of groups", column)), Sense::click());
        let chosen = sorted_by == column;
        response.widget_info(|| {
            let text = format!("Sort groups by {name}");
            egui::WidgetInfo::selected(egui::Role::ColumnHeader, true, chosen, text)
        });
        let colour = if response.hovered() || chosen { palette.text } else { palette.weak };
        let painter = ui.painter_at(place);
        let is_value = column == GroupColumn::Value;
        let (at, align) = match is_value {
            true => (place.left_center(), Align2::LEFT_CENTER),
            false => (pos2(place.right() - 4.0, place.center().y), Align2::RIGHT_CENTER),
        };
        let written = painter.text(at, align, &name, font.clone(), colour);
        if chosen {
            let way = if is_reversed != is_value { TriangleDirection::Up } else { TriangleDirection::Down };
            let x = if is_value { written.right() + 8.0 } else { written.left() - 8.0 };
            icons::triangle(&painter, pos2(x, place.center().y), way, 4.0, palette.accent);
        }
        if response.has_focus() {
            let stroke = Stroke::new(1.5, palette.accent);
            painter.rect_stroke(place.shrink(1.0), 2.0, stroke, egui::StrokeKind::Inside);
        }
        if response.clicked() {
            commands.push(UiCommand::SortGroups(column));
        }
    }
}

/// Makes the rows take the focus, moves the selection by keys, and shows the calls of a group by Enter.
fn keys(
    ui: &mut Ui,
    state: &mut EventsState,
    rows: Rect,
    groups: &EventGroups,
    commands: &mut Vec<UiCommand>,
) {
    let response = ui.interact(rows, rows_id(), Sense::focusable_noninteractive());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Table, true, "Groups of events"));
    if !response.has_focus() {
        return;
    }
    let selected = |row: &usize| groups.at(*row).map(|group| &group.title) == state.group.as_ref();
    let mut at = (0..groups.len()).find(selected);
    let by = row_keys::steps(ui, rows_id(), state.group_scroll.page(ROW));
    if by != 0
        && let Some(last) = groups.len().checked_sub(1)
    {
        let next = at.map_or(0, |row| row.saturating_add_signed(by)).min(last);
        at = Some(next);
        state.group = groups.at(next).map(|group| group.title.clone());
        state.group_scroll.bring_into_view(next);
    }
    if ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter)) {
        commands.extend(at.and_then(|row| groups.at(row)).and_then(shown_alone));
    }
}

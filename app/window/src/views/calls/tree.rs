//! The tree as rows.

use super::columns::{Columns, text, title};
use super::nodes::{canvas_id, node_name};
use super::state::{CallColumn, CallRow, CallsState};
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::theme::{Palette, SMALL};
use crate::ui::{capitalized, method_colours, painted_part};
use eframe::egui::{
    self, Align2, EventFilter, FontId, Key, Modifiers, Painter, Rect, Sense, Stroke, Ui, accesskit, pos2,
    vec2,
};
use redial_model::call_history::{CallHistory, ROOT};
use redial_text::width::cut_end;
use redial_text::words;

/// Height of a row, points.
const ROW: f32 = 20.0;
/// Height of the headers, points.
const HEAD: f32 = 22.0;
/// Indentation of a level, points. Deep levels share the last one.
const INDENT: f32 = 14.0;

/// Shows headers and rows in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut CallsState, history: &CallHistory) {
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), HEAD));
    ui.advance_cursor_after_rect(head);
    let rows = state.rows().to_vec();
    let window = state.scroll.show(ui, "calls", rows.len(), ROW);
    let columns = Columns::of(window.rect);
    headers(ui, state, head, &columns);
    let response = ui.interact(window.rect, canvas_id(), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Tree, true, "Call tree"));
    state.has_focus = response.has_focus();
    state.held = response.contains_pointer()
        && ui.input(|input| input.pointer.is_moving() || input.pointer.any_down())
        || state.held && response.contains_pointer();
    if response.has_focus() {
        keys(ui, state, &rows);
    }
    let palette = Palette::of(ui);
    let painter = ui.painter_at(window.rect);
    let pointer = response.hover_pos();
    let whole = state.weight(state.top()).max(1);
    for index in window.rows.clone() {
        let (Some(row), rect) = (rows.get(index), window.row_rect(index)) else { continue };
        let Some(node) = history.tree().node(row.node) else { continue };
        let chosen = state.selected == Some(row.node);
        let hovered = pointer.is_some_and(|at| rect.contains(at));
        let fill = match (chosen, hovered) {
            (true, _) => Some(palette.selected),
            (false, true) => Some(palette.hover),
            (false, false) => (index % 2 == 1).then_some(palette.stripe),
        };
        if let Some(fill) = fill {
            painter.rect_filled(rect, 0.0, fill);
        }
        let name = node_name(history, row.node);
        let triangle =
            method_cell(&painter, state, row, rect, &columns, (&name, node.place.method), palette, ui);
        if let Some(share) = columns.share {
            share_cell(
                ui,
                &painter,
                state.weight(row.node) as f64 / whole as f64,
                (share, rect),
                node.place.method,
            );
        }
        for place in &columns.numbers {
            let weak = place.column == CallColumn::Thrown && node.sums.thrown == 0;
            let colour = match (place.column, weak) {
                (_, true) => palette.weak,
                (CallColumn::Thrown, _) => palette.bad,
                _ => palette.text,
            };
            let at = pos2(place.range.max - 4.0, rect.center().y);
            let font = FontId::monospace(SMALL);
            painter.text(at, Align2::RIGHT_CENTER, text(place.column, &node.sums), font, colour);
        }
        let label = || {
            format!(
                "{name}: {}, total {}, self {}",
                words::count(node.sums.calls, "call", "calls"),
                words::duration(node.sums.total_ns),
                words::duration(node.sums.self_ns)
            )
        };
        let id = canvas_id().with(row.node);
        let by_reader =
            painted_part::describe(ui, id, rect.intersect(window.rect), accesskit::Role::TreeItem, label);
        ui.ctx().accesskit_node_builder(id, |part| {
            part.set_level(row.depth + 1);
            part.set_selected(chosen);
            if let Some(expanded) = row.expanded {
                part.set_expanded(expanded);
            }
        });
        let clicked = response.clicked() && hovered;
        let on_triangle =
            clicked && pointer.zip(triangle).is_some_and(|(at, triangle)| triangle.contains(at));
        if on_triangle {
            state.toggle(row.node);
        } else if clicked || by_reader {
            state.selected = Some(row.node);
            ui.memory_mut(|memory| memory.request_focus(canvas_id()));
        }
        if response.double_clicked() && hovered && !on_triangle {
            state.zoom(row.node);
        }
        if hovered {
            response.clone().on_hover_ui_at_pointer(|ui| super::flame::tooltip(ui, state, history, row.node));
        }
    }
    if rows.is_empty() {
        let text = if state.has_search() { "No methods match the search." } else { "No calls yet." };
        painter.text(
            window.rect.center(),
            Align2::CENTER_CENTER,
            text,
            FontId::proportional(14.0),
            palette.weak,
        );
    }
    if response.has_focus() {
        painter.rect_stroke(
            window.rect.shrink(0.5),
            0.0,
            Stroke::new(1.0, palette.accent),
            egui::StrokeKind::Inside,
        );
    }
}

/// Paints a row's name; returns where its triangle is.
#[allow(clippy::too_many_arguments, reason = "one cell, painted in one place")]
fn method_cell(
    painter: &Painter,
    state: &CallsState,
    row: &CallRow,
    rect: Rect,
    columns: &Columns,
    (name, method): (&str, u32),
    palette: &Palette,
    ui: &Ui,
) -> Option<Rect> {
    // Deep rows keep half of the column for their names.
    let indent = (row.depth as f32 * INDENT).min(columns.method.span() * 0.5);
    let left = columns.method.min + indent;
    let triangle = Rect::from_min_size(pos2(left, rect.top()), vec2(16.0, ROW));
    if let Some(expanded) = row.expanded {
        let way = if expanded { TriangleDirection::Down } else { TriangleDirection::Right };
        icons::triangle(painter, triangle.center(), way, 4.0, palette.weak);
    }
    let square = Rect::from_center_size(pos2(left + 22.0, rect.center().y), vec2(8.0, 8.0));
    painter.rect_filled(square, 2.0, method_colours::of(ui, method));
    let colour = match state.has_search() && state.is_match(row.node) {
        true => palette.marked,
        false => palette.text,
    };
    let font = FontId::proportional(13.0);
    let from = left + 32.0;
    let text = cut_end(name, ((columns.method.max - from) / 7.0).max(3.0) as usize);
    let place = pos2(from, rect.center().y);
    if colour == palette.marked {
        let galley = painter.layout_no_wrap(text.to_string(), font.clone(), colour);
        let mark = Align2::LEFT_CENTER.anchor_size(place, galley.size()).expand2(vec2(2.0, 0.0));
        painter.rect_filled(mark, 2.0, palette.mark);
    }
    painter.text(place, Align2::LEFT_CENTER, text, font, colour);
    row.expanded.map(|_| triangle)
}

fn share_cell(ui: &Ui, painter: &Painter, share: f64, (range, row): (egui::Rangef, Rect), method: u32) {
    let palette = Palette::of(ui);
    let all = Rect::from_x_y_ranges(range, row.y_range()).shrink2(vec2(0.0, 3.0));
    let width = all.width() * share.clamp(0.0, 1.0) as f32;
    painter.rect_filled(all, 2.0, palette.groove.gamma_multiply(0.35));
    painter.rect_filled(
        Rect::from_min_size(all.min, vec2(width, all.height())),
        2.0,
        method_colours::of(ui, method),
    );
    let text = match 100.0 * share {
        ..0.1 => "< 0.1 %".to_owned(),
        percent => words::percent(percent),
    };
    painter.text(
        pos2(all.right() - 3.0, all.center().y),
        Align2::RIGHT_CENTER,
        text,
        FontId::monospace(11.0),
        palette.text,
    );
}

fn headers(ui: &mut Ui, state: &mut CallsState, head: Rect, columns: &Columns) {
    let palette = Palette::of(ui);
    ui.painter_at(head).rect_filled(head, 0.0, palette.raised);
    let font = FontId::proportional(SMALL);
    let painter = ui.painter_at(head);
    painter.text(
        pos2(columns.method.min, head.center().y),
        Align2::LEFT_CENTER,
        "Method",
        font.clone(),
        palette.weak,
    );
    if let Some(share) = columns.share {
        painter.text(
            pos2(share.min, head.center().y),
            Align2::LEFT_CENTER,
            "Share of time",
            font.clone(),
            palette.weak,
        );
    }
    for place in &columns.numbers {
        let name = title(place.column);
        let rect = Rect::from_x_y_ranges(place.range, head.y_range());
        let response = ui.interact(rect, canvas_id().with(("head", name)), Sense::click());
        let chosen = state.column == place.column;
        response.widget_info(|| {
            egui::WidgetInfo::selected(
                egui::Role::ColumnHeader,
                true,
                chosen,
                format!("Sort calls by {name}"),
            )
        });
        let colour = if response.hovered() || chosen { palette.text } else { palette.weak };
        let at = pos2(rect.right() - 4.0, rect.center().y);
        let written = painter.text(at, Align2::RIGHT_CENTER, capitalized(name), font.clone(), colour);
        if chosen {
            let at = pos2(written.left() - 8.0, rect.center().y);
            icons::triangle(&painter, at, TriangleDirection::Down, 4.0, palette.accent);
        }
        if response.has_focus() {
            let stroke = Stroke::new(1.5, palette.accent);
            painter.rect_stroke(rect.shrink(1.0), 2.0, stroke, egui::StrokeKind::Inside);
        }
        if response.clicked() {
            state.column = place.column;
        }
    }
}

/// Moves through the rows, expands and zooms by keys.
fn keys(ui: &Ui, state: &mut CallsState, rows: &[CallRow]) {
    let filter = EventFilter { tab: false, horizontal_arrows: true, vertical_arrows: true, escape: true };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(canvas_id(), filter));
    let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key)) as isize;
    let at = state.selected.and_then(|node| rows.iter().position(|row| row.node == node));
    let page = state.scroll.page(ROW).max(2) as isize - 1;
    let by = pressed(Key::ArrowDown) - pressed(Key::ArrowUp)
        + page * (pressed(Key::PageDown) - pressed(Key::PageUp));
    if by != 0 && !rows.is_empty() {
        let next = at.map_or(0, |at| at.saturating_add_signed(by).min(rows.len() - 1));
        state.selected = rows.get(next).map(|row| row.node);
        state.scroll.bring_into_view(next);
    }
    if pressed(Key::Home) > 0 {
        state.zoom(ROOT);
    }
    let Some(row) = at.and_then(|at| rows.get(at)) else { return };
    if pressed(Key::ArrowRight) > 0 && row.expanded == Some(false)
        || pressed(Key::ArrowLeft) > 0 && row.expanded == Some(true)
    {
        state.toggle(row.node);
    }
    if pressed(Key::Enter) > 0 {
        state.zoom(row.node);
    }
}

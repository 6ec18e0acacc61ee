//! Callers as a tree, from the counts that the agent keeps without tracing: each method with its callers below.

use super::nodes::canvas_id;
use super::state::CallsState;
use crate::commands::UiCommand;
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::painted_part;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{self, Align2, FontId, Rect, Sense, Ui, accesskit, pos2, vec2};
use redial_model::caller_tree::CallerLine;
use redial_model::connection::Connection;
use redial_text::callers::share;
use redial_text::width::cut_end;
use redial_text::words;

/// Height of a row and of the headers, points.
const ROW: f32 = 20.0;
const HEAD: f32 = 22.0;
/// Indentation of a level, points.
const INDENT: f32 = 14.0;
/// Deepest level with an indentation of its own.
const MAX_INDENTED: usize = 20;
/// Widths of the columns: calls, share, total and self time, points.
const COLUMNS: [(&str, f32); 4] = [("Calls", 90.0), ("Share", 64.0), ("Own total", 84.0), ("Own self", 84.0)];

/// Shows headers and rows in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut CallsState, connection: &Connection, commands: &mut Vec<UiCommand>) {
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), HEAD));
    ui.advance_cursor_after_rect(head);
    let lines = connection.caller_tree.lines(&connection.table);
    let window = state.scroll.show(ui, "callers", lines.len(), ROW);
    let palette = Palette::of(ui);
    ui.painter_at(head).rect_filled(head, 0.0, palette.raised);
    let font = FontId::proportional(SMALL);
    let painter = ui.painter_at(head);
    painter.text(
        head.left_center() + vec2(8.0, 0.0),
        Align2::LEFT_CENTER,
        "Method, and its callers below",
        font.clone(),
        palette.weak,
    );
    let ends = ends(window.rect);
    for ((name, _), end) in COLUMNS.iter().zip(ends) {
        painter.text(pos2(end, head.center().y), Align2::RIGHT_CENTER, *name, font.clone(), palette.weak);
    }
    let response = ui.interact(window.rect, canvas_id(), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Tree, true, "Callers"));
    (state.has_focus, state.held) = (false, false);
    let pointer = response.hover_pos();
    let painter = ui.painter_at(window.rect);
    for index in window.rows.clone() {
        let (Some(line), rect) = (lines.get(index), window.row_rect(index)) else { continue };
        let hovered = pointer.is_some_and(|at| rect.contains(at));
        if hovered || index % 2 == 1 {
            painter.rect_filled(rect, 0.0, if hovered { palette.hover } else { palette.stripe });
        }
        let left = rect.left() + 8.0 + INDENT * line.depth.min(MAX_INDENTED) as f32;
        if let Some(expanded) = line.expanded {
            let way = if expanded { TriangleDirection::Down } else { TriangleDirection::Right };
            icons::triangle(&painter, pos2(left + 4.0, rect.center().y), way, 4.0, palette.weak);
        }
        row(ui, &painter, line, (rect, left + 14.0, ends));
        let id = canvas_id().with(("caller", index));
        let label = || said(line);
        let by_reader =
            painted_part::describe(ui, id, rect.intersect(window.rect), accesskit::Role::TreeItem, label);
        ui.ctx().accesskit_node_builder(id, |part| {
            part.set_level(line.depth + 1);
            if let Some(expanded) = line.expanded {
                part.set_expanded(expanded);
            }
        });
        let clicked = response.clicked() && hovered || by_reader;
        if clicked && line.expanded.is_some() {
            commands.push(UiCommand::ExpandCaller(line.path.clone()));
        }
    }
}

fn row(ui: &Ui, painter: &egui::Painter, line: &CallerLine, (rect, left, ends): (Rect, f32, [f32; 4])) {
    let palette = Palette::of(ui);
    let font = FontId::monospace(SMALL);
    let digit = ui.fonts_mut(|fonts| fonts.glyph_width(&font, '0'));
    let first = ends[0] - COLUMNS[0].1;
    let room = ((first - left).max(0.0) / digit) as usize;
    let colour = if line.depth == 0 { palette.text } else { palette.weak };
    painter.text(
        pos2(left, rect.center().y),
        Align2::LEFT_CENTER,
        cut_end(&line.name, room),
        font.clone(),
        colour,
    );
    let time =
        |pick: fn((u64, u64)) -> u64| line.times.map_or("–".to_owned(), |both| words::duration(pick(both)));
    let cells = [
        words::grouped(line.calls),
        if line.depth == 0 { String::new() } else { words::percent(share(line.calls, line.of)) },
        time(|(total, _)| total),
        time(|(_, own)| own),
    ];
    for (text, end) in cells.iter().zip(ends) {
        painter.text(pos2(end, rect.center().y), Align2::RIGHT_CENTER, text, font.clone(), palette.text);
    }
}

/// Returns the right ends of the columns.
fn ends(rect: Rect) -> [f32; 4] {
    let mut right = rect.right() - 8.0;
    let mut ends = [0.0; 4];
    for (end, (_, width)) in ends.iter_mut().zip(COLUMNS).rev() {
        *end = right;
        right -= width;
    }
    ends
}

fn said(line: &CallerLine) -> String {
    let calls = words::count(line.calls, "call", "calls");
    match line.depth {
        0 => format!("{}: {calls}", line.name),
        _ => format!("{}: {calls}, {}", line.name, words::percent(share(line.calls, line.of))),
    }
}

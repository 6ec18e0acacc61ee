//! The original IL beside that with the probe.

use super::state::CodeState;
use crate::ui::list::Scroll;
use crate::ui::painted_part;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{Align2, FontId, RichText, Ui, UiBuilder, accesskit, pos2, vec2};
use eframe::egui::{Layout, Rect};
use redial_model::method_code::{CodeBody, MethodCode, SourceFile};
use redial_protocol::il::IlLine;
use redial_protocol::peer_text::clean;
use redial_text::words;
use std::collections::BTreeMap;

/// Height of a line, points.
const LINE: f32 = 17.0;
/// Width from which both stand side by side, points.
const BOTH: f32 = 480.0;

/// Shows both bodies, or one of them in a narrow pane.
pub fn show(ui: &mut Ui, state: &mut CodeState, code: &MethodCode) {
    let all = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(all);
    let lines = match &code.source {
        SourceFile::Known { by_offset, .. } => Some(by_offset),
        SourceFile::Unknown { .. } => None,
    };
    let half = match all.width() >= BOTH {
        true => vec2(all.width() / 2.0 - 4.0, all.height()),
        false => vec2(all.width(), all.height() / 2.0 - 4.0),
    };
    let first = Rect::from_min_size(all.min, half);
    let second = Rect::from_min_size(all.max - half, half);
    for (rect, title, body, scroll, lines) in [
        (first, "Original", &code.original, &mut state.before, lines),
        (second, "With the probe", &code.instrumented, &mut state.after, None),
    ] {
        let mut part = ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::default()));
        one(&mut part, title, body, scroll, lines);
    }
}

fn one(
    ui: &mut Ui,
    title: &str,
    body: &Result<CodeBody, String>,
    scroll: &mut Scroll,
    source: Option<&BTreeMap<u32, u32>>,
) {
    let palette = Palette::of(ui);
    let body = match body {
        Ok(body) => body,
        Err(why) => {
            ui.label(RichText::new(format!("{title}: {}", clean(why))).size(SMALL).color(palette.weak));
            return;
        }
    };
    let cut = if body.is_cut { ", first part" } else { "" };
    let size = words::count(body.code_size.into(), "byte", "bytes");
    ui.horizontal(|ui| {
        ui.add_space(8.0);
        ui.label(RichText::new(format!("{title}: {size} of code{cut}")).size(SMALL).strong());
    });
    let window = scroll.show(ui, title, body.lines.len(), LINE);
    let painter = ui.painter_at(window.rect);
    let font = FontId::monospace(12.0);
    for index in window.rows.clone() {
        let (Some(line), rect) = (body.lines.get(index), window.row_rect(index)) else { continue };
        if line.inserted {
            painter.rect_filled(rect, 0.0, palette.hover);
        }
        let text = instruction(line, source);
        let colour = if line.inserted { palette.live } else { palette.text };
        let place = pos2(rect.left() + 8.0, rect.center().y);
        painter.text(place, Align2::LEFT_CENTER, &text, font.clone(), colour);
        let id = ui.scope_id().with((title, index));
        painted_part::describe(ui, id, rect, accesskit::Role::TextRun, || text.clone());
    }
}

/// Formats an instruction; with the source line where another one begins.
fn instruction(line: &IlLine, source: Option<&BTreeMap<u32, u32>>) -> String {
    let mark = if line.inserted { "+" } else { " " };
    let target = |target: &u32| format!("IL_{target:04x}");
    let operand = match line.targets.as_slice() {
        [] => line.operand.as_deref().map(words::printable).unwrap_or_default(),
        targets => targets.iter().map(target).collect::<Vec<_>>().join(", "),
    };
    let source = source.and_then(|lines| lines.get(&line.offset));
    let source = source.map(|number| format!("  // line {number}")).unwrap_or_default();
    let text = format!("{mark} IL_{:04x}  {:<10} {operand}", line.offset, line.opcode);
    clean(&format!("{}{source}", text.trim_end())).into_owned()
}

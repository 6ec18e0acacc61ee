//! The source file with the method's lines marked.

use super::state::CodeState;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, FontId, Ui, pos2};
use redial_protocol::peer_text::clean;

/// Height of a line, points.
const LINE: f32 = 17.0;
/// Lines that stay visible above the method.
const ABOVE: usize = 3;
/// Width of a tabulator, letters.
const TAB: &str = "    ";

/// Shows the file; `lines` are the method's first and last line, counted from 1.
pub fn show(ui: &mut Ui, state: &mut CodeState, text: &[String], lines: (u32, u32)) {
    let (first, last) = ((lines.0 as usize).saturating_sub(1), (lines.1 as usize).saturating_sub(1));
    if std::mem::take(&mut state.reveal) {
        state.scroll.share(first.saturating_sub(ABOVE) as f64 * f64::from(LINE));
    }
    let window = state.scroll.show(ui, "source", text.len(), LINE);
    let palette = Palette::of(ui);
    let painter = ui.painter_at(window.rect);
    let font = FontId::monospace(12.0);
    for index in window.rows.clone() {
        let (Some(line), rect) = (text.get(index), window.row_rect(index)) else { continue };
        let is_own = (first..=last).contains(&index);
        if is_own {
            painter.rect_filled(rect, 0.0, palette.hover);
        }
        let number = pos2(rect.left() + 44.0, rect.center().y);
        painter.text(number, Align2::RIGHT_CENTER, (index + 1).to_string(), font.clone(), palette.weak);
        let line = clean(&line.replace('\t', TAB)).into_owned();
        let place = pos2(rect.left() + 56.0, rect.center().y);
        let colour = if is_own { palette.text } else { palette.weak };
        painter.text(place, Align2::LEFT_CENTER, &line, font.clone(), colour);
        let id = ui.scope_id().with(("source line", index));
        let role = egui::accesskit::Role::TextRun;
        crate::ui::painted_part::describe(ui, id, rect, role, || format!("{}: {line}", index + 1));
    }
}

//! A blank row: side by side, one process lacks a method or group that another has.

use crate::ui::theme::{BODY, Palette};
use eframe::egui::{Align2, FontId, Painter, Rect, Sense, Ui, pos2};
use redial_model::ids::Node;
use redial_model::visible_rows::VisibleRows;

/// Draws a sign in place of the knob; the hint names the missing method.
pub fn show(
    ui: &Ui,
    painter: &Painter,
    (rect, clip): (Rect, Rect),
    (lines, row, place): (VisibleRows<'_>, Node, usize),
) {
    let palette = Palette::of(ui);
    if lines.list.table().selection.contains(row) {
        painter.rect_filled(rect, 0.0, palette.selected);
    } else if place % 2 == 1 {
        painter.rect_filled(rect, 0.0, palette.stripe);
    }
    let at = pos2(rect.left() + 20.0, rect.center().y);
    painter.text(at, Align2::CENTER_CENTER, lines.lack().sign(), FontId::proportional(BODY), palette.weak);
    let response = ui.interact(clip, ui.scope_id().with(("blank", row)), Sense::hover());
    if !response.hovered() {
        return;
    }
    let catalogue = &lines.list.table().catalogue;
    let name = match row {
        Node::Method(method) => catalogue.full_name(method).text,
        group => catalogue.label(group).to_owned(),
    };
    response.on_hover_text_at_pointer(lines.lack().sentence(&lines.own.title(), &name));
}

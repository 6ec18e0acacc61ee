//! A blank row: side by side, one process lacks a method or group that another has.

use super::columns::Columns;
use super::painted_name::PaintedName;
use super::row_start::{ARROW, arrow, name_start, selection_mode};
use crate::commands::UiCommand;
use crate::ui::theme::{BODY, Palette};
use eframe::egui::{Align2, Color32, FontId, Painter, Rect, Role, Sense, Ui, WidgetInfo, pos2};
use redial_model::ids::Node;
use redial_model::visible_rows::{VisibleRow, VisibleRows};

/// Draws a sign in place of the knob, and the name if this table has the names. A click selects the row; the hint names
/// the missing method.
pub fn show(
    ui: &Ui,
    (painter, columns): (&Painter, &Columns),
    (rect, clip): (Rect, Rect),
    (lines, line, place): (VisibleRows<'_>, VisibleRow, usize),
    commands: &mut Vec<UiCommand>,
) {
    let palette = Palette::of(ui);
    let (list, row) = (lines.list.table(), line.row);
    if list.selection.contains(row) {
        painter.rect_filled(rect, 0.0, palette.selected);
    } else if place % 2 == 1 {
        painter.rect_filled(rect, 0.0, palette.stripe);
    }
    let at = pos2(columns.knob.center(), rect.center().y);
    painter.text(at, Align2::CENTER_CENTER, lines.lack().sign(), FontId::proportional(BODY), palette.weak);
    let response = ui.interact(clip, ui.scope_id().with(("blank", row)), Sense::click());
    let catalogue = &list.catalogue;
    let name = match row {
        Node::Method(method) => catalogue.full_name(method).text,
        group => catalogue.label(group).to_owned(),
    };
    let lack = lines.lack().sentence(&lines.own.title(), &name);
    let is_selected = list.selection.contains(row);
    response.widget_info(|| WidgetInfo::selected(Role::Row, true, is_selected, &lack));
    if response.clicked() {
        commands.push(UiCommand::Pick(row, selection_mode(ui)));
    }
    if response.double_clicked() && !matches!(row, Node::Method(_)) {
        commands.push(UiCommand::Expand(row));
    }
    if columns.is_named {
        let left = name_start(columns, row, line.depth, list.shape);
        let paint = |name: &PaintedName<'_>, left: f32| {
            let galley = name.laid_out(painter, (columns.name.max - 8.0 - left).max(10.0));
            let at = pos2(left, rect.center().y - galley.size().y / 2.0);
            painter.galley(at, galley, Color32::PLACEHOLDER);
        };
        if let Node::Method(method) = row {
            let full = catalogue.full_name(method);
            paint(&PaintedName::of_method(&full, method, list, palette), left);
        } else {
            let title = catalogue.label(row).to_owned();
            if arrow(ui, painter, (left, rect, clip), line, &title) {
                commands.push(UiCommand::Expand(row));
            }
            let mut name = PaintedName::new(&title, list, palette);
            name.shrinking(0..title.len(), palette.weak);
            paint(&name, left + ARROW);
        }
    }
    if response.hovered() {
        response.on_hover_text_at_pointer(lack);
    }
}

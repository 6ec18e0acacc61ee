//! The start of a row: its indentation, the arrow of a group, and how a click selects.

use super::columns::Columns;
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::theme::Palette;
use eframe::egui::{self, Painter, Rect, Sense, Ui, pos2, vec2};
use redial_model::ids::Node;
use redial_model::method_table::Shape;
use redial_model::selection::SelectionMode;
use redial_model::visible_rows::VisibleRow;

const INDENT: f32 = 16.0;
/// Space that a group's arrow takes, points.
pub const ARROW: f32 = 18.0;

/// Shows the arrow of a group; returns whether it was clicked.
pub fn arrow(
    ui: &Ui,
    painter: &Painter,
    (left, rect, clip): (f32, Rect, Rect),
    row: VisibleRow,
    name: &str,
) -> bool {
    let arrow = Rect::from_center_size(pos2(left + 6.0, rect.center().y), vec2(16.0, rect.height()));
    let open = ui.interact(arrow.intersect(clip), ui.scope_id().with(("arrow", row.row)), Sense::click());
    open.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::DisclosureTriangle, true, format!("Expand {name}"))
    });
    let way = if row.expanded { TriangleDirection::Down } else { TriangleDirection::Right };
    let palette = Palette::of(ui);
    let colour = if open.hovered() { palette.accent } else { palette.weak };
    icons::triangle(painter, arrow.center(), way, 4.5, colour);
    open.clicked()
}

/// Returns how a click with the keys held now changes the selection.
pub fn selection_mode(ui: &Ui) -> SelectionMode {
    ui.input(|input| match (input.modifiers.shift, input.modifiers.command) {
        (true, _) => SelectionMode::Extend,
        (false, true) => SelectionMode::Toggle,
        (false, false) => SelectionMode::Replace,
    })
}

/// Returns the left end of a row's name, or of its arrow.
pub fn name_start(columns: &Columns, node: Node, depth: u8, shape: Shape) -> f32 {
    columns.name.min + 4.0 + indent(node, depth, shape)
}

/// Returns the space before a row's name or arrow, points. In the tree, methods stand behind the arrow of their type.
fn indent(node: Node, depth: u8, shape: Shape) -> f32 {
    let behind = if shape == Shape::Tree && matches!(node, Node::Method(_)) { ARROW } else { 0.0 };
    f32::from(depth) * INDENT + behind
}

//! A vertical scroll bar with an f64 position.

use super::theme::Palette;
use eframe::egui::{self, CornerRadius, Id, Rect, Sense, Ui, pos2, vec2};

/// Width, points.
pub const WIDTH: f32 = 12.0;
/// Shortest handle, points.
const SHORTEST: f32 = 28.0;

/// The bar's own state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScrollBar {
    /// While the handle is dragged: distance of the pointer below its top, points.
    grabbed: Option<f32>,
}

impl ScrollBar {
    /// Shows the bar in `rect` for content of `total` points, of which `visible` points from `offset` on are in view.
    /// Returns the offset that the user chose, from 0 to `total - visible`, or `offset`.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        id: Id,
        rect: Rect,
        (offset, visible, total): (f64, f64, f64),
    ) -> f64 {
        let palette = Palette::of(ui);
        let share = if total > 0.0 { (visible / total).min(1.0) } else { 1.0 };
        let length = (share as f32 * rect.height()).clamp(SHORTEST.min(rect.height()), rect.height());
        let (free, hidden) = (f64::from(rect.height() - length), (total - visible).max(0.0));
        let response = ui.interact(rect, id, Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ScrollBar, true, "Scroll bar"));
        let top = |offset: f64| if hidden > 0.0 { (offset / hidden * free) as f32 } else { 0.0 };
        let mut chosen = offset;
        if let Some(pointer) = response.interact_pointer_pos()
            && free > 0.0
        {
            let under = pointer.y - rect.top();
            let grabbed = *self.grabbed.get_or_insert_with(|| {
                let into = under - top(offset);
                // A click beside the handle moves the handle's centre to the pointer.
                if (0.0..=length).contains(&into) { into } else { length / 2.0 }
            });
            chosen = (f64::from(under - grabbed) / free * hidden).clamp(0.0, hidden);
        } else {
            self.grabbed = None;
        }
        let handle = Rect::from_min_size(
            pos2(rect.left() + 3.0, rect.top() + top(chosen)),
            vec2(rect.width() - 5.0, length),
        );
        let colour = if response.hovered() || response.dragged() { palette.weak } else { palette.groove };
        ui.painter().rect_filled(rect, CornerRadius::ZERO, palette.panel);
        ui.painter().rect_filled(handle, CornerRadius::same(3), colour);
        chosen
    }
}

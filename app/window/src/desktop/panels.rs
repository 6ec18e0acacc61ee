//! Panels that keep the size given by the user; a small window shrinks them only while it is small.

use eframe::egui::{InnerResponse, Panel, PanelState, Rangef, Rect, Ui, Vec2};

/// Smaller differences are rounding errors, points.
const ROUNDING: f32 = 0.75;

/// A resizable panel at an edge of a `Ui`.
pub struct SizedPanel {
    /// The panel; its name is `name`.
    pub panel: Panel,
    /// The panel's id.
    pub name: &'static str,
    /// Whether it is above or below the rest, instead of beside it.
    pub flat: bool,
    /// Wanted width or height, points.
    pub wanted: f32,
    /// Width or height possible now, points.
    pub range: Rangef,
}

impl SizedPanel {
    /// Shows the panel; returns the size to which the user is dragging it.
    pub fn show<R>(self, ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> Option<f32> {
        let SizedPanel { panel, name, flat, wanted, range } = self;
        let target = range.clamp(wanted);
        let along = |size: Vec2| if flat { size.y } else { size.x };
        let id = ui.scope_id().with(name);
        // The toolkit remembers the size shown last, not the wanted one.
        let remembered = PanelState::load(ui, id).map(|state| along(state.size()));
        if remembered.is_some_and(|size| (size - target).abs() > ROUNDING) {
            let outer_rect = Rect::from_min_size(ui.max_rect().min, Vec2::splat(target));
            ui.ctx().data_mut(|data| data.insert_persisted(id, PanelState { outer_rect }));
        }
        let InnerResponse { response, .. } =
            panel.resizable(true).default_size(target).size_range(range).show(ui, add);
        let shown = along(response.rect.size());
        let dragged = ui.input(|input| input.pointer.any_down() || input.pointer.any_released());
        (dragged && (shown - target).abs() > ROUNDING).then_some(shown)
    }
}

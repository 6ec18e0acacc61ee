//! Panels that keep the size a user gave them: a small window makes them smaller while it is small, and no longer.

use eframe::egui::{InnerResponse, Panel, PanelState, Rangef, Rect, Ui, Vec2};

/// Less is rounding, points.
const ROUNDING: f32 = 0.75;

/// A resizable panel at an edge of a `Ui`.
pub struct Sized {
    /// The panel; its name is `name`.
    pub panel: Panel,
    /// Told apart by it.
    pub name: &'static str,
    /// Whether it stands above or below the rest, not beside it.
    pub flat: bool,
    /// How wide or high it is to be, points.
    pub wanted: f32,
    /// How wide or high it may be now, points.
    pub range: Rangef,
}

impl Sized {
    /// Shows it; the size the user is dragging it to, if he is.
    pub fn show<R>(self, ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> Option<f32> {
        let Sized { panel, name, flat, wanted, range } = self;
        let target = range.clamp(wanted);
        let along = |size: Vec2| if flat { size.y } else { size.x };
        let id = ui.scope_id().with(name);
        // The toolkit remembers what was shown last, not what was wanted.
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

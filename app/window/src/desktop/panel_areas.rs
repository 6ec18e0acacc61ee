//! Where panels are.

use crate::settings::layouts::PanelId;
use eframe::egui::{Rect, Ui};
use std::collections::BTreeMap;

/// The places of the panels drawn in a frame.
#[derive(Debug, Default)]
pub(super) struct PanelAreas(BTreeMap<PanelId, Rect>);

impl PanelAreas {
    /// Forgets the places of the last frame.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes that a panel is drawn in all of `ui`'s clip rectangle.
    pub fn note(&mut self, panel: PanelId, ui: &Ui) {
        self.note_at(panel, ui.clip_rect());
    }

    /// Notes where a panel is drawn.
    pub fn note_at(&mut self, panel: PanelId, area: Rect) {
        self.0.insert(panel, area);
    }

    /// Returns where a panel is; `None` if it is hidden.
    pub fn of(&self, panel: PanelId) -> Option<Rect> {
        self.0.get(&panel).copied().filter(Rect::is_positive)
    }
}

//! Pictures of the window and its panels: the toolkit hands over a frame without dialogs, and a thread saves it.

use super::App;
use crate::settings::layouts::PanelId;
use eframe::egui::{self, ColorImage, Rect};
use redial_model::log::LogKind;
use std::path::PathBuf;

impl App {
    /// Begins to save a picture of the window, or of a panel.
    pub(super) fn take_picture(&mut self, file: PathBuf, panel: Option<PanelId>) {
        // The picture shows the window, not the question for its file.
        self.dialogs.session = None;
        self.dialogs.picture = Some((file, panel));
    }

    /// Asks for the picture, if one is wanted. Call it once a frame, after drawing.
    pub(super) fn refresh_picture(&mut self, context: &egui::Context) {
        let Some((file, panel)) = self.dialogs.picture.take() else { return };
        let area = panel.and_then(|panel| self.panel_areas.of(panel));
        if let Some(panel) = panel.filter(|_| area.is_none()) {
            let text = format!("No picture was saved: the panel {} is hidden", panel.title());
            self.model.log.add(self.now(), None, LogKind::Failure, text);
            return;
        }
        let pixels = area.map(|area| area * context.pixels_per_point());
        if let Some(save) = self.workers.picture_saver(file) {
            context.request_screenshot(move |image| match pixels {
                Some(pixels) => save(&cropped(&image, pixels)),
                None => save(&image),
            });
        }
    }
}

/// Returns the part of a picture within a rectangle, in pixels.
fn cropped(image: &ColorImage, area: Rect) -> ColorImage {
    let within = |at: f32, most: usize| (at.round().max(0.0) as usize).min(most);
    let (left, right) = (within(area.left(), image.width()), within(area.right(), image.width()));
    let (top, bottom) = (within(area.top(), image.height()), within(area.bottom(), image.height()));
    image.region_by_pixels([left, top], [right.saturating_sub(left), bottom.saturating_sub(top)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Color32, pos2};

    #[test]
    fn a_picture_is_cropped_to_whole_pixels_within_it() {
        let pixels = (0..12).map(Color32::from_gray).collect();
        let image = ColorImage::new([4, 3], pixels);
        let part = cropped(&image, Rect::from_min_max(pos2(0.6, -2.0), pos2(2.9, 1.6)));
        assert_eq!(part.size, [2, 2]);
        assert_eq!(part.pixels, [1, 2, 5, 6].map(Color32::from_gray));
        let outside = cropped(&image, Rect::from_min_max(pos2(9.0, 9.0), pos2(20.0, 20.0)));
        assert_eq!(outside.size, [0, 0]);
    }
}

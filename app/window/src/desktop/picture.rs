//! Pictures of the window: the toolkit hands over a frame without dialogs, and a thread saves it.

use super::App;
use eframe::egui;
use std::path::PathBuf;

impl App {
    /// Begins to save a picture of the window.
    pub(super) fn take_picture(&mut self, file: PathBuf) {
        // The picture shows the window, not the question for its file.
        self.dialogs.session = None;
        self.dialogs.picture = Some(file);
    }

    /// Asks for the picture, if one is wanted. Call it once a frame, after drawing.
    pub(super) fn refresh_picture(&mut self, context: &egui::Context) {
        let saver = self.dialogs.picture.take().and_then(|file| self.workers.picture_saver(file));
        if let Some(save) = saver {
            context.request_screenshot(save);
        }
    }
}

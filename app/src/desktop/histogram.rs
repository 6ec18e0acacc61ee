//! Asking for the histogram that is looked at.

use super::App;
use crate::model::histograms::Ask;
use crate::views;
use eframe::egui;

impl App {
    /// Asks for the histogram of the one method that is looked at, once a second at most, and only while calls end.
    pub(super) fn ask_histogram(&mut self, context: &egui::Context) {
        let now = self.now().mono;
        let Some(connection) = self.model.current_mut() else { return };
        let Some((row, exits)) = views::latency::wanted(connection) else { return };
        let id = connection.id;
        match connection.histograms.ask(row, exits, now) {
            Ask::Now => self.workers.histogram(id, row),
            Ask::At(at) => context.request_repaint_after(at.saturating_sub(now)),
            Ask::No => {}
        }
    }
}

//! Asking about the one method that is looked at: for its histogram, and who calls it.

use super::App;
use crate::model::looked_at::Ask;
use crate::views;
use eframe::egui;
use std::time::Duration;

impl App {
    /// Asks for whatever is shown of the one method that is looked at, once a second at most, and only while there is news.
    pub(super) fn ask_about_looked_at(&mut self, context: &egui::Context) {
        let now = self.now().mono;
        let Some(connection) = self.model.current_mut() else { return };
        let id = connection.id;
        let (histogram, callers) = (views::latency::wanted(connection), views::callers::wanted(connection));
        let histogram = histogram.map(|(row, exits)| (row, connection.histograms.ask(row, exits, now)));
        let callers = callers.map(|(row, seen)| (row, connection.callers.ask(row, seen, now)));
        let later = |at: Duration| context.request_repaint_after(at.saturating_sub(now));
        match histogram {
            Some((row, Ask::Now)) => self.workers.histogram(id, row),
            Some((_, Ask::At(at))) => later(at),
            Some((_, Ask::No)) | None => {}
        }
        match callers {
            Some((row, Ask::Now)) => self.workers.callers(id, row),
            Some((_, Ask::At(at))) => later(at),
            Some((_, Ask::No)) | None => {}
        }
    }
}

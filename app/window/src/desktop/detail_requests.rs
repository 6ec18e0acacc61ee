//! Requests for details of the current method: histogram, callers, slowest calls.

use super::App;
use crate::views;
use eframe::egui;
use redial_model::row_poll::PollTime;
use std::time::Duration;

impl App {
    /// Requests the visible details of the current method, at most once a second and only if they can have
    /// changed.
    pub(super) fn ask_about_looked_at(&mut self, context: &egui::Context) {
        let now = self.now().mono;
        let Some(connection) = self.model.current_process_mut() else { return };
        let id = connection.id;
        let (histogram, callers) = (views::latency::wanted(connection), views::callers::wanted(connection));
        let histogram = histogram.map(|(row, exits)| (row, connection.histograms.ask(row, exits, now)));
        let callers = callers.map(|(row, seen)| (row, connection.callers.ask(row, seen, now)));
        let later = |at: Duration| context.request_repaint_after(at.saturating_sub(now));
        match histogram {
            Some((row, PollTime::Now)) => self.workers.histogram(id, row),
            Some((_, PollTime::At(at))) => later(at),
            Some((_, PollTime::No)) | None => {}
        }
        match callers {
            Some((row, PollTime::Now)) => self.workers.callers(id, row),
            Some((_, PollTime::At(at))) => later(at),
            Some((_, PollTime::No)) | None => {}
        }
    }
}

//! Requests for details of the current method: histogram, callers, slowest calls.

use super::App;
use crate::settings::sections::DetailSection;
use crate::views;
use eframe::egui;
use redial_model::row_poll::PollTime;
use redial_protocol::histogram::RowHistogram;
use std::time::Duration;

impl App {
    /// Requests the visible details of the current method, at most once a second and only if they can have
    /// changed.
    pub(super) fn ask_about_looked_at(&mut self, context: &egui::Context) {
        let now = self.now().mono;
        self.ask_about_merged(context, now);
        let Some(connection) = self.model.current_process_mut() else { return };
        let id = connection.id;
        let (histogram, callers) = (views::latency::wanted(connection), views::callers::wanted(connection));
        // The percentiles need it as well. The first one is requested anyway: without it there is no heading.
        let closed = &self.settings.closed_sections;
        let hidden =
            [DetailSection::Numbers, DetailSection::Histogram].iter().all(|one| closed.contains(one));
        let histogram = histogram.filter(|(row, _)| !hidden || connection.histograms.of(*row).is_none());
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

    /// Requests the histograms of a merged method from all processes, and adds them up once all have answered.
    fn ask_about_merged(&mut self, context: &egui::Context, now: Duration) {
        let Some(fleet) = self.model.fleet_mut() else { return };
        let Some((method, copies)) = fleet.merged_in_view() else { return };
        if !fleet.histogram.is_due(method, now) {
            return;
        }
        let Some(fleet) = self.model.fleet() else { return };
        let mut rows = Vec::new();
        for id in fleet.members().iter().map(|member| member.connection) {
            let Some(connection) = self.model.connections.get(&id) else { continue };
            let part = fleet.part_of(connection, &copies);
            let timed = part.iter().filter_map(|copy| connection.table.live.of_method(copy));
            let timed = timed.filter_map(|row| Some((row.id, row.times.as_deref()?.exits)));
            rows.extend(timed.filter(|(_, exits)| *exits > 0).map(|(row, exits)| (id, row, exits)));
        }
        // A connection asks for one histogram at a time.
        let alone = rows.windows(2).all(|two| two[0].0 != two[1].0);
        for (id, row, exits) in rows.iter().filter(|_| alone) {
            let Some(connection) = self.model.connections.get_mut(id) else { continue };
            match connection.histograms.ask(*row, *exits, now) {
                PollTime::Now => self.workers.histogram(*id, *row),
                PollTime::At(at) => context.request_repaint_after(at.saturating_sub(now)),
                PollTime::No => {}
            }
        }
        let connections = &self.model.connections;
        let known = rows.iter().map(|(id, row, _)| {
            let connection = connections.get(id)?;
            let known = connection.histograms.of(*row)?.as_ref().ok()?;
            connection.in_range(connection.table.live.row(*row)?, known)
        });
        let known: Option<Vec<RowHistogram>> = known.collect();
        let Some(fleet) = self.model.fleet_mut() else { return };
        match known.filter(|_| alone) {
            Some(all) => fleet.histogram.set(method, &all),
            None => fleet.histogram.clear(),
        }
    }
}

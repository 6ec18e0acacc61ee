//! Requests for details of the current method: histogram, callers, slowest calls.

use super::App;
use crate::settings::sections::DetailSection;
use crate::views;
use eframe::egui;
use redial_model::connection::Connection;
use redial_model::histograms::MAX_COPIES;
use redial_model::histograms::merged_method::MergedHistogram;
use redial_model::ids::{ConnectionId, SubjectId};
use redial_model::method_set::MethodSet;
use redial_model::row_poll::PollTime;
use redial_model::subject::Subject;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use std::collections::BTreeMap;
use std::time::Duration;

impl App {
    /// Requests the visible details of the current method, at most once a second and only if they can have
    /// changed.
    pub(super) fn ask_about_looked_at(&mut self, context: &egui::Context) {
        let now = self.now().mono;
        self.ask_about_merged(context, now);
        let hidden = self.are_numbers_hidden();
        let Some(connection) = self.model.current_process_mut() else { return };
        let id = connection.id;
        let (histogram, callers) = (views::latency::wanted(connection), views::callers::wanted(connection));
        // The percentiles need it as well. The first one is requested anyway: without it there is no heading.
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

    /// Requests the histograms of all copies of a merged method, and adds them up once all are known.
    fn ask_about_merged(&mut self, context: &egui::Context, now: Duration) {
        let current = self.model.current();
        let Some((method, copies)) = current.and_then(|current| current.table().merged_in_view()) else {
            return;
        };
        let Some(histogram) = self.merged_histogram() else { return };
        let left = histogram.due_in(method, now);
        if !left.is_zero() {
            if histogram.is_awaited() {
                context.request_repaint_after(left);
            }
            return;
        }
        let is_known = histogram.of(method).is_some();
        if is_known && self.are_numbers_hidden() {
            return;
        }
        let rows = self.timed_rows(&copies);
        let may_ask = rows.values().all(|rows| rows.len() <= MAX_COPIES);
        let mut is_awaited = false;
        for (id, rows) in rows.iter().filter(|_| may_ask) {
            let Some(connection) = self.model.connections.get_mut(id) else { continue };
            let mut due = Vec::new();
            for (row, exits) in rows {
                match connection.histograms.ask_copy(*row, *exits, now) {
                    PollTime::Now => due.push(*row),
                    PollTime::At(at) => context.request_repaint_after(at.saturating_sub(now)),
                    PollTime::No => {}
                }
                is_awaited |= connection.histograms.is_copy_awaited(*row);
            }
            if !due.is_empty() {
                self.workers.histograms(*id, due);
            }
        }
        let connections = &self.model.connections;
        let known = rows.iter().flat_map(|(id, rows)| rows.iter().map(move |(row, _)| (id, row)));
        let known = known.map(|(id, row)| {
            let connection = connections.get(id)?;
            let known = connection.histograms.of_copy(*row)?.as_ref().ok()?;
            connection.in_range(connection.table.live.row(*row)?, known)
        });
        let known: Option<Vec<RowHistogram>> = known.collect();
        let Some(histogram) = self.merged_histogram() else { return };
        match known.filter(|_| may_ask) {
            Some(all) => histogram.set(method, &all),
            None => histogram.clear(),
        }
        histogram.set_awaited(is_awaited);
        if is_awaited || histogram.of(method).is_some() != is_known {
            // The details have been drawn already.
            context.request_repaint();
        }
    }

    /// Whether the sections that show percentiles and histograms are both collapsed.
    fn are_numbers_hidden(&self) -> bool {
        let closed = &self.settings.closed_sections;
        [DetailSection::Numbers, DetailSection::Histogram].iter().all(|one| closed.contains(one))
    }

    /// The histogram of the merged method in view.
    fn merged_histogram(&mut self) -> Option<&mut MergedHistogram> {
        match self.model.current? {
            SubjectId::Process(id) => {
                self.model.connections.get_mut(&id).map(|connection| &mut connection.merged_histogram)
            }
            SubjectId::Fleet => self.model.fleet_mut().map(|fleet| &mut fleet.histogram),
        }
    }

    /// Returns the rows of copies that were timed, with the number of their calls that have ended, by process.
    fn timed_rows(&self, copies: &MethodSet) -> BTreeMap<ConnectionId, Vec<(RowId, u64)>> {
        let of = |connection: &Connection, copies: &MethodSet| {
            let rows = copies.iter().filter_map(|copy| connection.table.live.of_method(copy));
            let timed = rows.filter_map(|row| Some((row.id, row.times.as_deref()?.exits)));
            (connection.id, timed.filter(|(_, exits)| *exits > 0).collect())
        };
        match self.model.current() {
            Some(Subject::Process(connection)) => BTreeMap::from([of(connection, copies)]),
            Some(Subject::Fleet(fleet)) => {
                let members = fleet.members().iter();
                let members = members.filter_map(|member| self.model.connections.get(&member.connection));
                members.map(|connection| of(connection, &fleet.part_of(connection, copies))).collect()
            }
            None => BTreeMap::new(),
        }
    }
}

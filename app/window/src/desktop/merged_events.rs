//! The traced calls of several processes in one table.

use super::App;
use super::events::rows_of;
use crate::views::events::EventsKey;
use eframe::egui;
use redial_model::connection::Status;
use redial_model::events::EventRow;
use redial_model::fleet::Fleet;
use redial_model::ids::ConnectionId;
use redial_protocol::level::Level;
use std::collections::BTreeSet;

impl App {
    /// Brings the merged calls up to date. Returns whether there is more to do.
    pub(super) fn refresh_merged_events(&mut self, context: &egui::Context) -> bool {
        let (held, of_all, now) = (self.events.is_held(), self.events.of_all, self.now().mono);
        let is_paused = self.model.fleet().is_some_and(|fleet| fleet.events.is_paused());
        let ids: Vec<ConnectionId> = self.model.members().map(|member| member.id).collect();
        for id in ids {
            let Some(connection) = self.model.connections.get_mut(&id) else { continue };
            let is_traced = connection.table.live.wanted(Level::Trace).is_some_and(|rows| rows.count() > 0);
            if !is_traced || connection.session.status != Status::Live {
                connection.events.clear_in_flight();
                self.model.fleet_mut().into_iter().for_each(|fleet| fleet.events.clear_in_flight_of(id));
                continue;
            }
            if is_paused {
                continue;
            }
            match connection.events.poll_for_merged(now) {
                Ok(()) => self.workers.calls_in_flight(id),
                Err(Some(at)) => context.request_repaint_after(at.saturating_sub(now)),
                Err(None) => {}
            }
        }
        let Some(fleet) = self.model.fleet() else { return false };
        let key = merged_key(fleet, of_all);
        if self.events.key != Some(key) {
            let rows = self.merged_rows(fleet).filter(|_| !of_all);
            self.events.key = Some(key);
            if let Some(fleet) = self.model.fleet_mut() {
                let mut query = fleet.events.query().clone();
                query.rows = rows;
                query.set_text(&self.events.text);
                fleet.events.set_query(query);
            }
        }
        self.model.fleet_mut().is_some_and(|fleet| fleet.events.refresh(held))
    }

    /// Returns the rows of the selected methods in every process; None without a selection.
    fn merged_rows(&self, fleet: &Fleet) -> Option<BTreeSet<EventRow>> {
        if fleet.table.selection.is_empty() {
            return None;
        }
        let selected = fleet.table.turned_by_selection().methods;
        let members = fleet.members().iter().filter_map(|one| self.model.connections.get(&one.connection));
        let rows = members.flat_map(|connection| {
            let rows = rows_of(connection, &fleet.part_of(connection, &selected));
            rows.into_iter().map(|row| (row, connection.id))
        });
        let rows: BTreeSet<EventRow> = rows.collect();
        Some(fleet.events.rows_where(|row| rows.contains(&row)))
    }
}

/// Returns what decides which rows are shown.
fn merged_key(fleet: &Fleet, of_all: bool) -> EventsKey {
    let table = &fleet.table;
    EventsKey {
        connection: ConnectionId::default(),
        of_all,
        selection: table.selection.edition(),
        methods: (table.catalogue.edition(), table.list.edition(), table.live.rows_edition()),
        traced: fleet.events.methods().count(),
    }
}

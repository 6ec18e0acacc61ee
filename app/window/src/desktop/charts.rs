//! Which rows the charts show, their samples, and requests for their histograms.

use super::App;
use crate::settings::layouts::PanelId;
use crate::views::charts::ChartedKey;
use eframe::egui;
use redial_model::Model;
use redial_model::charts::{ChartKey, MAX_CHARTED};
use redial_model::connection::{Connection, Status};
use redial_model::method_set::MethodSet;
use redial_model::subject::Subject;
use std::time::Duration;

/// Most selected methods to look at for rows with a dial.
const MAX_LOOKED_AT: usize = 4_096;
/// How often charts that follow move along.
const PACE: Duration = Duration::from_secs(1);

impl App {
    /// Takes samples of the selected methods. Requests histograms while the charts are shown.
    pub(super) fn refresh_charts(&mut self, context: &egui::Context) {
        let is_shown = self.shows(PanelId::Charts);
        let table = self.model.current_table();
        let key = ChartedKey {
            subject: self.model.current,
            selection: table.map_or(0, |table| table.selection.edition()),
            methods: table.map_or((0, 0), |table| (table.catalogue.edition(), table.live.rows_edition())),
        };
        if self.lower.charted.replace(key) != Some(key) {
            let rows = charted(&self.model);
            self.model.charts.set_charted(rows);
        }
        let unix_ms = self.now().unix_ms;
        let keys: Vec<ChartKey> = self.model.charts.charted().map(|(key, _)| key).collect();
        for key in &keys {
            let Model { connections, charts, .. } = &mut self.model;
            let Some(connection) = connections.get(&key.connection) else { continue };
            let is_live = connection.session.status == Status::Live;
            let Some(row) = connection.table.live.row(key.row).filter(|_| is_live) else { continue };
            charts.sample(*key, row, unix_ms);
            let exits = row.times.as_deref().map_or(0, |times| times.exits);
            if is_shown && exits > 0 && charts.ask(*key, exits, unix_ms) {
                self.workers.histogram(key.connection, key.row);
            }
        }
        if is_shown && !keys.is_empty() {
            context.request_repaint_after(PACE);
        }
    }
}

/// Returns the rows of the selected methods, of each process.
fn charted(model: &Model) -> Vec<(ChartKey, String)> {
    let Some(subject) = model.current() else { return Vec::new() };
    let table = subject.table();
    if table.selection.is_empty() {
        return Vec::new();
    }
    let methods = table.turned_by_selection().methods;
    match subject {
        Subject::Process(connection) => rows(connection, &methods, false),
        Subject::Fleet(fleet) => {
            let members = fleet.members().iter().filter_map(|one| model.connections.get(&one.connection));
            members.flat_map(|one| rows(one, &fleet.part_of(one, &methods), true)).take(MAX_CHARTED).collect()
        }
    }
}

fn rows(connection: &Connection, methods: &MethodSet, is_one_of_several: bool) -> Vec<(ChartKey, String)> {
    let live = &connection.table.live;
    let rows = methods.iter().take(MAX_LOOKED_AT).filter_map(|method| live.of_method(method));
    let named = rows.take(MAX_CHARTED).map(|row| {
        let key = ChartKey { connection: connection.id, row: row.id };
        let name = short(&row.name);
        let name = if is_one_of_several { format!("{name} · {}", connection.process.pid) } else { name };
        (key, name)
    });
    named.collect()
}

/// Returns `Type.Method` of `Module!Namespace.Type.Method(PARAMS)`.
fn short(name: &str) -> String {
    let name = name.split_once('!').map_or(name, |(_, name)| name);
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    redial_text::names::shorter(name).last().unwrap_or(name).to_owned()
}

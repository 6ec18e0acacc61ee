//! The calls that numbers cover, and the histograms that percentiles of a range take.

use super::App;
use crate::commands::RangeChoice;
use redial_model::connection::Status;
use redial_model::ids::{ConnectionId, SubjectId};
use redial_model::number_range::NumberRange;
use redial_protocol::ids::RowId;

impl App {
    /// Shows numbers of the chosen range from now on.
    pub(super) fn choose_numbers(&mut self, choice: RangeChoice) {
        self.model.set_range(match choice {
            RangeChoice::Total => NumberRange::Total,
            RangeChoice::SinceNow => NumberRange::Since { unix_ms: self.now().unix_ms },
            RangeChoice::Recent => NumberRange::Recent,
        });
        self.methods.release_rows();
    }

    /// Requests the histograms that percentiles of the range take: those at its beginning, and those of visible rows.
    pub(super) fn ask_for_range(&mut self) {
        if self.model.range() == NumberRange::Total {
            return;
        }
        let now = self.now().mono;
        let ids: Vec<ConnectionId> = self.model.connections.keys().copied().collect();
        for id in ids {
            let visible = self.visible_rows(id);
            let Some(connection) = self.model.connections.get_mut(&id) else { continue };
            if connection.session.status != Status::Live {
                continue;
            }
            let asked = connection.ask_for_range(&visible, now);
            if !asked.is_empty() {
                self.workers.histograms(id, asked);
            }
        }
    }

    /// Returns the rows of a process that are on display in its table or in the details.
    fn visible_rows(&self, id: ConnectionId) -> Vec<RowId> {
        let Some(connection) = self.model.connections.get(&id) else { return Vec::new() };
        let is_current = self.model.current == Some(SubjectId::Process(id));
        let table = if is_current { Some(&self.methods) } else { self.columns.tables.get(&id) };
        let mut rows = table.map_or_else(Vec::new, |table| table.visible.clone());
        if is_current {
            rows.extend(crate::views::latency::wanted(connection).map(|(row, _)| row));
            let copies = connection.table.merged_in_view();
            let copies = copies.iter().flat_map(|(_, copies)| copies.iter());
            rows.extend(copies.filter_map(|copy| connection.table.live.of_method(copy)).map(|row| row.id));
        }
        if let Some(fleet) = self.model.fleet().filter(|_| self.model.is_merged())
            && let Some((_, copies)) = fleet.table.merged_in_view()
        {
            let part = fleet.part_of(connection, &copies);
            rows.extend(
                part.iter().filter_map(|copy| connection.table.live.of_method(copy)).map(|row| row.id),
            );
        }
        rows
    }
}

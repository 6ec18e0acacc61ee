//! The search for hot methods: starts and stops it, and shows what it found.

use super::App;
use eframe::egui;
use redial_model::hot::HotOptions;
use redial_model::ids::ConnectionId;
use redial_model::list::{Sort, SortKey};
use redial_model::subject::Subject;
use redial_text::times::TimeColumn;

impl App {
    /// Starts a search in the current process.
    pub(super) fn find_hot(&mut self) {
        let now = self.now();
        let Some(Subject::Process(current)) = self.model.current() else { return };
        let (id, process) = (current.id, current.process);
        // A session of this window may have control, but no other program.
        let options = HotOptions { take: !current.is_controlled_elsewhere(), ..HotOptions::default() };
        let log = &mut self.model.log;
        if let Some(connection) = self.model.connections.get_mut(&id) {
            connection.hot_search_began(log, now);
            self.workers.find_hot(id, process, options);
        }
    }

    /// Stops the search in the current process; its dials go off.
    pub(super) fn cancel_hot(&mut self) {
        if let Some(Subject::Process(current)) = self.model.current() {
            let id = current.id;
            self.workers.cancel_hot(id);
        }
    }

    /// Stops all searches, which would set dials again.
    pub(super) fn cancel_searches(&mut self) {
        let searching = self.model.connections.iter().filter(|(_, one)| one.hot_search.is_on());
        let searching: Vec<ConnectionId> = searching.map(|(id, _)| *id).collect();
        for id in searching {
            self.workers.cancel_hot(id);
        }
    }

    /// Shows the methods that a search in the current process found: only dialled ones, most self time first.
    pub(super) fn show_hot_found(&mut self, context: &egui::Context) {
        let Some(Subject::Process(current)) = self.model.current() else { return };
        let id = current.id;
        let found = self.model.connections.get_mut(&id).is_some_and(|one| one.take_hot_found());
        if found {
            self.change_filter(|filter| (filter.only_dialled, filter.off_again) = (true, false));
            let sort = Sort { key: SortKey::Time(TimeColumn::Own), descending: true };
            self.model.change_list(|table| table.set_sort(sort));
            self.methods.release_rows();
            self.methods.to_top = true;
            context.request_repaint();
        }
    }
}

//! Removes the rows of forgotten modules and renumbers the others.

use super::Live;
use crate::catalogue::module_removal::Renumbering;
use crate::ids::MethodIx;
use redial_protocol::ids::{ModuleKey, RowId};
use std::collections::HashSet;

impl Live {
    /// Removes the rows of forgotten modules. If a catalogue had their methods, call `renumber`, too.
    pub fn forget(&mut self, modules: &[ModuleKey]) {
        let modules: HashSet<&ModuleKey> = modules.iter().collect();
        let gone = self.rows.iter().filter(|row| modules.contains(&row.copy.module)).map(|row| row.id);
        self.remove(&gone.collect::<Vec<RowId>>());
    }

    /// Removes rows.
    pub fn remove(&mut self, ids: &[RowId]) {
        if ids.is_empty() {
            return;
        }
        for id in ids {
            self.mark(*id, false);
            if let Some(method) = self.row(*id).and_then(|row| row.method) {
                self.by_method.remove(method);
            }
            self.rows.remove(*id);
        }
        self.called_rows.retain(|id| self.rows.get(*id).is_some());
        self.moving_rows.retain(|id| self.rows.get(*id).is_some());
        self.unplaced.retain(|id| self.rows.get(*id).is_some());
        self.rows_edition += 1;
    }

    /// Renumbers rows after their methods; `methods` are left.
    pub fn renumber(&mut self, to: &Renumbering, methods: usize) {
        let mut moved: Vec<(RowId, MethodIx)> = Vec::with_capacity(self.rows.len());
        for (range, start) in to.shifts() {
            let methods = self.known.iter_in(range.clone()).map(MethodIx);
            let rows = methods.filter_map(|method| Some((self.by_method.get(method)?, method.0)));
            moved.extend(rows.map(|(row, method)| (row, MethodIx(method - range.start + start))));
        }
        self.by_method.clear();
        for (id, method) in moved {
            self.by_method.insert(method, id);
            if let Some(row) = self.rows.get_mut(id) {
                row.method = Some(method);
            }
        }
        let bits = self.by_level.iter_mut().chain(&mut self.by_state).chain([&mut self.known]);
        bits.for_each(|bits| *bits = to.bits(bits, methods));
        for (count, bits) in self.in_state.iter_mut().zip(&self.by_state) {
            *count = bits.count();
        }
        self.rows_edition += 1;
    }
}

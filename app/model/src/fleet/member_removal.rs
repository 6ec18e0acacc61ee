//! Removes the modules of processes that left, and modules that a process unloaded: a bounded part in each frame, in an
//! order in which no row is ever shown without the other copies of its method. First the rows go, then the methods are
//! hidden, and last, in a frame of its own, the methods behind them move up.

use super::Fleet;
use crate::connection::Connections;
use crate::ids::{MethodIx, Node};
use crate::list::renumbering::TableEditions;
use crate::method_table::{Arrivals, MethodTable};
use crate::selection::SelectionMode;
use redial_protocol::ids::ModuleKey;
use std::collections::HashSet;

/// Rows removed in a frame.
const ROWS: usize = 1_000;

impl Fleet {
    /// Begins to remove modules of the table with their rows.
    pub(super) fn begin_removal(&mut self, modules: Vec<ModuleKey>) {
        if modules.is_empty() {
            return;
        }
        let MethodTable { catalogue, live, .. } = &self.table;
        for module in modules.iter().filter_map(|key| catalogue.by_key(*key)) {
            let methods = live.known().iter_in(module.methods.clone());
            let rows = methods.filter_map(|method| live.of_method(MethodIx(method)));
            self.removal.rows.extend(rows.map(|row| row.id));
        }
        self.removal.modules.extend(modules);
        self.removal.hidden = false;
    }

    /// Removes a part. Returns how the list is to be settled in this frame, or None if there was nothing to remove.
    pub(super) fn remove_some(&mut self, connections: &Connections) -> Option<Arrivals> {
        if self.removal.is_empty() {
            return None;
        }
        let left = self.removal.rows.len().saturating_sub(ROWS);
        let rows = self.removal.rows.split_off(left);
        if !rows.is_empty() {
            self.table.live.remove(&rows);
        } else if !std::mem::replace(&mut self.removal.hidden, true) {
            keep_selection(&mut self.table, &self.removal.modules);
            self.table.catalogue.unload(&self.removal.modules);
            return Some(Arrivals::None);
        } else {
            let modules = std::mem::take(&mut self.removal).modules;
            self.forget(connections, &modules);
        }
        // Until the methods are hidden, the list stays as it was.
        Some(Arrivals::Modules)
    }

    /// Forgets hidden modules, which renumbers the methods behind them.
    fn forget(&mut self, connections: &Connections, keys: &[ModuleKey]) {
        let before = TableEditions::of(&self.table.catalogue, &self.table.live);
        // Rows that never had a method.
        self.table.live.forget(keys);
        // Domains of processes that left go with their modules.
        self.name_domains(connections);
        let table = &mut self.table;
        if let Some(to) = table.forget(keys) {
            table.list.renumber(&to, before, &table.catalogue, &table.live);
            let refusals = self.requests.partial_refusals.iter_mut().map(|refusal| &mut refusal.methods);
            let sent = self.requests.sent.iter_mut().map(|sent| &mut sent.methods);
            refusals.chain(sent).for_each(|methods| *methods = to.methods(methods));
        }
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        self.origins.retain(|key, _| !keys.contains(key));
        for member in &mut self.members {
            member.rows.retain(|_, row| self.table.live.row(*row).is_some());
            // There may be room for its other methods now.
            if member.left_out.take().is_some() {
                member.imported = None;
            }
        }
    }
}

/// Before modules are removed: if the only selected method goes with them, selects it in another process.
fn keep_selection(table: &mut MethodTable, gone: &[ModuleKey]) {
    let Some(Node::Method(focus)) = table.selection.focus() else { return };
    let catalogue = &table.catalogue;
    let goes = |method| {
        let module = catalogue.module(catalogue.module_of(method));
        module.is_some_and(|module| gone.contains(&module.key))
    };
    if !goes(focus) || table.selection.len() != 1 {
        return;
    }
    if let Some(copy) = catalogue.copies(focus).into_iter().find(|copy| !goes(*copy)) {
        table.click(Node::Method(copy), SelectionMode::Replace);
    }
}

#[cfg(test)]
#[path = "member_removal_tests.rs"]
mod tests;

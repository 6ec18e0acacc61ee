//! What processes leave behind that are looked at no longer, or that unloaded it, taken out of the merged list: a bounded part
//! of it each frame, in an order in which no row is ever seen without the others of its method. First the numbers go, then the
//! methods are not shown any more, and at last, in a frame of its own, those behind them move up.

use super::take::keep_selection;
use super::{Connections, Fleet};
use crate::model::connection::Connection;
use crate::model::ids::MethodIx;
use crate::model::list::renumber::Editions;
use redial_protocol::ids::{ModuleKey, RowId};
use std::collections::HashSet;

/// Rows taken out in a frame.
const ROWS: usize = 1_000;

/// What is to be taken out, and was not yet.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// In the merged catalogue.
    modules: Vec<ModuleKey>,
    /// Of these modules, in the merged connection.
    rows: Vec<RowId>,
    /// The modules are not shown any more.
    hidden: bool,
}

impl Leaving {
    /// Whether nothing is to be taken out.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }
}

impl Fleet {
    /// From now on these modules of the merged catalogue are taken out, and their rows.
    pub(super) fn leave_behind(&mut self, all: &mut Connection, modules: Vec<ModuleKey>) {
        if modules.is_empty() {
            return;
        }
        for module in modules.iter().filter_map(|key| all.catalogue.by_key(*key)) {
            let methods = all.live.known().iter_in(module.methods.clone());
            let rows = methods.filter_map(|method| all.live.of_method(MethodIx(method)));
            self.leaving.rows.extend(rows.map(|row| row.id));
        }
        self.leaving.modules.extend(modules);
        self.leaving.hidden = false;
    }

    /// Takes out a part of what is to be; whether there was any. The list of the merged connection shows what it showed, if
    /// `modules_are_new` says so.
    pub(super) fn leave(&mut self, all: &mut Connection, connections: &Connections) -> bool {
        if self.leaving.is_empty() {
            return false;
        }
        all.numbers_are_new = false;
        let left = self.leaving.rows.len().saturating_sub(ROWS);
        let rows = self.leaving.rows.split_off(left);
        all.modules_are_new = true;
        if !rows.is_empty() {
            all.live.remove(&rows);
        } else if !std::mem::replace(&mut self.leaving.hidden, true) {
            keep_selection(all, &self.leaving.modules);
            all.catalogue.unload(&self.leaving.modules);
            all.modules_are_new = false;
        } else {
            let modules = std::mem::take(&mut self.leaving).modules;
            self.forget(all, connections, &modules);
        }
        true
    }

    /// Takes modules out of the merged catalogue, of which nothing is shown any more.
    fn forget(&mut self, all: &mut Connection, connections: &Connections, keys: &[ModuleKey]) {
        let before = Editions::of(&all.catalogue, &all.live);
        // What is left of their rows was never placed.
        all.live.forget(keys);
        // Domains that no member has any more go with their modules.
        self.name_domains(all, connections);
        if let Some(to) = all.forget(keys) {
            all.list.renumber(&to, before, &all.catalogue, &all.live);
            all.untaken.iter_mut().for_each(|untaken| untaken.methods = to.methods(&untaken.methods));
            self.sent.iter_mut().for_each(|sent| sent.methods = to.methods(&sent.methods));
        }
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        self.origins.retain(|key, _| !keys.contains(key));
        for member in &mut self.members {
            member.rows.retain(|_, row| all.live.row(*row).is_some());
            // There may be room for more of it now.
            if member.left_out.take().is_some() {
                member.seen = None;
            }
        }
    }
}

#[cfg(test)]
#[path = "leave_tests.rs"]
mod tests;

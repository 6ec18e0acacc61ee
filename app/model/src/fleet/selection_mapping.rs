//! Keeps the selection when processes join, or are shown in another arrangement: a row of the fleet's table stands for a
//! method in each process, and each of those for the row.

use super::Fleet;
use super::carried_selection::CarriedSelection;
use crate::catalogue::Catalogue;
use crate::catalogue::module_removal::Renumbering;
use crate::connection::Connection;
use crate::connection::Connections;
use crate::ids::EVERY_DOMAIN;
use crate::ids::{ConnectionId, MethodIx, ModuleIx, Node};
use crate::selection::Selection;
use std::collections::BTreeMap;

impl Fleet {
    /// Remembers the selected method and the expanded groups of a process that others join. (Several selected methods
    /// are not kept, because one key by mistake would turn them everywhere.)
    pub fn carry_selection(&mut self, alone: &Connection) {
        let table = &alone.table;
        let is_one = only_method(&table.selection).is_some();
        let selection = if is_one { table.selection.clone() } else { Selection::default() };
        let (unfolded, numbering) = (table.tree.unfolded().clone(), table.numbering);
        self.carried = Some(CarriedSelection { from: alone.id, numbering, selection, unfolded });
    }

    /// Selects the remembered method and expands the groups, once they are imported. Keeps a selection made by then.
    pub(super) fn restore_selection(&mut self, connections: &Connections) {
        let Some(from) = self.carried.as_ref().map(|carried| carried.from) else { return };
        let Some(member) = self.members.iter().find(|member| member.connection == from) else {
            self.carried = None;
            return;
        };
        let Some(alone) = connections.get(&from).map(|alone| &alone.table) else { return };
        let theirs = &alone.catalogue;
        if !theirs.is_complete() || member.imported.is_none() {
            return;
        }
        let is_current = |carried: &CarriedSelection| carried.numbering == alone.numbering;
        let Some(mut carried) = self.carried.take().filter(is_current) else { return };
        let ours = &self.table.catalogue;
        let pairs = (0..).zip(theirs.modules()).filter_map(|(index, module)| {
            let copy = ours.index_of(*member.modules.get(&module.key)?)?;
            let row = if ours.interleaves() { copy } else { ours.lead(copy) };
            Some(((index, module), (row.0, ours.module(row)?)))
        });
        let own = member.modules.values().find_map(|key| ours.by_key(*key)).map_or(0, |module| module.domain);
        let to = Renumbering::between(pairs, theirs.domains().len(), own);
        carried.selection.renumber(&to);
        let selection = &mut self.table.selection;
        if selection.is_empty() && selection.focus().is_none() {
            selection.unite(&carried.selection);
        }
        let unfolded: Vec<Node> = carried.unfolded.iter().filter_map(|node| to.node(*node)).collect();
        // The row of the process becomes the row of all processes as soon as others have modules.
        let roots = unfolded.contains(&Node::Domain(own)).then_some(Node::Domain(EVERY_DOMAIN));
        for node in unfolded.into_iter().chain(roots) {
            self.table.tree.set_expanded(node, true);
        }
    }

    /// Maps the method that alone is selected in the fleet's table to a process.
    pub fn selected_in(&self, process: &Connection) -> Option<MethodIx> {
        let copies = self.table.catalogue.copies(only_method(&self.table.selection)?).into_iter().collect();
        self.part_of(process, &copies).iter().next()
    }

    /// Gives each process rows of its own. Of a common row, selects the rows of the `current` process if it has any, else
    /// those of all `running` ones.
    pub fn split_rows(&mut self, current: Option<ConnectionId>, running: &[ConnectionId]) {
        if self.table.catalogue.interleaves() {
            return;
        }
        self.table.catalogue.set_merged(false);
        let selected = self.table.selection.clone();
        self.table.selection.reset();
        let current: Vec<ConnectionId> = current.into_iter().collect();
        for processes in [current.as_slice(), running] {
            let copies: Vec<Renumbering> =
                processes.iter().flat_map(|process| self.rows_to_copies(*process)).collect();
            for to in copies {
                let mut copy = selected.clone();
                copy.renumber(&to);
                self.table.selection.unite(&copy);
            }
            if !self.table.selection.is_empty() {
                break;
            }
        }
    }

    /// Gives all processes common rows, and selects the common row of a selected one. Returns the processes that have the
    /// method on display, or, where each had rows of its own, the owner of the selected row.
    pub fn merge_rows(&mut self) -> Vec<ConnectionId> {
        let focus = match self.table.selection.focus() {
            Some(Node::Method(method)) => Some(method),
            _ => None,
        };
        let catalogue = &self.table.catalogue;
        let copies = match focus {
            Some(method) if catalogue.interleaves() => vec![method],
            Some(method) => catalogue.copies(method),
            None => Vec::new(),
        };
        let module_of = |copy| catalogue.module(catalogue.module_of(copy));
        let owners = copies.into_iter().filter_map(module_of).filter_map(|module| self.owner(module.key));
        let owners = owners.collect();
        let catalogue = &mut self.table.catalogue;
        if catalogue.interleaves() {
            catalogue.set_merged(true);
            let to = copies_to_rows(catalogue);
            self.table.selection.renumber(&to);
        }
        owners
    }

    /// Maps common rows to the copies in a process: to the first of each, to the second, and so on.
    fn rows_to_copies(&self, process: ConnectionId) -> Vec<Renumbering> {
        let catalogue = &self.table.catalogue;
        let mut copies: Vec<BTreeMap<ModuleIx, ModuleIx>> = Vec::new();
        for (index, module) in (0..).map(ModuleIx).zip(catalogue.modules()) {
            if self.owner(module.key) != Some(process) {
                continue;
            }
            let lead = catalogue.lead(index);
            match copies.iter_mut().find(|nth| !nth.contains_key(&lead)) {
                Some(nth) => {
                    nth.insert(lead, index);
                }
                None => copies.push(BTreeMap::from([(lead, index)])),
            }
        }
        let between = |nth: BTreeMap<ModuleIx, ModuleIx>| {
            let root = nth.values().next().map_or(0, |first| catalogue.tree_domain(*first));
            let pairs = nth.into_iter().filter_map(|(lead, copy)| {
                Some(((lead.0, catalogue.module(lead)?), (copy.0, catalogue.module(copy)?)))
            });
            Renumbering::between(pairs, catalogue.domains().len(), root)
        };
        copies.into_iter().map(between).collect()
    }
}

/// Maps each copy to the common row that stands for it.
fn copies_to_rows(catalogue: &Catalogue) -> Renumbering {
    let modules = (0..).zip(catalogue.modules());
    let pairs = modules.filter_map(|(index, module)| {
        let lead = catalogue.lead(ModuleIx(index));
        Some(((index, module), (lead.0, catalogue.module(lead)?)))
    });
    let root = catalogue.tree_domain(ModuleIx(0));
    Renumbering::between(pairs, catalogue.domains().len(), root)
}

/// The focused method, if it alone is selected.
fn only_method(selection: &Selection) -> Option<MethodIx> {
    match selection.focus().filter(|node| selection.len() == 1 && selection.contains(*node)) {
        Some(Node::Method(method)) => Some(method),
        _ => None,
    }
}

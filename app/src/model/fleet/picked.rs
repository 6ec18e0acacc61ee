//! What is picked stays picked however several processes are shown: a row of the merged list stands for a method of each of
//! them, and each of them for the row.

use super::{Connections, Fleet};
use crate::model::catalogue::copies::EVERY_DOMAIN;
use crate::model::catalogue::forget::Renumbering;
use crate::model::connection::Connection;
use crate::model::ids::{ConnectionId, FLEET, MethodIx, ModuleIx, Node};
use crate::model::selection::Selection;
use std::collections::{BTreeMap, HashSet};

/// The method picked, and what was unfolded, in a process that was looked at alone, until its methods are in the merged list.
#[derive(Debug)]
pub(super) struct Carried {
    from: ConnectionId,
    /// What numbers mean methods there.
    numbering: u64,
    selection: Selection,
    unfolded: HashSet<Node>,
}

impl Fleet {
    /// Remembers the method that is picked, and what is unfolded, in a process that others join. (Of many that were selected a
    /// key by mistake would turn them all everywhere.)
    pub fn carry(&mut self, alone: &Connection) {
        let selection =
            if only_method(alone).is_some() { alone.selection.clone() } else { Selection::default() };
        let unfolded = alone.tree.unfolded().clone();
        self.carried = Some(Carried { from: alone.id, numbering: alone.numbering, selection, unfolded });
    }

    /// Picks and unfolds it in the merged list, once the process's methods are there, unless something is picked by now.
    pub(super) fn put_down(&mut self, all: &mut Connection, connections: &Connections) {
        let Some(from) = self.carried.as_ref().map(|carried| carried.from) else { return };
        let Some(member) = self.members.iter().find(|member| member.connection == from) else {
            self.carried = None;
            return;
        };
        let Some(alone) = connections.get(&from) else { return };
        let theirs = &alone.catalogue;
        if !theirs.is_complete() || member.seen.is_none() {
            return;
        }
        let Some(mut carried) = self.carried.take().filter(|carried| carried.numbering == alone.numbering)
        else {
            return;
        };
        let ours = &all.catalogue;
        let pairs = (0..).zip(theirs.modules()).filter_map(|(index, module)| {
            let copy = ours.index_of(*member.modules.get(&module.key)?)?;
            let row = if ours.interleaves() { copy } else { ours.lead(copy) };
            Some(((index, module), (row.0, ours.module(row)?)))
        });
        let own = member.modules.values().find_map(|key| ours.by_key(*key)).map_or(0, |module| module.domain);
        let to = Renumbering::between(pairs, theirs.domains().len(), own);
        carried.selection.renumber(&to);
        if all.selection.is_empty() && all.selection.focus().is_none() {
            all.selection.unite(&carried.selection);
        }
        let unfolded: Vec<Node> = carried.unfolded.iter().filter_map(|node| to.node(*node)).collect();
        // The process's own row stands for all of them as soon as others have modules.
        let roots = unfolded.contains(&Node::Domain(own)).then_some(Node::Domain(EVERY_DOMAIN));
        for node in unfolded.into_iter().chain(roots) {
            all.tree.set_expanded(node, true);
        }
    }

    /// The method of a process that is picked in the merged list, where it alone is.
    pub fn picked_in(&self, process: ConnectionId, connections: &Connections) -> Option<MethodIx> {
        let (all, theirs) = (connections.get(&FLEET)?, connections.get(&process)?);
        let copies = all.catalogue.copies(only_method(all)?).into_iter().collect();
        self.part_of(all, theirs, &copies).iter().next()
    }

    /// Gives each process rows of its own, or all of them common ones. Of a common row those of the process `looked_at` are
    /// picked, where one is looked at and has it, else those of all that run.
    pub fn part(&self, all: &mut Connection, looked_at: Option<ConnectionId>, running: &[ConnectionId]) {
        if all.catalogue.interleaves() {
            return;
        }
        all.catalogue.set_merged(false);
        let picked = all.selection.clone();
        all.selection.reset();
        let own: Vec<ConnectionId> = looked_at.into_iter().collect();
        for processes in [own.as_slice(), running] {
            let copies = processes.iter().flat_map(|process| copies_in(self, all, *process));
            for to in copies.collect::<Vec<_>>() {
                let mut copy = picked.clone();
                copy.renumber(&to);
                all.selection.unite(&copy);
            }
            if !all.selection.is_empty() {
                break;
            }
        }
    }

    /// Gives all processes common rows: of a row picked, that one is. The processes that have the method looked at; where each
    /// had rows of its own, whose that was.
    pub fn join(&self, all: &mut Connection) -> Vec<ConnectionId> {
        let focus = match all.selection.focus() {
            Some(Node::Method(method)) => Some(method),
            _ => None,
        };
        let catalogue = &mut all.catalogue;
        let copies = match focus {
            Some(method) if catalogue.interleaves() => vec![method],
            Some(method) => catalogue.copies(method),
            None => Vec::new(),
        };
        let module_of = |copy| catalogue.module(catalogue.module_of(copy));
        let owners = copies.into_iter().filter_map(module_of).filter_map(|module| self.owner(module.key));
        let owners = owners.collect();
        if catalogue.interleaves() {
            catalogue.set_merged(true);
            let modules = (0..).zip(catalogue.modules());
            let pairs = modules.filter_map(|(index, module)| {
                let lead = catalogue.lead(ModuleIx(index));
                Some(((index, module), (lead.0, catalogue.module(lead)?)))
            });
            let root = catalogue.home(ModuleIx(0));
            all.selection.renumber(&Renumbering::between(pairs, catalogue.domains().len(), root));
        }
        owners
    }
}

/// The method that is selected and looked at, if it alone is.
fn only_method(connection: &Connection) -> Option<MethodIx> {
    let selection = &connection.selection;
    match selection.focus().filter(|node| selection.len() == 1 && selection.contains(*node)) {
        Some(Node::Method(method)) => Some(method),
        _ => None,
    }
}

/// Where the copies are that a process has of what common rows stand for: the first of each, the second, and so on.
fn copies_in(fleet: &Fleet, all: &Connection, process: ConnectionId) -> Vec<Renumbering> {
    let catalogue = &all.catalogue;
    let mut copies: Vec<BTreeMap<ModuleIx, ModuleIx>> = Vec::new();
    for (index, module) in (0..).map(ModuleIx).zip(catalogue.modules()) {
        if fleet.owner(module.key) != Some(process) {
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
        let root = nth.values().next().map_or(0, |first| catalogue.home(*first));
        let pairs = nth.into_iter().filter_map(|(lead, copy)| {
            Some(((lead.0, catalogue.module(lead)?), (copy.0, catalogue.module(copy)?)))
        });
        Renumbering::between(pairs, catalogue.domains().len(), root)
    };
    copies.into_iter().map(between).collect()
}

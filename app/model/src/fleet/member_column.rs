//! Processes side by side: maps the rows of the fleet's list to each process, so that nothing is filtered or ordered
//! twice.

use super::Fleet;
use crate::catalogue::module_removal::Renumbering;
use crate::connection::Connection;
use crate::ids::ModuleIx;
use crate::method_table::MethodTable;
use crate::missing_reason::MissingReason;
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;

impl Fleet {
    /// Returns the mapping of rows to a process, and why it lacks those that map to nothing. None if it is no member.
    pub fn column(&self, theirs: &Connection) -> Option<(&Renumbering, MissingReason)> {
        let member = self.members.iter().find(|member| member.connection == theirs.id)?;
        let MethodTable { catalogue, numbering, .. } = &theirs.table;
        let is_read = catalogue.is_complete() && member.has_imported(catalogue.edition(), *numbering);
        let lack = match (is_read, &member.left_out) {
            (true, None) => MissingReason::Unloaded,
            (true, Some(_)) => MissingReason::LeftOut,
            (false, _) => MissingReason::Unread,
        };
        Some((&member.column.to, lack))
    }

    /// Makes a process show and select the same rows as the fleet. A row stands for all copies that the process has.
    pub fn align_rows(&mut self, theirs: &mut Connection) {
        let Some(member) = self.members.iter_mut().find(|member| member.connection == theirs.id) else {
            return;
        };
        let (all, theirs, column) = (&self.table, &mut theirs.table, &mut member.column);
        theirs.catalogue.set_merged(true);
        theirs.shape = all.shape;
        let editions = (all.catalogue.edition(), theirs.catalogue.edition(), theirs.numbering);
        let is_new = column.computed_from != Some(editions);
        if is_new {
            column.to = mapping(&member.modules, all, theirs);
            column.computed_from = Some(editions);
        }
        let lists = |theirs: &MethodTable| (all.list.edition(), theirs.list.edition());
        if is_new || column.lists != lists(theirs) {
            let visible = column.to.bits(all.list.visible(), theirs.catalogue.len());
            theirs.list.follow(&all.list, visible);
            column.lists = lists(theirs);
        }
        theirs.list.set_sort(all.list.sort());
        theirs.list.set_frozen(all.list.is_frozen());
        let selections = |theirs: &MethodTable| (all.selection.edition(), theirs.selection.edition());
        if is_new || column.selections != selections(theirs) {
            theirs.selection.clone_from(&all.selection);
            theirs.selection.renumber(&column.to);
            column.selections = selections(theirs);
        }
    }
}

/// Maps methods of the fleet's list to a process from which these modules were imported.
fn mapping(modules: &HashMap<ModuleKey, ModuleKey>, all: &MethodTable, theirs: &MethodTable) -> Renumbering {
    let (all, theirs) = (&all.catalogue, &theirs.catalogue);
    let pair = |(there, ours): (&ModuleKey, &ModuleKey)| {
        let (ours, there) = (all.index_of(*ours)?, theirs.index_of(*there)?);
        Some((all.lead(ours), theirs.lead(there)))
    };
    // The first copy stands for all.
    let mut pairs: Vec<(ModuleIx, ModuleIx)> = modules.iter().filter_map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup_by_key(|(ours, _)| *ours);
    let root = pairs.first().map_or(0, |(_, first)| theirs.tree_domain(*first));
    let pairs = pairs.into_iter().filter_map(|(ours, there)| {
        let pair = (all.module(ours)?, theirs.module(there)?);
        let is_same = pair.0.methods.len() == pair.1.methods.len();
        is_same.then_some(((ours.0, pair.0), (there.0, pair.1)))
    });
    Renumbering::between(pairs, all.domains().len(), root)
}

//! Processes side by side: the rows of the merged list, as each of them has them. Nothing is filtered or put in order a
//! second time.

use super::Fleet;
use crate::model::catalogue::forget::Renumbering;
use crate::model::connection::Connection;
use crate::model::ids::ModuleIx;
use crate::model::lines::Lack;
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;

/// What rows of the merged list are in one process.
#[derive(Debug, Default)]
pub struct Column {
    to: Renumbering,
    /// What that was found from: the editions of both catalogues, and the process's numbering.
    found_from: Option<(u64, u64, u64)>,
    /// Editions of the merged list and the process's own, when this one followed that last.
    followed: (u64, u64),
    /// The same of what is selected.
    picked: (u64, u64),
}

impl Fleet {
    /// What rows of the merged list are in a process, and why it has nothing in some; None: it is none of these.
    pub fn column(&self, theirs: &Connection) -> Option<(&Renumbering, Lack)> {
        let member = self.members.iter().find(|member| member.connection == theirs.id)?;
        let is_read = theirs.catalogue.is_complete()
            && member.seen == Some((theirs.catalogue.edition(), theirs.numbering));
        let lack = match (is_read, &member.left_out) {
            (true, None) => Lack::Unloaded,
            (true, Some(_)) => Lack::LeftOut,
            (false, _) => Lack::Unread,
        };
        Some((&member.column.to, lack))
    }

    /// Makes a process show, and have selected, what the merged list does. A row stands for all copies that the process has.
    pub fn line_up(&mut self, all: &Connection, theirs: &mut Connection) {
        let Some(member) = self.members.iter_mut().find(|member| member.connection == theirs.id) else {
            return;
        };
        let column = &mut member.column;
        theirs.catalogue.set_merged(true);
        theirs.shape = all.shape;
        let editions = (all.catalogue.edition(), theirs.catalogue.edition(), theirs.numbering);
        let is_new = column.found_from != Some(editions);
        if is_new {
            (column.to, column.found_from) = (found(&member.modules, all, theirs), Some(editions));
        }
        let lists = |theirs: &Connection| (all.list.edition(), theirs.list.edition());
        if is_new || column.followed != lists(theirs) {
            let visible = column.to.bits(all.list.visible(), theirs.catalogue.len());
            theirs.list.follow(&all.list, visible);
            column.followed = lists(theirs);
        }
        theirs.list.set_sort(all.list.sort());
        theirs.list.set_hold(all.list.hold());
        let selections = |theirs: &Connection| (all.selection.edition(), theirs.selection.edition());
        if is_new || column.picked != selections(theirs) {
            theirs.selection.clone_from(&all.selection);
            theirs.selection.renumber(&column.to);
            column.picked = selections(theirs);
        }
    }
}

/// Where methods of the merged list are in a process of which these modules were taken over.
fn found(modules: &HashMap<ModuleKey, ModuleKey>, all: &Connection, theirs: &Connection) -> Renumbering {
    let pair = |(there, ours): (&ModuleKey, &ModuleKey)| {
        let (ours, there) = (all.catalogue.index_of(*ours)?, theirs.catalogue.index_of(*there)?);
        Some((all.catalogue.lead(ours), theirs.catalogue.lead(there)))
    };
    // Of copies the first one stands for all.
    let mut pairs: Vec<(ModuleIx, ModuleIx)> = modules.iter().filter_map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup_by_key(|(ours, _)| *ours);
    let root = pairs.first().map_or(0, |(_, first)| theirs.catalogue.home(*first));
    let pairs = pairs.into_iter().filter_map(|(ours, there)| {
        let pair = (all.catalogue.module(ours)?, theirs.catalogue.module(there)?);
        let is_same = pair.0.methods.len() == pair.1.methods.len();
        is_same.then_some(((ours.0, pair.0), (there.0, pair.1)))
    });
    Renumbering::between(pairs, all.catalogue.domains().len(), root)
}

//! The rows on screen. Side by side, processes share one list of rows, that of the fleet; each row shows a
//! process's own copy, or a blank.

use super::Model;
use super::catalogue::module_removal::Renumbering;
use super::ids::Node;
use super::ids::SubjectId;
use super::method_table::{MethodTable, Shape};
use super::missing_reason::MissingReason;
use super::subject::Subject;

/// The rows on screen as one process has them.
#[derive(Clone, Copy, Debug)]
pub struct VisibleRows<'a> {
    /// The process or fleet whose methods are in the rows.
    pub own: Subject<'a>,
    /// The owner of the rows: of their order, filter and selection.
    pub list: Subject<'a>,
    /// Whether keys and the side panel act on the selection in this column.
    pub keys: bool,
    /// Maps the rows to `own`, with the reason for blanks; absent if the rows are its own.
    to: Option<(&'a Renumbering, MissingReason)>,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisibleRow {
    /// Its node in the list.
    pub row: Node,
    /// The process's own node; `None` for a blank.
    pub node: Option<Node>,
    /// Number of groups above it.
    pub depth: u8,
    /// Whether its contents are shown; never for methods.
    pub expanded: bool,
    /// Number of its methods that pass the filter.
    pub methods: u32,
}

impl<'a> VisibleRows<'a> {
    /// Returns the rows of a process or fleet that owns its rows.
    pub fn of(own: Subject<'a>) -> VisibleRows<'a> {
        VisibleRows { own, list: own, keys: true, to: None }
    }

    /// Returns the number of rows, including blanks.
    pub fn len(&self) -> usize {
        self.list.table().row_count()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether other processes share the rows.
    pub fn is_beside(&self) -> bool {
        self.to.is_some()
    }

    /// Returns the reason for blanks.
    pub fn lack(&self) -> MissingReason {
        self.to.map_or(MissingReason::Unloaded, |(_, lack)| lack)
    }

    /// Returns whether rows are selected, but all of them are blank in this process.
    pub fn lacks_selection(&self) -> bool {
        !self.list.table().selection.is_empty() && self.own.table().selection.is_empty()
    }

    /// Returns the row at a place.
    pub fn at(&self, place: usize) -> Option<VisibleRow> {
        let list = self.list.table();
        let row = list.row_at(place)?;
        let node = match self.to {
            None => Some(row),
            Some((to, _)) => to.node(row),
        };
        let line = VisibleRow { row, node, depth: 0, expanded: false, methods: 1 };
        match list.shape {
            Shape::List => Some(line),
            Shape::Tree => {
                let row = list.tree.rows().get(place)?;
                let whole = self.is_beside() && matches!(node, Some(Node::Domain(_)));
                let methods = if whole { self.own.table().list.shown() as u32 } else { row.methods };
                Some(VisibleRow { depth: row.depth, expanded: row.expanded, methods, ..line })
            }
        }
    }
}

impl Model {
    /// Returns whether several processes are side by side.
    pub fn is_beside(&self) -> bool {
        self.fleet().is_some() && !self.is_merged()
    }

    /// Returns the owner of the rows on screen; side by side, the fleet.
    pub fn list_owner(&self) -> Option<Subject<'_>> {
        self.subject(self.list_owner_id()?)
    }

    pub(super) fn list_owner_id(&self) -> Option<SubjectId> {
        if self.is_beside() { Some(SubjectId::Fleet) } else { self.current }
    }

    /// Returns the methods on screen, with their filter, order and selection.
    pub fn list(&self) -> Option<&MethodTable> {
        self.list_owner().map(Subject::table)
    }

    /// Changes the rows on screen or their selection. Side by side, each process follows at once, so that the
    /// next key acts on the new selection.
    pub fn change_list(&mut self, change: impl FnOnce(&mut MethodTable)) {
        if let Some(table) = self.list_owner_id().and_then(|id| self.table_mut(id)) {
            change(table);
        }
        self.align_rows();
    }

    /// Returns the rows on screen as a process, or the fleet, has them.
    pub fn lines(&self, id: SubjectId) -> Option<VisibleRows<'_>> {
        let own = self.subject(id)?;
        let Some(process) = own.process().filter(|_| self.is_beside()) else {
            return Some(VisibleRows::of(own));
        };
        let fleet = self.fleet()?;
        let to = Some(fleet.column(process)?);
        Some(VisibleRows { own, list: Subject::Fleet(fleet), keys: self.current == Some(id), to })
    }

    /// Side by side, aligns the visible columns with their common rows.
    pub(super) fn align_rows(&mut self) {
        if !self.is_beside() {
            return;
        }
        let Some(fleet) = &mut self.choice.fleet else { return };
        let in_sight = self.choice.in_sight.iter().copied();
        for id in in_sight.chain(self.current.and_then(SubjectId::process)) {
            if let Some(theirs) = self.connections.get_mut(&id) {
                fleet.align_rows(theirs);
            }
        }
    }
}

#[cfg(test)]
#[path = "visible_rows_tests.rs"]
mod tests;

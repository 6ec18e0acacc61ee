//! The rows on screen: those of the connection that is looked at. Side by side, processes have one list of rows, that of
//! all of them merged; in each row a process has what the row stands for, or nothing.

use super::Model;
use super::catalogue::forget::Renumbering;
use super::connection::{Connection, Shape};
use super::ids::{ConnectionId, FLEET, Node};

/// The rows on screen, as one process has them.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Whose methods stand in the rows.
    pub own: &'a Connection,
    /// Whose rows they are: their order, their filter and what is picked of them.
    pub list: &'a Connection,
    /// Whether keys and the panel beside are for what is selected in these rows, and not in those beside them.
    pub keys: bool,
    /// What the rows are in `own`, and why it has nothing in some; absent: they are its own.
    to: Option<(&'a Renumbering, Lack)>,
}

/// Why a process has nothing in a row that others beside it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It has not loaded it.
    Unloaded,
    /// It may have it: not all of its methods are read.
    Unread,
    /// It may have it: not all of its methods fit into the list of all.
    LeftOut,
}

impl Lack {
    /// The sign in the row.
    pub fn sign(self) -> &'static str {
        match self {
            Lack::Unloaded => "–",
            Lack::Unread => "…",
            Lack::LeftOut => "?",
        }
    }

    /// A sentence about what the process called `title` lacks.
    pub fn sentence(self, title: &str, what: &str) -> String {
        match self {
            Lack::Unloaded => format!("{title} has not loaded {what}"),
            Lack::Unread => format!("{title} may have {what}: not all of its methods are read"),
            Lack::LeftOut => {
                format!(
                    "{title} may have {what}: not all of its methods fit into a list of several processes"
                )
            }
        }
    }
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is called in the list.
    pub row: Node,
    /// What the process has there; None: it lacks it.
    pub node: Option<Node>,
    /// Groups above it.
    pub depth: u8,
    /// Whether what is in it is shown; never for methods.
    pub expanded: bool,
    /// Methods in it that the filter leaves.
    pub methods: u32,
}

impl<'a> Lines<'a> {
    /// Of one that has rows of its own.
    pub fn of(own: &'a Connection) -> Lines<'a> {
        Lines { own, list: own, keys: true, to: None }
    }

    /// Rows there are, those that the process lacks among them.
    pub fn len(&self) -> usize {
        self.list.row_count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether other processes have the same rows.
    pub fn is_beside(&self) -> bool {
        self.to.is_some()
    }

    /// Why the process has nothing in rows where it has nothing.
    pub fn lack(&self) -> Lack {
        self.to.map_or(Lack::Unloaded, |(_, lack)| lack)
    }

    /// Whether rows are picked, and the process has nothing in any of them.
    pub fn lacks_picked(&self) -> bool {
        !self.list.selection.is_empty() && self.own.selection.is_empty()
    }

    /// The row at a place.
    pub fn at(&self, place: usize) -> Option<Line> {
        let row = self.list.row_at(place)?;
        let node = match self.to {
            None => Some(row),
            Some((to, _)) => to.node(row),
        };
        let line = Line { row, node, depth: 0, expanded: false, methods: 1 };
        match self.list.shape {
            Shape::List => Some(line),
            Shape::Tree => {
                let row = self.list.tree.rows().get(place)?;
                let whole = self.is_beside() && matches!(node, Some(Node::Domain(_)));
                let methods = if whole { self.own.list.shown() as u32 } else { row.methods };
                Some(Line { depth: row.depth, expanded: row.expanded, methods, ..line })
            }
        }
    }
}

impl Model {
    /// Whether several are shown side by side.
    pub fn is_beside(&self) -> bool {
        self.fleet().is_some() && !self.is_merged()
    }

    /// Whose rows are on screen: of several side by side, those of all of them merged.
    fn listed(&self) -> Option<ConnectionId> {
        if self.is_beside() { Some(FLEET) } else { self.current }
    }

    /// The connection whose rows are on screen: filter, order and selection are of its list.
    pub fn list(&self) -> Option<&Connection> {
        self.connections.get(&self.listed()?)
    }

    /// Changes the rows on screen, or what is picked of them. Side by side each process follows at once, so that the next key
    /// meets what was picked.
    pub fn change_list(&mut self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.listed().and_then(|id| self.connections.get_mut(&id)) {
            change(connection);
        }
        self.line_up();
    }

    /// The rows on screen as that process has them.
    pub fn lines(&self, id: ConnectionId) -> Option<Lines<'_>> {
        let own = self.connections.get(&id)?;
        if !self.is_beside() {
            return Some(Lines::of(own));
        }
        let to = self.fleet()?.column(own)?;
        Some(Lines { own, list: self.list()?, keys: self.current == Some(id), to: Some(to) })
    }

    /// Side by side, brings those in sight in line with the rows that they have in common.
    pub(super) fn line_up(&mut self) {
        if !self.is_beside() {
            return;
        }
        let Some(fleet) = &mut self.several.fleet else { return };
        let Some(all) = self.connections.remove(&FLEET) else { return };
        let in_sight = self.several.in_sight.iter().copied();
        for id in in_sight.chain(self.current) {
            if let Some(theirs) = self.connections.get_mut(&id) {
                fleet.line_up(&all, theirs);
            }
        }
        self.connections.insert(FLEET, all);
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;

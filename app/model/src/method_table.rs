//! Methods as the window lists them: the catalogue, the rows with numbers, and the table and the tree over both, with
//! filter, order, selection and pending changes. One process and a fleet each own a [`MethodTable`]; it knows nothing
//! about sessions and agents.

mod changes;
mod group_cache;
mod knobs;
mod sharing;
mod targets;
mod unavailable;

pub use changes::NO_BODIES;
pub use knobs::{Dial, GroupDial};
pub use sharing::Sharing;
pub use targets::Targets;

use super::catalogue::Catalogue;
use super::catalogue::module_removal::Renumbering;
use super::changes::ChangeHistory;
use super::ids::{Node, Ticket};
use super::list::{Filter, List, ListRows, Sort};
use super::live::Live;
use super::selection::{Selection, SelectionMode};
use super::tree::{Tree, TreeRows};
use super::update::Now;
use group_cache::{CopyCache, TotalsCache};
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use unavailable::Unavailable;

/// The form in which the methods are on screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A flat table.
    #[default]
    List,
    /// A tree.
    Tree,
}

/// Data that arrived in this frame and leaves no time for ordering rows. Only a fleet has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// None: rows are filtered and ordered.
    #[default]
    None,
    /// Numbers: the tree keeps its order.
    Numbers,
    /// Modules, placed behind all others: table and tree stay as they are.
    Modules,
}

/// Methods, their numbers, and how they are shown.
#[derive(Debug, Default)]
pub struct MethodTable {
    /// The modules, types and methods that are loaded.
    pub catalogue: Catalogue,
    /// The agents' rows.
    pub live: Live,
    /// The table.
    pub list: List,
    /// The tree.
    pub tree: Tree,
    /// Which of the two is shown.
    pub shape: Shape,
    /// The selected methods and groups.
    pub selection: Selection,
    /// Pending changes, and the history for undo.
    pub changes: ChangeHistory,
    /// Grows when methods are renumbered, which voids numbers held elsewhere.
    pub numbering: u64,
    unavailable: Unavailable,
    totals: TotalsCache,
    copies: CopyCache,
}

impl MethodTable {
    /// Brings changes, table and tree up to date. Call it once a frame, after the last update.
    pub fn refresh(&mut self, arrivals: Arrivals, now: Now) {
        self.refresh_dials(now);
        if arrivals == Arrivals::Modules {
            return;
        }
        self.list.allow_partial_order(self.selection.is_empty() && self.selection.focus().is_none());
        if self.shape == Shape::List {
            self.list.refresh(&self.catalogue, &self.live);
        } else {
            self.list.refresh_filter(&self.catalogue, &self.live);
            let (visible, edition) = (self.list.visible(), self.list.edition());
            let order = (self.list.sort(), self.list.keeps_order() || arrivals == Arrivals::Numbers);
            self.tree.arrange(order, (visible, edition), &self.catalogue, &self.live, now.mono);
            self.tree.refresh(&self.catalogue, visible, edition, &self.list.filter().text);
        }
    }

    /// Does as much of [`MethodTable::refresh`] as changes need. Enough for a table that is not on screen.
    pub fn refresh_dials(&mut self, now: Now) {
        self.changes.forget_overdue(now);
        self.unavailable.refresh(&self.catalogue, &self.live);
    }

    /// Forgets modules and renumbers everything that names methods by number. Returns how numbers moved, or None if
    /// none did.
    pub fn forget(&mut self, modules: &[ModuleKey]) -> Option<Renumbering> {
        let to = self.catalogue.forget(modules)?;
        self.selection.renumber(&to);
        self.tree.renumber(&to);
        self.changes.renumber(&to);
        self.live.renumber(&to, self.catalogue.len());
        self.numbering += 1;
        Some(to)
    }

    /// Sets the filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.list.set_filter(filter);
    }

    /// Sets the order of the table, and of siblings in the tree.
    pub fn set_sort(&mut self, sort: Sort) {
        self.list.set_sort(sort);
    }

    /// Whether the order is frozen and the numbers have changed since.
    pub fn is_order_behind(&self) -> bool {
        match self.shape {
            Shape::List => self.list.is_behind(&self.live),
            Shape::Tree => self.list.keeps_order() && self.tree.is_behind(&self.live),
        }
    }

    /// Orders the rows by the present numbers even though the order is frozen.
    pub fn sort_again(&mut self) {
        self.list.sort_again();
        self.tree.sort_again();
    }

    /// Determines the row at every place of the table, before something is done with all of them.
    pub fn complete(&mut self) {
        self.list.complete(&self.catalogue);
    }

    /// Applies a click on a row.
    pub fn click(&mut self, node: Node, mode: SelectionMode) {
        self.complete();
        match self.shape {
            Shape::List => {
                if mode == SelectionMode::Toggle {
                    self.selection.dissolve_groups(&self.catalogue);
                }
                self.selection.click(&list_rows(&self.list, &self.catalogue), node, mode);
            }
            Shape::Tree => self.selection.click(&tree_rows(&self.tree, &self.catalogue), node, mode),
        }
    }

    /// Moves the focus by a number of rows.
    pub fn step(&mut self, by: isize, extend: bool) {
        self.complete();
        match self.shape {
            Shape::List => self.selection.step(&list_rows(&self.list, &self.catalogue), by, extend),
            Shape::Tree => self.selection.step(&tree_rows(&self.tree, &self.catalogue), by, extend),
        }
    }

    /// Moves the focus to a place; past the end is the last row.
    pub fn go(&mut self, place: usize, extend: bool) {
        self.complete();
        match self.shape {
            Shape::List => self.selection.go(&list_rows(&self.list, &self.catalogue), place, extend),
            Shape::Tree => self.selection.go(&tree_rows(&self.tree, &self.catalogue), place, extend),
        }
    }

    /// Selects every row shown.
    pub fn select_all(&mut self) {
        self.complete();
        match self.shape {
            Shape::List => self.selection.select_all(&list_rows(&self.list, &self.catalogue)),
            Shape::Tree => self.selection.select_all(&tree_rows(&self.tree, &self.catalogue)),
        }
    }

    /// The place of the focus among the rows shown.
    pub fn focus_place(&self) -> Option<usize> {
        match self.shape {
            Shape::List => self.selection.focus_place(&list_rows(&self.list, &self.catalogue)),
            Shape::Tree => self.selection.focus_place(&tree_rows(&self.tree, &self.catalogue)),
        }
    }

    /// The number of rows shown.
    pub fn row_count(&self) -> usize {
        match self.shape {
            Shape::List => self.list.len(),
            Shape::Tree => self.tree.rows().len(),
        }
    }

    /// The row at a place.
    pub fn row_at(&self, place: usize) -> Option<Node> {
        match self.shape {
            Shape::List => self.list.at(place).map(Node::Method),
            Shape::Tree => self.tree.rows().get(place).map(|row| row.node),
        }
    }

    /// Whether the user wants any dial on.
    pub fn has_wanted_dials(&self) -> bool {
        let on = Level::ALL.into_iter().filter(|level| *level != Level::Off);
        on.filter_map(|level| self.live.wanted(level)).any(|methods| methods.count() > 0)
    }
}

fn list_rows<'a>(list: &'a List, catalogue: &'a Catalogue) -> ListRows<'a> {
    ListRows { list, catalogue }
}

fn tree_rows<'a>(tree: &'a Tree, catalogue: &'a Catalogue) -> TreeRows<'a> {
    TreeRows { tree, catalogue }
}

/// Numbers requests: the high half names the sender, so that no two senders share a number.
#[derive(Debug)]
pub struct Tickets {
    sender: u32,
    last: u32,
}

impl Tickets {
    /// The tickets of one sender: a connection's number, or `u32::MAX` for the fleet.
    pub fn of(sender: u32) -> Tickets {
        Tickets { sender, last: 0 }
    }

    /// Returns a new ticket.
    pub fn issue(&mut self) -> Ticket {
        self.last += 1;
        Ticket(u64::from(self.sender) << 32 | u64::from(self.last))
    }
}

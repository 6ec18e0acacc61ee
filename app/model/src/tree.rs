//! The catalogue as a flattened tree: domain → module → namespace → type → method. Contains rows in expanded
//! groups with methods that pass the filter. If only one AppDomain of a process has modules, it has no row.

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::catalogue::module_removal::Renumbering;
use super::ids::{EVERY_DOMAIN, MethodIx, ModuleIx, NamespaceIx, Node, TypeIx};
use super::list::Sort;
use super::live::Live;
use super::query::fold;
use super::selection::OrderedRows;
use super::sort_snapshot::SortSnapshot;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// A filter with at most this many matches expands everything, so that the user sees them.
pub const REVEALED: usize = 1_000;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Its node.
    pub node: Node,
    /// Number of groups above it.
    pub depth: u8,
    /// Whether its contents are shown; never for methods.
    pub expanded: bool,
    /// Number of its methods that pass the filter.
    pub methods: u32,
}

/// The tree.
#[derive(Debug, Default)]
pub struct Tree {
    expanded: HashSet<Node>,
    /// Groups that the user collapsed during a search that expands them; for this search only.
    closed: HashSet<Node>,
    rows: Vec<TreeRow>,
    standing: SortSnapshot,
    /// The modules of each domain by name.
    modules: Vec<(u32, Vec<u32>)>,
    modules_at: Option<u64>,
    settled_at: Option<(u64, u64, u64)>,
    searched: Option<String>,
    revealing: bool,
    edition: u64,
}

impl Tree {
    /// Expands or collapses a group.
    pub fn set_expanded(&mut self, node: Node, expanded: bool) {
        if matches!(node, Node::Method(_)) {
            return;
        }
        if expanded {
            self.expanded.insert(node);
            self.closed.remove(&node);
        } else {
            self.expanded.remove(&node);
            self.closed.insert(node);
        }
        self.edition += 1;
    }

    /// Returns the expanded groups, not including those that a search expands.
    pub fn unfolded(&self) -> &HashSet<Node> {
        &self.expanded
    }

    /// Toggles a group.
    pub fn toggle(&mut self, node: Node) {
        let expanded = self.is_expanded(node);
        self.set_expanded(node, !expanded);
    }

    /// Returns whether a group is expanded.
    pub fn is_expanded(&self, node: Node) -> bool {
        if self.revealing { !self.closed.contains(&node) } else { self.expanded.contains(&node) }
    }

    /// Expands every group above a row, so that it is shown.
    pub fn reveal(&mut self, node: Node, catalogue: &Catalogue) {
        let mut above = catalogue.parent(node);
        while let Some(group) = above {
            self.set_expanded(group, true);
            above = catalogue.parent(group);
        }
    }

    /// Renumbers groups.
    pub fn renumber(&mut self, to: &Renumbering) {
        for groups in [&mut self.expanded, &mut self.closed] {
            *groups = groups.iter().filter_map(|group| to.node(*group)).collect();
        }
        self.rows.retain_mut(|row| to.node(row.node).map(|now| row.node = now).is_some());
        self.edition += 1;
    }

    /// Collapses everything.
    pub fn close_all(&mut self) {
        self.expanded.clear();
        self.edition += 1;
    }

    /// Sorts siblings; while `frozen`, ignores changed numbers. `refresh` shows the result. `visible` and its
    /// edition are the same as for `refresh`; `at` is a monotonic time.
    pub fn arrange(
        &mut self,
        order: (Sort, bool),
        visible: (&BitSet, u64),
        catalogue: &Catalogue,
        live: &Live,
        at: Duration,
    ) {
        if self.standing.refresh(order, visible, catalogue, live, at) {
            self.edition += 1;
        }
    }

    /// Returns whether siblings are sorted by earlier numbers.
    pub fn is_behind(&self, live: &Live) -> bool {
        self.standing.is_behind(live)
    }

    /// Makes the next `arrange` use the current numbers, frozen or not.
    pub fn sort_again(&mut self) {
        self.standing.forget();
    }

    /// Returns when `arrange` will use changed numbers; `None` if none changed.
    pub fn due(&self) -> Option<Duration> {
        self.standing.due()
    }

    /// Updates the rows to the filter's matches; returns whether they changed. `visible_edition` grows when
    /// `visible` changes; `search` is the filter's text.
    pub fn refresh(
        &mut self,
        catalogue: &Catalogue,
        visible: &BitSet,
        visible_edition: u64,
        search: &str,
    ) -> bool {
        let now = (catalogue.edition(), visible_edition, self.edition);
        if self.settled_at == Some(now) {
            return false;
        }
        if self.searched.as_deref() != Some(search) {
            self.closed.clear();
            self.searched = Some(search.to_owned());
        }
        self.revealing = !search.trim().is_empty() && visible.count() <= REVEALED;
        self.order_modules(catalogue);
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        let is_alone = match self.modules.as_slice() {
            [(EVERY_DOMAIN, _)] => !catalogue.spans_processes() && catalogue.domains().len() == 1,
            [_] => !catalogue.spans_processes(),
            _ => false,
        };
        if is_alone && catalogue.is_complete() {
            // Its contents stay in view when another AppDomain loads.
            self.expanded.extend(self.modules.iter().map(|(domain, _)| Node::Domain(*domain)));
        }
        Flattening { tree: self, catalogue, visible, rows: &mut rows, without_domains: is_alone }.domains();
        self.rows = rows;
        self.settled_at = Some(now);
        true
    }

    /// Sorts modules by name, the program's own before those of frameworks.
    fn order_modules(&mut self, catalogue: &Catalogue) {
        if self.modules_at == Some(catalogue.edition()) {
            return;
        }
        self.modules_at = Some(catalogue.edition());
        let mut modules: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for index in 0..catalogue.modules().len() as u32 {
            modules.entry(catalogue.tree_domain(ModuleIx(index))).or_default().push(index);
        }
        self.modules = modules.into_iter().collect();
        for (_, modules) in &mut self.modules {
            modules.sort_by_cached_key(|index| {
                let module = catalogue.module(ModuleIx(*index));
                module.map(|module| (module.framework, fold(&module.name), *index))
            });
        }
    }

    /// Returns the group above a node that has a row, if there is one.
    pub fn parent_row(&self, node: Node, catalogue: &Catalogue) -> Option<Node> {
        catalogue.parent(node).filter(|above| self.rows.iter().any(|row| row.node == *above))
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[TreeRow] {
        &self.rows
    }
}

struct Flattening<'a> {
    tree: &'a Tree,
    catalogue: &'a Catalogue,
    visible: &'a BitSet,
    rows: &'a mut Vec<TreeRow>,
    without_domains: bool,
}

impl Flattening<'_> {
    fn domains(&mut self) {
        let domains = self.tree.modules.iter();
        let standing = &self.tree.standing;
        for (domain, modules) in standing.in_order(domains, |(domain, _)| Node::Domain(*domain)) {
            let node = Node::Domain(*domain);
            let methods = modules
                .iter()
                .filter_map(|index| self.catalogue.module(ModuleIx(*index)))
                .map(|module| self.visible.count_in(module.methods.clone()))
                .sum();
            if self.without_domains || self.group(node, 0, methods) {
                for module in self.modules(modules) {
                    self.module(module);
                }
            }
        }
    }

    fn modules(&self, modules: &[u32]) -> Vec<ModuleIx> {
        let standing = &self.tree.standing;
        let mut modules = standing.in_order(modules.iter().map(|index| ModuleIx(*index)), Node::Module);
        if standing.is_by_name() {
            // Frameworks come last in either direction.
            modules.sort_by_key(|module| self.catalogue.module(*module).is_some_and(|one| one.framework));
        }
        modules
    }

    fn module(&mut self, module: ModuleIx) {
        let Some(one) = self.catalogue.module(module) else { return };
        let methods = self.visible.count_in(one.methods.clone());
        if self.group(Node::Module(module), 1, methods) {
            let namespaces = one.namespaces.clone().map(NamespaceIx);
            for namespace in self.tree.standing.in_order(namespaces, Node::Namespace) {
                self.namespace(namespace);
            }
        }
    }

    fn namespace(&mut self, namespace: NamespaceIx) {
        let methods = self.visible.count_in(self.catalogue.methods_of_namespace(namespace));
        if self.group(Node::Namespace(namespace), 2, methods) {
            let types = self.catalogue.types_of_namespace(namespace).map(TypeIx);
            for owner in self.tree.standing.in_order(types, Node::Type) {
                self.one_type(owner);
            }
        }
    }

    fn one_type(&mut self, owner: TypeIx) {
        let range = self.catalogue.methods_of_type(owner);
        let methods = self.visible.count_in(range.clone());
        if self.group(Node::Type(owner), 3, methods) {
            let shown = self.visible.iter_in(range).map(MethodIx);
            let methods = self.tree.standing.in_order(shown, Node::Method);
            let depth = self.depth(4);
            let row = |method| TreeRow { node: Node::Method(method), depth, expanded: false, methods: 1 };
            self.rows.extend(methods.into_iter().map(row));
        }
    }

    /// Returns a row's depth below the rows of domains, if there are any.
    fn depth(&self, depth: u8) -> u8 {
        depth - u8::from(self.without_domains)
    }

    /// Adds a group's row if it has any methods; returns whether to continue with its contents.
    fn group(&mut self, node: Node, depth: u8, methods: u32) -> bool {
        let expanded = methods > 0 && self.tree.is_expanded(node);
        if methods > 0 {
            let depth = self.depth(depth);
            self.rows.push(TreeRow { node, depth, expanded, methods });
        }
        expanded
    }
}

/// The tree as rows for a selection.
#[derive(Clone, Copy, Debug)]
pub struct TreeRows<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Its catalogue.
    pub catalogue: &'a Catalogue,
}

impl OrderedRows for TreeRows<'_> {
    fn len(&self) -> usize {
        self.tree.rows.len()
    }

    fn at(&self, place: usize) -> Option<Node> {
        self.tree.rows.get(place).map(|row| row.node)
    }

    fn place_near(&self, node: Node) -> usize {
        // The row itself, or the nearest visible group above it.
        let mut sought = Some(node);
        while let Some(one) = sought {
            if let Some(place) = self.tree.rows.iter().position(|row| row.node == one) {
                return place;
            }
            sought = self.catalogue.parent(one);
        }
        0
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

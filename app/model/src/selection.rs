//! The selection: methods and groups by identity, not by position, so that filtering, sorting and updates do
//! not affect it.

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::catalogue::module_removal::Renumbering;
use super::ids::Node;
use super::method_set::MethodSet;
use std::collections::BTreeSet;

/// Rows in an order: the table or the tree.
pub trait OrderedRows {
    /// Returns the number of rows.
    fn len(&self) -> usize;
    /// Returns the row at a place.
    fn at(&self, place: usize) -> Option<Node>;
    /// Returns the place of a row, or the one it would have if it were shown.
    fn place_near(&self, node: Node) -> usize;
    /// Returns all rows, if they are only methods.
    fn methods(&self) -> Option<&BitSet> {
        None
    }
    /// Returns whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How a click or a key changes the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionMode {
    /// Selects that row alone.
    Replace,
    /// Toggles that row (Ctrl).
    Toggle,
    /// Selects everything from the anchor to that row (Shift).
    Extend,
}

/// The selection.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    methods: BitSet,
    groups: BTreeSet<Node>,
    focus: Option<Node>,
    anchor: Option<Node>,
    edition: u64,
}

impl Selection {
    /// Handles a click on a row, or an equivalent key.
    pub fn click(&mut self, rows: &impl OrderedRows, node: Node, mode: SelectionMode) {
        self.edition += 1;
        match mode {
            SelectionMode::Replace => {
                self.clear_marks();
                self.mark(node, true);
                self.anchor = Some(node);
            }
            SelectionMode::Toggle => {
                let on = !self.contains(node);
                self.mark(node, on);
                self.anchor = Some(node);
            }
            SelectionMode::Extend => {
                let anchor = *self.anchor.get_or_insert(node);
                let (from, to) = (rows.place_near(anchor), rows.place_near(node));
                self.clear_marks();
                for place in from.min(to)..=from.max(to) {
                    if let Some(one) = rows.at(place) {
                        self.mark(one, true);
                    }
                }
            }
        }
        self.focus = Some(node);
    }

    /// Moves the focus by a number of rows and selects there (with `extend`: up to there). Without a focus,
    /// starts at the first row, or at the last for a move upwards.
    pub fn step(&mut self, rows: &impl OrderedRows, by: isize, extend: bool) {
        let Some(last) = rows.len().checked_sub(1) else { return };
        let place = match self.focus {
            None if by >= 0 => 0,
            None => last,
            Some(node) => {
                let place = rows.place_near(node);
                // The focused row is hidden: the row in its place is the first step.
                let hidden = rows.at(place) != Some(node);
                let by = if hidden && by > 0 { by - 1 } else { by };
                place.saturating_add_signed(by).min(last)
            }
        };
        self.go(rows, place, extend);
    }

    /// Moves the focus to a place and selects there.
    pub fn go(&mut self, rows: &impl OrderedRows, place: usize, extend: bool) {
        let Some(last) = rows.len().checked_sub(1) else { return };
        if let Some(node) = rows.at(place.min(last)) {
            self.click(rows, node, if extend { SelectionMode::Extend } else { SelectionMode::Replace });
        }
    }

    /// Selects every row.
    pub fn select_all(&mut self, rows: &impl OrderedRows) {
        self.clear_marks();
        match rows.methods() {
            Some(methods) => self.methods.clone_from(methods),
            None => (0..rows.len()).filter_map(|place| rows.at(place)).for_each(|node| self.mark(node, true)),
        }
        if self.focus.is_none() {
            self.focus = rows.at(0);
        }
        self.anchor = rows.at(0);
    }

    /// Clears the selection but keeps the focus.
    pub fn clear(&mut self) {
        self.clear_marks();
        self.anchor = None;
    }

    /// Renumbers methods.
    pub fn renumber(&mut self, to: &Renumbering) {
        self.edition += 1;
        let methods = to.methods(&MethodSet::from_bits(&self.methods));
        self.methods = BitSet::default();
        methods.ranges().for_each(|range| {
            self.methods.grow(range.end as usize);
            self.methods.set_range(range, true);
        });
        self.groups = self.groups.iter().filter_map(|group| to.node(*group)).collect();
        self.focus = self.focus.and_then(|node| to.node(node));
        self.anchor = self.anchor.and_then(|node| to.node(node));
    }

    /// Adds another selection; takes its focus if this one has none.
    pub fn unite(&mut self, other: &Selection) {
        self.edition += 1;
        self.methods.grow(other.methods.len());
        self.methods.unite(&other.methods);
        self.groups.extend(&other.groups);
        self.focus = self.focus.or(other.focus);
        self.anchor = self.anchor.or(other.anchor);
    }

    /// Forgets everything, including the focus.
    pub fn reset(&mut self) {
        *self = Selection { edition: self.edition + 1, ..Selection::default() };
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Returns whether a row is selected.
    pub fn contains(&self, node: Node) -> bool {
        match node {
            Node::Method(method) => self.methods.get(method.0),
            group => self.groups.contains(&group),
        }
    }

    /// Returns the selected group, if nothing else is selected.
    pub fn only_group(&self) -> Option<Node> {
        self.groups.first().copied().filter(|_| self.len() == 1)
    }

    /// Returns the focused row, from which keys act.
    pub fn focus(&self) -> Option<Node> {
        self.focus
    }

    /// Returns the focus's place in `rows`; `None` if it is not shown.
    pub fn focus_place(&self, rows: &impl OrderedRows) -> Option<usize> {
        let node = self.focus?;
        let place = rows.place_near(node);
        (rows.at(place) == Some(node)).then_some(place)
    }

    /// Returns the number of selected rows; a group counts as one.
    pub fn len(&self) -> usize {
        self.methods.count() + self.groups.len()
    }

    /// Returns whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the methods that a change of the selection concerns: selected methods and those in selected
    /// groups, as far as they are visible. Nobody should change methods they cannot see.
    pub fn targets(&self, catalogue: &Catalogue, visible: &BitSet) -> MethodSet {
        if self.is_empty() {
            return MethodSet::default();
        }
        let mut targets = self.methods.clone();
        targets.grow(catalogue.len());
        for range in self.groups.iter().flat_map(|group| catalogue.methods_below(*group)) {
            targets.set_range(range, true);
        }
        targets.intersect(visible);
        MethodSet::from_bits(&targets)
    }

    /// Returns the methods in the selected groups.
    pub fn below_groups(&self, catalogue: &Catalogue) -> MethodSet {
        let mut below = MethodSet::default();
        self.groups
            .iter()
            .flat_map(|group| catalogue.methods_below(*group))
            .for_each(|range| below.insert(range));
        below
    }

    /// Replaces the selected groups with their methods.
    pub fn dissolve_groups(&mut self, catalogue: &Catalogue) {
        self.edition += 1;
        for range in self.below_groups(catalogue).ranges() {
            self.methods.grow(range.end as usize);
            self.methods.set_range(range, true);
        }
        self.groups.clear();
    }

    fn mark(&mut self, node: Node, on: bool) {
        match node {
            Node::Method(method) => {
                self.methods.grow(method.0 as usize + 1);
                self.methods.set(method.0, on);
            }
            group if on => drop(self.groups.insert(group)),
            group => drop(self.groups.remove(&group)),
        }
    }

    fn clear_marks(&mut self) {
        self.edition += 1;
        self.methods.set_range(0..u32::MAX, false);
        self.groups.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MethodIx;

    /// Rows that are methods in a given order.
    struct PlainRows(Vec<u32>);

    impl OrderedRows for PlainRows {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn at(&self, place: usize) -> Option<Node> {
            self.0.get(place).map(|method| Node::Method(MethodIx(*method)))
        }
        fn place_near(&self, node: Node) -> usize {
            let Node::Method(method) = node else { return 0 };
            self.0.iter().position(|one| *one >= method.0).unwrap_or(self.0.len())
        }
    }

    fn method(index: u32) -> Node {
        Node::Method(MethodIx(index))
    }

    fn selected(selection: &Selection) -> Vec<u32> {
        selection.methods.iter_in(0..1_000).collect()
    }

    #[test]
    fn clicks_replace_toggle_and_extend() {
        let rows = PlainRows((0..10).collect());
        let mut selection = Selection::default();
        selection.click(&rows, method(3), SelectionMode::Replace);
        selection.click(&rows, method(5), SelectionMode::Toggle);
        assert_eq!(selected(&selection), [3, 5]);
        selection.click(&rows, method(5), SelectionMode::Toggle);
        assert_eq!(selected(&selection), [3]);
        selection.click(&rows, method(7), SelectionMode::Extend);
        assert_eq!(selected(&selection), [5, 6, 7], "from the row toggled last");
        selection.click(&rows, method(2), SelectionMode::Extend);
        assert_eq!(selected(&selection), [2, 3, 4, 5], "the anchor stays");
        assert_eq!((selection.focus(), selection.len()), (Some(method(2)), 4));
        selection.select_all(&rows);
        assert_eq!(selection.len(), 10);
        selection.clear();
        assert!(selection.is_empty() && selection.focus() == Some(method(2)));
    }

    #[test]
    fn steps_stay_inside_and_begin_at_an_end() {
        let rows = PlainRows(vec![2, 4, 6]);
        let mut selection = Selection::default();
        selection.step(&rows, -1, false);
        assert_eq!(selection.focus(), Some(method(6)));
        selection.reset();
        for (by, expected) in [(1, 2), (1, 4), (9, 6), (1, 6), (-1, 4), (-9, 2)] {
            selection.step(&rows, by, false);
            assert_eq!((selection.focus(), selected(&selection)), (Some(method(expected)), vec![expected]));
        }
        selection.step(&rows, 2, true);
        assert_eq!(selected(&selection), [2, 4, 6]);
        selection.step(&PlainRows(vec![]), 1, false);
        assert_eq!(selection.focus(), Some(method(6)), "no rows, no move");
    }

    #[test]
    fn hidden_rows_stay_selected_and_steps_continue() {
        let mut selection = Selection::default();
        selection.click(&PlainRows((0..10).collect()), method(5), SelectionMode::Replace);
        let filtered = PlainRows(vec![1, 3, 7, 9]);
        assert_eq!(selection.focus_place(&filtered), None);
        assert!(selection.contains(method(5)));
        assert_eq!(selection.focus_place(&PlainRows(vec![1, 5])), Some(1));
        selection.step(&filtered, 1, false);
        assert_eq!(selection.focus(), Some(method(7)));
        selection.click(&filtered, method(5), SelectionMode::Replace);
        selection.step(&filtered, -1, false);
        assert_eq!(selection.focus(), Some(method(3)));
    }
}

//! What is selected: methods and groups by what they are, not by where they stand, so that filtering, sorting and
//! updates change nothing about it.

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::catalogue::forget::Renumbering;
use super::ids::Node;
use super::methodset::MethodSet;
use std::collections::BTreeSet;

/// Rows in an order: the table or the tree.
pub trait Rows {
    /// Rows there are.
    fn len(&self) -> usize;
    /// The row at a place.
    fn at(&self, place: usize) -> Option<Node>;
    /// Where a row stands, or would stand if it were shown.
    fn place_near(&self, node: Node) -> usize;
    /// All of them, where they are methods only.
    fn methods(&self) -> Option<&Bits> {
        None
    }
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How a click or a key changes the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// That row alone.
    Replace,
    /// That row in or out (Ctrl).
    Toggle,
    /// Everything from the anchor to that row (Shift).
    Extend,
}

/// What is selected.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    methods: Bits,
    groups: BTreeSet<Node>,
    focus: Option<Node>,
    anchor: Option<Node>,
    edition: u64,
}

impl Selection {
    /// A click on a row, or the like.
    pub fn click(&mut self, rows: &impl Rows, node: Node, mode: Mode) {
        self.edition += 1;
        match mode {
            Mode::Replace => {
                self.clear_marks();
                self.mark(node, true);
                self.anchor = Some(node);
            }
            Mode::Toggle => {
                let on = !self.contains(node);
                self.mark(node, on);
                self.anchor = Some(node);
            }
            Mode::Extend => {
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

    /// Moves the focus by so many rows and selects there (with `extend`: up to there). Without a focus, the first
    /// row, or the last for a move upwards.
    pub fn step(&mut self, rows: &impl Rows, by: isize, extend: bool) {
        let Some(last) = rows.len().checked_sub(1) else { return };
        let place = match self.focus {
            None if by >= 0 => 0,
            None => last,
            Some(node) => {
                let place = rows.place_near(node);
                // Gone from sight: the row that stands in its place is the first step.
                let hidden = rows.at(place) != Some(node);
                let by = if hidden && by > 0 { by - 1 } else { by };
                place.saturating_add_signed(by).min(last)
            }
        };
        self.go(rows, place, extend);
    }

    /// Moves the focus to a place and selects there.
    pub fn go(&mut self, rows: &impl Rows, place: usize, extend: bool) {
        let Some(last) = rows.len().checked_sub(1) else { return };
        if let Some(node) = rows.at(place.min(last)) {
            self.click(rows, node, if extend { Mode::Extend } else { Mode::Replace });
        }
    }

    /// Selects every row.
    pub fn select_all(&mut self, rows: &impl Rows) {
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

    /// Selects nothing; the focus stays.
    pub fn clear(&mut self) {
        self.clear_marks();
        self.anchor = None;
    }

    /// Follows methods that were renumbered.
    pub fn renumber(&mut self, to: &Renumbering) {
        self.edition += 1;
        let methods = to.methods(&MethodSet::from_bits(&self.methods));
        self.methods = Bits::default();
        methods.ranges().for_each(|range| {
            self.methods.grow(range.end as usize);
            self.methods.set_range(range, true);
        });
        self.groups = self.groups.iter().filter_map(|group| to.node(*group)).collect();
        self.focus = self.focus.and_then(|node| to.node(node));
        self.anchor = self.anchor.and_then(|node| to.node(node));
    }

    /// Selects what another does besides; where nothing was looked at, its focus is taken over.
    pub fn unite(&mut self, other: &Selection) {
        self.edition += 1;
        self.methods.grow(other.methods.len());
        self.methods.unite(&other.methods);
        self.groups.extend(&other.groups);
        self.focus = self.focus.or(other.focus);
        self.anchor = self.anchor.or(other.anchor);
    }

    /// Forgets everything, the focus too.
    pub fn reset(&mut self) {
        *self = Selection { edition: self.edition + 1, ..Selection::default() };
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Whether a row is selected.
    pub fn contains(&self, node: Node) -> bool {
        match node {
            Node::Method(method) => self.methods.get(method.0),
            group => self.groups.contains(&group),
        }
    }

    /// The group that is selected, if it is and nothing else.
    pub fn only_group(&self) -> Option<Node> {
        self.groups.first().copied().filter(|_| self.len() == 1)
    }

    /// The row that keys act from.
    pub fn focus(&self) -> Option<Node> {
        self.focus
    }

    /// Where the focus stands in `rows`; None when it is not shown.
    pub fn focus_place(&self, rows: &impl Rows) -> Option<usize> {
        let node = self.focus?;
        let place = rows.place_near(node);
        (rows.at(place) == Some(node)).then_some(place)
    }

    /// Rows selected, groups counted as one each.
    pub fn len(&self) -> usize {
        self.methods.count() + self.groups.len()
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The methods that a turn of the selection concerns: those selected and those of the groups selected, as far as
    /// they are visible: nobody turns what he does not see.
    pub fn targets(&self, catalogue: &Catalogue, visible: &Bits) -> MethodSet {
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

    /// The methods that the groups selected stand for.
    pub fn below_groups(&self, catalogue: &Catalogue) -> MethodSet {
        let mut below = MethodSet::default();
        self.groups
            .iter()
            .flat_map(|group| catalogue.methods_below(*group))
            .for_each(|range| below.insert(range));
        below
    }

    /// Selects the methods themselves in place of the groups that stand for them.
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
    use crate::model::ids::MethodIx;

    /// Rows that are methods in a given order.
    struct Plain(Vec<u32>);

    impl Rows for Plain {
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
        let rows = Plain((0..10).collect());
        let mut selection = Selection::default();
        selection.click(&rows, method(3), Mode::Replace);
        selection.click(&rows, method(5), Mode::Toggle);
        assert_eq!(selected(&selection), [3, 5]);
        selection.click(&rows, method(5), Mode::Toggle);
        assert_eq!(selected(&selection), [3]);
        selection.click(&rows, method(7), Mode::Extend);
        assert_eq!(selected(&selection), [5, 6, 7], "from the row toggled last");
        selection.click(&rows, method(2), Mode::Extend);
        assert_eq!(selected(&selection), [2, 3, 4, 5], "the anchor stays");
        assert_eq!((selection.focus(), selection.len()), (Some(method(2)), 4));
        selection.select_all(&rows);
        assert_eq!(selection.len(), 10);
        selection.clear();
        assert!(selection.is_empty() && selection.focus() == Some(method(2)));
    }

    #[test]
    fn steps_stay_inside_and_begin_at_an_end() {
        let rows = Plain(vec![2, 4, 6]);
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
        selection.step(&Plain(vec![]), 1, false);
        assert_eq!(selection.focus(), Some(method(6)), "no rows, no move");
    }

    #[test]
    fn what_is_hidden_stays_selected_and_steps_go_on_from_its_place() {
        let mut selection = Selection::default();
        selection.click(&Plain((0..10).collect()), method(5), Mode::Replace);
        let filtered = Plain(vec![1, 3, 7, 9]);
        assert_eq!(selection.focus_place(&filtered), None);
        assert!(selection.contains(method(5)));
        assert_eq!(selection.focus_place(&Plain(vec![1, 5])), Some(1));
        selection.step(&filtered, 1, false);
        assert_eq!(selection.focus(), Some(method(7)));
        selection.click(&filtered, method(5), Mode::Replace);
        selection.step(&filtered, -1, false);
        assert_eq!(selection.focus(), Some(method(3)));
    }
}

//! The flat table: which methods it shows, and in which order. Only methods in the agent's ledger have
//! numbers, so sorting by a number sorts those and leaves the rest, perhaps a million, in name order.

mod generated;
#[cfg(test)]
mod generated_tests;
mod membership;
mod pinning;
mod pins;
pub mod renumbering;
mod view_options;

pub use view_options::{Filter, Sort, SortKey};

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::catalogue::search::Searcher;
use super::ids::{MethodIx, Node};
use super::live::Live;
use super::name_order::NameOrderedSet;
use super::query::Query;
use super::ranking::{Ranking, numbers};
use super::selection::OrderedRows;
use membership::{methods_turned_off, methods_with_row, row_count, rowless_methods};
use pins::Pins;

/// The table.
#[derive(Debug, Default)]
pub struct List {
    filter: Filter,
    query: Query,
    sort: Sort,
    frozen: bool,
    still: bool,
    searcher: Searcher,
    /// The methods with the filter's words.
    matching: BitSet,
    /// The methods that pass the whole filter.
    visible: BitSet,
    count: usize,
    /// Methods hidden because their dials are off again.
    off_again: usize,
    /// Methods hidden because the compiler wrote them.
    generated: usize,
    /// Some methods whose dials are off are still shown, because rows keep their places or the method is
    /// selected.
    exempted_at: Option<(bool, Option<MethodIx>)>,
    /// The selected method.
    selected: Option<MethodIx>,
    /// The number of rows without any filter.
    all: usize,
    ranking: Ranking,
    /// Visible methods with a row, in order; empty if sorted by name.
    ranked: Vec<u32>,
    /// Methods above all others.
    pins: Pins,
    /// The other methods in name order, and whether `refresh` has not run since they were ordered.
    rest: NameOrderedSet,
    is_fresh: bool,
    allows_partial_order: bool,
    matched_at: Option<(u64, String)>,
    filtered_at: Option<FilterInputs>,
    arranged_at: Option<OrderInputs>,
    /// New numbers arrived that are not yet sorted.
    has_unsorted_numbers: bool,
    /// The user is typing or clicking in this frame.
    busy: bool,
    edition: u64,
}

/// The state that the filter was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilterInputs {
    edition: u64,
    modules: u64,
    filter: Filter,
    rows: u64,
    states: u64,
}

/// The state that an arrangement was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OrderInputs {
    edition: u64,
    sort: Sort,
    rows: u64,
    numbers: u64,
    pinned: Option<MethodIx>,
}

impl List {
    /// Returns the filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Sets the filter; `refresh` applies it.
    pub fn set_filter(&mut self, filter: Filter) {
        if self.filter.text != filter.text {
            self.query = Query::parse(&filter.text);
        }
        self.filter = filter;
    }

    /// Returns the filter's words, for highlighting.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Returns the sort order.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Sets the sort order; `refresh` applies it.
    pub fn set_sort(&mut self, sort: Sort) {
        self.sort = sort;
    }

    /// Returns whether the order is frozen while numbers change.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Freezes the order while numbers change, or lets rows move again.
    pub fn set_frozen(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    /// Returns whether changing numbers move no rows, for a moment or until further notice.
    pub fn keeps_order(&self) -> bool {
        self.frozen || self.still
    }

    /// Returns whether the order is frozen and based on earlier numbers.
    pub fn is_behind(&self, live: &Live) -> bool {
        let now = numbers(self.sort.key, live);
        // A single row has no order.
        self.ranked.len() > 1
            && self.keeps_order()
            && self.arranged_at.is_some_and(|at| at.sort == self.sort && at.numbers != now)
    }

    /// Returns whether a later `refresh` will sort new numbers, or rows farther down that this one skipped.
    pub fn has_pending_work(&self) -> bool {
        self.has_unsorted_numbers || !self.rest.is_materialized()
    }

    /// Allows rows far from the visible ones to be missing for some frames after the filter changed; only if
    /// no row is selected, which would have to be found.
    pub fn allow_partial_order(&mut self, allows_partial_order: bool) {
        self.allows_partial_order = allows_partial_order;
    }

    /// Finds all rows before an operation on them.
    pub fn complete(&mut self, catalogue: &Catalogue) {
        if !self.rest.is_materialized() {
            self.rest.complete(catalogue);
        }
    }

    /// Marks a frame in which the user types or clicks; it leaves new numbers to the next frame.
    pub fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// Sorts the rows once by the current numbers, even if the order is frozen; `refresh` carries it out.
    pub fn sort_again(&mut self) {
        self.arranged_at = None;
        self.ranking.forget_order();
    }

    /// Keeps every row in its place, even those dialled for the first time. Meant for short moments; the set
    /// of rows still changes.
    pub fn set_still(&mut self, still: bool) {
        self.still = still;
    }

    /// Keeps the selected method visible among only dialled methods even if its dial is off again.
    pub fn set_selected(&mut self, selected: Option<MethodIx>) {
        self.selected = selected;
    }

    /// Shows the rows of another list; `visible` has the same methods in this list's numbers. This list then
    /// has no order of its own.
    pub fn follow(&mut self, other: &List, visible: BitSet) {
        self.set_filter(other.filter.clone());
        self.count = visible.count();
        self.visible = visible;
        self.pins = Pins::default();
        self.ranked.clear();
        self.rest = NameOrderedSet::default();
        (self.filtered_at, self.arranged_at) = (None, None);
        self.edition += 1;
    }

    /// Brings the list up to date; returns whether any visible row moved.
    pub fn refresh(&mut self, catalogue: &Catalogue, live: &Live) -> bool {
        self.refresh_filter(catalogue, live);
        self.arrange(catalogue, live)
    }

    /// Updates the set of visible methods without ordering them, as the tree needs no order.
    pub fn refresh_filter(&mut self, catalogue: &Catalogue, live: &Live) {
        let matched = (catalogue.modules_edition(), &self.filter.text);
        if self.matched_at.as_ref().is_none_or(|(edition, text)| (*edition, text) != matched) {
            self.matching = self.searcher.search(catalogue, &self.query);
            self.matched_at = Some((catalogue.modules_edition(), self.filter.text.clone()));
            self.filtered_at = None;
        }
        // Rows make methods of unloaded modules visible, so they matter even if others are shown too.
        let depends_on_rows = self.filter.only_dialled
            || self.filter.hide_generated && catalogue.generated().any()
            || catalogue.modules().iter().any(|module| module.unloaded);
        let hides_off = self.filter.only_dialled && !self.filter.off_again;
        let now = FilterInputs {
            edition: catalogue.edition(),
            modules: catalogue.modules_edition(),
            filter: self.filter.clone(),
            rows: if depends_on_rows { live.rows_edition() } else { 0 },
            states: if hides_off { live.states_edition() } else { 0 },
        };
        let exemptions = (self.still, self.selected);
        if self.filtered_at.as_ref() == Some(&now)
            && self.exempted_at.is_none_or(|before| before == exemptions)
        {
            return;
        }
        let before = self.filtered_at.replace(now);
        let now = self.filtered_at.as_ref();
        let filter_of = |at: &FilterInputs| (at.modules, at.filter.clone());
        let same_filter = before.as_ref().map(filter_of) == now.map(filter_of);
        let mut visible = self.filtered(&self.filter, catalogue, live);
        self.generated = generated::hide(&mut visible, &self.filter, catalogue, live);
        self.all = row_count(catalogue);
        (self.off_again, self.exempted_at) = (0, None);
        if hides_off {
            let mut hidden = methods_turned_off(catalogue, live);
            hidden.intersect(&visible);
            let all = hidden.count();
            // After turning a dial off, the user still sees it and can turn it on again.
            if self.still && same_filter {
                hidden.subtract(&self.visible);
            } else if let Some(selected) =
                self.selected.filter(|selected| same_filter && self.visible.get(selected.0))
            {
                hidden.set(selected.0, false);
            }
            self.off_again = hidden.count();
            self.exempted_at = (self.off_again < all).then_some(exemptions);
            visible.subtract(&hidden);
        }
        if same_filter && self.visible == visible {
            return;
        }
        self.visible = visible;
        self.count = self.visible.count();
        self.edition += 1;
    }

    fn filtered(&self, filter: &Filter, catalogue: &Catalogue, live: &Live) -> BitSet {
        let mut visible = self.matching.clone();
        let known = methods_with_row(catalogue, live);
        if filter.only_dialled {
            visible.intersect(&known);
        }
        for module in catalogue.modules() {
            if filter.hide_framework && module.framework {
                visible.set_range(module.methods.clone(), false);
            } else if module.unloaded {
                for method in module.methods.clone().filter(|method| !known.get(*method)) {
                    visible.set(method, false);
                }
            }
        }
        catalogue.merged_away().into_iter().for_each(|(copy, _)| visible.set_range(copy, false));
        rowless_methods(catalogue).for_each(|range| visible.set_range(range, false));
        visible
    }

    fn arrange(&mut self, catalogue: &Catalogue, live: &Live) -> bool {
        // In reverse order nothing can be found before all rows are.
        let allows_partial_order =
            self.allows_partial_order && self.sort != Sort { key: SortKey::Name, descending: true };
        // The frame that shows them first has enough to do.
        let wait = std::mem::take(&mut self.is_fresh) || self.busy;
        if self.arranged_at.is_some_and(|at| at.edition == self.edition) && !(wait && allows_partial_order) {
            self.complete(catalogue);
        }
        let numbers = numbers(self.sort.key, live);
        let rows = if self.sort.key == SortKey::Name { 0 } else { live.rows_edition() };
        let by_rate = self.sort.key == SortKey::Rate;
        let pinned = if by_rate { self.ranking.pinned(self.selected, catalogue, live) } else { None };
        let mut now = OrderInputs { edition: self.edition, sort: self.sort, rows, numbers, pinned };
        let before = self.arranged_at;
        let same_rows = before.is_some_and(|before| {
            (before.edition, before.rows, before.sort.key == SortKey::Name)
                == (now.edition, rows, self.sort.key == SortKey::Name)
        });
        let same_order = before.is_some_and(|before| before.sort == self.sort);
        let was_unsorted = std::mem::take(&mut self.has_unsorted_numbers);
        if same_rows && same_order && (self.frozen || before == Some(now)) {
            return false;
        }
        if self.still && same_order && before.is_some_and(|before| before.edition == self.edition) {
            return false;
        }
        // A frame that receives numbers or a typed letter has enough to do.
        if same_rows && same_order && (self.busy || !was_unsorted) {
            self.has_unsorted_numbers = true;
            return false;
        }
        if !same_rows {
            let mut rest = self.visible.clone();
            if self.sort.key != SortKey::Name {
                rest.subtract(&methods_with_row(catalogue, live));
            }
            self.pins.take_from(&mut rest);
            self.rest = match allows_partial_order {
                true => self.rest.rebuilt(rest, catalogue),
                false => NameOrderedSet::new(rest, catalogue),
            };
            self.is_fresh = true;
        }
        self.rank(!same_rows && same_order, pinned, catalogue, live);
        // While the order is frozen, it is based on earlier numbers.
        now.numbers = self.ranking.numbers().filter(|_| self.sort.key != SortKey::Name).unwrap_or(numbers);
        self.arranged_at = Some(now);
        self.has_unsorted_numbers = !self.keeps_order() && now.numbers != numbers;
        true
    }

    fn rank(&mut self, as_it_was: bool, pinned: Option<MethodIx>, catalogue: &Catalogue, live: &Live) {
        self.ranked.clear();
        if self.sort.key != SortKey::Name {
            self.ranking.refresh((self.sort, pinned), self.frozen || as_it_was, catalogue, live);
            self.ranked.extend(self.ranking.within(&self.visible));
        }
        self.pins.arrange(&mut self.ranked, &self.visible, catalogue);
    }

    /// Returns the number of methods that pass the filter, sorted or not.
    pub fn shown(&self) -> usize {
        self.count
    }

    /// Returns the number of methods with the filter's words, whatever else hides them.
    pub fn matches(&self) -> usize {
        self.matching.count()
    }

    /// Returns the number of methods that other switches would show, excluding those hidden as off again.
    pub fn would_show(&self, switches: &Filter, catalogue: &Catalogue, live: &Live) -> usize {
        let mut visible = self.filtered(switches, catalogue, live);
        generated::hide(&mut visible, switches, catalogue, live);
        if switches.only_dialled && !switches.off_again {
            visible.subtract(&methods_turned_off(catalogue, live));
        }
        visible.count()
    }

    /// Returns the number of methods hidden because their dials are off again.
    pub fn off_again(&self) -> usize {
        self.off_again
    }

    /// Returns the number of methods hidden only because the compiler wrote them.
    pub fn generated(&self) -> usize {
        self.generated
    }

    /// Returns the number of methods without any filter; merged copies count once.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Returns the number of methods shown, as last sorted.
    pub fn len(&self) -> usize {
        self.pins.top().len() + self.ranked.len() + self.rest.len()
    }

    /// Returns whether no method is shown.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the methods shown, as bits.
    pub fn visible(&self) -> &BitSet {
        &self.visible
    }

    /// Grows when the set of methods shown changes.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Returns the method at a place.
    pub fn at(&self, place: usize) -> Option<MethodIx> {
        let top = self.pins.top();
        let Some(place) = place.checked_sub(top.len()) else {
            return top.get(place).copied().map(MethodIx);
        };
        let found = match self.sort {
            Sort { key: SortKey::Name, descending: false } => self.rest.get(place),
            Sort { key: SortKey::Name, descending: true } => {
                self.rest.len().checked_sub(place + 1).and_then(|from_end| self.rest.get(from_end))
            }
            Sort { descending: true, .. } => match place.checked_sub(self.ranked.len()) {
                None => self.ranked.get(place).copied(),
                Some(place) => self.rest.get(place),
            },
            Sort { descending: false, .. } => match place.checked_sub(self.rest.len()) {
                None => self.rest.get(place),
                Some(place) => self.ranked.get(place).copied(),
            },
        };
        found.map(MethodIx)
    }

    /// Returns the place of a method; `None` if it is not shown.
    pub fn position(&self, method: MethodIx, catalogue: &Catalogue) -> Option<usize> {
        let place = self.place_near(method, catalogue);
        (self.at(place) == Some(method)).then_some(place)
    }

    /// Returns the place of a method, or the one it would have by name.
    pub fn place_near(&self, method: MethodIx, catalogue: &Catalogue) -> usize {
        let top = self.pins.top();
        if let Some(place) = top.iter().position(|one| *one == method.0) {
            return place;
        }
        let place = self.place_below(method, catalogue);
        top.len() + place
    }

    /// Returns the place among the methods that are not pinned.
    fn place_below(&self, method: MethodIx, catalogue: &Catalogue) -> usize {
        let ranked = self.ranked.iter().position(|one| *one == method.0);
        let by_name = || self.rest.place_near(method, catalogue);
        match self.sort {
            Sort { key: SortKey::Name, descending: false } => by_name(),
            Sort { key: SortKey::Name, descending: true } => {
                let place = by_name();
                self.rest.len().saturating_sub(place + usize::from(self.rest.get(place) == Some(method.0)))
            }
            Sort { descending: true, .. } => ranked.unwrap_or_else(|| self.ranked.len() + by_name()),
            Sort { descending: false, .. } => ranked.map_or_else(by_name, |place| self.rest.len() + place),
        }
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.ranked.capacity() * size_of::<u32>()
            + (self.matching.len() + self.visible.len()) / 8
            + self.rest.bytes()
            + self.ranking.bytes()
            + self.searcher.bytes()
    }
}

/// The table as rows for a selection.
#[derive(Clone, Copy, Debug)]
pub struct ListRows<'a> {
    /// The table.
    pub list: &'a List,
    /// Its catalogue.
    pub catalogue: &'a Catalogue,
}

impl OrderedRows for ListRows<'_> {
    fn methods(&self) -> Option<&BitSet> {
        Some(&self.list.visible)
    }

    fn len(&self) -> usize {
        self.list.len()
    }

    fn at(&self, place: usize) -> Option<Node> {
        self.list.at(place).map(Node::Method)
    }

    fn place_near(&self, node: Node) -> usize {
        match node {
            Node::Method(method) => self.list.place_near(method, self.catalogue),
            other => {
                let below = self.catalogue.methods_below(other).into_iter().next();
                below.map_or(0, |range| self.list.place_near(MethodIx(range.start), self.catalogue))
            }
        }
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
pub mod tests;

//! The flat table: which methods it shows, in which order. Only methods with a row of the agent's have numbers, so
//! that sorting by a number sorts those and leaves the rest, a million perhaps, in the order of names.

mod asked;
pub mod renumber;
mod which;

pub use asked::{Filter, Key, Sort};

use super::by_name::ByName;
use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::catalogue::search::Searcher;
use super::ids::{MethodIx, Node};
use super::live::Live;
use super::query::Query;
use super::ranking::{Ranking, numbers};
use super::selection::Rows;
use which::{all, off_again, over, with_row};

/// The table.
#[derive(Debug, Default)]
pub struct List {
    filter: Filter,
    query: Query,
    sort: Sort,
    hold: bool,
    still: bool,
    searcher: Searcher,
    /// What the words leave.
    matching: Bits,
    /// What the whole filter leaves.
    visible: Bits,
    count: usize,
    /// Methods left out because they are off again.
    off_again: usize,
    /// Some that are off again are shown for the moment: for they are still, or one of them is picked.
    lingers: Option<(bool, Option<MethodIx>)>,
    /// The method that is picked.
    picked: Option<MethodIx>,
    /// Rows that there would be without any filter.
    all: usize,
    ranking: Ranking,
    /// Visible methods with a row, in their order; none when sorted by name.
    ranked: Vec<u32>,
    /// The others, by name; and whether no `settle` came since they were put in order.
    rest: ByName,
    is_new: bool,
    in_parts: bool,
    matched_at: Option<(u64, String)>,
    filtered_at: Option<Filtered>,
    arranged_at: Option<Arranged>,
    /// New numbers came, and are not in order yet.
    owes: bool,
    /// Something is typed or clicked in this frame.
    busy: bool,
    edition: u64,
}

/// What the filter was carried out on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Filtered {
    edition: u64,
    modules: u64,
    filter: Filter,
    rows: u64,
    states: u64,
}

/// What an arrangement was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arranged {
    edition: u64,
    sort: Sort,
    rows: u64,
    numbers: u64,
    stays: Option<MethodIx>,
}

impl List {
    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Sets the filter; `settle` carries it out.
    pub fn set_filter(&mut self, filter: Filter) {
        if self.filter.text != filter.text {
            self.query = Query::parse(&filter.text);
        }
        self.filter = filter;
    }

    /// The filter's words, for highlighting.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The order.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Sets the order; `settle` carries it out.
    pub fn set_sort(&mut self, sort: Sort) {
        self.sort = sort;
    }

    /// Whether the order is held while numbers change.
    pub fn hold(&self) -> bool {
        self.hold
    }

    /// Holds the order while numbers change, or lets it go.
    pub fn set_hold(&mut self, hold: bool) {
        self.hold = hold;
    }

    /// Whether numbers that change are to move no row, for a moment or until told otherwise.
    pub fn is_held(&self) -> bool {
        self.hold || self.still
    }

    /// Whether the order is held and is that of earlier numbers.
    pub fn is_behind(&self, live: &Live) -> bool {
        let now = numbers(self.sort.key, live);
        // Of one there is no order.
        self.ranked.len() > 1
            && self.is_held()
            && self.arranged_at.is_some_and(|at| at.sort == self.sort && at.numbers != now)
    }

    /// Whether a later `settle` will put new numbers in order, or rows at places farther down, which this one left.
    pub fn owes(&self) -> bool {
        self.owes || !self.rest.is_whole()
    }

    /// Whether rows far from those looked at may be missing for some frames after others are shown: only where nobody has
    /// picked one, which would have to be found.
    pub fn set_in_parts(&mut self, in_parts: bool) {
        self.in_parts = in_parts;
    }

    /// Finds the rows at all places, before something is done with them.
    pub fn complete(&mut self, catalogue: &Catalogue) {
        if !self.rest.is_whole() {
            self.rest.complete(catalogue);
        }
    }

    /// In a frame in which something is typed or clicked, new numbers are not put in order: the next one does that.
    pub fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// Puts the rows in the order of the numbers that there are now, once, though the order is held; `settle` carries it
    /// out.
    pub fn sort_again(&mut self) {
        self.arranged_at = None;
        self.ranking.forget_order();
    }

    /// While it is still, every row keeps its place: also those whose dial is turned for the first time. It is meant
    /// for moments; what the filter shows changes all the same.
    pub fn set_still(&mut self, still: bool) {
        self.still = still;
    }

    /// What is picked stays where only dialled methods are shown, though it be off again.
    pub fn set_picked(&mut self, picked: Option<MethodIx>) {
        self.picked = picked;
    }

    /// Shows what another list leaves of the same methods, `visible` in this one's numbers. It has no rows of its own then:
    /// they stand where the other's do.
    pub fn follow(&mut self, other: &List, visible: Bits) {
        self.set_filter(other.filter.clone());
        self.count = visible.count();
        self.visible = visible;
        self.ranked.clear();
        self.rest = ByName::default();
        (self.filtered_at, self.arranged_at) = (None, None);
        self.edition += 1;
    }

    /// Brings it up to date; whether anything it shows changed its place.
    pub fn settle(&mut self, catalogue: &Catalogue, live: &Live) -> bool {
        self.settle_filter(catalogue, live);
        self.arrange(catalogue, live)
    }

    /// Brings up to date which methods are shown, and puts them in no order: who looks at the tree needs none.
    pub fn settle_filter(&mut self, catalogue: &Catalogue, live: &Live) {
        let matched = (catalogue.modules_edition(), &self.filter.text);
        if self.matched_at.as_ref().is_none_or(|(edition, text)| (*edition, text) != matched) {
            self.matching = self.searcher.search(catalogue, &self.query);
            self.matched_at = Some((catalogue.modules_edition(), self.filter.text.clone()));
            self.filtered_at = None;
        }
        // Rows make methods of unloaded modules visible, so that they count even when not only they are shown.
        let concerned = self.filter.only_dialled || catalogue.modules().iter().any(|module| module.unloaded);
        let leaves_out = self.filter.only_dialled && !self.filter.off_again;
        let now = Filtered {
            edition: catalogue.edition(),
            modules: catalogue.modules_edition(),
            filter: self.filter.clone(),
            rows: if concerned { live.rows_edition() } else { 0 },
            states: if leaves_out { live.states_edition() } else { 0 },
        };
        let lingering = (self.still, self.picked);
        if self.filtered_at.as_ref() == Some(&now) && self.lingers.is_none_or(|before| before == lingering) {
            return;
        }
        let before = self.filtered_at.replace(now);
        let now = self.filtered_at.as_ref();
        let asked = |at: &Filtered| (at.modules, at.filter.clone());
        let same_question = before.as_ref().map(asked) == now.map(asked);
        let mut visible = self.filtered(&self.filter, catalogue, live);
        self.all = all(catalogue);
        (self.off_again, self.lingers) = (0, None);
        if leaves_out {
            let mut over = off_again(catalogue, live);
            over.intersect(&visible);
            let all = over.count();
            // Who has just turned one off sees it, and can turn it on again.
            if self.still && same_question {
                over.subtract(&self.visible);
            } else if let Some(picked) =
                self.picked.filter(|picked| same_question && self.visible.get(picked.0))
            {
                over.set(picked.0, false);
            }
            self.off_again = over.count();
            self.lingers = (self.off_again < all).then_some(lingering);
            visible.subtract(&over);
        }
        if same_question && self.visible == visible {
            return;
        }
        self.visible = visible;
        self.count = self.visible.count();
        self.edition += 1;
    }

    fn filtered(&self, filter: &Filter, catalogue: &Catalogue, live: &Live) -> Bits {
        let mut visible = self.matching.clone();
        let known = with_row(catalogue, live);
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
        over(catalogue).for_each(|range| visible.set_range(range, false));
        visible
    }

    fn arrange(&mut self, catalogue: &Catalogue, live: &Live) -> bool {
        // From the end nothing can be found before all of them are there.
        let in_parts = self.in_parts && self.sort != Sort { key: Key::Name, descending: true };
        // The frame that shows them first has enough to do.
        let wait = std::mem::take(&mut self.is_new) || self.busy;
        if self.arranged_at.is_some_and(|at| at.edition == self.edition) && !(wait && in_parts) {
            self.complete(catalogue);
        }
        let numbers = numbers(self.sort.key, live);
        let rows = if self.sort.key == Key::Name { 0 } else { live.rows_edition() };
        let by_rate = self.sort.key == Key::Rate;
        let stays = if by_rate { self.ranking.stays(self.picked, catalogue, live) } else { None };
        let mut now = Arranged { edition: self.edition, sort: self.sort, rows, numbers, stays };
        let before = self.arranged_at;
        let same_rows = before.is_some_and(|before| {
            (before.edition, before.rows, before.sort.key == Key::Name)
                == (now.edition, rows, self.sort.key == Key::Name)
        });
        let same_order = before.is_some_and(|before| before.sort == self.sort);
        let owed = std::mem::take(&mut self.owes);
        if same_rows && same_order && (self.hold || before == Some(now)) {
            return false;
        }
        if self.still && same_order && before.is_some_and(|before| before.edition == self.edition) {
            return false;
        }
        // A frame that takes numbers in, or a letter, has enough to do.
        if same_rows && same_order && (self.busy || !owed) {
            self.owes = true;
            return false;
        }
        if !same_rows {
            let mut rest = self.visible.clone();
            if self.sort.key != Key::Name {
                rest.subtract(&with_row(catalogue, live));
            }
            self.rest = match in_parts {
                true => self.rest.instead(rest, catalogue),
                false => ByName::new(rest, catalogue),
            };
            self.is_new = true;
        }
        self.rank(!same_rows && same_order, stays, catalogue, live);
        // While the order is held, it is that of earlier numbers.
        now.numbers = self.ranking.numbers().filter(|_| self.sort.key != Key::Name).unwrap_or(numbers);
        self.arranged_at = Some(now);
        self.owes = !self.is_held() && now.numbers != numbers;
        true
    }

    fn rank(&mut self, as_it_was: bool, stays: Option<MethodIx>, catalogue: &Catalogue, live: &Live) {
        self.ranked.clear();
        if self.sort.key != Key::Name {
            self.ranking.settle((self.sort, stays), self.hold || as_it_was, catalogue, live);
            self.ranked.extend(self.ranking.within(&self.visible));
        }
    }

    /// Methods the filter leaves, in an order or not.
    pub fn shown(&self) -> usize {
        self.count
    }

    /// Methods that have the filter's words, whatever else leaves them out.
    pub fn matches(&self) -> usize {
        self.matching.count()
    }

    /// Methods that would be shown with other switches: of those that fit them, none that would be left out as off again.
    pub fn would_show(&self, switches: &Filter, catalogue: &Catalogue, live: &Live) -> usize {
        let mut visible = self.filtered(switches, catalogue, live);
        if switches.only_dialled && !switches.off_again {
            visible.subtract(&off_again(catalogue, live));
        }
        visible.count()
    }

    /// Methods that are left out because they were dialled and are off again.
    pub fn off_again(&self) -> usize {
        self.off_again
    }

    /// Methods there would be without any filter: merged copies count once.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Methods shown, as they were last put in order.
    pub fn len(&self) -> usize {
        self.ranked.len() + self.rest.len()
    }

    /// Whether none is shown.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Methods shown, as bits.
    pub fn visible(&self) -> &Bits {
        &self.visible
    }

    /// Grows when the set of methods shown changes.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// The method at a place.
    pub fn at(&self, place: usize) -> Option<MethodIx> {
        let found = match self.sort {
            Sort { key: Key::Name, descending: false } => self.rest.get(place),
            Sort { key: Key::Name, descending: true } => {
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

    /// Where a method stands; None when it is not shown.
    pub fn position(&self, method: MethodIx, catalogue: &Catalogue) -> Option<usize> {
        let place = self.place_near(method, catalogue);
        (self.at(place) == Some(method)).then_some(place)
    }

    /// Where a method stands, or would stand by its name if it were shown.
    pub fn place_near(&self, method: MethodIx, catalogue: &Catalogue) -> usize {
        let ranked = self.ranked.iter().position(|one| *one == method.0);
        let by_name = || self.rest.place_near(method, catalogue);
        match self.sort {
            Sort { key: Key::Name, descending: false } => by_name(),
            Sort { key: Key::Name, descending: true } => {
                let place = by_name();
                self.rest.len().saturating_sub(place + usize::from(self.rest.get(place) == Some(method.0)))
            }
            Sort { descending: true, .. } => ranked.unwrap_or_else(|| self.ranked.len() + by_name()),
            Sort { descending: false, .. } => ranked.map_or_else(by_name, |place| self.rest.len() + place),
        }
    }

    /// Bytes it occupies, about.
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

impl Rows for ListRows<'_> {
    fn methods(&self) -> Option<&Bits> {
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

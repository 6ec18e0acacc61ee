//! The agent's rows sorted by a number, regardless of the filter, so that typing a letter changes nothing
//! here.

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::catalogue::module_removal::Renumbering;
use super::ids::MethodIx;
use super::list::{Sort, SortKey};
use super::live::{Live, LiveRow};
use redial_protocol::ids::RowId;
use redial_protocol::state::CopyState;

/// Methods with a row, sorted by a number. Equal rates sort by the last rate of methods that are no longer
/// counted, then by call count; equal numbers sort by name.
#[derive(Debug, Default)]
pub struct Ranking {
    /// Rows of known methods by name; rows of merged copies are adjacent.
    named: Vec<(RowId, u32)>,
    /// Editions of catalogue and rows at the time `named` was made.
    named_at: Option<(u64, u64)>,
    /// Methods in order.
    order: Vec<u32>,
    ordered_at: Option<RankingInputs>,
    /// The selected method, and whether it has been counted since it was selected.
    selected: (Option<MethodIx>, bool),
}

/// The state that an order was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RankingInputs {
    sort: Sort,
    editions: (u64, u64),
    numbers: u64,
    pinned: Option<MethodIx>,
}

impl Ranking {
    /// Returns the selected method if it was counted since it was selected, but no longer is. When sorted by
    /// rate, it keeps the place of its last rate while others are counted, so that a user who turns it off
    /// still sees it where it was.
    pub fn pinned(
        &mut self,
        selected: Option<MethodIx>,
        catalogue: &Catalogue,
        live: &Live,
    ) -> Option<MethodIx> {
        if self.selected.0 != selected {
            self.selected = (selected, false);
        }
        let method = selected?;
        let copies = if catalogue.is_merged() { catalogue.copies(method) } else { vec![method] };
        if copies.into_iter().filter_map(|copy| live.of_method(copy)).any(LiveRow::is_sampled) {
            self.selected.1 = true;
            return None;
        }
        let others = live.count(CopyState::Live) + live.count(CopyState::Asked);
        (self.selected.1 && others > 0).then_some(method)
    }

    /// Brings the order up to date; while it is frozen, ignores new numbers. See [`Ranking::pinned`] for
    /// `pinned`.
    pub fn refresh(
        &mut self,
        (sort, pinned): (Sort, Option<MethodIx>),
        frozen: bool,
        catalogue: &Catalogue,
        live: &Live,
    ) {
        let editions = (catalogue.modules_edition(), live.rows_edition());
        let now = RankingInputs { sort, editions, numbers: numbers(sort.key, live), pinned };
        let keeps_order =
            |before: RankingInputs| frozen && (before.sort, before.editions) == (sort, editions);
        if self.ordered_at.is_some_and(|before| before == now || keeps_order(before)) {
            return;
        }
        if self.named_at != Some(editions) {
            let mut places = catalogue.shown_places();
            let row = |method| Some((places.of(MethodIx(method)), live.of_method(MethodIx(method))?.id));
            let known = live.known().iter_in(0..u32::MAX);
            let mut named: Vec<((u32, u32), RowId)> = known.filter_map(row).collect();
            named.sort();
            self.named = named.into_iter().map(|((_, method), id)| (id, method)).collect();
            self.named_at = Some(editions);
        }
        let numbers_of = |rows: &[(RowId, u32)]| match sort.key {
            SortKey::Rate => {
                let pinned = rows.first().is_some_and(|(_, method)| pinned == Some(MethodIx(*method)));
                by_rate(rows.iter().filter_map(|(id, _)| live.row(*id)), pinned)
            }
            key => {
                let numbers = rows.iter().filter_map(|(id, _)| live.row(*id)).map(|row| number(key, row));
                (numbers.reduce(|one, other| together(key, one, other)).unwrap_or(0), 0)
            }
        };
        let methods = self.named.chunk_by(|one, other| one.1 == other.1);
        let key = |(place, rows): (usize, &[(RowId, u32)])| {
            let (first, second) = numbers_of(rows);
            let (first, second) = if sort.descending { (!first, !second) } else { (first, second) };
            (first, second, place as u32, rows.first().map_or(0, |(_, method)| *method))
        };
        let mut keys: Vec<(u64, u64, u32, u32)> = methods.enumerate().map(key).collect();
        keys.sort_unstable();
        self.order.clear();
        self.order.extend(keys.iter().map(|(.., method)| *method));
        self.ordered_at = Some(now);
    }

    /// Renumbers methods and keeps the order. `before` and `now` are editions of the catalogue's modules and
    /// of the rows.
    pub fn renumber(&mut self, to: &Renumbering, before: (u64, u64), now: (u64, u64)) {
        for rows in self.named.chunk_by_mut(|one, other| one.1 == other.1) {
            let method = rows.first().and_then(|(_, method)| to.method(MethodIx(*method)));
            rows.iter_mut().for_each(|(_, number)| *number = method.map_or(u32::MAX, |method| method.0));
        }
        self.order = self.order.iter().filter_map(|one| Some(to.method(MethodIx(*one))?.0)).collect();
        self.selected.0 = self.selected.0.and_then(|method| to.method(method));
        if self.named_at == Some(before) {
            self.named_at = Some(now);
        }
        if let Some(at) = self.ordered_at.as_mut().filter(|at| at.editions == before) {
            at.editions = now;
            at.pinned = at.pinned.and_then(|method| to.method(method));
        }
    }

    /// Makes the next `refresh` sort again, frozen or not.
    pub fn forget_order(&mut self) {
        self.ordered_at = None;
    }

    /// Returns the value of [`numbers`] when the order was made.
    pub fn numbers(&self) -> Option<u64> {
        self.ordered_at.map(|ordered| ordered.numbers)
    }

    /// Returns the methods of a set in order.
    pub fn within(&self, methods: &BitSet) -> impl Iterator<Item = u32> {
        self.order.iter().copied().filter(|method| methods.get(*method))
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.named.capacity() * size_of::<(RowId, u32)>() + self.order.capacity() * size_of::<u32>()
    }
}

/// Returns the sort key of a method's copies by rate: the rate, or the last rate if nothing is counted any
/// more; then their calls. A `pinned` method uses its last rate.
fn by_rate<'a>(rows: impl Iterator<Item = &'a LiveRow>, pinned: bool) -> (u64, u64) {
    let (mut rate, mut last, mut calls) = (0.0f32, 0.0f32, 0u64);
    for row in rows {
        rate += row.rate.unwrap_or(0.0).max(0.0);
        calls = calls.saturating_add(row.shown_calls());
        if !row.is_sampled() {
            last += row.last_rate;
        }
    }
    let (high, low) = match (pinned, rate > 0.0) {
        (true, _) => (last, last),
        (false, true) => (rate, 0.0),
        (false, false) => (0.0, last),
    };
    // Non-negative floats sort like their bits.
    (u64::from(high.to_bits()) << 32 | u64::from(low.to_bits()), calls)
}

/// Grows when numbers of that kind may have changed.
pub fn numbers(key: SortKey, live: &Live) -> u64 {
    match key {
        SortKey::Name => 0,
        SortKey::Wanted | SortKey::State => live.states_edition(),
        SortKey::Calls | SortKey::Rate | SortKey::Time(_) => live.folds(),
    }
}

/// Returns a number that sorts like the key; non-negative floats sort like their bits.
pub fn number(key: SortKey, row: &LiveRow) -> u64 {
    match key {
        SortKey::Name => 0,
        SortKey::Wanted => row.wanted as u64,
        SortKey::State => row.state as u64,
        SortKey::Calls => row.shown_calls(),
        SortKey::Rate => u64::from(row.rate.unwrap_or(0.0).max(0.0).to_bits()),
        SortKey::Time(column) => row.shown_times().and_then(|times| column.number(times)).unwrap_or(0),
    }
}

/// Combines the numbers of two copies of one method.
fn together(key: SortKey, one: u64, other: u64) -> u64 {
    match key {
        // Rates: see `by_rate`.
        SortKey::Name | SortKey::Rate => 0,
        SortKey::Wanted | SortKey::State => one.max(other),
        SortKey::Calls => one.saturating_add(other),
        SortKey::Time(column) => column.together(one, other),
    }
}

//! The agent's rows in the order of a number. Which of them a filter leaves is another matter: a letter typed changes
//! nothing here.

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::catalogue::forget::Renumbering;
use super::ids::MethodIx;
use super::list::{Key, Sort};
use super::live::{Live, LiveRow};
use redial_protocol::ids::RowId;
use redial_protocol::state::State;

/// Methods with a row, by a number; those of one rate by the last there was where they are not counted any more, and by their
/// calls, those of one number by name.
#[derive(Debug, Default)]
pub struct Ranking {
    /// Rows of known methods, by name; of merged copies one after another.
    named: Vec<(RowId, u32)>,
    /// Editions of catalogue and rows that `named` was made from.
    named_at: Option<(u64, u64)>,
    /// Methods in their order.
    order: Vec<u32>,
    ordered_at: Option<Ordered>,
    /// What is picked, and whether it was counted since it was.
    picked: (Option<MethodIx>, bool),
}

/// What an order was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ordered {
    sort: Sort,
    editions: (u64, u64),
    numbers: u64,
    stays: Option<MethodIx>,
}

impl Ranking {
    /// What is picked and was counted since, but is not any more: in an order by rate it stands by its last one while others are
    /// counted, so that who has just turned it off sees it where it was.
    pub fn stays(
        &mut self,
        picked: Option<MethodIx>,
        catalogue: &Catalogue,
        live: &Live,
    ) -> Option<MethodIx> {
        if self.picked.0 != picked {
            self.picked = (picked, false);
        }
        let method = picked?;
        let copies = if catalogue.is_merged() { catalogue.copies(method) } else { vec![method] };
        if copies.into_iter().filter_map(|copy| live.of_method(copy)).any(LiveRow::goes_on) {
            self.picked.1 = true;
            return None;
        }
        let others = live.count(State::Live) + live.count(State::Asked);
        (self.picked.1 && others > 0).then_some(method)
    }

    /// Brings the order up to date. While it is held, new numbers change nothing. `stays`: see [`Ranking::stays`].
    pub fn settle(
        &mut self,
        (sort, stays): (Sort, Option<MethodIx>),
        hold: bool,
        catalogue: &Catalogue,
        live: &Live,
    ) {
        let editions = (catalogue.modules_edition(), live.rows_edition());
        let now = Ordered { sort, editions, numbers: numbers(sort.key, live), stays };
        let held = |before: Ordered| hold && (before.sort, before.editions) == (sort, editions);
        if self.ordered_at.is_some_and(|before| before == now || held(before)) {
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
            Key::Rate => {
                let stays = rows.first().is_some_and(|(_, method)| stays == Some(MethodIx(*method)));
                by_rate(rows.iter().filter_map(|(id, _)| live.row(*id)), stays)
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

    /// Methods were renumbered; the order is the same. `before` and `now`: editions of the catalogue's modules and of the rows.
    pub fn renumber(&mut self, to: &Renumbering, before: (u64, u64), now: (u64, u64)) {
        for rows in self.named.chunk_by_mut(|one, other| one.1 == other.1) {
            let method = rows.first().and_then(|(_, method)| to.method(MethodIx(*method)));
            rows.iter_mut().for_each(|(_, number)| *number = method.map_or(u32::MAX, |method| method.0));
        }
        self.order = self.order.iter().filter_map(|one| Some(to.method(MethodIx(*one))?.0)).collect();
        self.picked.0 = self.picked.0.and_then(|method| to.method(method));
        if self.named_at == Some(before) {
            self.named_at = Some(now);
        }
        if let Some(at) = self.ordered_at.as_mut().filter(|at| at.editions == before) {
            at.editions = now;
            at.stays = at.stays.and_then(|method| to.method(method));
        }
    }

    /// The order is found anew by the next `settle`, held or not.
    pub fn forget_order(&mut self) {
        self.ordered_at = None;
    }

    /// What [`numbers`] was when the order was made.
    pub fn numbers(&self) -> Option<u64> {
        self.ordered_at.map(|ordered| ordered.numbers)
    }

    /// Those that are in a set, in their order.
    pub fn within(&self, methods: &Bits) -> impl Iterator<Item = u32> {
        self.order.iter().copied().filter(|method| methods.get(*method))
    }

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        self.named.capacity() * size_of::<(RowId, u32)>() + self.order.capacity() * size_of::<u32>()
    }
}

/// What orders the copies of a method by their rate: that, and where nothing is counted any more the last there was; then their
/// calls. What `stays` stands by its last rate.
fn by_rate<'a>(rows: impl Iterator<Item = &'a LiveRow>, stays: bool) -> (u64, u64) {
    let (mut rate, mut last, mut calls) = (0.0f32, 0.0f32, 0u64);
    for row in rows {
        rate += row.rate.unwrap_or(0.0).max(0.0);
        calls = calls.saturating_add(row.calls);
        if !row.goes_on() {
            last += row.last_rate;
        }
    }
    let (high, low) = match (stays, rate > 0.0) {
        (true, _) => (last, last),
        (false, true) => (rate, 0.0),
        (false, false) => (0.0, last),
    };
    // Floats of one sign order as their bits.
    (u64::from(high.to_bits()) << 32 | u64::from(low.to_bits()), calls)
}

/// Grows when numbers of that kind may have changed.
pub fn numbers(key: Key, live: &Live) -> u64 {
    match key {
        Key::Name => 0,
        Key::Wanted | Key::State => live.states_edition(),
        Key::Calls | Key::Rate | Key::Time(_) => live.folds(),
    }
}

/// A number that orders as the key does; floats of one sign order as their bits.
pub fn number(key: Key, row: &LiveRow) -> u64 {
    match key {
        Key::Name => 0,
        Key::Wanted => row.wanted as u64,
        Key::State => row.state as u64,
        Key::Calls => row.calls,
        Key::Rate => u64::from(row.rate.unwrap_or(0.0).max(0.0).to_bits()),
        Key::Time(column) => row.times.as_deref().and_then(|times| column.number(times)).unwrap_or(0),
    }
}

/// What the numbers of two copies of one method amount to.
fn together(key: Key, one: u64, other: u64) -> u64 {
    match key {
        // (Rates: `by_rate`.)
        Key::Name | Key::Rate => 0,
        Key::Wanted | Key::State => one.max(other),
        Key::Calls => one.saturating_add(other),
        Key::Time(column) => column.together(one, other),
    }
}

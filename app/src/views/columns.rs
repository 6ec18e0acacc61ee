//! The columns of the methods: how wide each is, and which go when there is little room.

use crate::model::list::Key;
use crate::output::times::TimeColumn;
use eframe::egui::{Rangef, Rect};

/// Room a name keeps while other columns can go.
const NAME: f32 = 190.0;
/// What rows of several processes need besides: their states say more.
pub const SUMMED: f32 = 28.0;
/// What rows that are single methods need less: their states are a word each, "was reverting" at most.
pub const WORD: f32 = -20.0;
/// Room for what stands before names where several processes have a row each: more than a process id.
pub const PLACE: f32 = 90.0;

/// What the sparkline's is called.
pub const SPARK: &str = "last minute";

/// Room that rows need besides, points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Besides {
    /// Before names; less than nothing where others say the same names.
    pub before: f32,
    /// In the column of states.
    pub state: f32,
    /// Whether it is numbers that are compared, with those of tables beside it: the state goes before them.
    pub compared: bool,
}

/// Where the columns stand.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The knob.
    pub knob: Rangef,
    /// The name.
    pub name: Rangef,
    /// The state.
    pub state: Rangef,
    /// Calls.
    pub calls: Rangef,
    /// Calls a second.
    pub rate: Rangef,
    /// Times, in the order of [`TimeColumn::ALL`].
    pub times: [Rangef; TimeColumn::ALL.len()],
    /// The sparkline.
    pub spark: Rangef,
}

/// A column that can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    State,
    Calls,
    Rate,
    Time(TimeColumn),
    Spark,
}

impl Going {
    /// All, in the order in which they go: first what is seldom asked for, then what the panel has, too; where the time goes
    /// can only be seen of many methods together. Where there is hardly any, the knob shows the state.
    const ALL: [Going; 12] = [
        Going::Time(TimeColumn::P90),
        Going::Time(TimeColumn::InFlight),
        Going::Time(TimeColumn::Exceptions),
        Going::Spark,
        Going::Time(TimeColumn::Max),
        Going::Time(TimeColumn::P50),
        Going::Time(TimeColumn::P99),
        Going::Time(TimeColumn::Own),
        Going::Time(TimeColumn::Total),
        Going::Rate,
        Going::State,
        Going::Calls,
    ];

    /// Whether it shows what rows are sorted by.
    fn sorts(self, by: Key) -> bool {
        match self {
            Going::State => by == Key::State,
            Going::Calls => by == Key::Calls,
            Going::Rate => by == Key::Rate,
            Going::Time(column) => by == Key::Time(column),
            Going::Spark => false,
        }
    }

    fn width(self) -> f32 {
        match self {
            Going::Spark => 96.0,
            Going::State => 108.0,
            Going::Rate | Going::Time(TimeColumn::Exceptions) => 88.0,
            Going::Calls => 104.0,
            Going::Time(_) => 72.0,
        }
    }
}

impl Columns {
    /// The columns of a table of that width; those of times where something is or was timed. In a narrow one the name keeps
    /// its room and that of what stands before it, and others go, the one that rows are `sorted` by last.
    pub fn of(rect: Rect, besides: Besides, timed: bool, sorted: Key) -> Columns {
        let Besides { before, state, compared } = besides;
        let width = |column: Going| column.width() + if column == Going::State { state } else { 0.0 };
        let knob = Rangef::new(rect.left(), rect.left() + 40.0);
        let all = Going::ALL.into_iter().filter(|column| timed || !matches!(column, Going::Time(_)));
        let mut left: Vec<Going> = all.collect();
        let outlasts = |column: &Going| compared && matches!(column, Going::Rate | Going::Calls);
        left.sort_by_key(|column| (column.sorts(sorted), outlasts(column)));
        let fits = |left: &[Going]| {
            let taken: f32 = left.iter().map(|column| width(*column)).sum();
            rect.width() - knob.span() - taken >= NAME + before
        };
        while !left.is_empty() && !fits(&left) {
            left.remove(0);
        }
        let mut right = rect.right();
        let mut column = |one: Going| {
            let width = if left.contains(&one) { width(one) } else { 0.0 };
            right -= width;
            Rangef::new(right, right + width)
        };
        let spark = column(Going::Spark);
        let mut times = [spark; TimeColumn::ALL.len()];
        for (range, time) in times.iter_mut().zip(TimeColumn::ALL).rev() {
            *range = column(Going::Time(time));
        }
        let (rate, calls, state) = (column(Going::Rate), column(Going::Calls), column(Going::State));
        let name = Rangef::new(knob.max, right.max(knob.max));
        Columns { knob, name, state, calls, rate, times, spark }
    }

    /// What those that went are called, and what rows are sorted by there; those of times where something is or was timed.
    pub fn gone(&self, timed: bool) -> Vec<(&'static str, Option<Key>)> {
        let times = TimeColumn::ALL.into_iter().zip(self.times).filter(|_| timed);
        [
            ("state", Key::State, self.state),
            ("calls", Key::Calls, self.calls),
            ("per second", Key::Rate, self.rate),
        ]
        .into_iter()
        .chain(times.map(|(column, range)| (column.name(), Key::Time(column), range)))
        .map(|(name, key, range)| (name, Some(key), range))
        .chain([(SPARK, None, self.spark)])
        .filter(|(_, _, range)| range.span() == 0.0)
        .map(|(name, key, _)| (name, key))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    fn sorted(width: f32, timed: bool, before: f32, by: Key) -> Columns {
        let besides = Besides { before, ..Besides::default() };
        Columns::of(Rect::from_min_size(pos2(10.0, 0.0), vec2(width, 100.0)), besides, timed, by)
    }

    #[test]
    fn what_rows_are_sorted_by_stays_in_sight() {
        for by in [Key::State, Key::Calls, Key::Rate, Key::Time(TimeColumn::P90)] {
            let columns = sorted(370.0, true, 0.0, by);
            let shown = [
                (Key::State, columns.state),
                (Key::Calls, columns.calls),
                (Key::Rate, columns.rate),
                (Key::Time(TimeColumn::P90), columns.times[1]),
            ];
            let shown = shown.into_iter().filter(|(_, range)| range.span() > 0.0).map(|(key, _)| key);
            assert_eq!(shown.collect::<Vec<_>>(), [by]);
        }
    }

    fn columns(width: f32, timed: bool) -> (Columns, Vec<Rangef>) {
        let columns = sorted(width, timed, 0.0, Key::Name);
        let mut all = vec![columns.state, columns.calls, columns.rate];
        all.extend(columns.times);
        all.push(columns.spark);
        (columns, all)
    }

    #[test]
    fn in_a_narrow_table_the_name_keeps_its_room() {
        for (width, timed, gone) in [
            (760.0, false, 0),
            (600.0, false, 1),
            (500.0, false, 2),
            (400.0, false, 3),
            (300.0, false, 4),
            (1_300.0, true, 0),
            (1_100.0, true, 2),
            (660.0, true, 8),
            (300.0, true, 12),
        ] {
            let (columns, all) = columns(width, timed);
            let there = if timed { 12 } else { 4 };
            let shown = all.iter().filter(|column| column.span() > 0.0).count();
            assert_eq!(there - shown, gone, "{width}");
            assert!(columns.name.span() >= NAME, "{width}");
            let place = sorted(width + PLACE, timed, PLACE, Key::Name);
            let besides = Besides { state: SUMMED, ..Besides::default() };
            let rect = Rect::from_min_size(pos2(10.0, 0.0), vec2(1_400.0, 100.0));
            let summed = Columns::of(rect, besides, true, Key::Name);
            assert_eq!(summed.state.span(), Going::State.width() + SUMMED);
            assert_eq!(
                place.name.span(),
                columns.name.span() + PLACE,
                "{width}: what stands before it has room of its own"
            );
            assert!(all.iter().all(|column| column.min >= columns.name.max && column.max <= 10.0 + width));
            assert!(all.windows(2).all(|two| two[0].max <= two[1].min), "{width}: {all:?}");
        }
    }

    #[test]
    fn times_go_before_the_state_and_how_often_it_is_called() {
        // Beside the processes of a window of 900 points, and of 1,280 beside the selection, too: with a scroll bar.
        for (width, times) in [(638.0, &["total"][..]), (718.0, &["total", "self"]), (540.0, &[])] {
            let (columns, _) = columns(width, true);
            let left = TimeColumn::ALL.into_iter().zip(columns.times).filter(|(_, range)| range.span() > 0.0);
            let left: Vec<&str> = left.map(|(column, _)| column.name()).collect();
            assert_eq!(left, times, "{width}");
            let stay = [columns.state, columns.calls, columns.rate];
            assert!(stay.iter().all(|range| range.span() > 0.0), "{width}");
        }
    }

    #[test]
    fn beside_others_the_state_goes_before_the_numbers_that_are_compared() {
        // Two in a window of 1,280 points beside the panel, whose names leave some room.
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(366.0, 100.0));
        let besides = Besides { before: -60.0, compared: true, ..Besides::default() };
        let columns = |sorted| Columns::of(rect, besides, true, sorted);
        let there =
            |columns: Columns| [columns.state, columns.calls, columns.rate].map(|range| range.span() > 0.0);
        assert_eq!(there(columns(Key::Name)), [false, true, true]);
        let by_total = columns(Key::Time(TimeColumn::Total));
        assert_eq!(there(by_total), [false, true, false], "what rows are sorted by stays");
    }
}

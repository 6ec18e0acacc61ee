//! The columns of the method table: their widths, and the order in which a narrow table hides them.

use eframe::egui::{Rangef, Rect};
use redial_model::list::SortKey;
use redial_text::times::TimeColumn;

/// Width that the name keeps while other columns can be hidden.
const NAME: f32 = 190.0;
/// Extra width for the states of several processes, which are longer.
pub const SUMMED: f32 = 28.0;
/// Width saved with single methods, whose states are at most as long as "was reverting".
pub const WORD: f32 = -20.0;
/// Width of the process column in a list with a row per process; more than a process id needs.
pub const PLACE: f32 = 90.0;

/// The name of the sparkline column.
pub const SPARK: &str = "last minute";

/// Extra room that rows need, points.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraRoom {
    /// Before names; negative where a neighbouring table shows the same names.
    pub before: f32,
    /// In the state column.
    pub state: f32,
    /// Whether numbers are compared with neighbouring tables: the state is then hidden before them.
    pub compared: bool,
}

/// The horizontal ranges of the columns.
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

/// A column that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionalColumn {
    State,
    Calls,
    Rate,
    Time(TimeColumn),
    Spark,
}

impl OptionalColumn {
    /// All such columns, in the order of hiding: first the rarely needed, then those that the details panel
    /// also shows. Total and self time come late, since only a list shows where time goes; the knob can stand
    /// in for the state.
    const ALL: [OptionalColumn; 12] = [
        OptionalColumn::Time(TimeColumn::P90),
        OptionalColumn::Time(TimeColumn::InFlight),
        OptionalColumn::Time(TimeColumn::Exceptions),
        OptionalColumn::Spark,
        OptionalColumn::Time(TimeColumn::Max),
        OptionalColumn::Time(TimeColumn::P50),
        OptionalColumn::Time(TimeColumn::P99),
        OptionalColumn::Time(TimeColumn::Own),
        OptionalColumn::Time(TimeColumn::Total),
        OptionalColumn::Rate,
        OptionalColumn::State,
        OptionalColumn::Calls,
    ];

    /// Returns whether rows are sorted by this column.
    fn sorts(self, by: SortKey) -> bool {
        match self {
            OptionalColumn::State => by == SortKey::State,
            OptionalColumn::Calls => by == SortKey::Calls,
            OptionalColumn::Rate => by == SortKey::Rate,
            OptionalColumn::Time(column) => by == SortKey::Time(column),
            OptionalColumn::Spark => false,
        }
    }

    fn width(self) -> f32 {
        match self {
            OptionalColumn::Spark => 96.0,
            OptionalColumn::State => 108.0,
            OptionalColumn::Rate | OptionalColumn::Time(TimeColumn::Exceptions) => 88.0,
            OptionalColumn::Calls => 104.0,
            OptionalColumn::Time(_) => 72.0,
        }
    }
}

impl Columns {
    /// Returns the columns for a table's width; `timed` includes the columns of times. In a narrow table the
    /// name keeps its room and other columns are hidden, the one that rows are `sorted` by last.
    pub fn of(rect: Rect, besides: ExtraRoom, timed: bool, sorted: SortKey) -> Columns {
        let ExtraRoom { before, state, compared } = besides;
        let width = |column: OptionalColumn| {
            column.width() + if column == OptionalColumn::State { state } else { 0.0 }
        };
        let knob = Rangef::new(rect.left(), rect.left() + 40.0);
        let all = OptionalColumn::ALL
            .into_iter()
            .filter(|column| timed || !matches!(column, OptionalColumn::Time(_)));
        let mut left: Vec<OptionalColumn> = all.collect();
        let outlasts = |column: &OptionalColumn| {
            compared && matches!(column, OptionalColumn::Rate | OptionalColumn::Calls)
        };
        left.sort_by_key(|column| (column.sorts(sorted), outlasts(column)));
        let fits = |left: &[OptionalColumn]| {
            let taken: f32 = left.iter().map(|column| width(*column)).sum();
            rect.width() - knob.span() - taken >= NAME + before
        };
        while !left.is_empty() && !fits(&left) {
            left.remove(0);
        }
        let mut right = rect.right();
        let mut column = |one: OptionalColumn| {
            let width = if left.contains(&one) { width(one) } else { 0.0 };
            right -= width;
            Rangef::new(right, right + width)
        };
        let spark = column(OptionalColumn::Spark);
        let mut times = [spark; TimeColumn::ALL.len()];
        for (range, time) in times.iter_mut().zip(TimeColumn::ALL).rev() {
            *range = column(OptionalColumn::Time(time));
        }
        let (rate, calls, state) =
            (column(OptionalColumn::Rate), column(OptionalColumn::Calls), column(OptionalColumn::State));
        let name = Rangef::new(knob.max, right.max(knob.max));
        Columns { knob, name, state, calls, rate, times, spark }
    }

    /// Returns the names and sort keys of hidden columns; `timed` includes the columns of times.
    pub fn gone(&self, timed: bool) -> Vec<(&'static str, Option<SortKey>)> {
        let times = TimeColumn::ALL.into_iter().zip(self.times).filter(|_| timed);
        [
            ("state", SortKey::State, self.state),
            ("calls", SortKey::Calls, self.calls),
            ("per second", SortKey::Rate, self.rate),
        ]
        .into_iter()
        .chain(times.map(|(column, range)| (column.name(), SortKey::Time(column), range)))
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

    fn sorted(width: f32, timed: bool, before: f32, by: SortKey) -> Columns {
        let besides = ExtraRoom { before, ..ExtraRoom::default() };
        Columns::of(Rect::from_min_size(pos2(10.0, 0.0), vec2(width, 100.0)), besides, timed, by)
    }

    #[test]
    fn sorted_column_stays_visible() {
        for by in [SortKey::State, SortKey::Calls, SortKey::Rate, SortKey::Time(TimeColumn::P90)] {
            let columns = sorted(370.0, true, 0.0, by);
            let shown = [
                (SortKey::State, columns.state),
                (SortKey::Calls, columns.calls),
                (SortKey::Rate, columns.rate),
                (SortKey::Time(TimeColumn::P90), columns.times[1]),
            ];
            let shown = shown.into_iter().filter(|(_, range)| range.span() > 0.0).map(|(key, _)| key);
            assert_eq!(shown.collect::<Vec<_>>(), [by]);
        }
    }

    fn columns(width: f32, timed: bool) -> (Columns, Vec<Rangef>) {
        let columns = sorted(width, timed, 0.0, SortKey::Name);
        let mut all = vec![columns.state, columns.calls, columns.rate];
        all.extend(columns.times);
        all.push(columns.spark);
        (columns, all)
    }

    #[test]
    fn name_keeps_its_width_in_a_narrow_table() {
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
            let place = sorted(width + PLACE, timed, PLACE, SortKey::Name);
            let besides = ExtraRoom { state: SUMMED, ..ExtraRoom::default() };
            let rect = Rect::from_min_size(pos2(10.0, 0.0), vec2(1_400.0, 100.0));
            let summed = Columns::of(rect, besides, true, SortKey::Name);
            assert_eq!(summed.state.span(), OptionalColumn::State.width() + SUMMED);
            assert_eq!(
                place.name.span(),
                columns.name.span() + PLACE,
                "{width}: the process column has room of its own"
            );
            assert!(all.iter().all(|column| column.min >= columns.name.max && column.max <= 10.0 + width));
            assert!(all.windows(2).all(|two| two[0].max <= two[1].min), "{width}: {all:?}");
        }
    }

    #[test]
    fn time_columns_are_hidden_before_state_and_calls() {
        // With a scroll bar: beside the process list in a window of 900 points, and also beside the details
        // panel at 1,280.
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
    fn compared_numbers_outlast_the_state_column() {
        // Two tables in a window of 1,280 points beside the details panel; their names leave some room.
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(366.0, 100.0));
        let besides = ExtraRoom { before: -60.0, compared: true, ..ExtraRoom::default() };
        let columns = |sorted| Columns::of(rect, besides, true, sorted);
        let there =
            |columns: Columns| [columns.state, columns.calls, columns.rate].map(|range| range.span() > 0.0);
        assert_eq!(there(columns(SortKey::Name)), [false, true, true]);
        let by_total = columns(SortKey::Time(TimeColumn::Total));
        assert_eq!(there(by_total), [false, true, false], "what rows are sorted by stays");
    }
}

//! The columns of the method table: their places, and the order in which a narrow table hides them.

use crate::settings::columns::{ColumnLayout, TableColumn};
use eframe::egui::{Rangef, Rect};
use redial_model::list::SortKey;
use redial_text::times::TimeColumn;

/// Width that the name keeps while other columns can be hidden: this part of the table, within these bounds.
const NAME: (f32, f32, f32) = (0.32, 190.0, 420.0);
/// Widest name column: beyond it a row's numbers would stand too far from its name.
const MOST_NAME: f32 = 760.0;
/// Width of the name column below which no column can be widened, points.
const LEAST_NAME: f32 = 120.0;
/// Width of the knob's column, points.
const KNOB: f32 = 40.0;
/// Extra width for the states of several processes, which are longer.
pub const SUMMED: f32 = 28.0;
/// Width saved with single methods, whose states are at most as long as "was reverting".
pub const WORD: f32 = -20.0;
/// Width of the process column in a list with a row per process; more than a process id needs.
pub const PLACE: f32 = 90.0;

/// Extra room that rows need, points.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraRoom {
    /// Before names.
    pub before: f32,
    /// In the state column.
    pub state: f32,
    /// Side by side, the names that the tables share. Numbers are compared there, so the state is hidden before them.
    pub beside: Option<SharedNames>,
}

/// The names that tables side by side share; one of the tables shows them.
#[derive(Clone, Copy, Debug)]
pub struct SharedNames {
    /// Whether this table shows them.
    pub is_here: bool,
    /// Their width, points.
    pub width: f32,
    /// By how much each table can become wider at their expense, points.
    pub spare: f32,
}

/// The horizontal ranges of the columns.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The knob.
    pub knob: Rangef,
    /// The name.
    pub name: Rangef,
    /// Whether names are shown; side by side only in the first table.
    pub is_named: bool,
    /// The columns in view, from left to right.
    shown: Vec<(TableColumn, Rangef)>,
    /// Columns for which there is no room.
    gone: Vec<TableColumn>,
    /// By how much a column can become wider, points.
    spare: f32,
}

/// The order of hiding: first the rarely needed columns, then those that the details panel also shows. Total and
/// self time come late, since only a list shows where time goes; the knob can stand in for the state.
const HIDING: [TableColumn; TableColumn::ALL.len()] = [
    TableColumn::Time(TimeColumn::P90),
    TableColumn::Time(TimeColumn::InFlight),
    TableColumn::Time(TimeColumn::Exceptions),
    TableColumn::Spark,
    TableColumn::Time(TimeColumn::Max),
    TableColumn::Time(TimeColumn::P50),
    TableColumn::Time(TimeColumn::P99),
    TableColumn::Share,
    TableColumn::Time(TimeColumn::Own),
    TableColumn::Time(TimeColumn::Total),
    TableColumn::Rate,
    TableColumn::State,
    TableColumn::Calls,
];

impl Columns {
    /// Returns the columns for a table's width, as the user arranged them; `timed` includes the columns of times. In
    /// a narrow table the name keeps its room and other columns are hidden, the one that rows are `sorted` by
    /// last.
    pub fn of(
        rect: Rect,
        besides: ExtraRoom,
        timed: bool,
        sorted: SortKey,
        layout: &ColumnLayout,
    ) -> Columns {
        let ExtraRoom { before, state, beside } = besides;
        let width = |column: TableColumn| {
            let extra = match layout.get(column).width {
                None if column == TableColumn::State => state,
                _ => 0.0,
            };
            layout.width(column) + extra
        };
        let wanted = |column: TableColumn| !layout.get(column).hidden && (timed || !column.is_timed());
        let mut left: Vec<TableColumn> = HIDING.into_iter().filter(|column| wanted(*column)).collect();
        let outlasts = |column: TableColumn| {
            beside.is_some() && matches!(column, TableColumn::Rate | TableColumn::Calls)
        };
        left.sort_by_key(|column| (column.sort_key() == Some(sorted), outlasts(*column)));
        let (part, least, most) = NAME;
        let name = match beside {
            None => (rect.width() * part).clamp(least, most) + before,
            Some(SharedNames { is_here: true, width, .. }) => width,
            Some(SharedNames { is_here: false, .. }) => 0.0,
        };
        let mut room = rect.width() - KNOB - name - left.iter().map(|column| width(*column)).sum::<f32>();
        let mut gone: Vec<TableColumn> = Vec::new();
        // A column that the user widened is not hidden for it while the name has some room.
        let spare = if beside.is_none() { (name - LEAST_NAME).max(0.0) } else { 0.0 };
        let widened: f32 = left.iter().map(|column| (width(*column) - column.width()).max(0.0)).sum();
        room += widened.min(spare);
        while room < 0.0 && !left.is_empty() {
            let column = left.remove(0);
            room += width(column);
            gone.push(column);
        }
        // After a wide one, a narrow one may fit again.
        for column in gone.clone().into_iter().rev() {
            if width(column) <= room {
                room -= width(column);
                gone.retain(|one| *one != column);
                left.push(column);
            }
        }
        gone = layout.columns().iter().map(|choice| choice.column).filter(|one| gone.contains(one)).collect();
        // Side by side, the names have a given width.
        let surplus = if beside.is_none() { (name + room - MOST_NAME - before).max(0.0) } else { 0.0 };
        let mut right = rect.right() - surplus;
        let mut shown = Vec::with_capacity(left.len());
        let order = layout.columns().iter().map(|choice| choice.column);
        for column in order.rev().filter(|column| left.contains(column)) {
            let start = right - width(column);
            shown.push((column, Rangef::new(start, right)));
            right = start;
        }
        shown.reverse();
        let knob = Rangef::new(rect.left(), rect.left() + KNOB);
        let name = Rangef::new(knob.max, right.max(knob.max));
        let spare = beside.map_or(name.span() + surplus - LEAST_NAME, |names| names.spare);
        Columns { knob, name, is_named: beside.is_none_or(|names| names.is_here), shown, gone, spare }
    }

    /// Returns the columns in view, from left to right.
    pub fn shown(&self) -> &[(TableColumn, Rangef)] {
        &self.shown
    }

    /// Returns a column's range if it is in view.
    pub fn range(&self, column: TableColumn) -> Option<Rangef> {
        self.shown.iter().find(|(shown, _)| *shown == column).map(|(_, range)| *range)
    }

    /// Returns the end of the name column; without a state to show, of the state column if it comes next.
    pub fn name_end(&self, has_state: bool) -> f32 {
        match self.shown.first() {
            Some((TableColumn::State, range)) if !has_state => range.max,
            _ => self.name.max,
        }
    }

    /// Returns the width of the table without the names, points.
    pub fn used(&self) -> f32 {
        KNOB + self.shown.iter().map(|(_, range)| range.span()).sum::<f32>()
    }

    /// Returns the columns for which there is no room.
    pub fn gone(&self) -> &[TableColumn] {
        &self.gone
    }

    /// Returns the width that a column can be given, points.
    pub fn widest(&self, column: TableColumn) -> f32 {
        let now = self.range(column).map_or(0.0, Rangef::span);
        now + self.spare.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    fn sorted(width: f32, timed: bool, before: f32, by: SortKey) -> Columns {
        let besides = ExtraRoom { before, ..ExtraRoom::default() };
        let rect = Rect::from_min_size(pos2(10.0, 0.0), vec2(width, 100.0));
        Columns::of(rect, besides, timed, by, &ColumnLayout::default())
    }

    fn names(columns: &Columns) -> Vec<&'static str> {
        columns.shown().iter().map(|(column, _)| column.name()).collect()
    }

    #[test]
    fn sorted_column_stays_visible() {
        for (by, name) in [
            (SortKey::State, "state"),
            (SortKey::Calls, "calls"),
            (SortKey::Rate, "per second"),
            (SortKey::Time(TimeColumn::P90), "p90"),
        ] {
            assert_eq!(names(&sorted(370.0, true, 0.0, by)), [name]);
        }
    }

    #[test]
    fn name_keeps_its_width_in_a_narrow_table() {
        for (width, timed, shown) in [
            (760.0, false, 4),
            (600.0, false, 3),
            (400.0, false, 1),
            (300.0, false, 0),
            (1_700.0, true, 13),
            (1_080.0, true, 8),
            (660.0, true, 4),
            (300.0, true, 0),
        ] {
            let columns = sorted(width, timed, 0.0, SortKey::Name);
            assert_eq!(columns.shown().len(), shown, "{width}");
            assert_eq!(columns.gone().len(), if timed { 13 } else { 4 } - shown, "{width}");
            assert!(columns.name.span() >= (width * 0.32).clamp(190.0, 420.0), "{width}");
            assert!(columns.shown().windows(2).all(|two| two[0].1.max <= two[1].1.min), "{width}");
            assert!(columns.shown().last().is_none_or(|(_, range)| range.max <= 10.0 + width));
        }
    }

    #[test]
    fn numbers_stay_near_names_in_a_wide_table() {
        for (width, timed) in [(2_000.0, false), (3_800.0, true)] {
            let columns = sorted(width, timed, 0.0, SortKey::Name);
            assert_eq!(columns.name.span(), MOST_NAME);
            assert_eq!(columns.shown().first().map(|(_, range)| range.min), Some(columns.name.max));
            assert!(columns.widest(TableColumn::Calls) > width - columns.used() - LEAST_NAME, "{width}");
        }
    }

    #[test]
    fn states_of_several_processes_get_more_room() {
        let besides = ExtraRoom { state: SUMMED, ..ExtraRoom::default() };
        let rect = Rect::from_min_size(pos2(10.0, 0.0), vec2(1_400.0, 100.0));
        let summed = Columns::of(rect, besides, true, SortKey::Name, &ColumnLayout::default());
        let state = summed.range(TableColumn::State).expect("in view");
        assert_eq!(state.span(), TableColumn::State.width() + SUMMED);
    }

    #[test]
    fn time_columns_are_hidden_before_state_and_calls() {
        for (width, shown) in [
            (638.0, &["state", "calls", "per second", "total"][..]),
            (718.0, &["state", "calls", "per second", "total", "self"]),
            (760.0, &["state", "calls", "per second", "total", "self"]),
            (540.0, &["state", "calls", "per second"]),
        ] {
            assert_eq!(names(&sorted(width, true, 0.0, SortKey::Name)), shown, "{width}");
        }
    }

    #[test]
    fn compared_numbers_outlast_the_state_column() {
        // Two tables in a window of 1,280 points beside the details panel.
        let rect = |width| Rect::from_min_size(pos2(0.0, 0.0), vec2(width, 100.0));
        let columns = |sorted| {
            let of = |width, is_here| {
                let names = SharedNames { is_here, width: 176.0, spare: 16.0 };
                let besides = ExtraRoom { beside: Some(names), ..ExtraRoom::default() };
                Columns::of(rect(width), besides, true, sorted, &ColumnLayout::default())
            };
            let (first, second) = (of(436.0, true), of(260.0, false));
            assert_eq!(second.widest(TableColumn::Calls), TableColumn::Calls.width() + 16.0);
            assert_eq!(names(&first), names(&second), "all tables have the same columns");
            assert!(first.is_named && !second.is_named);
            assert!(first.name.span() >= 176.0);
            assert_eq!((first.used(), second.used() <= 260.0), (second.used(), true));
            first
        };
        assert_eq!(names(&columns(SortKey::Name)), ["calls", "per second"]);
        let by_total = columns(SortKey::Time(TimeColumn::Total));
        assert_eq!(names(&by_total), ["calls", "total"], "the column that sorts rows stays");
    }

    #[test]
    fn chosen_columns_keep_order_and_width() {
        let layout = ColumnLayout::default()
            .with_moved(TableColumn::Share, TableColumn::State)
            .with_hidden(TableColumn::Rate, true)
            .with_width(TableColumn::Calls, Some(160.0));
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(1_000.0, 100.0));
        let columns = Columns::of(rect, ExtraRoom::default(), true, SortKey::Name, &layout);
        assert_eq!(names(&columns)[..3], ["share", "state", "calls"]);
        assert!(columns.range(TableColumn::Rate).is_none());
        assert!(!columns.gone().contains(&TableColumn::Rate), "the user hid it; there was room");
        assert_eq!(columns.range(TableColumn::Calls).map(Rangef::span), Some(160.0));
    }
}

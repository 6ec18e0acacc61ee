//! The time columns in tables of dials.

use crate::output::table::{TableColumn, number};
use redial_model::dials::DialledCopy;
use redial_protocol::times::Times;
use redial_text::completions::{self, CompletionColumn};
use redial_text::times::TimeColumn;
use redial_text::words;

/// The cell for an unknown value.
const NOTHING: &str = "-";
/// The note on the calls that times cover.
pub const TIMED: &str = "times cover calls made at level time; CALLS counts all calls";
/// The note on the columns of async calls.
pub const COMPLETE: &str = "COMPLETED, PENDING (not completed) and MEAN (latency to completion) cover async calls; the other \
                            times of an async method cover its starts, those of a MoveNext its steps";
/// The note on times in brackets.
pub const LAST: &str = "(…) last values: the method is no longer timed";

/// The order in which time columns are hidden if a table is too wide.
const GOING: [TimeColumn; 8] = [
    TimeColumn::P90,
    TimeColumn::InFlight,
    TimeColumn::Exceptions,
    TimeColumn::Own,
    TimeColumn::Max,
    TimeColumn::Total,
    TimeColumn::P99,
    TimeColumn::P50,
];

/// The time columns of a table.
#[derive(Clone, Copy, Debug)]
pub struct TimeColumns {
    times: bool,
    completions: bool,
}

impl TimeColumns {
    /// Returns the columns that these dials need.
    pub fn of<'a>(dials: impl IntoIterator<Item = &'a DialledCopy>) -> TimeColumns {
        let mut columns = TimeColumns { times: false, completions: false };
        for times in dials.into_iter().filter_map(|dial| dial.times) {
            columns.times = true;
            columns.completions |= times.completions.is_some();
        }
        columns
    }

    /// Returns whether the table has time columns.
    pub fn are_there(self) -> bool {
        self.times
    }

    /// Returns the headings.
    pub fn headings(self) -> Vec<TableColumn> {
        let times = self.times.then(|| TimeColumn::ALL.map(heading));
        let completions = self.completions.then(|| CompletionColumn::ALL.map(completion_heading));
        times.into_iter().flatten().chain(completions.into_iter().flatten()).collect()
    }

    /// Returns the cells of a dial.
    pub fn cells(self, dial: &DialledCopy) -> Vec<String> {
        let times = dial.times.as_ref();
        let completions = times.and_then(|times| times.completions.as_ref());
        let mut cells = Vec::new();
        let last = are_last(dial);
        if self.times {
            let cell = |column: TimeColumn| in_cell(times.and_then(|times| column.cell(times)), last);
            cells.extend(TimeColumn::ALL.map(cell));
        }
        if self.completions {
            let cell = |column: CompletionColumn| in_cell(completions.and_then(|of| column.cell(of)), last);
            cells.extend(CompletionColumn::ALL.map(cell));
        }
        cells
    }
}

fn completion_heading(column: CompletionColumn) -> TableColumn {
    let (heading, turn) = match column {
        CompletionColumn::Completed => (number("COMPLETED").or("COMPL."), 0),
        CompletionColumn::InFlight => (number("PENDING").or("PEND."), 1),
        CompletionColumn::Mean => (number("MEAN").at_least(7), 2),
    };
    // Hide these last: few methods have them, and they matter most there.
    heading.goes(GOING.len() as u8 + turn)
}

/// Returns the headings of all time columns.
pub fn all_headings() -> Vec<&'static str> {
    TimeColumn::ALL.map(|column| headings(column).0).to_vec()
}

/// Returns the order in which columns are hidden, as a list of headings.
pub fn going() -> String {
    GOING.map(|column| headings(column).0).join(", ")
}

/// Returns the heading and its short form for narrow terminals.
fn headings(column: TimeColumn) -> (&'static str, &'static str) {
    match column {
        TimeColumn::P50 => ("P50", "P50"),
        TimeColumn::P90 => ("P90", "P90"),
        TimeColumn::P99 => ("P99", "P99"),
        TimeColumn::Max => ("MAX", "MAX"),
        TimeColumn::Total => ("TOTAL", "TOTAL"),
        TimeColumn::Own => ("SELF", "SELF"),
        TimeColumn::Exceptions => ("EXCEPTIONS", "EXCEPT."),
        TimeColumn::InFlight => ("IN FLIGHT", "FLIGHT"),
    }
}

fn heading(column: TimeColumn) -> TableColumn {
    let (heading, short) = headings(column);
    // The width of most durations: `1.20 µs`.
    let least = if column.is_duration() { 7 } else { 0 };
    let turn = GOING.iter().position(|going| *going == column).unwrap_or_default();
    number(heading).or(short).at_least(least).goes(turn as u8)
}

fn in_cell(known: Option<String>, last: bool) -> String {
    match known {
        Some(known) if last => format!("({known})"),
        known => known.unwrap_or_else(|| NOTHING.to_owned()),
    }
}

/// Returns whether a dial has times but is no longer timed.
pub fn are_last(dial: &DialledCopy) -> bool {
    dial.times.is_some() && !dial.row.state.is_timed(dial.row.wanted)
}

/// Returns the notes on the times in a table of these dials.
pub fn remarks<'a>(dials: impl IntoIterator<Item = &'a DialledCopy> + Clone) -> Vec<&'static str> {
    let columns = TimeColumns::of(dials.clone());
    let last = dials.into_iter().any(are_last);
    let notes =
        [columns.times.then_some(TIMED), columns.completions.then_some(COMPLETE), last.then_some(LAST)];
    notes.into_iter().flatten().collect()
}

/// Returns the note on columns that are hidden, if there are any.
pub fn no_room(left_out: &[&str]) -> Option<String> {
    let them = words::them(left_out.len() as u64);
    (!left_out.is_empty()).then(|| format!("no room for {}; --json has {them}", left_out.join(", ")))
}

/// Returns the times as a suffix for a line; empty for a dial that was never timed.
pub fn suffix(dial: &DialledCopy) -> String {
    let Some(times) = &dial.times else { return String::new() };
    let values = TimeColumn::ALL.map(|column| (column.name(), column.cell(times)));
    let completions = completions::in_words(times).map(|values| format!(", {values}")).unwrap_or_default();
    in_words(values, are_last(dial)) + &completions
}

fn in_words(values: impl IntoIterator<Item = (&'static str, Option<String>)>, last: bool) -> String {
    let each = |(name, cell): (&str, Option<String>)| format!("{name} {}", in_cell(cell, false));
    let values: Vec<String> = values.into_iter().map(each).collect();
    format!("  {}{}", if last { "last times: " } else { "" }, values.join(", "))
}

/// The time columns that add up over copies and processes. Percentiles do not.
const SUMMED: [TimeColumn; 5] =
    [TimeColumn::Max, TimeColumn::Total, TimeColumn::Own, TimeColumn::Exceptions, TimeColumn::InFlight];

/// The note on percentiles, which sums do not have.
pub const WITHOUT_PERCENTILES: &str = "MAX is the maximum over all processes; percentiles cannot be added up, so they appear \
                                       only without --sum";

/// Returns the headings of the summed time columns.
pub fn summed_headings() -> [TableColumn; SUMMED.len()] {
    SUMMED.map(heading)
}

/// Returns the cells of a sum; `last` marks values that no longer change.
pub fn summed_cells(times: Option<&Times>, last: bool) -> [String; SUMMED.len()] {
    SUMMED.map(|column| in_cell(times.and_then(|times| column.cell(times)), times.is_some() && last))
}

/// Returns the summed times as a suffix for a line; empty if there are none.
pub fn summed_suffix(times: Option<&Times>, last: bool) -> String {
    let values = |times: &Times| SUMMED.map(|column| (column.name(), column.cell(times)));
    times.map(|times| in_words(values(times), last)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::dials::DialledCopies;
    use redial_model::fixtures::row;
    use redial_protocol::level::Level;
    use redial_protocol::message::StatusRow;
    use redial_protocol::state::CopyState;
    use redial_protocol::times::Completions;
    use redial_text::fixtures::times;

    fn timed(state: CopyState, wanted: Level) -> StatusRow {
        StatusRow { wanted, state, ..row(0, "A", 5) }
    }

    fn dials(timed: bool) -> DialledCopies {
        let mut dials = DialledCopies::default();
        let wanted = if timed { Level::Time } else { Level::Count };
        dials.rows(vec![StatusRow { wanted, ..row(0, "A", 5) }, row(1, "B", 6)]);
        if timed {
            dials.times(vec![times(0)]);
        }
        dials
    }

    #[test]
    fn timed_dials_have_time_columns() {
        let plain = TimeColumns::of(dials(false).iter());
        assert!(plain.headings().is_empty());
        let dials = dials(true);
        let columns = TimeColumns::of(dials.iter());
        assert_eq!(columns.headings().len(), 8);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0], ["1.20 µs", "250 µs", "8.59 s", "17.2 s", "1,100 s", "550 s", "20", "3"]);
        assert_eq!(cells[1], ["-"; 8]);
        let values: Vec<String> = dials.iter().map(suffix).collect();
        assert!(values[0].starts_with("  p50 1.20 µs, p90") && values[1].is_empty(), "{values:?}");
    }

    #[test]
    fn marks_the_last_values_of_dials_no_longer_timed() {
        for (state, wanted, last) in [
            (CopyState::Live, Level::Time, false),
            (CopyState::Asked, Level::Time, false),
            (CopyState::Reverting, Level::Off, false),
            (CopyState::Live, Level::Count, true),
            (CopyState::Off, Level::Off, true),
            (CopyState::Lost, Level::Time, true),
        ] {
            let mut dials = dials(true);
            dials.rows(vec![timed(state, wanted)]);
            let columns = TimeColumns::of(dials.iter());
            let dial = dials.iter().next().expect("a dial");
            assert_eq!(are_last(dial), last, "{state} {wanted}");
            let expected = if last { ["(1.20 µs)", "(3)"] } else { ["1.20 µs", "3"] };
            let cells = columns.cells(dial);
            assert_eq!([cells[0].as_str(), cells[7].as_str()], expected, "{state} {wanted}");
            assert_eq!(suffix(dial).starts_with("  last times: p50 1.20 µs, p90"), last);
        }
        let none = dials(false);
        assert!(!none.iter().any(are_last));
        let sum = times(0);
        assert_eq!(summed_cells(Some(&sum), true)[0], "(17.2 s)");
        assert!(summed_suffix(Some(&sum), true).starts_with("  last times: max 17.2 s, "));
    }

    #[test]
    fn async_calls_have_their_own_columns() {
        let mut dials = dials(true);
        let completions =
            Completions { starts: 9, completions: 8, in_flight: 1, before: 0, waited_ns: 16_000 };
        dials.times(vec![Times { completions: Some(completions), ..times(0) }]);
        let columns = TimeColumns::of(dials.iter());
        assert_eq!(columns.headings().len(), 11);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0][8..], ["8", "1", "2.00 µs"]);
        assert_eq!(cells[1], ["-"; 11]);
        let all: Vec<&DialledCopy> = dials.iter().collect();
        assert_eq!(remarks(all), [TIMED, COMPLETE]);
        let values = dials.iter().next().map(suffix).unwrap_or_default();
        assert!(values.ends_with(", completed 8, not completed 1, mean to completion 2.00 µs"), "{values}");
    }

    #[test]
    fn names_hidden_columns() {
        assert_eq!(no_room(&[]), None);
        assert_eq!(no_room(&["P90"]).as_deref(), Some("no room for P90; --json has it"));
        assert_eq!(no_room(&["P90", "MAX"]).as_deref(), Some("no room for P90, MAX; --json has them"));
    }
}

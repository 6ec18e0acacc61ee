//! The time columns in tables of dials.

use crate::output::table::{TableColumn, number};
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::ids::CopyKey;
use redial_protocol::times::Times;
use redial_text::completions::{self, CompletionColumn};
use redial_text::times::TimeColumn;
use redial_text::words;
use std::collections::HashSet;

/// The cell for an unknown value.
const NOTHING: &str = "-";
/// The note on the calls that times cover.
pub const TIMED: &str = "times cover calls made at level time; CALLS counts all calls";
/// The note on the columns of async calls.
pub const COMPLETE: &str = "COMPLETED, NOT COMPLETED and MEAN (latency to completion) cover async calls; the other times of \
                            an async method cover its starts, those of a MoveNext its steps";
/// The note on times in brackets.
pub const LAST: &str = "(…) last values: the method, or an async method's MoveNext, is no longer timed";

/// The width of most durations: `1.20 µs`.
const DURATION_WIDTH: usize = 7;

/// The order in which time columns are hidden if a table is too wide, after those of async calls: few methods have
/// these.
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

/// The copies whose times are last values, which tells whether the completions of other rows are.
#[derive(Clone, Debug, Default)]
pub struct StoppedCopies(HashSet<CopyKey>);

impl StoppedCopies {
    /// Returns those of one agent's copies.
    pub fn of(dials: &DialledCopies) -> StoppedCopies {
        StoppedCopies(dials.iter().filter(|dial| are_last(dial)).map(|dial| dial.row.copy).collect())
    }

    /// Returns whether a dial has completions that no longer change: it or its `MoveNext` is no longer timed.
    fn completions_are_last(&self, dial: &DialledCopy) -> bool {
        let Some(times) = dial.times.filter(|times| times.completions.is_some()) else { return false };
        let body = times.move_next.map(|token| CopyKey { token, ..dial.row.copy });
        are_last(dial) || body.is_some_and(|body| self.0.contains(&body))
    }

    /// Returns whether a dial has times or completions that no longer change.
    pub fn some_are_last(&self, dial: &DialledCopy) -> bool {
        are_last(dial) || self.completions_are_last(dial)
    }
}

/// The time columns of a table.
#[derive(Clone, Copy, Debug)]
pub struct TimeColumns<'a> {
    times: bool,
    completions: bool,
    stopped: &'a StoppedCopies,
}

impl<'a> TimeColumns<'a> {
    /// Returns the columns that these dials need.
    pub fn of<'d>(
        dials: impl IntoIterator<Item = &'d DialledCopy>,
        stopped: &'a StoppedCopies,
    ) -> TimeColumns<'a> {
        let mut columns = TimeColumns { times: false, completions: false, stopped };
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
            let last = self.stopped.completions_are_last(dial);
            let cell = |column: CompletionColumn| in_cell(completions.and_then(|of| column.cell(of)), last);
            cells.extend(CompletionColumn::ALL.map(cell));
        }
        cells
    }
}

/// Returns the heading and its short form for narrow terminals.
fn completion_headings(column: CompletionColumn) -> (&'static str, &'static str) {
    match column {
        CompletionColumn::Completed => ("COMPLETED", "COMPL."),
        CompletionColumn::InFlight => ("NOT COMPLETED", "NOT COMPL."),
        CompletionColumn::Mean => ("MEAN", "MEAN"),
    }
}

fn completion_heading(column: CompletionColumn) -> TableColumn {
    let (heading, short) = completion_headings(column);
    let least = if column == CompletionColumn::Mean { DURATION_WIDTH } else { 0 };
    number(heading).or(short).at_least(least).goes(column as u8)
}

/// Returns the headings of all time columns.
pub fn all_headings() -> Vec<&'static str> {
    TimeColumn::ALL.map(|column| headings(column).0).to_vec()
}

/// Returns the order in which columns are hidden, as a list of headings.
pub fn going() -> String {
    let completions = CompletionColumn::ALL.map(|column| completion_headings(column).0);
    [&completions[..], &GOING.map(|column| headings(column).0)].concat().join(", ")
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
    let least = if column.is_duration() { DURATION_WIDTH } else { 0 };
    let place = GOING.iter().position(|going| *going == column).unwrap_or_default();
    number(heading).or(short).at_least(least).goes((CompletionColumn::ALL.len() + place) as u8)
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
pub fn remarks<'a>(
    dials: impl IntoIterator<Item = &'a DialledCopy> + Clone,
    stopped: &StoppedCopies,
) -> Vec<&'static str> {
    let columns = TimeColumns::of(dials.clone(), stopped);
    let last = dials.into_iter().any(|dial| stopped.some_are_last(dial));
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
pub fn suffix(dial: &DialledCopy, stopped: &StoppedCopies) -> String {
    let Some(times) = &dial.times else { return String::new() };
    let values = TimeColumn::ALL.map(|column| (column.name(), column.cell(times)));
    // “last times” covers what follows it.
    let last = if stopped.completions_are_last(dial) && !are_last(dial) { "last completions: " } else { "" };
    let completions = completions::in_words(times).map(|values| format!(", {last}{values}"));
    in_words(values, are_last(dial)) + &completions.unwrap_or_default()
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
    use crate::output::table::Table;
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
        let stopped = StoppedCopies::default();
        let plain = TimeColumns::of(dials(false).iter(), &stopped);
        assert!(plain.headings().is_empty());
        let dials = dials(true);
        let columns = TimeColumns::of(dials.iter(), &stopped);
        assert_eq!(columns.headings().len(), 8);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0], ["1.20 µs", "250 µs", "8.59 s", "17.2 s", "1,100 s", "550 s", "20", "3"]);
        assert_eq!(cells[1], ["-"; 8]);
        let values: Vec<String> = dials.iter().map(|dial| suffix(dial, &stopped)).collect();
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
            let stopped = StoppedCopies::of(&dials);
            let columns = TimeColumns::of(dials.iter(), &stopped);
            let dial = dials.iter().next().expect("a dial");
            assert_eq!(are_last(dial), last, "{state} {wanted}");
            let expected = if last { ["(1.20 µs)", "(3)"] } else { ["1.20 µs", "3"] };
            let cells = columns.cells(dial);
            assert_eq!([cells[0].as_str(), cells[7].as_str()], expected, "{state} {wanted}");
            assert_eq!(suffix(dial, &stopped).starts_with("  last times: p50 1.20 µs, p90"), last);
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
        let stopped = StoppedCopies::of(&dials);
        let columns = TimeColumns::of(dials.iter(), &stopped);
        assert_eq!(columns.headings().len(), 11);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0][8..], ["8", "1", "2.00 µs"]);
        assert_eq!(cells[1], ["-"; 11]);
        let all: Vec<&DialledCopy> = dials.iter().collect();
        assert_eq!(remarks(all, &stopped), [TIMED, COMPLETE]);
        let values = dials.iter().next().map(|dial| suffix(dial, &stopped)).unwrap_or_default();
        assert!(values.ends_with(", completed 8, not completed 1, mean to completion 2.00 µs"), "{values}");
    }

    #[test]
    fn marks_completions_once_the_move_next_is_not_timed() {
        let mut dials = dials(true);
        let completions =
            Completions { starts: 9, completions: 8, in_flight: 1, before: 0, waited_ns: 16_000 };
        let body = row(1, "B", 6);
        let move_next = Some(body.copy.token);
        let of_body = Times { completions: Some(completions), ..times(1) };
        dials.times(vec![Times { completions: Some(completions), move_next, ..times(0) }, of_body]);
        for (level, cells, note) in [
            (Level::Time, ["3", "8", "1", "2.00 µs"], false),
            (Level::Count, ["3", "(8)", "(1)", "(2.00 µs)"], true),
        ] {
            dials.rows(vec![StatusRow { wanted: level, state: CopyState::Live, ..body.clone() }]);
            let stopped = StoppedCopies::of(&dials);
            let method = dials.iter().next().expect("a dial");
            let columns = TimeColumns::of(dials.iter(), &stopped);
            assert_eq!(columns.cells(method)[7..], cells, "{level}");
            assert_eq!(remarks([method], &stopped).contains(&LAST), note, "{level}");
            assert_eq!(suffix(method, &stopped).contains(", last completions: completed 8"), note, "{level}");
        }
    }

    #[test]
    fn hides_the_columns_of_async_calls_first() {
        let mut dials = dials(true);
        let completions =
            Completions { starts: 9, completions: 8, in_flight: 1, before: 0, waited_ns: 16_000 };
        dials.times(vec![Times { completions: Some(completions), ..times(0) }]);
        let stopped = StoppedCopies::default();
        let columns = TimeColumns::of(dials.iter(), &stopped);
        let mut table = Table::new(&columns.headings());
        dials.iter().for_each(|dial| table.row(columns.cells(dial)));
        let mut hidden: Vec<&str> = Vec::new();
        for line in (0..120).rev() {
            let now = table.left_out(Some(line));
            hidden
                .extend(now.iter().filter(|heading| !hidden.contains(*heading)).copied().collect::<Vec<_>>());
        }
        assert_eq!(hidden.join(", "), going());
        assert_eq!(hidden[..4], ["COMPLETED", "NOT COMPLETED", "MEAN", "P90"]);
    }

    #[test]
    fn names_hidden_columns() {
        assert_eq!(no_room(&[]), None);
        assert_eq!(no_room(&["P90"]).as_deref(), Some("no room for P90; --json has it"));
        assert_eq!(no_room(&["P90", "MAX"]).as_deref(), Some("no room for P90, MAX; --json has them"));
    }
}

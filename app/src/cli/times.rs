//! The columns of times, in tables of dials of which some are timed.

use crate::model::dials::Dial;
use crate::output::completions::{self, CompletionColumn};
use crate::output::table::{Column, number};
use crate::output::times::TimeColumn;
use crate::output::words;
use redial_protocol::times::Times;

/// What stands where nothing is known.
const NOTHING: &str = "-";
/// Of which calls times are.
pub const TIMED: &str = "times are of the calls made at level time; CALLS has all";
/// Of what the columns of async calls are.
pub const COMPLETE: &str = "COMPLETED, PENDING (not completed) and MEAN (latency to completion) are of async calls; the other \
                            times of an async method are of its starts, those of a MoveNext of its steps";
/// What the brackets around times say.
pub const LAST: &str = "(…) the last numbers: the method is not timed any more";

/// In which order columns of times go where there is no room for all.
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

/// Whether a table has these columns.
#[derive(Clone, Copy, Debug)]
pub struct TimeColumns {
    times: bool,
    completions: bool,
}

impl TimeColumns {
    /// For these dials: where any has times.
    pub fn of<'a>(dials: impl IntoIterator<Item = &'a Dial>) -> TimeColumns {
        let mut columns = TimeColumns { times: false, completions: false };
        for times in dials.into_iter().filter_map(|dial| dial.times) {
            columns.times = true;
            columns.completions |= times.completions.is_some();
        }
        columns
    }

    /// Whether it has them.
    pub fn are_there(self) -> bool {
        self.times
    }

    /// Their headings.
    pub fn headings(self) -> Vec<Column> {
        let times = self.times.then(|| TimeColumn::ALL.map(heading));
        let completions = self.completions.then(|| CompletionColumn::ALL.map(completion_heading));
        times.into_iter().flatten().chain(completions.into_iter().flatten()).collect()
    }

    /// The cells of a dial.
    pub fn cells(self, dial: &Dial) -> Vec<String> {
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

fn completion_heading(column: CompletionColumn) -> Column {
    let (heading, turn) = match column {
        CompletionColumn::Completed => (number("COMPLETED").or("COMPL."), 0),
        CompletionColumn::InFlight => (number("PENDING").or("PEND."), 1),
        CompletionColumn::Mean => (number("MEAN").at_least(7), 2),
    };
    // The last to go: they are few methods', and what is looked for there.
    heading.goes(GOING.len() as u8 + turn)
}

/// The headings of all of them.
pub fn all_headings() -> Vec<&'static str> {
    TimeColumn::ALL.map(|column| headings(column).0).to_vec()
}

/// In which order columns go where a terminal has no room for all, as words.
pub fn going() -> String {
    GOING.map(|column| headings(column).0).join(", ")
}

/// Its heading, and the one for narrow terminals.
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

fn heading(column: TimeColumn) -> Column {
    let (heading, short) = headings(column);
    // As wide as most durations are: `1.20 µs`.
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

/// Whether a dial has times of which none are added any more: it was turned off, or down.
pub fn are_last(dial: &Dial) -> bool {
    dial.times.is_some() && !dial.row.state.is_timed(dial.row.wanted)
}

/// What is to be known of the times in a table of these dials.
pub fn remarks<'a>(dials: impl IntoIterator<Item = &'a Dial> + Clone) -> Vec<&'static str> {
    let columns = TimeColumns::of(dials.clone());
    let last = dials.into_iter().any(are_last);
    let said =
        [columns.times.then_some(TIMED), columns.completions.then_some(COMPLETE), last.then_some(LAST)];
    said.into_iter().flatten().collect()
}

/// A sentence about columns that a table has no room for; nothing where it has room for all.
pub fn no_room(left_out: &[&str]) -> Option<String> {
    let them = words::them(left_out.len() as u64);
    (!left_out.is_empty()).then(|| format!("no room for {}; --json has {them}", left_out.join(", ")))
}

/// The times in a row of words, behind a line of something else; nothing for a dial that was not timed.
pub fn suffix(dial: &Dial) -> String {
    let Some(times) = &dial.times else { return String::new() };
    let told = TimeColumn::ALL.map(|column| (column.name(), column.cell(times)));
    let completions = completions::in_words(times).map(|told| format!(", {told}")).unwrap_or_default();
    in_words(told, are_last(dial)) + &completions
}

fn in_words(told: impl IntoIterator<Item = (&'static str, Option<String>)>, last: bool) -> String {
    let each = |(name, cell): (&str, Option<String>)| format!("{name} {}", in_cell(cell, false));
    let told: Vec<String> = told.into_iter().map(each).collect();
    format!("  {}{}", if last { "last times: " } else { "" }, told.join(", "))
}

/// The columns of times that add up over copies and processes. Percentiles do not.
const SUMMED: [TimeColumn; 5] =
    [TimeColumn::Max, TimeColumn::Total, TimeColumn::Own, TimeColumn::Exceptions, TimeColumn::InFlight];

/// What the columns of sums leave out.
pub const WITHOUT_PERCENTILES: &str = "MAX is the longest in any of the processes; percentiles cannot be added up, and stand \
                                       in `redial status` and `redial watch` without --sum";

/// The headings of the columns of sums.
pub fn summed_headings() -> [Column; SUMMED.len()] {
    SUMMED.map(heading)
}

/// The cells of a sum, which may have none; `last`: nothing is added to it any more.
pub fn summed_cells(times: Option<&Times>, last: bool) -> [String; SUMMED.len()] {
    SUMMED.map(|column| in_cell(times.and_then(|times| column.cell(times)), times.is_some() && last))
}

/// The same in a row of words, behind a line of something else; nothing where there are none.
pub fn summed_suffix(times: Option<&Times>, last: bool) -> String {
    let told = |times: &Times| SUMMED.map(|column| (column.name(), column.cell(times)));
    times.map(|times| in_words(told(times), last)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::Dials;
    use crate::model::dials::tests::{row, times};
    use redial_protocol::level::Level;
    use redial_protocol::message::StatusRow;
    use redial_protocol::state::State;
    use redial_protocol::times::Completions;

    fn timed(state: State, wanted: Level) -> StatusRow {
        StatusRow { wanted, state, ..row(0, "A", 5) }
    }

    fn dials(timed: bool) -> Dials {
        let mut dials = Dials::default();
        let wanted = if timed { Level::Time } else { Level::Count };
        dials.rows(vec![StatusRow { wanted, ..row(0, "A", 5) }, row(1, "B", 6)]);
        if timed {
            dials.times(vec![times(0)]);
        }
        dials
    }

    #[test]
    fn the_columns_are_there_where_something_is_timed() {
        let plain = TimeColumns::of(dials(false).iter());
        assert!(plain.headings().is_empty());
        let dials = dials(true);
        let columns = TimeColumns::of(dials.iter());
        assert_eq!(columns.headings().len(), 8);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0], ["1.20 µs", "250 µs", "8.59 s", "17.2 s", "1,100 s", "550 s", "20", "3"]);
        assert_eq!(cells[1], ["-"; 8]);
        let told: Vec<String> = dials.iter().map(suffix).collect();
        assert!(told[0].starts_with("  p50 1.20 µs, p90") && told[1].is_empty(), "{told:?}");
    }

    #[test]
    fn what_is_not_timed_any_more_is_told_as_the_last_numbers() {
        for (state, wanted, last) in [
            (State::Live, Level::Time, false),
            (State::Asked, Level::Time, false),
            (State::Reverting, Level::Off, false),
            (State::Live, Level::Count, true),
            (State::Off, Level::Off, true),
            (State::Lost, Level::Time, true),
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
    fn async_calls_have_columns_where_there_are_some() {
        let mut dials = dials(true);
        let completions =
            Completions { starts: 9, completions: 8, in_flight: 1, before: 0, waited_ns: 16_000 };
        dials.times(vec![Times { completions: Some(completions), ..times(0) }]);
        let columns = TimeColumns::of(dials.iter());
        assert_eq!(columns.headings().len(), 11);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0][8..], ["8", "1", "2.00 µs"]);
        assert_eq!(cells[1], ["-"; 11]);
        let all: Vec<&Dial> = dials.iter().collect();
        assert_eq!(remarks(all), [TIMED, COMPLETE]);
        let told = dials.iter().next().map(suffix).unwrap_or_default();
        assert!(told.ends_with(", completed 8, not completed 1, mean to completion 2.00 µs"), "{told}");
    }

    #[test]
    fn what_there_is_no_room_for_is_named() {
        assert_eq!(no_room(&[]), None);
        assert_eq!(no_room(&["P90"]).as_deref(), Some("no room for P90; --json has it"));
        assert_eq!(no_room(&["P90", "MAX"]).as_deref(), Some("no room for P90, MAX; --json has them"));
    }
}

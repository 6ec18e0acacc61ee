//! The columns of times, in tables of dials of which some are timed.

use crate::model::dials::{Dial, Dials};
use crate::output::table::{Column, number};
use crate::output::times::TimeColumn;
use redial_protocol::times::Times;

/// What stands where nothing is known.
const NOTHING: &str = "-";

/// Whether a table has these columns.
#[derive(Clone, Copy, Debug)]
pub struct TimeColumns(bool);

impl TimeColumns {
    /// For these dials: where any has times.
    pub fn of<'a>(dials: impl IntoIterator<Item = &'a Dial>) -> TimeColumns {
        TimeColumns(dials.into_iter().any(|dial| dial.times.is_some()))
    }

    /// The same for all dials of a process.
    pub fn of_all(dials: &Dials) -> TimeColumns {
        TimeColumns::of(dials.iter())
    }

    /// Their headings.
    pub fn headings(self) -> Vec<Column> {
        let names = ["P50", "P90", "P99", "MAX", "TOTAL", "SELF", "EXCEPTIONS", "IN FLIGHT"];
        if self.0 { names.map(number).to_vec() } else { Vec::new() }
    }

    /// The cells of a dial.
    pub fn cells(self, dial: &Dial) -> Vec<String> {
        if !self.0 {
            return Vec::new();
        }
        let cell = |column: TimeColumn| dial.times.as_ref().and_then(|times| column.cell(times));
        TimeColumn::ALL.map(|column| cell(column).unwrap_or_else(|| NOTHING.to_owned())).to_vec()
    }
}

/// The same in a row of words, behind a line of something else; nothing for a dial that is not timed.
pub fn suffix(dial: &Dial) -> String {
    if dial.times.is_none() {
        return String::new();
    }
    let names = TimeColumn::ALL.map(TimeColumn::name);
    let cells = TimeColumns(true).cells(dial);
    let told = names.iter().zip(cells).map(|(name, cell)| format!("{name} {cell}"));
    format!("  {}", told.collect::<Vec<_>>().join(", "))
}

/// The columns of times that add up over copies and processes. Percentiles do not.
const SUMMED: [TimeColumn; 5] =
    [TimeColumn::Max, TimeColumn::Total, TimeColumn::Own, TimeColumn::Exceptions, TimeColumn::InFlight];

/// What the columns of sums leave out.
pub const WITHOUT_PERCENTILES: &str = "MAX is the longest in any of the processes; percentiles cannot be added up, and stand \
                                       in `redial status` and `redial watch` without --sum";

/// The headings of the columns of sums.
pub fn summed_headings() -> [Column; SUMMED.len()] {
    ["MAX", "TOTAL", "SELF", "EXCEPTIONS", "IN FLIGHT"].map(number)
}

/// The cells of a sum, which may have none.
pub fn summed_cells(times: Option<&Times>) -> [String; SUMMED.len()] {
    let cell = |column: TimeColumn| times.and_then(|times| column.cell(times));
    SUMMED.map(|column| cell(column).unwrap_or_else(|| NOTHING.to_owned()))
}

/// The same in a row of words, behind a line of something else; nothing where there are none.
pub fn summed_suffix(times: Option<&Times>) -> String {
    if times.is_none() {
        return String::new();
    }
    let told =
        SUMMED.iter().zip(summed_cells(times)).map(|(column, cell)| format!("{} {cell}", column.name()));
    format!("  {}", told.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::{row, times};

    fn dials(timed: bool) -> Dials {
        let mut dials = Dials::default();
        dials.rows(vec![row(0, "A", 5), row(1, "B", 6)]);
        if timed {
            dials.times(vec![times(0)]);
        }
        dials
    }

    #[test]
    fn the_columns_are_there_where_something_is_timed() {
        let plain = TimeColumns::of_all(&dials(false));
        assert!(plain.headings().is_empty());
        let dials = dials(true);
        let columns = TimeColumns::of_all(&dials);
        assert_eq!(columns.headings().len(), 8);
        let cells: Vec<Vec<String>> = dials.iter().map(|dial| columns.cells(dial)).collect();
        assert_eq!(cells[0], ["1.20 µs", "250 µs", "8.59 s", "17.2 s", "1,100 s", "550 s", "20", "3"]);
        assert_eq!(cells[1], ["-"; 8]);
        let told: Vec<String> = dials.iter().map(suffix).collect();
        assert!(told[0].starts_with("  p50 1.20 µs, p90") && told[1].is_empty(), "{told:?}");
    }
}

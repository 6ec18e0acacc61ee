//! The columns of times, in tables of dials of which some are timed.

use crate::model::dials::{Dial, Dials};
use crate::output::table::{Column, number};
use crate::output::times::TimeColumn;
use crate::output::words;
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

/// Times of several copies, or of several processes, together. Percentiles cannot be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimesSum {
    /// Calls under way.
    pub in_flight: u64,
    /// Calls that ended.
    pub exits: u64,
    /// Those of them that ended by an exception.
    pub exceptions: u64,
    /// Nanoseconds, callees included.
    pub total_ns: u64,
    /// Nanoseconds without dialled callees.
    pub self_ns: u64,
    /// The longest of all, nanoseconds.
    pub max_ns: u64,
}

impl From<Times> for TimesSum {
    fn from(times: Times) -> TimesSum {
        let Times { in_flight, exits, exceptions, total_ns, self_ns, max_ns, .. } = times;
        TimesSum { in_flight, exits, exceptions, total_ns, self_ns, max_ns }
    }
}

impl TimesSum {
    /// What the columns leave out.
    pub const WITHOUT: &str = "MAX is the longest in any of the processes; percentiles cannot be added up, and stand in \
                               `redial status` and `redial watch` without --sum";

    /// Both together.
    pub fn with(self, other: TimesSum) -> TimesSum {
        TimesSum {
            in_flight: self.in_flight.saturating_add(other.in_flight),
            exits: self.exits.saturating_add(other.exits),
            exceptions: self.exceptions.saturating_add(other.exceptions),
            total_ns: self.total_ns.saturating_add(other.total_ns),
            self_ns: self.self_ns.saturating_add(other.self_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }

    /// The headings of its columns.
    pub fn headings() -> [Column; 5] {
        ["MAX", "TOTAL", "SELF", "EXCEPTIONS", "IN FLIGHT"].map(number)
    }

    /// The cells of a row that may have none.
    pub fn cells(times: Option<TimesSum>) -> [String; 5] {
        let Some(times) = times else { return [NOTHING; 5].map(str::to_owned) };
        let ended = |ns: u64| if times.exits > 0 { words::duration(ns) } else { NOTHING.to_owned() };
        let [max, total, own] = [times.max_ns, times.total_ns, times.self_ns].map(ended);
        [max, total, own, words::grouped(times.exceptions), words::grouped(times.in_flight)]
    }

    /// The same in a row of words, behind a line of something else; nothing where there are none.
    pub fn suffix(times: Option<TimesSum>) -> String {
        if times.is_none() {
            return String::new();
        }
        let names = ["max", "total", "self", "exceptions", "in flight"];
        let told = names.iter().zip(TimesSum::cells(times)).map(|(name, cell)| format!("{name} {cell}"));
        format!("  {}", told.collect::<Vec<_>>().join(", "))
    }
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

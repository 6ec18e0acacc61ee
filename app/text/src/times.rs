//! The time columns of a method: names, sort values and formats.

use super::words;
use redial_protocol::times::Times;

/// A time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeColumn {
    /// The median duration.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The longest call.
    Max,
    /// The time in calls; of nested calls, only the outermost on each thread counts.
    Total,
    /// The total without timed callees.
    Own,
    /// The calls that ended with an exception.
    Exceptions,
    /// The calls in flight.
    InFlight,
}

impl TimeColumn {
    /// All columns, in table order.
    pub const ALL: [TimeColumn; 8] = [
        TimeColumn::P50,
        TimeColumn::P90,
        TimeColumn::P99,
        TimeColumn::Max,
        TimeColumn::Total,
        TimeColumn::Own,
        TimeColumn::Exceptions,
        TimeColumn::InFlight,
    ];

    /// Returns the name of the column.
    pub fn name(self) -> &'static str {
        match self {
            TimeColumn::P50 => "p50",
            TimeColumn::P90 => "p90",
            TimeColumn::P99 => "p99",
            TimeColumn::Max => "max",
            TimeColumn::Total => "total",
            TimeColumn::Own => "self",
            TimeColumn::Exceptions => "exceptions",
            TimeColumn::InFlight => "in flight",
        }
    }

    /// Explains the column, as a clause that starts in lower case.
    pub fn meaning(self) -> &'static str {
        match self {
            TimeColumn::P50 => "half of the calls took at most this long",
            TimeColumn::P90 => "90 % of the calls took at most this long",
            TimeColumn::P99 => "99 % of the calls took at most this long",
            TimeColumn::Max => "the longest call",
            TimeColumn::Total => "time in calls; nested calls count only once",
            TimeColumn::Own => "time in calls, without the timed methods they call",
            TimeColumn::Exceptions => "calls that ended with an exception",
            TimeColumn::InFlight => "calls that have started and not ended",
        }
    }

    /// Returns whether the value is in nanoseconds rather than a number of calls.
    pub fn is_duration(self) -> bool {
        !matches!(self, TimeColumn::Exceptions | TimeColumn::InFlight)
    }

    /// Returns whether the value is read from a histogram.
    pub fn is_percentile(self) -> bool {
        matches!(self, TimeColumn::P50 | TimeColumn::P90 | TimeColumn::P99)
    }

    /// Returns the value in nanoseconds or calls, or `None` if it is unknown.
    pub fn number(self, times: &Times) -> Option<u64> {
        let known = times.percentiles.as_ref();
        let ended = |ns: u64| (times.exits > 0).then_some(ns);
        match self {
            TimeColumn::P50 => known.map(|known| known.p50_ns),
            TimeColumn::P90 => known.map(|known| known.p90_ns),
            TimeColumn::P99 => known.map(|known| known.p99_ns),
            // Without percentiles, 0 is a longest call that is not known.
            TimeColumn::Max => ended(times.max_ns).filter(|ns| *ns > 0 || known.is_some()),
            TimeColumn::Total => ended(times.total_ns),
            TimeColumn::Own => ended(times.self_ns),
            TimeColumn::Exceptions => Some(times.exceptions),
            TimeColumn::InFlight => Some(times.in_flight),
        }
    }

    /// Returns the cell, or `None` if the value is unknown.
    pub fn cell(self, times: &Times) -> Option<String> {
        let written = if self.is_duration() { words::duration } else { words::grouped };
        self.number(times).map(written)
    }

    /// Combines the values of two copies of one method. Percentiles do not add up, so the longer one is used.
    pub fn together(self, one: u64, other: u64) -> u64 {
        match self {
            TimeColumn::P50 | TimeColumn::P90 | TimeColumn::P99 | TimeColumn::Max => one.max(other),
            TimeColumn::Total | TimeColumn::Own | TimeColumn::Exceptions | TimeColumn::InFlight => {
                one.saturating_add(other)
            }
        }
    }
}

/// Explains the precision of percentiles, with the clock tick in femtoseconds and the cost of timing a call in
/// picoseconds, if known.
pub fn resolution(tick_fs: Option<u64>, costs: Option<u64>) -> String {
    let tick = tick_fs.map_or_else(String::new, |fs| format!(" ({})", words::picoseconds(fs / 1_000)));
    let costs = costs.map_or_else(String::new, |costs| {
        format!(" Timing itself costs {} per call.", words::picoseconds(costs))
    });
    format!(
        "At most 2 % off, because they come from a histogram, and no finer than a clock tick{tick}: if all calls are very \
         short, percentiles are equal.{costs}"
    )
}

/// Formats the known values as a list: `p50 1.20 µs, p90 …`.
pub fn in_words(times: &Times) -> String {
    let known = TimeColumn::ALL.into_iter().filter_map(|column| Some((column, column.cell(times)?)));
    known.map(|(column, cell)| format!("{} {cell}", column.name())).collect::<Vec<_>>().join(", ")
}

/// Formats a range of durations in nanoseconds: `1.00–1.10 ms`, `950 ns–1.02 µs`.
pub fn between(from_ns: u64, to_ns: u64) -> String {
    let (from, to) = (words::duration(from_ns), words::duration(to_ns));
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{to}"),
        _ => format!("{from}–{to}"),
    }
}

/// Reads a time as [`humantime`] writes it, RFC 3339 in UTC; returns Unix time in nanoseconds.
pub fn unix_ns(text: &str) -> Option<u64> {
    let since = humantime::parse_rfc3339(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// Formats a share in percent: `3.1 %`, `< 0.1 %`.
pub fn share(part: u64, all: u64) -> String {
    let percent = part as f64 * 100.0 / all.max(1) as f64;
    if percent > 0.0 && percent < 0.05 { "< 0.1 %".to_owned() } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::times;

    #[test]
    fn lists_known_values() {
        let text = in_words(&times(0));
        assert_eq!(
            text,
            "p50 1.20 µs, p90 250 µs, p99 8.59 s, max 17.2 s, total 1,100 s, self 550 s, exceptions 20, in flight 3"
        );
        let none_ended = Times { exits: 0, exceptions: 0, percentiles: None, ..times(0) };
        assert_eq!(in_words(&none_ended), "exceptions 0, in flight 3");
    }

    #[test]
    fn explains_the_precision_of_percentiles() {
        let text = resolution(Some(10_000_000), Some(35_000));
        assert!(text.starts_with("At most 2 % off, "), "{text}");
        assert!(text.contains("a clock tick (10 ns): ") && text.ends_with("costs 35 ns per call."), "{text}");
        let unknown = resolution(None, None);
        assert!(unknown.contains("a clock tick: ") && unknown.ends_with("are equal."), "{unknown}");
    }

    #[test]
    fn combines_copies_by_sum_or_maximum() {
        let sums = TimeColumn::ALL.map(|column| column.together(2, 3));
        assert_eq!(sums, [3, 3, 3, 3, 5, 5, 5, 5]);
    }

    #[test]
    fn formats_ranges_and_shares() {
        assert_eq!(between(1_000_000, 1_100_000), "1.00–1.10 ms");
        assert_eq!(between(950, 1_020), "950 ns–1.02 µs");
        assert_eq!(between(0, 1), "0–1 ns");
        assert_eq!(
            [share(31, 1_000), share(1, 100_000), share(0, 5), share(0, 0)],
            ["3.1 %", "< 0.1 %", "0.0 %", "0.0 %"]
        );
    }
}

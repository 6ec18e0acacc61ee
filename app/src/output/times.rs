//! Times of a method as columns: what each is called, the number it is sorted by, and how it is written.
#![forbid(unsafe_code)]

use super::words;
use redial_protocol::times::Times;

/// One of a row's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeColumn {
    /// Half of the calls did not take longer.
    P50,
    /// 90 of a hundred.
    P90,
    /// 99 of a hundred.
    P99,
    /// The longest call.
    Max,
    /// In all calls, the outermost of each thread.
    Total,
    /// The same without callees that are timed, too.
    Own,
    /// Calls that ended by an exception.
    Exceptions,
    /// Calls under way.
    InFlight,
}

impl TimeColumn {
    /// All, in the order they stand in.
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

    /// What it is called.
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

    /// What it tells, as a sentence without its beginning.
    pub fn meaning(self) -> &'static str {
        match self {
            TimeColumn::P50 => "half of the calls took at most so long",
            TimeColumn::P90 => "90 of a hundred calls took at most so long",
            TimeColumn::P99 => "99 of a hundred calls took at most so long",
            TimeColumn::Max => "the longest call",
            TimeColumn::Total => "time in its calls, of those within one another only the outermost",
            TimeColumn::Own => {
                "time in its calls without the methods they call, as far as these are timed, too"
            }
            TimeColumn::Exceptions => "calls that ended by an exception",
            TimeColumn::InFlight => "calls that have begun and not ended",
        }
    }

    /// Whether it is in nanoseconds; else it is a number of calls.
    pub fn is_duration(self) -> bool {
        !matches!(self, TimeColumn::Exceptions | TimeColumn::InFlight)
    }

    /// Whether it is one of those that are read from a histogram.
    pub fn is_percentile(self) -> bool {
        matches!(self, TimeColumn::P50 | TimeColumn::P90 | TimeColumn::P99)
    }

    /// Its number: nanoseconds or calls; None where that is not known.
    pub fn number(self, times: &Times) -> Option<u64> {
        let known = times.percentiles.as_ref();
        let ended = |ns: u64| (times.exits > 0).then_some(ns);
        match self {
            TimeColumn::P50 => known.map(|known| known.p50_ns),
            TimeColumn::P90 => known.map(|known| known.p90_ns),
            TimeColumn::P99 => known.map(|known| known.p99_ns),
            TimeColumn::Max => ended(times.max_ns),
            TimeColumn::Total => ended(times.total_ns),
            TimeColumn::Own => ended(times.self_ns),
            TimeColumn::Exceptions => Some(times.exceptions),
            TimeColumn::InFlight => Some(times.in_flight),
        }
    }

    /// What stands in it; None where nothing is known.
    pub fn cell(self, times: &Times) -> Option<String> {
        let written = if self.is_duration() { words::duration } else { words::grouped };
        self.number(times).map(written)
    }

    /// What the numbers of two copies of one method amount to: of percentiles, which do not add up, the longer.
    pub fn together(self, one: u64, other: u64) -> u64 {
        match self {
            TimeColumn::P50 | TimeColumn::P90 | TimeColumn::P99 | TimeColumn::Max => one.max(other),
            TimeColumn::Total | TimeColumn::Own | TimeColumn::Exceptions | TimeColumn::InFlight => {
                one.saturating_add(other)
            }
        }
    }
}

/// How exact percentiles are, where a tick of the agent's clock is so many femtoseconds, and timing a call costs so many
/// picoseconds, as far as that is known.
pub fn resolution(tick_fs: Option<u64>, costs: Option<u64>) -> String {
    let tick = tick_fs.map_or_else(String::new, |fs| format!(" ({})", words::picoseconds(fs / 1_000)));
    let costs = costs.map_or_else(String::new, |costs| {
        format!(" Timing a call costs {} itself.", words::picoseconds(costs))
    });
    format!(
        "At most 2 % off, as they are read from a histogram, and no finer than a tick of the clock{tick}: where all calls \
         are very short, percentiles are equal.{costs}"
    )
}

/// What is known of them in a row of words: `p50 1.20 µs, p90 …`.
pub fn in_words(times: &Times) -> String {
    let told = TimeColumn::ALL.into_iter().filter_map(|column| Some((column, column.cell(times)?)));
    told.map(|(column, cell)| format!("{} {cell}", column.name())).collect::<Vec<_>>().join(", ")
}

/// From one duration to another, nanoseconds: `1.00–1.10 ms`, `950 ns–1.02 µs`.
pub fn between(from_ns: u64, to_ns: u64) -> String {
    let (from, to) = (words::duration(from_ns), words::duration(to_ns));
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{to}"),
        _ => format!("{from}–{to}"),
    }
}

/// So many of all, as a part of a hundred: `3.1 %`, `< 0.1 %`.
pub fn share(part: u64, all: u64) -> String {
    let percent = part as f64 * 100.0 / all.max(1) as f64;
    if percent > 0.0 && percent < 0.05 { "< 0.1 %".to_owned() } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::times;

    #[test]
    fn what_is_known_is_told() {
        let told = in_words(&times(0));
        assert_eq!(
            told,
            "p50 1.20 µs, p90 250 µs, p99 8.59 s, max 17.2 s, total 1,100 s, self 550 s, exceptions 20, in flight 3"
        );
        let none_ended = Times { exits: 0, exceptions: 0, percentiles: None, ..times(0) };
        assert_eq!(in_words(&none_ended), "exceptions 0, in flight 3");
    }

    #[test]
    fn why_percentiles_of_short_calls_are_equal_is_told_as_far_as_it_is_known() {
        let told = resolution(Some(10_000_000), Some(35_000));
        assert!(told.starts_with("At most 2 % off, "), "{told}");
        assert!(
            told.contains("a tick of the clock (10 ns): ") && told.ends_with("costs 35 ns itself."),
            "{told}"
        );
        let little = resolution(None, None);
        assert!(little.contains("a tick of the clock: ") && little.ends_with("are equal."), "{little}");
    }

    #[test]
    fn copies_add_up_but_for_what_does_not() {
        let sums = TimeColumn::ALL.map(|column| column.together(2, 3));
        assert_eq!(sums, [3, 3, 3, 3, 5, 5, 5, 5]);
    }

    #[test]
    fn ranges_and_shares_read_well() {
        assert_eq!(between(1_000_000, 1_100_000), "1.00–1.10 ms");
        assert_eq!(between(950, 1_020), "950 ns–1.02 µs");
        assert_eq!(between(0, 1), "0–1 ns");
        assert_eq!(
            [share(31, 1_000), share(1, 100_000), share(0, 5), share(0, 0)],
            ["3.1 %", "< 0.1 %", "0.0 %", "0.0 %"]
        );
    }
}

//! Frame times as lines of a table.

use std::time::Duration;

/// The statistic that a target applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// 99.9 % of the measurements.
    P999,
    /// All measurements.
    Worst,
}

/// One line: measurements of one kind with their target.
pub struct Figure {
    /// The name.
    pub what: String,
    /// The unit: `ms`, `MiB`.
    pub unit: &'static str,
    /// The measurements.
    pub numbers: Vec<f64>,
    /// The limit for one of the statistics.
    pub target: Option<(Of, f64)>,
}

impl Figure {
    /// Returns a figure of times, in milliseconds.
    pub fn times(what: impl Into<String>, times: &[Duration], target: Option<(Of, f64)>) -> Figure {
        let numbers = times.iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
        Figure { what: what.into(), unit: "ms", numbers, target }
    }

    /// Prints the line: columns for readers, or tab-separated fields for programs (name, unit, number of
    /// measurements, median, 99 %, 99.9 %, worst, statistic of the target, target).
    pub fn print(&self, tabs: bool) {
        let mut sorted = self.numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            // The smallest number that this share of measurements does not exceed.
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
        };
        let columns = [at(0.5), at(0.99), at(0.999), at(1.0)];
        let (of, most) = match self.target {
            Some((Of::P999, most)) => ("p99.9", most),
            Some((Of::Worst, most)) => ("worst", most),
            None => ("", f64::NAN),
        };
        let (what, unit, count) = (&self.what, self.unit, sorted.len());
        let [median, p99, p999, worst] = columns;
        if tabs {
            println!("{what}\t{unit}\t{count}\t{median}\t{p99}\t{p999}\t{worst}\t{of}\t{most}");
            return;
        }
        let target = if of.is_empty() { String::new() } else { format!("{of} ≤ {most}") };
        println!(
            "{what:<64} {median:>8.2} {p99:>8.2} {p999:>8.2} {worst:>8.2} {unit:<3} of {count:<6} {target}"
        );
    }
}

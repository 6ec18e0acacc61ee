//! Times of many frames as a line of a table.

use std::time::Duration;

/// Which of a line's numbers its target is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All but one in a thousand.
    P999,
    /// All.
    Worst,
}

/// One line: numbers of one kind, with what they should be at most.
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// Its unit: `ms`, `MiB`.
    pub unit: &'static str,
    /// The measurements.
    pub numbers: Vec<f64>,
    /// The most that one of them may be.
    pub target: Option<(Of, f64)>,
}

impl Figure {
    /// Times, in milliseconds.
    pub fn times(what: impl Into<String>, times: &[Duration], target: Option<(Of, f64)>) -> Figure {
        let numbers = times.iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
        Figure { what: what.into(), unit: "ms", numbers, target }
    }

    /// Prints the line: columns for a reader, or fields with tabs between for a program (what, unit, number of
    /// measurements, median, 99 of 100, 999 of 1000, worst, which of them the target is for, target).
    pub fn print(&self, tabs: bool) {
        let mut sorted = self.numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            // The smallest number that at least that share does not exceed.
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

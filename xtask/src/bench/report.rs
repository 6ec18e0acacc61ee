//! Medians, spreads, verdicts on targets, and tables.

use std::fmt::Write;

/// One pair of measurements, in the row's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Without the subject.
    pub plain: f64,
    /// With it.
    pub dialled: f64,
}

/// One line of the tables.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject, for example `count, 2 threads`.
    pub subject: String,
    /// The runtime.
    pub runtime: String,
    /// Unit of both sides: `ns/call`, `ms`, `µs`.
    pub unit: &'static str,
    /// The measurements.
    pub pairs: Vec<Pair>,
    /// Upper limit.
    pub limit: Limit,
}

/// Upper limit of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// No limit.
    None,
    /// The difference, in the row's unit.
    Added(f64),
    /// The ratio.
    Ratio(f64),
    /// Not measured, with the reason.
    NotRun,
}

/// Median, smallest and largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Returns the spread; zeros for no numbers.
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            at(middle)
        } else {
            (at(middle.saturating_sub(1)) + at(middle)) / 2.0
        };
        Self { median, least: at(0), most: at(sorted.len().saturating_sub(1)) }
    }

    fn text(self) -> String {
        format!("{} ({}–{})", number(self.median), number(self.least), number(self.most))
    }

    fn ratio(self) -> String {
        format!("{:.3} ({:.3}–{:.3})", self.median, self.least, self.most)
    }

    /// Returns whether `value` lies below or above all measurements, apart from a few outliers on each side
    /// ([`outliers`]).
    fn excludes(numbers: &[f64], value: f64) -> bool {
        let outlier = outliers(numbers.len());
        let below = numbers.iter().filter(|number| **number < value).count();
        let above = numbers.iter().filter(|number| **number > value).count();
        !numbers.is_empty() && (below <= outlier || above <= outlier) && below.max(above) > numbers.len() / 2
    }
}

/// Returns how many measurements may lie on the wrong side of a median: one of at least seven, and of more as many as the
/// sign test allows at 95 %.
fn outliers(number: usize) -> usize {
    let (mut ways, mut within) = (1.0, 0.0);
    let all = 2_f64.powi(i32::try_from(number).unwrap_or(i32::MAX));
    for wrong in 0..number {
        within += ways;
        if 2.0 * within / all > 0.05 {
            return wrong.saturating_sub(1).max(usize::from(number >= 7));
        }
        ways *= (number - wrong) as f64 / (wrong + 1) as f64;
    }
    0
}

/// Formats with two places below a hundred, and none above a thousand.
fn number(value: f64) -> String {
    let places = if value.abs() >= 1000.0 { 0 } else { 2 - usize::from(value.abs() >= 100.0) };
    format!("{value:.places$}")
}

impl Row {
    /// Returns a row without a limit.
    pub fn of(subject: impl Into<String>, runtime: &str, unit: &'static str, pairs: Vec<Pair>) -> Row {
        Row { subject: subject.into(), runtime: runtime.to_owned(), unit, pairs, limit: Limit::None }
    }

    /// Adds an upper limit.
    pub fn at_most(self, limit: Limit) -> Row {
        Row { limit, ..self }
    }

    /// Returns a row without measurements, with the reason.
    pub fn not_run(subject: impl Into<String>, runtime: &str, why: &str) -> Row {
        let subject = format!("{}: {why}", subject.into());
        Row::of(subject, runtime, "", Vec::new()).at_most(Limit::NotRun)
    }

    /// The columns: subject, runtime, without, with, difference, ratio, limit, each spread as `median (least–most)`.
    ///
    /// Difference and ratio are those of the pairs, so that drift between pairs cancels out.
    fn columns(&self) -> [String; 7] {
        if self.limit == Limit::NotRun {
            let [nothing, same, again, more] = ["", "", "", ""].map(str::to_owned);
            return [
                self.subject.clone(),
                self.runtime.clone(),
                nothing,
                same,
                again,
                more,
                "not run".to_owned(),
            ];
        }
        let plain = Spread::of(self.pairs.iter().map(|pair| pair.plain));
        let dialled = Spread::of(self.pairs.iter().map(|pair| pair.dialled));
        let differences: Vec<f64> = self.pairs.iter().map(|pair| pair.dialled - pair.plain).collect();
        let added = Spread::of(differences.iter().copied());
        let ratio = Spread::of(self.ratios());
        let added = match Spread::excludes(&differences, 0.0) {
            true => added.text(),
            false => format!("none: {}", added.text()),
        };
        [
            format!("{} [{}]", self.subject, self.unit),
            self.runtime.clone(),
            plain.text(),
            dialled.text(),
            added,
            ratio.ratio(),
            self.verdict(&differences),
        ]
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().map(|pair| pair.dialled / pair.plain)
    }

    /// Returns the verdict on the limit.
    fn verdict(&self, differences: &[f64]) -> String {
        let (text, limit, measured) = match self.limit {
            Limit::None | Limit::NotRun => return String::new(),
            Limit::Added(most) => (format!("+{most} {}", self.unit), most, differences.to_vec()),
            Limit::Ratio(most) => (format!("× {most}"), most, self.ratios().collect()),
        };
        let said = match (
            Spread::of(measured.iter().copied()).median <= limit,
            Spread::excludes(&measured, limit),
        ) {
            (true, true) => "met",
            (false, true) => "missed",
            (true, false) => "met by the median only",
            (false, false) => "missed by the median only",
        };
        format!("≤ {text}: {said}")
    }
}

const HEADINGS: [&str; 7] = ["row", "runtime", "without", "with", "added", "ratio", "target"];

/// Returns every row as cells, the headings first; numbers are `median (least–most)`.
pub fn cells(rows: &[Row]) -> Vec<[String; 7]> {
    std::iter::once(HEADINGS.map(str::to_owned)).chain(rows.iter().map(Row::columns)).collect()
}

/// A table for the terminal.
pub fn terminal<const N: usize>(cells: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut table = String::new();
    for row in cells {
        for (width, cell) in widths.iter().zip(row) {
            let padding = width.saturating_sub(cell.chars().count()) + 2;
            // Writing to a string cannot fail.
            let _ = write!(table, "{cell}{:padding$}", "");
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    table
}

/// The same in Markdown.
pub fn markdown<const N: usize>(cells: &[[String; N]]) -> String {
    let mut table = String::new();
    for (index, row) in cells.iter().enumerate() {
        let _ = writeln!(table, "| {} |", row.join(" | "));
        if index == 0 {
            let _ = writeln!(table, "|{}", "---|".repeat(N));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        let spread = Spread::of([5.0, 1.0, 3.0].into_iter());
        assert_eq!(spread, Spread { median: 3.0, least: 1.0, most: 5.0 });
        assert_eq!(Spread::of([4.0, 2.0].into_iter()).median, 3.0);
        assert_eq!(Spread::of(std::iter::empty()).median, 0.0);
    }

    #[test]
    fn more_measurements_allow_more_outliers() {
        let expected = [(1, 0), (6, 0), (7, 1), (9, 1), (12, 2), (15, 3), (27, 7)];
        assert_eq!(expected.map(|(number, _)| (number, outliers(number))), expected);
    }

    fn pairs(differences: &[f64]) -> Vec<Pair> {
        differences.iter().map(|added| Pair { plain: 10.0, dialled: 10.0 + added }).collect()
    }

    #[test]
    fn difference_and_ratio_are_of_the_pairs() {
        let pairs = vec![
            Pair { plain: 1.0, dialled: 2.0 },
            Pair { plain: 10.0, dialled: 11.0 },
            Pair { plain: 2.0, dialled: 3.0 },
        ];
        let row = Row::of("count", "8.0", "ns/call", pairs).at_most(Limit::Added(1.5));
        let [what, _, _, _, added, ratio, target] = row.columns();
        assert_eq!(what, "count [ns/call]");
        assert_eq!(added, "1.00 (1.00–1.00)");
        assert_eq!(ratio, "1.500 (1.100–2.000)");
        assert_eq!(target, "≤ +1.5 ns/call: met");
        let cells = cells(&[row]);
        let markdown = markdown(&cells);
        assert!(markdown.starts_with(
            "| row | runtime | without | with | added | ratio | target |\n|---|---|---|---|---|---|---|\n"
        ));
        assert!(markdown.contains("| count [ns/call] | 8.0 | 2.00 (1.00–10.00) |"), "{markdown}");
        assert!(terminal(&cells).starts_with("row "));
    }

    #[test]
    fn a_difference_inside_the_spread_is_none() {
        let row = |differences: &[f64]| Row::of("idle", "8.0", "ms", pairs(differences)).columns()[4].clone();
        assert!(row(&[1.0, -1.0, 2.0]).starts_with("none: 1.00 ("));
        assert!(!row(&[1.0, 0.5, 2.0]).starts_with("none"));
        assert!(row(&[0.0, 0.0, 0.0]).starts_with("none"));
        // One of nine may be an outlier, two may not.
        assert!(!row(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -5.0]).starts_with("none"));
        assert!(row(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -5.0]).starts_with("none"));
    }

    #[test]
    fn a_limit_inside_the_spread_is_said_so() {
        let verdict = |differences: &[f64], limit| {
            Row::of("x", "8.0", "ms", pairs(differences)).at_most(limit).columns()[6].clone()
        };
        assert_eq!(verdict(&[1.0, 1.0, 1.0], Limit::Added(2.0)), "≤ +2 ms: met");
        assert_eq!(verdict(&[1.0, 1.0, 1.0], Limit::Added(0.5)), "≤ +0.5 ms: missed");
        assert_eq!(verdict(&[1.0, 1.0, 3.0], Limit::Added(2.0)), "≤ +2 ms: met by the median only");
        assert_eq!(verdict(&[1.0, 3.0, 3.0], Limit::Ratio(1.2)), "≤ × 1.2: missed by the median only");
        assert_eq!(Row::not_run("Frida", "8.0", "absent").columns()[6], "not run");
    }
}

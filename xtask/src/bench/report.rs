//! Medians, spreads and tables.

use std::fmt::Write;

/// One pair of measurements, in the row's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Without what is measured.
    pub plain: f64,
    /// With it.
    pub dialled: f64,
}

/// One line of the tables.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured: `count, 2 threads`.
    pub subject: String,
    /// On which runtime.
    pub runtime: String,
    /// Unit of both sides: `ns/call`, `ms`, `µs`.
    pub unit: &'static str,
    /// The measurements.
    pub pairs: Vec<Pair>,
}

/// Median, smallest and largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of at least one number; all zero of none.
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
        format!("{:.2} ({:.2}–{:.2})", self.median, self.least, self.most)
    }
}

impl Row {
    /// The columns: subject, runtime, without, with, difference, ratio, each spread as `median (least–most)`.
    ///
    /// Difference and ratio are those of the pairs, so that drift between pairs cancels out.
    fn columns(&self) -> [String; 6] {
        let plain = Spread::of(self.pairs.iter().map(|pair| pair.plain));
        let dialled = Spread::of(self.pairs.iter().map(|pair| pair.dialled));
        let added = Spread::of(self.pairs.iter().map(|pair| pair.dialled - pair.plain));
        let ratio = Spread::of(self.pairs.iter().map(|pair| pair.dialled / pair.plain));
        [
            format!("{} [{}]", self.subject, self.unit),
            self.runtime.clone(),
            plain.text(),
            dialled.text(),
            added.text(),
            ratio.text(),
        ]
    }
}

const HEADINGS: [&str; 6] = ["what", "runtime", "without", "with", "added", "ratio"];

/// Every row as cells, the headings first; every number is `median (least–most)`.
pub fn cells(rows: &[Row]) -> Vec<[String; 6]> {
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
            // Writing to a string does not fail.
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
    fn difference_and_ratio_are_of_the_pairs() {
        let pairs = vec![
            Pair { plain: 1.0, dialled: 2.0 },
            Pair { plain: 10.0, dialled: 11.0 },
            Pair { plain: 2.0, dialled: 3.0 },
        ];
        let row = Row { subject: "count".to_owned(), runtime: "8.0".to_owned(), unit: "ns/call", pairs };
        let [what, _, _, _, added, ratio] = row.columns();
        assert_eq!(what, "count [ns/call]");
        assert_eq!(added, "1.00 (1.00–1.00)");
        assert_eq!(ratio, "1.50 (1.10–2.00)");
        let cells = cells(&[row]);
        let markdown = markdown(&cells);
        assert!(
            markdown.starts_with(
                "| what | runtime | without | with | added | ratio |\n|---|---|---|---|---|---|\n"
            )
        );
        assert!(markdown.contains("| count [ns/call] | 8.0 | 2.00 (1.00–10.00) |"), "{markdown}");
        assert!(terminal(&cells).starts_with("what "));
    }
}

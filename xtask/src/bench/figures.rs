//! Figures with targets, and their tables.

/// Upper limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// No limit.
    None,
    /// For the median.
    Median(f64),
    /// For the 99th percentile.
    P99(f64),
    /// For the 99.9th percentile.
    P999(f64),
    /// For the maximum.
    Worst(f64),
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    what: String,
    unit: String,
    count: usize,
    /// Median, p99, p99.9 and maximum; or the reason why there are none.
    numbers: Result<[f64; 4], String>,
    target: Target,
}

impl Figure {
    /// Returns a figure from at least one measurement.
    pub fn of(what: &str, unit: &str, measured: &[f64], target: Target) -> Figure {
        let mut sorted = measured.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
        };
        let numbers = Ok([at(0.5), at(0.99), at(0.999), at(1.0)]);
        Figure { what: what.to_owned(), unit: unit.to_owned(), count: sorted.len(), numbers, target }
    }

    /// Returns a figure without numbers, with the reason.
    pub fn skipped(what: &str, why: &str) -> Figure {
        let numbers = Err(why.to_owned());
        Figure { what: what.to_owned(), unit: String::new(), count: 0, numbers, target: Target::None }
    }

    /// Reads a line of the window's benchmark: subject, unit, count, median, p99, p99.9, maximum, the statistic that the
    /// target is for, target. Returns `None` for other lines.
    pub fn read(line: &str) -> Option<Figure> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [what, unit, count, median, p99, p999, worst, of, most] = fields.as_slice() else { return None };
        let number = |text: &str| text.parse::<f64>().ok();
        let target = match *of {
            "" => Target::None,
            "p99.9" => Target::P999(number(most)?),
            "worst" => Target::Worst(number(most)?),
            _ => return None,
        };
        Some(Figure {
            what: (*what).to_owned(),
            unit: (*unit).to_owned(),
            count: count.parse().ok()?,
            numbers: Ok([number(median)?, number(p99)?, number(p999)?, number(worst)?]),
            target,
        })
    }

    fn columns(&self) -> [String; 8] {
        let Figure { what, unit, count, .. } = self;
        let (of, most, reached) = match (self.target, &self.numbers) {
            (Target::Median(most), Ok([median, ..])) => ("median", most, *median),
            (Target::P99(most), Ok([_, p99, ..])) => ("p99", most, *p99),
            (Target::P999(most), Ok([_, _, p999, _])) => ("p99.9", most, *p999),
            (Target::Worst(most), Ok([.., worst])) => ("worst", most, *worst),
            _ => ("", f64::NAN, f64::NAN),
        };
        let (target, verdict) = match of {
            "" => (String::new(), String::new()),
            of => (format!("{of} ≤ {most}"), if reached <= most { "met" } else { "missed" }.to_owned()),
        };
        match &self.numbers {
            Ok(numbers) => {
                let [median, p99, p999, worst] = numbers.map(|number| format!("{number:.2}"));
                let what = format!("{what} [{unit}]");
                [what, count.to_string(), median, p99, p999, worst, target, verdict]
            }
            Err(why) => {
                let nothing = String::new;
                [
                    what.clone(),
                    "0".to_owned(),
                    nothing(),
                    nothing(),
                    nothing(),
                    nothing(),
                    nothing(),
                    why.clone(),
                ]
            }
        }
    }
}

const HEADINGS: [&str; 8] = ["row", "measured", "median", "p99", "p99.9", "worst", "target", ""];

/// Returns every row as cells, the headings first.
pub fn cells(figures: &[Figure]) -> Vec<[String; 8]> {
    std::iter::once(HEADINGS.map(str::to_owned)).chain(figures.iter().map(Figure::columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_benchmark_is_read_and_judged() {
        let line = "a frame\tms\t4000\t1.5\t2.5\t7.25\t9\tp99.9\t8";
        let figure = Figure::read(line).expect("a figure");
        assert_eq!(
            figure.columns(),
            ["a frame [ms]", "4000", "1.50", "2.50", "7.25", "9.00", "p99.9 ≤ 8", "met"].map(str::to_owned)
        );
        let worst = Figure::read("a frame\tms\t4000\t1.5\t2.5\t7.25\t9\tworst\t8").expect("a figure");
        assert_eq!(worst.columns()[7], "missed");
        assert_eq!(Figure::read("a frame\tms\t4\t1\t2\t3\t4\t\tNaN").expect("a figure").columns()[6], "");
        for broken in ["", "running 0 tests", "a\tb\tc\td\te\tf\tg\th\ti", "a\tms\t1\t1\t1\t1\t1\tmean\t3"] {
            assert_eq!(Figure::read(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn shares_are_of_what_was_measured() {
        let thousand: Vec<f64> = (1..=1000).map(f64::from).collect();
        let figure = Figure::of("idle", "%", &thousand, Target::Worst(1000.0));
        assert_eq!(figure.numbers, Ok([500.0, 990.0, 999.0, 1000.0]));
        assert_eq!(Figure::skipped("idle", "no Xvfb").columns()[7], "no Xvfb");
        assert_eq!(cells(&[figure]).len(), 2);
    }
}

//! The sort order of dialled methods in tables: most calls first; methods that are off again come last or are only
//! counted.

use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::ids::RowId;
use redial_text::words;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The ratio between neighbouring rate steps.
const STEP: f64 = 1.15;
/// The step of methods that are not called at all.
const STILL: i32 = i32::MIN;

/// Returns the rows by descending calls, then by name.
pub fn by_calls(dials: &DialledCopies) -> Vec<&DialledCopy> {
    let mut rows: Vec<&DialledCopy> = dials.iter().collect();
    rows.sort_by(|a, b| most_called(a, b));
    rows
}

/// The methods that are off again, where a table only counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffTotals {
    /// The number of methods.
    pub methods: u64,
    /// Their calls, while they were dialled.
    pub calls: u64,
}

impl OffTotals {
    /// Returns the line about them, or `None` if there are none.
    pub fn line(&self) -> Option<String> {
        let are_off = if self.methods == 1 { "is off again" } else { "are off again" };
        let (methods, calls) = (words::methods(self.methods), words::count(self.calls, "call", "calls"));
        let them = words::them(self.methods);
        (self.methods > 0).then(|| format!("{methods} {are_off} ({calls}); --all lists {them}"))
    }
}

/// Splits off the methods that are off again: with `all` they follow the other rows, otherwise they are counted.
pub fn on_first(rows: Vec<&DialledCopy>, all: bool) -> (Vec<&DialledCopy>, OffTotals) {
    let (mut on, over): (Vec<&DialledCopy>, Vec<&DialledCopy>) =
        rows.into_iter().partition(|dial| !dial.is_over());
    if all {
        on.extend(over);
        return (on, OffTotals::default());
    }
    let calls = over.iter().fold(0, |sum: u64, dial| sum.saturating_add(dial.row.calls));
    (on, OffTotals { methods: over.len() as u64, calls })
}

fn most_called(a: &DialledCopy, b: &DialledCopy) -> Ordering {
    b.row.calls.cmp(&a.row.calls).then_with(|| name(a).cmp(&name(b)))
}

fn name(dial: &DialledCopy) -> (&str, &str, &str, RowId) {
    (&dial.row.module, &dial.row.method, &dial.row.signature, dial.row.row)
}

/// Sorts the rows of one watch by rate and keeps the order readable while rates change. Rates fall into steps, and a
/// row leaves its step only when its rate is well outside. Rows in one step sort by calls.
#[derive(Debug, Default)]
pub struct ByRate {
    steps: HashMap<RowId, i32>,
}

impl ByRate {
    /// Returns the rows by descending rate, then by calls and name. Call once per counter snapshot.
    pub fn order<'a>(&mut self, dials: &'a DialledCopies) -> Vec<&'a DialledCopy> {
        let mut rows: Vec<(i32, &DialledCopy)> = dials.iter().map(|dial| (self.step(dial), dial)).collect();
        rows.sort_by(|(a_step, a), (b_step, b)| b_step.cmp(a_step).then_with(|| most_called(a, b)));
        rows.into_iter().map(|(_, dial)| dial).collect()
    }

    fn step(&mut self, dial: &DialledCopy) -> i32 {
        let step = self.steps.entry(dial.row.row).or_insert(STILL);
        *step = match dial.rate.filter(|rate| *rate > 0.0) {
            None => STILL,
            Some(rate) => {
                let place = rate.log(STEP);
                let middle = f64::from(*step) + 0.5;
                if *step != STILL && (place - middle).abs() <= 1.0 { *step } else { place.floor() as i32 }
            }
        };
        *step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::{counters, row};
    use redial_protocol::level::Level;
    use redial_protocol::state::CopyState;

    fn methods(rows: &[&DialledCopy]) -> String {
        rows.iter().map(|dial| dial.row.method.as_str()).collect()
    }

    #[test]
    fn sorts_by_calls_before_names() {
        let mut dials = DialledCopies::default();
        dials.rows(vec![row(0, "C", 1), row(1, "B", 30), row(2, "A", 1)]);
        assert_eq!(methods(&by_calls(&dials)), "BAC");
    }

    #[test]
    fn counts_methods_off_again_or_lists_them_last() {
        let mut dials = DialledCopies::default();
        let mut over = row(0, "A", 40);
        (over.wanted, over.state) = (Level::Off, CopyState::Off);
        let mut off_soon = row(3, "D", 1);
        (off_soon.wanted, off_soon.state) = (Level::Off, CopyState::Reverting);
        dials.rows(vec![over, row(1, "B", 1), row(2, "C", 0), off_soon]);
        let (rows, left) = on_first(by_calls(&dials), false);
        assert_eq!((methods(&rows).as_str(), left), ("BDC", OffTotals { methods: 1, calls: 40 }));
        let line = left.line();
        assert_eq!(line.as_deref(), Some("1 method is off again (40 calls); --all lists it"));
        let (rows, left) = on_first(by_calls(&dials), true);
        assert_eq!((methods(&rows).as_str(), left.line()), ("BDCA", None));
        // A method whose instrumented code still runs keeps counting.
        dials.first_interval_covers(1_000);
        dials.apply(counters(1_000, &[(0, 5)]));
        assert_eq!(on_first(by_calls(&dials), false).1, OffTotals::default());
    }

    #[test]
    fn sorts_by_rate_before_calls_and_names() {
        let mut dials = DialledCopies::default();
        dials.rows(vec![row(0, "D", 9), row(1, "C", 500), row(2, "B", 9), row(3, "A", 0)]);
        let mut order = ByRate::default();
        assert_eq!(methods(&order.order(&dials)), "CBDA", "without rates: by calls, then by name");
        dials.first_interval_covers(1_000);
        dials.apply(counters(1_000, &[(0, 50), (3, 900)]));
        assert_eq!(methods(&order.order(&dials)), "ADCB");
    }

    #[test]
    fn rows_with_similar_rates_keep_their_places() {
        let mut dials = DialledCopies::default();
        dials.rows(vec![row(0, "Busy", 5_000), row(1, "Also", 0)]);
        dials.first_interval_covers(1_000);
        let mut order = ByRate::default();
        for (snapshot, (busy, also)) in
            [(1_000, 990), (990, 1_010), (1_005, 1_000), (970, 1_030)].iter().enumerate()
        {
            dials.apply(counters((snapshot as u64 + 1) * 1_000, &[(0, *busy), (1, *also)]));
            assert_eq!(methods(&order.order(&dials)), "BusyAlso", "snapshot {snapshot}");
        }
        dials.apply(counters(5_000, &[(0, 1_000), (1, 1_600)]));
        assert_eq!(methods(&order.order(&dials)), "AlsoBusy", "a clearly higher rate moves a row up");
        dials.apply(counters(6_000, &[(0, 1)]));
        assert_eq!(methods(&order.order(&dials)), "BusyAlso", "a method without calls is last");
    }
}

//! The order of dialled methods in tables: the most called first, those that are off again last or only counted.

use crate::model::dials::{Dial, Dials};
use crate::output::words;
use redial_protocol::ids::RowId;
use std::cmp::Ordering;
use std::collections::HashMap;

/// How much faster one step of rates is than the one below it.
const STEP: f64 = 1.15;
/// The step of what is not called at all.
const STILL: i32 = i32::MIN;

/// The rows with the most calls first, then by name.
pub fn by_calls(dials: &Dials) -> Vec<&Dial> {
    let mut rows: Vec<&Dial> = dials.iter().collect();
    rows.sort_by(|a, b| most_called(a, b));
    rows
}

/// Methods that were dialled and are off again, where they are counted and not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Over {
    /// How many.
    pub methods: u64,
    /// Their calls, while they were dialled.
    pub calls: u64,
}

impl Over {
    /// What is said of them, some of which may never have been on; nothing where there is none.
    pub fn line(&self) -> Option<String> {
        let were = if self.methods == 1 { "was dialled and is off" } else { "were dialled and are off" };
        let (methods, calls) = (words::methods(self.methods), words::count(self.calls, "call", "calls"));
        let them = words::them(self.methods);
        (self.methods > 0).then(|| format!("{methods} {were} now ({calls}); --all lists {them}"))
    }
}

/// What is on, or meant to be, in the order given; then what is off again: with `all` as rows behind the others, else as
/// numbers.
pub fn on_first(rows: Vec<&Dial>, all: bool) -> (Vec<&Dial>, Over) {
    let (mut on, over): (Vec<&Dial>, Vec<&Dial>) = rows.into_iter().partition(|dial| !dial.is_over());
    if all {
        on.extend(over);
        return (on, Over::default());
    }
    let calls = over.iter().fold(0, |sum: u64, dial| sum.saturating_add(dial.row.calls));
    (on, Over { methods: over.len() as u64, calls })
}

fn most_called(a: &Dial, b: &Dial) -> Ordering {
    b.row.calls.cmp(&a.row.calls).then_with(|| name(a).cmp(&name(b)))
}

fn name(dial: &Dial) -> (&str, &str, &str, RowId) {
    (&dial.row.module, &dial.row.method, &dial.row.signature, dial.row.row)
}

/// Orders the rows of one watch by calls a second, so that it can be read while it changes: rates are told apart in
/// steps, and a row leaves its step only when its rate is well outside, so that rows called about as often keep the
/// order of their calls.
#[derive(Debug, Default)]
pub struct ByRate {
    steps: HashMap<RowId, i32>,
}

impl ByRate {
    /// The rows, most called a second first, then by calls and name. To be asked once for every fold.
    pub fn order<'a>(&mut self, dials: &'a Dials) -> Vec<&'a Dial> {
        let mut rows: Vec<(i32, &Dial)> = dials.iter().map(|dial| (self.step(dial), dial)).collect();
        rows.sort_by(|(a_step, a), (b_step, b)| b_step.cmp(a_step).then_with(|| most_called(a, b)));
        rows.into_iter().map(|(_, dial)| dial).collect()
    }

    fn step(&mut self, dial: &Dial) -> i32 {
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
    use crate::model::dials::tests::{counters, row};
    use redial_protocol::level::Level;
    use redial_protocol::state::State;

    fn methods(rows: &[&Dial]) -> String {
        rows.iter().map(|dial| dial.row.method.as_str()).collect()
    }

    #[test]
    fn calls_come_before_names() {
        let mut dials = Dials::default();
        dials.rows(vec![row(0, "C", 1), row(1, "B", 30), row(2, "A", 1)]);
        assert_eq!(methods(&by_calls(&dials)), "BAC");
    }

    #[test]
    fn what_is_off_again_is_counted_or_comes_last() {
        let mut dials = Dials::default();
        let mut over = row(0, "A", 40);
        (over.wanted, over.state) = (Level::Off, State::Off);
        let mut off_soon = row(3, "D", 1);
        (off_soon.wanted, off_soon.state) = (Level::Off, State::Reverting);
        dials.rows(vec![over, row(1, "B", 1), row(2, "C", 0), off_soon]);
        let (rows, left) = on_first(by_calls(&dials), false);
        assert_eq!((methods(&rows).as_str(), left), ("BDC", Over { methods: 1, calls: 40 }));
        let said = left.line();
        assert_eq!(said.as_deref(), Some("1 method was dialled and is off now (40 calls); --all lists it"));
        let (rows, left) = on_first(by_calls(&dials), true);
        assert_eq!((methods(&rows).as_str(), left.line()), ("BDCA", None));
        // What still runs the old code counts on.
        dials.first_fold_covers(1_000);
        dials.apply(counters(1_000, &[(0, 5)]));
        assert_eq!(on_first(by_calls(&dials), false).1, Over::default());
    }

    #[test]
    fn rates_come_before_calls_and_names() {
        let mut dials = Dials::default();
        dials.rows(vec![row(0, "D", 9), row(1, "C", 500), row(2, "B", 9), row(3, "A", 0)]);
        let mut order = ByRate::default();
        assert_eq!(methods(&order.order(&dials)), "CBDA", "no rate is known: by calls, then by name");
        dials.first_fold_covers(1_000);
        dials.apply(counters(1_000, &[(0, 50), (3, 900)]));
        assert_eq!(methods(&order.order(&dials)), "ADCB");
    }

    #[test]
    fn rows_called_about_as_often_keep_their_places() {
        let mut dials = Dials::default();
        dials.rows(vec![row(0, "Busy", 5_000), row(1, "Also", 0)]);
        dials.first_fold_covers(1_000);
        let mut order = ByRate::default();
        for (fold, (busy, also)) in
            [(1_000, 990), (990, 1_010), (1_005, 1_000), (970, 1_030)].iter().enumerate()
        {
            dials.apply(counters((fold as u64 + 1) * 1_000, &[(0, *busy), (1, *also)]));
            assert_eq!(methods(&order.order(&dials)), "BusyAlso", "fold {fold}");
        }
        dials.apply(counters(5_000, &[(0, 1_000), (1, 1_600)]));
        assert_eq!(methods(&order.order(&dials)), "AlsoBusy", "clearly more is more");
        dials.apply(counters(6_000, &[(0, 1)]));
        assert_eq!(methods(&order.order(&dials)), "BusyAlso", "what rests is last");
    }
}

//! What dials cost the program: what a call costs more, times how often it is called.

use super::dials::{Dial, Dials};
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use redial_protocol::state::State;

/// Percent of one processor that so many calls a second cost at a level; None where nobody measured that level.
pub fn percent(costs: &[Cost], level: Level, rate: f64) -> Option<f64> {
    const PICOSECONDS: f64 = 1e12;
    let cost = costs.iter().find(|cost| cost.level == level)?;
    Some(rate * cost.picoseconds as f64 / PICOSECONDS * 100.0)
}

/// Percent of one processor that a dial costs now; None while its rate is not known.
pub fn of_dial(costs: &[Cost], dial: &Dial) -> Option<f64> {
    // What is called though nothing of ours should run any more still runs it.
    let level = match dial.row.wanted {
        Level::Off if dial.row.state == State::Reverting && dial.times.is_some() => Level::Time,
        Level::Off => Level::Count,
        // Some methods cannot be timed, and are counted.
        Level::Time | Level::Trace if dial.times.is_none() => Level::Count,
        level => level,
    };
    percent(costs, level, dial.rate?)
}

/// Percent of one processor that all dials together cost now; None while no rate is known.
pub fn of_all(costs: &[Cost], dials: &Dials) -> Option<f64> {
    dials.iter().filter_map(|dial| of_dial(costs, dial)).reduce(|sum, one| sum + one)
}

/// What dials that are on would cost at another level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foreseen {
    /// Dials that are called now.
    pub dials: u64,
    /// Their calls a second.
    pub rate: f64,
    /// Percent of one processor that they cost now.
    pub now: f64,
    /// Percent of one processor that they would cost.
    pub then: f64,
}

/// What these dials would cost at `level`, by their present rates; None where none of them is called.
pub fn foresee(costs: &[Cost], dials: &Dials, level: Level) -> Option<Foreseen> {
    let mut sum = Foreseen { dials: 0, rate: 0.0, now: 0.0, then: 0.0 };
    for dial in dials.iter() {
        let Some(rate) = dial.rate.filter(|rate| *rate > 0.0) else { continue };
        sum.dials += 1;
        sum.rate += rate;
        sum.now += of_dial(costs, dial)?;
        sum.then += percent(costs, level, rate)?;
    }
    (sum.dials > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::{counters, row, times};

    const COSTS: [Cost; 2] =
        [Cost { level: Level::Count, picoseconds: 500 }, Cost { level: Level::Time, picoseconds: 20_000 }];

    fn close(told: Option<f64>, expected: f64) {
        assert!(told.is_some_and(|told| (told - expected).abs() < 1e-9), "{told:?} is not {expected}");
    }

    /// A million calls a second of each of two methods, and one that is not called.
    fn dials() -> Dials {
        let mut dials = Dials::default();
        dials.rows((0..3).map(|index| row(index, "Shop.Cart.Add", 0)).collect());
        dials.apply(counters(1_000, &[]));
        dials.apply(counters(2_000, &[(0, 1_000_000), (1, 1_000_000)]));
        dials
    }

    #[test]
    fn a_million_counted_calls_a_second_are_a_twentieth_of_a_percent() {
        close(percent(&COSTS, Level::Count, 1e6), 0.05);
        close(percent(&COSTS, Level::Time, 1e6), 2.0);
        assert_eq!(percent(&COSTS, Level::Trace, 1e6), None);
        close(of_all(&COSTS, &dials()), 0.1);
        assert_eq!(of_all(&COSTS, &Dials::default()), None);
    }

    #[test]
    fn what_is_timed_costs_more_and_what_cannot_be_timed_does_not() {
        let mut dials = dials();
        let mut timed = |index| {
            let mut row = row(index, "Shop.Cart.Add", 0);
            row.wanted = Level::Time;
            dials.rows(vec![row]);
        };
        timed(0);
        timed(1);
        close(of_all(&COSTS, &dials), 0.1);
        dials.times(vec![times(0)]);
        close(of_all(&COSTS, &dials), 2.05);
    }

    #[test]
    fn a_level_is_foreseen_by_present_rates() {
        let foreseen = foresee(&COSTS, &dials(), Level::Time).expect("they are called");
        assert_eq!((foreseen.dials, foreseen.rate), (2, 2e6));
        close(Some(foreseen.now), 0.1);
        close(Some(foreseen.then), 4.0);
        assert_eq!(foresee(&COSTS, &dials(), Level::Trace), None, "nobody knows what that costs");
        assert_eq!(foresee(&COSTS, &Dials::default(), Level::Time), None);
    }
}

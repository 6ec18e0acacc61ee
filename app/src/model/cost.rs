//! What dials cost the program: what a call costs more, times how often it is called.

use super::dials::Dial;
use super::live::LiveRow;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use redial_protocol::state::State;

const PICOSECONDS: f64 = 1e12;

/// Percent of one processor that so many calls a second cost at a level; None where nobody measured that level.
pub fn percent(costs: &[Cost], level: Level, rate: f64) -> Option<f64> {
    let cost = costs.iter().find(|cost| cost.level == level)?;
    Some(rate * cost.picoseconds as f64 / PICOSECONDS * 100.0)
}

/// What runs of a dial now, and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The level of what runs when it is called.
    runs: Level,
    /// Calls a second; None while that is not known.
    rate: Option<f64>,
}

impl Load {
    fn of((wanted, state): (Level, State), is_timed: bool, rate: Option<f64>) -> Load {
        // What is called though nothing of ours should run any more still runs it.
        let runs = match wanted {
            Level::Off if state == State::Reverting && is_timed => Level::Time,
            Level::Off => Level::Count,
            // Some methods cannot be timed, and are counted.
            Level::Time | Level::Trace if !is_timed => Level::Count,
            level => level,
        };
        Load { runs, rate }
    }
}

impl From<&Dial> for Load {
    fn from(dial: &Dial) -> Load {
        Load::of((dial.row.wanted, dial.row.state), dial.times.is_some(), dial.rate)
    }
}

impl From<&LiveRow> for Load {
    fn from(row: &LiveRow) -> Load {
        Load::of((row.wanted, row.state), row.times.is_some(), row.rate.map(f64::from))
    }
}

/// Percent of one processor that dials together cost now; None while no rate is known.
pub fn of_all(costs: &[Cost], loads: impl IntoIterator<Item = Load>) -> Option<f64> {
    let each = loads.into_iter().filter_map(|load| percent(costs, load.runs, load.rate?));
    each.reduce(|sum, one| sum + one)
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

impl Foreseen {
    /// From this share of a processor on, percent, a level is warned of.
    pub const MUCH: f64 = 5.0;

    /// What a call would cost, picoseconds.
    pub fn of_a_call(&self) -> u64 {
        (self.then / 100.0 / self.rate * PICOSECONDS).round() as u64
    }
}

/// What dials would cost at `level`, by their present rates; None where none of them is called, or where nobody measured
/// that level.
pub fn foresee(costs: &[Cost], loads: impl IntoIterator<Item = Load>, level: Level) -> Option<Foreseen> {
    let mut sum = Foreseen { dials: 0, rate: 0.0, now: 0.0, then: 0.0 };
    for load in loads {
        let Some(rate) = load.rate.filter(|rate| *rate > 0.0) else { continue };
        sum.dials += 1;
        sum.rate += rate;
        sum.now += percent(costs, load.runs, rate)?;
        sum.then += percent(costs, level, rate)?;
    }
    (sum.dials > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::tests::small;
    use crate::model::dials::Dials;
    use crate::model::dials::tests::{counters, row, times};
    use crate::model::list::tests::live;
    use redial_protocol::message::Event;

    const COSTS: [Cost; 2] =
        [Cost { level: Level::Count, picoseconds: 500 }, Cost { level: Level::Time, picoseconds: 20_000 }];

    fn close(told: Option<f64>, expected: f64) {
        assert!(told.is_some_and(|told| (told - expected).abs() < 1e-9), "{told:?} is not {expected}");
    }

    fn dials_cost(dials: &Dials) -> Option<f64> {
        of_all(&COSTS, dials.iter().map(Load::from))
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
        close(dials_cost(&dials()), 0.1);
        assert_eq!(dials_cost(&Dials::default()), None);
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
        close(dials_cost(&dials), 0.1);
        dials.times(vec![times(0)]);
        close(dials_cost(&dials), 2.05);
    }

    #[test]
    fn a_level_is_foreseen_by_present_rates() {
        let foresee = |dials: &Dials, level| foresee(&COSTS, dials.iter().map(Load::from), level);
        let foreseen = foresee(&dials(), Level::Time).expect("they are called");
        assert_eq!((foreseen.dials, foreseen.rate), (2, 2e6));
        close(Some(foreseen.now), 0.1);
        close(Some(foreseen.then), 4.0);
        assert_eq!(foreseen.of_a_call(), 20_000);
        assert_eq!(foresee(&dials(), Level::Trace), None, "nobody knows what that costs");
        assert_eq!(foresee(&Dials::default(), Level::Time), None);
    }

    #[test]
    fn the_window_foresees_what_the_command_line_does() {
        let catalogue = small();
        let mut live = live(&catalogue, &[0, 1], |_| 1);
        let told = |live: &crate::model::live::Live, level| {
            foresee(&COSTS, live.rows().map(Load::from), level).map(|told| (told.dials, told.then))
        };
        assert_eq!(told(&live, Level::Time), None, "no rate is known");
        for t_ms in [1_000, 2_000] {
            let Event::Counters { delta, dropped } = counters(t_ms, &[(0, 1_000_000), (1, 1_000_000)]) else {
                panic!("counters")
            };
            live.take_counters(&delta, dropped);
        }
        let by_line = foresee(&COSTS, dials().iter().map(Load::from), Level::Time);
        assert_eq!(told(&live, Level::Time), by_line.map(|told| (told.dials, told.then)));
    }
}

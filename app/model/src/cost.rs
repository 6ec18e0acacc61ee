//! The overhead of dials: the extra cost of a call times the call rate.

use super::live::LiveRow;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

const PICOSECONDS: f64 = 1e12;

/// Returns the cost of a call rate at a level, in percent of one processor; `None` if that level was not
/// measured.
pub fn percent(costs: &[Cost], level: Level, rate: f64) -> Option<f64> {
    let cost = costs.iter().find(|cost| cost.level == level)?;
    Some(rate * cost.picoseconds as f64 / PICOSECONDS * 100.0)
}

/// The active body of a dial and its call rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DialLoad {
    /// The level of the active body.
    runs: Level,
    /// Calls per second; `None` if unknown.
    rate: Option<f64>,
}

impl DialLoad {
    /// Returns the load of a dial with this wanted level and state.
    pub(super) fn of((wanted, state): (Level, CopyState), is_timed: bool, rate: Option<f64>) -> DialLoad {
        // While reverting, calls may still run the instrumented body.
        let runs = match wanted {
            Level::Off if state == CopyState::Reverting && is_timed => Level::Time,
            Level::Off => Level::Count,
            // Methods that cannot be timed are counted.
            Level::Time | Level::Trace if !is_timed => Level::Count,
            level => level,
        };
        DialLoad { runs, rate }
    }
}

impl From<&LiveRow> for DialLoad {
    fn from(row: &LiveRow) -> DialLoad {
        DialLoad::of((row.wanted, row.state), row.times.is_some(), row.rate.map(f64::from))
    }
}

/// Returns the current cost of dials together, in percent of one processor; `None` if no rate is known.
pub fn of_all(costs: &[Cost], loads: impl IntoIterator<Item = DialLoad>) -> Option<f64> {
    let each = loads.into_iter().filter_map(|load| percent(costs, load.runs, load.rate?));
    each.reduce(|sum, one| sum + one)
}

/// The estimated cost of dials at another level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostEstimate {
    /// Dials that are being called.
    pub dials: u64,
    /// Their calls per second.
    pub rate: f64,
    /// Their current cost in percent of one processor.
    pub now: f64,
    /// Their estimated cost in percent of one processor.
    pub then: f64,
}

impl CostEstimate {
    /// From this percentage of a processor on, the window warns of a level.
    pub const MUCH: f64 = 5.0;

    /// Returns the estimated cost of a call in picoseconds.
    pub fn of_a_call(&self) -> u64 {
        (self.then / 100.0 / self.rate * PICOSECONDS).round() as u64
    }
}

/// Estimates the cost of dials at `level` from their current rates; `None` if none is called or the level was
/// not measured.
pub fn estimate(
    costs: &[Cost],
    loads: impl IntoIterator<Item = DialLoad>,
    level: Level,
) -> Option<CostEstimate> {
    let mut sum = CostEstimate { dials: 0, rate: 0.0, now: 0.0, then: 0.0 };
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
    use crate::catalogue::tests::small;
    use crate::dials::DialledCopies;
    use crate::fixtures::{counters, row};
    use crate::list::tests::live;
    use redial_protocol::message::Event;
    use redial_text::fixtures::times;

    const COSTS: [Cost; 2] =
        [Cost { level: Level::Count, picoseconds: 500 }, Cost { level: Level::Time, picoseconds: 20_000 }];

    fn close(actual: Option<f64>, expected: f64) {
        assert!(actual.is_some_and(|value| (value - expected).abs() < 1e-9), "{actual:?} is not {expected}");
    }

    fn dials_cost(dials: &DialledCopies) -> Option<f64> {
        of_all(&COSTS, dials.iter().map(DialLoad::from))
    }

    /// Two methods with a million calls per second each, and one without calls.
    fn dials() -> DialledCopies {
        let mut dials = DialledCopies::default();
        dials.rows((0..3).map(|index| row(index, "Shop.Cart.Add", 0)).collect());
        dials.apply(counters(1_000, &[]));
        dials.apply(counters(2_000, &[(0, 1_000_000), (1, 1_000_000)]));
        dials
    }

    #[test]
    fn a_million_counted_calls_cost_a_twentieth_percent() {
        close(percent(&COSTS, Level::Count, 1e6), 0.05);
        close(percent(&COSTS, Level::Time, 1e6), 2.0);
        assert_eq!(percent(&COSTS, Level::Trace, 1e6), None);
        close(dials_cost(&dials()), 0.1);
        assert_eq!(dials_cost(&DialledCopies::default()), None);
    }

    #[test]
    fn timed_methods_cost_more_than_counted_ones() {
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
    fn estimates_a_level_from_current_rates() {
        let estimate =
            |dials: &DialledCopies, level| estimate(&COSTS, dials.iter().map(DialLoad::from), level);
        let estimated = estimate(&dials(), Level::Time).expect("they are called");
        assert_eq!((estimated.dials, estimated.rate), (2, 2e6));
        close(Some(estimated.now), 0.1);
        close(Some(estimated.then), 4.0);
        assert_eq!(estimated.of_a_call(), 20_000);
        assert_eq!(estimate(&dials(), Level::Trace), None, "its cost is unknown");
        assert_eq!(estimate(&DialledCopies::default(), Level::Time), None);
    }

    #[test]
    fn window_and_command_line_estimate_the_same() {
        let catalogue = small();
        let mut live = live(&catalogue, &[0, 1], |_| 1);
        let in_window = |live: &crate::live::Live, level| {
            estimate(&COSTS, live.rows().map(DialLoad::from), level).map(|one| (one.dials, one.then))
        };
        assert_eq!(in_window(&live, Level::Time), None, "no rate is known");
        for t_ms in [1_000, 2_000] {
            let Event::Counters { delta, dropped } = counters(t_ms, &[(0, 1_000_000), (1, 1_000_000)]) else {
                panic!("counters")
            };
            live.take_counters(&delta, dropped);
        }
        let by_line = estimate(&COSTS, dials().iter().map(DialLoad::from), Level::Time);
        assert_eq!(in_window(&live, Level::Time), by_line.map(|one| (one.dials, one.then)));
    }
}

//! Decides which dials to step down so that together they stay within the budget. Pure.
#![forbid(unsafe_code)]

use redial_protocol::cost::{Cost, Share};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Consecutive checks that must be over the budget: a single one may be a burst, or follow a change just made.
const CHECKS: u32 = 2;
/// Dials stepped down at once; if that is not enough, the next checks take more.
const MAX_STEPS: usize = 256;
/// Percentage of the budget that must suffice after stepping down, so that the cost does not stay at the limit.
const TARGET_PERCENT: u64 = 80;

/// A dial, as of the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialledRow {
    /// Its row.
    pub row: RowId,
    /// The level that runs when it is called.
    pub runs: Level,
    /// Calls per second.
    pub rate: u64,
    /// A user raised it again after it was stepped down: it stays as it is, and its cost does not count.
    pub spared: bool,
}

/// A dial to be stepped down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its row.
    pub row: RowId,
    /// The new level.
    pub to: Level,
    /// Its cost at the present level.
    pub cost: Share,
}

/// The cost of dials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// All dials together.
    pub all: Share,
    /// The spared dials among them.
    pub spared: Share,
}

/// The limit on the cost of dials, and how often in a row they exceeded it.
#[derive(Debug, Default)]
pub struct Budget {
    limit: Option<Share>,
    over: u32,
}

impl Budget {
    /// Makes a budget; None: no limit.
    pub fn of(limit: Option<Share>) -> Budget {
        Budget { limit, over: 0 }
    }

    /// Returns the limit on the cost of all dials together.
    pub fn limit(&self) -> Option<Share> {
        self.limit
    }

    /// Checks the dials: returns their cost, and those to step down now.
    pub fn check(&mut self, calls: &[Cost], dials: &[DialledRow]) -> (Costs, Vec<Step>) {
        let of = |dials: &mut dyn Iterator<Item = &DialledRow>| {
            dials.fold(0_u64, |sum, dial| sum.saturating_add(cost(calls, dial.runs, dial.rate)))
        };
        let spared = of(&mut dials.iter().filter(|dial| dial.spared));
        let watched = of(&mut dials.iter().filter(|dial| !dial.spared));
        let costs = Costs {
            all: Share::from_picoseconds(spared.saturating_add(watched)),
            spared: Share::from_picoseconds(spared),
        };
        let Some(limit) = self.limit.map(Share::picoseconds).filter(|limit| watched > *limit) else {
            self.over = 0;
            return (costs, Vec::new());
        };
        self.over += 1;
        if self.over < CHECKS {
            return (costs, Vec::new());
        }
        self.over = 0;
        (costs, steps(limit / 100 * TARGET_PERCENT, watched, calls, dials))
    }
}

/// Returns picoseconds per second. A level without a measured cost counts as free.
fn cost(calls: &[Cost], level: Level, rate: u64) -> u64 {
    let of_a_call = calls.iter().find(|cost| cost.level == level).map_or(0, |cost| cost.picoseconds);
    rate.saturating_mul(of_a_call)
}

/// Returns the next lower level that is cheaper, and its cost; None if there is none.
fn below(calls: &[Cost], level: Level, rate: u64) -> Option<(Level, u64)> {
    let now = cost(calls, level, rate);
    let lower = Level::ALL.into_iter().rev().filter(|lower| *lower < level);
    lower.map(|lower| (lower, cost(calls, lower, rate))).find(|(_, then)| *then < now)
}

/// Steps the costliest dials down, one level at a time, until the total cost fits in `room`.
fn steps(room: u64, mut all: u64, calls: &[Cost], dials: &[DialledRow]) -> Vec<Step> {
    let watched = dials.iter().enumerate().filter(|(_, dial)| !dial.spared);
    // Among equally costly dials, the first row comes first.
    let mut costliest: BinaryHeap<(u64, Reverse<usize>, Level)> =
        watched.map(|(at, dial)| (cost(calls, dial.runs, dial.rate), Reverse(at), dial.runs)).collect();
    let mut lowered: Vec<(usize, Level)> = Vec::new();
    while all > room {
        let Some((now, Reverse(at), level)) = costliest.pop() else { break };
        let Some((to, then)) = dials.get(at).and_then(|dial| below(calls, level, dial.rate)) else {
            continue;
        };
        let many = lowered.len() == MAX_STEPS;
        match lowered.iter_mut().find(|(lowered, _)| *lowered == at) {
            Some((_, level)) => *level = to,
            None if many => break,
            None => lowered.push((at, to)),
        }
        all = all.saturating_sub(now - then);
        costliest.push((then, Reverse(at), to));
    }
    let step = |(at, to): (usize, Level)| {
        let dial = dials.get(at)?;
        let cost = Share::from_picoseconds(cost(calls, dial.runs, dial.rate));
        Some(Step { row: dial.row, to, cost })
    };
    lowered.into_iter().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [Cost; 2] =
        [Cost { level: Level::Count, picoseconds: 1_000 }, Cost { level: Level::Time, picoseconds: 40_000 }];

    /// Makes rows 0, 1, … at these levels, called so many thousand times per second.
    fn dials(of: &[(Level, u64)]) -> Vec<DialledRow> {
        let dial = |(row, (runs, thousands)): (usize, &(Level, u64))| DialledRow {
            row: RowId(row as u32),
            runs: *runs,
            rate: thousands * 1_000,
            spared: false,
        };
        of.iter().enumerate().map(dial).collect()
    }

    /// Returns the dials stepped down at the second consecutive check.
    fn stepped(limit: u32, dials: &[DialledRow]) -> Vec<(u32, Level, u32)> {
        let mut budget = Budget::of(Some(Share(limit)));
        assert_eq!(budget.check(&CALLS, dials).1, [], "one check decides nothing");
        let steps = budget.check(&CALLS, dials).1;
        steps.iter().map(|step| (step.row.0, step.to, step.cost.0)).collect()
    }

    use Level::{Count, Off, Time};

    #[test]
    fn steps_down_the_costliest_first_and_only_as_needed() {
        // 8 %, 4 %, 0.4 %, 0.01 %.
        let four = dials(&[(Time, 1_000), (Time, 2_000), (Time, 100), (Count, 100)]);
        assert_eq!(stepped(1_300, &four), [], "12.41 % are within 13 %");
        assert_eq!(stepped(1_200, &four), [(1, Count, 800)]);
        assert_eq!(stepped(300, &four), [(1, Count, 800), (0, Count, 400)]);
        // Counting costs 0.2 % and 0.1 %; timing at 0.4 % is then the costliest.
        assert_eq!(stepped(70, &four), [(1, Count, 800), (0, Count, 400), (2, Count, 40)]);
        assert_eq!(stepped(20, &four), [(1, Off, 800), (0, Count, 400), (2, Count, 40)]);
    }

    #[test]
    fn dials_too_costly_to_count_go_off() {
        // Counting it costs 5 %.
        let hot = dials(&[(Time, 50_000), (Time, 1)]);
        assert_eq!(stepped(1_000, &hot), [(0, Count, 20_000)]);
        assert_eq!(stepped(100, &hot), [(0, Off, 20_000)]);
        assert_eq!(stepped(100, &dials(&[(Count, 50_000), (Time, 1)])), [(0, Off, 500)]);
    }

    #[test]
    fn free_dials_are_never_stepped_down() {
        let idle = dials(&[(Time, 0), (Time, 1_000), (Count, 0)]);
        assert_eq!(stepped(1, &idle), [(1, Off, 400)]);
        let unknown = [Cost { level: Time, picoseconds: 40_000 }];
        let mut budget = Budget::of(Some(Share(1)));
        let counted = dials(&[(Count, 1_000_000)]);
        assert!(
            (0..5).all(|_| budget.check(&unknown, &counted).1.is_empty()),
            "counting has no measured cost"
        );
    }

    #[test]
    fn two_consecutive_checks_decide() {
        let (hot, calm) = (dials(&[(Time, 1_000)]), dials(&[(Time, 10)]));
        let mut budget = Budget::of(Some(Share(100)));
        for _ in 0..5 {
            assert_eq!(budget.check(&CALLS, &hot).1, []);
            assert_eq!(budget.check(&CALLS, &calm).1, []);
        }
        assert_eq!(budget.check(&CALLS, &hot).1, []);
        assert_eq!(budget.check(&CALLS, &hot).1.len(), 1);
        assert_eq!(budget.check(&CALLS, &hot).1, [], "after a step two more checks decide");
    }

    #[test]
    fn spared_dials_stay_and_do_not_count() {
        let mut two = dials(&[(Time, 1_000), (Time, 200)]);
        two[0].spared = true;
        assert_eq!(stepped(100, &two), [], "0.8 % of what is watched");
        assert_eq!(stepped(50, &two), [(1, Count, 80)]);
        let mut budget = Budget::of(Some(Share(100)));
        let costs = budget.check(&CALLS, &two).0;
        assert_eq!(costs, Costs { all: Share(480), spared: Share(400) });
    }

    #[test]
    fn steps_nothing_down_without_a_budget() {
        let mut budget = Budget::default();
        let hot = dials(&[(Time, 1_000_000)]);
        assert!((0..5).all(|_| budget.check(&CALLS, &hot).1.is_empty()));
        assert_eq!(budget.limit(), None);
    }

    #[test]
    fn limits_the_steps_per_check() {
        let many = dials(&vec![(Time, 100); 2 * MAX_STEPS]);
        assert_eq!(stepped(1, &many).len(), MAX_STEPS);
        let numbers = dials(&[(Time, u64::MAX / 1_000_000); 3]);
        assert!(!stepped(1, &numbers).is_empty(), "sums do not overflow");
    }
}

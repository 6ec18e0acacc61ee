//! Which dials to step down so that all of them together cost no more than they may: pure.
#![forbid(unsafe_code)]

use redial_protocol::cost::{Cost, Share};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Looks in a row that have to find dials too dear: one alone may be a burst, or a turn that was just made.
const LOOKS: u32 = 2;
/// Dials stepped down at once; where that is not enough, the next looks take more.
const AT_ONCE: usize = 256;
/// Hundredths of the budget that what is stepped down is to fit in: so that it does not stand at the brink.
const FILLED: u64 = 80;

/// A dial, as of the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialled {
    /// Its row.
    pub row: RowId,
    /// The level of what runs when it is called.
    pub runs: Level,
    /// Calls a second.
    pub rate: u64,
    /// A person turned it up again after it was stepped down: it is left alone, and nobody pays for it.
    pub spared: bool,
}

/// A dial to be stepped down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its row.
    pub row: RowId,
    /// To what.
    pub to: Level,
    /// What it costs, at the level that it has.
    pub cost: Share,
}

/// What dials cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// All of them together.
    pub all: Share,
    /// Those of them that are left alone.
    pub spared: Share,
}

/// What dials may cost, and how often they were found too dear.
#[derive(Debug, Default)]
pub struct Budget {
    limit: Option<Share>,
    over: u32,
}

impl Budget {
    /// A budget; None: dials may cost what they do.
    pub fn of(limit: Option<Share>) -> Budget {
        Budget { limit, over: 0 }
    }

    /// What dials may cost together.
    pub fn limit(&self) -> Option<Share> {
        self.limit
    }

    /// Looks at dials: what they cost, and which of them are to be stepped down now.
    pub fn look(&mut self, calls: &[Cost], dials: &[Dialled]) -> (Costs, Vec<Step>) {
        let of = |dials: &mut dyn Iterator<Item = &Dialled>| {
            dials.fold(0_u64, |sum, dial| sum.saturating_add(cost(calls, dial.runs, dial.rate)))
        };
        let spared = of(&mut dials.iter().filter(|dial| dial.spared));
        let watched = of(&mut dials.iter().filter(|dial| !dial.spared));
        let costs = Costs {
            all: Share::of_picoseconds(spared.saturating_add(watched)),
            spared: Share::of_picoseconds(spared),
        };
        let Some(limit) = self.limit.map(Share::picoseconds).filter(|limit| watched > *limit) else {
            self.over = 0;
            return (costs, Vec::new());
        };
        self.over += 1;
        if self.over < LOOKS {
            return (costs, Vec::new());
        }
        self.over = 0;
        (costs, steps(limit / 100 * FILLED, watched, calls, dials))
    }
}

/// Picoseconds a second. A level that nobody measured costs nothing that is known.
fn cost(calls: &[Cost], level: Level, rate: u64) -> u64 {
    let of_a_call = calls.iter().find(|cost| cost.level == level).map_or(0, |cost| cost.picoseconds);
    rate.saturating_mul(of_a_call)
}

/// The next lower level that is cheaper, and what it costs; None where there is none.
fn below(calls: &[Cost], level: Level, rate: u64) -> Option<(Level, u64)> {
    let now = cost(calls, level, rate);
    let lower = Level::ALL.into_iter().rev().filter(|lower| *lower < level);
    lower.map(|lower| (lower, cost(calls, lower, rate))).find(|(_, then)| *then < now)
}

/// The costliest dials, each a level down at a time, until what all cost fits in `room`.
fn steps(room: u64, mut all: u64, calls: &[Cost], dials: &[Dialled]) -> Vec<Step> {
    let watched = dials.iter().enumerate().filter(|(_, dial)| !dial.spared);
    // Of equally costly ones the first row.
    let mut dearest: BinaryHeap<(u64, Reverse<usize>, Level)> =
        watched.map(|(at, dial)| (cost(calls, dial.runs, dial.rate), Reverse(at), dial.runs)).collect();
    let mut lowered: Vec<(usize, Level)> = Vec::new();
    while all > room {
        let Some((now, Reverse(at), level)) = dearest.pop() else { break };
        let Some((to, then)) = dials.get(at).and_then(|dial| below(calls, level, dial.rate)) else {
            continue;
        };
        let many = lowered.len() == AT_ONCE;
        match lowered.iter_mut().find(|(lowered, _)| *lowered == at) {
            Some((_, level)) => *level = to,
            None if many => break,
            None => lowered.push((at, to)),
        }
        all = all.saturating_sub(now - then);
        dearest.push((then, Reverse(at), to));
    }
    let step = |(at, to): (usize, Level)| {
        let dial = dials.get(at)?;
        let cost = Share::of_picoseconds(cost(calls, dial.runs, dial.rate));
        Some(Step { row: dial.row, to, cost })
    };
    lowered.into_iter().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [Cost; 2] =
        [Cost { level: Level::Count, picoseconds: 1_000 }, Cost { level: Level::Time, picoseconds: 40_000 }];

    /// Rows 0, 1, … at these levels, called so many thousand times a second.
    fn dials(of: &[(Level, u64)]) -> Vec<Dialled> {
        let dial = |(row, (runs, thousands)): (usize, &(Level, u64))| Dialled {
            row: RowId(row as u32),
            runs: *runs,
            rate: thousands * 1_000,
            spared: false,
        };
        of.iter().enumerate().map(dial).collect()
    }

    /// What is stepped down at the second look in a row.
    fn stepped(limit: u32, dials: &[Dialled]) -> Vec<(u32, Level, u32)> {
        let mut budget = Budget::of(Some(Share(limit)));
        assert_eq!(budget.look(&CALLS, dials).1, [], "one look is none");
        let steps = budget.look(&CALLS, dials).1;
        steps.iter().map(|step| (step.row.0, step.to, step.cost.0)).collect()
    }

    use Level::{Count, Off, Time};

    #[test]
    fn the_costliest_go_first_and_only_as_far_as_needed() {
        // 8 %, 4 %, 0.4 %, 0.01 %.
        let four = dials(&[(Time, 1_000), (Time, 2_000), (Time, 100), (Count, 100)]);
        assert_eq!(stepped(1_300, &four), [], "12.41 % are within 13 %");
        assert_eq!(stepped(1_200, &four), [(1, Count, 800)]);
        assert_eq!(stepped(300, &four), [(1, Count, 800), (0, Count, 400)]);
        // Counting costs 0.2 % and 0.1 %; 0.4 % of timing is then the costliest.
        assert_eq!(stepped(70, &four), [(1, Count, 800), (0, Count, 400), (2, Count, 40)]);
        assert_eq!(stepped(20, &four), [(1, Off, 800), (0, Count, 400), (2, Count, 40)]);
    }

    #[test]
    fn what_is_too_dear_even_when_it_is_counted_goes_off() {
        // Counting it costs 5 %.
        let hot = dials(&[(Time, 50_000), (Time, 1)]);
        assert_eq!(stepped(1_000, &hot), [(0, Count, 20_000)]);
        assert_eq!(stepped(100, &hot), [(0, Off, 20_000)]);
        assert_eq!(stepped(100, &dials(&[(Count, 50_000), (Time, 1)])), [(0, Off, 500)]);
    }

    #[test]
    fn what_costs_nothing_is_never_stepped_down() {
        let idle = dials(&[(Time, 0), (Time, 1_000), (Count, 0)]);
        assert_eq!(stepped(1, &idle), [(1, Off, 400)]);
        let unknown = [Cost { level: Time, picoseconds: 40_000 }];
        let mut budget = Budget::of(Some(Share(1)));
        let counted = dials(&[(Count, 1_000_000)]);
        assert!((0..5).all(|_| budget.look(&unknown, &counted).1.is_empty()), "nobody measured counting");
    }

    #[test]
    fn two_looks_in_a_row_decide_and_a_burst_does_not() {
        let (hot, calm) = (dials(&[(Time, 1_000)]), dials(&[(Time, 10)]));
        let mut budget = Budget::of(Some(Share(100)));
        for _ in 0..5 {
            assert_eq!(budget.look(&CALLS, &hot).1, []);
            assert_eq!(budget.look(&CALLS, &calm).1, []);
        }
        assert_eq!(budget.look(&CALLS, &hot).1, []);
        assert_eq!(budget.look(&CALLS, &hot).1.len(), 1);
        assert_eq!(budget.look(&CALLS, &hot).1, [], "after a step it is looked at twice again");
    }

    #[test]
    fn what_a_person_turned_up_again_is_left_alone_and_nobody_pays_for_it() {
        let mut two = dials(&[(Time, 1_000), (Time, 200)]);
        two[0].spared = true;
        assert_eq!(stepped(100, &two), [], "0.8 % of what is watched");
        assert_eq!(stepped(50, &two), [(1, Count, 80)]);
        let mut budget = Budget::of(Some(Share(100)));
        let costs = budget.look(&CALLS, &two).0;
        assert_eq!(costs, Costs { all: Share(480), spared: Share(400) });
    }

    #[test]
    fn without_a_budget_nothing_is_stepped_down() {
        let mut budget = Budget::default();
        let hot = dials(&[(Time, 1_000_000)]);
        assert!((0..5).all(|_| budget.look(&CALLS, &hot).1.is_empty()));
        assert_eq!(budget.limit(), None);
    }

    #[test]
    fn so_many_go_at_once() {
        let many = dials(&vec![(Time, 100); 2 * AT_ONCE]);
        assert_eq!(stepped(1, &many).len(), AT_ONCE);
        let numbers = dials(&[(Time, u64::MAX / 1_000_000); 3]);
        assert!(!stepped(1, &numbers).is_empty(), "sums do not overflow");
    }
}

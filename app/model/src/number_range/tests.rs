//! Tests ranges against sums of random calls.

use super::*;
use redial_protocol::ids::RowId;
use redial_protocol::times::Completions;

/// A row's numbers after one second: the second, calls and times.
type Step = (u64, u64, Times);

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn nothing() -> Times {
    Times {
        row: RowId(1),
        in_flight: 0,
        exits: 0,
        exceptions: 0,
        total_ns: 0,
        self_ns: 0,
        max_ns: 0,
        percentiles: None,
        completions: Some(Completions::default()),
        move_next: None,
    }
}

/// Returns random steps: seconds without any, with several, and with calls that do not end.
fn steps(seed: u64) -> Vec<Step> {
    let mut random = Random(seed);
    let (mut tick, mut calls, mut times) = (random.below(5), random.below(100), nothing());
    let step = |_| {
        tick += [0, 0, 1, 1, 2, 14][random.below(6) as usize];
        let begun = random.below(4) * random.below(50);
        let ended = random.below(begun + 1);
        calls += begun;
        times.in_flight = begun - ended;
        times.exits += ended;
        times.exceptions += random.below(ended + 1);
        times.total_ns += ended * random.below(1_000);
        times.self_ns += ended * random.below(500);
        times.max_ns = times.max_ns.max(ended * random.below(2_000));
        let all = times.completions.get_or_insert_default();
        all.completions += ended;
        all.waited_ns += ended * random.below(700);
        (tick, calls, times)
    };
    (0..60).map(step).collect()
}

/// Returns the numbers that add up, each the difference between two steps.
fn between(from: &Step, to: &Step) -> [u64; 7] {
    let all = |(_, calls, times): &Step| {
        let completions = times.completions.unwrap_or_default();
        let Times { exits, exceptions, total_ns, self_ns, .. } = *times;
        [*calls, exits, exceptions, total_ns, self_ns, completions.completions, completions.waited_ns]
    };
    let (from, to) = (all(from), all(to));
    std::array::from_fn(|at| to[at] - from[at])
}

fn numbers(ranged: &RangedNumbers) -> [u64; 7] {
    let times = ranged.times.expect("timed");
    between(&(0, 0, nothing()), &(0, ranged.calls, times))
}

fn counted((_, calls, times): &Step) -> Counted {
    Counted::of(*calls, Some(times))
}

#[test]
fn numbers_since_a_mark_are_the_calls_after_it() {
    for seed in 0..300 {
        let steps = steps(seed);
        let mark = (seed as usize * 7) % steps.len();
        let mut basis = RangeBasis::at_mark(counted(&steps[mark]));
        for step in &steps[mark..] {
            basis.record(&counted(step), step.0);
            let ranged = basis.numbers(&counted(step), Some(&step.2), step.0);
            assert_eq!(numbers(&ranged), between(&steps[mark], step), "seed {seed}");
            assert_eq!(ranged.times.map(|times| times.in_flight), Some(step.2.in_flight));
        }
    }
}

#[test]
fn recent_numbers_are_the_calls_of_ten_whole_seconds() {
    for seed in 0..60 {
        let steps = steps(seed);
        let mut basis = RangeBasis::recent(counted(&steps[0]));
        let mut done = 1;
        let end = steps.last().map_or(0, |step| step.0) + 12;
        for tick in steps[0].0..=end {
            while let Some(step) = steps.get(done).filter(|step| step.0 == tick) {
                basis.record(&counted(step), tick);
                done += 1;
            }
            let last = &steps[done - 1];
            let ranged = basis.numbers(&counted(last), Some(&last.2), tick);
            let at_end_of = |second: Option<u64>| {
                let within = |step: &&Step| second.is_some_and(|second| step.0 <= second);
                steps.iter().rev().find(within).unwrap_or(&steps[0])
            };
            let start = at_end_of(tick.checked_sub(RECENT_SECONDS + 1));
            assert_eq!(
                numbers(&ranged),
                between(start, at_end_of(tick.checked_sub(1))),
                "seed {seed}, second {tick}"
            );
            assert_eq!(basis.moves(tick), steps[1..done].iter().any(|step| changed_at(&steps, step, tick)));
        }
        assert_eq!(numbers(&basis.numbers(&counted(&steps[59]), Some(&steps[59].2), end)), [0; 7]);
    }
}

/// Returns whether a step changed numbers within the range that ends before `tick`, or in that second.
fn changed_at(steps: &[Step], step: &Step, tick: u64) -> bool {
    let before = steps.iter().rev().find(|one| one.0 < step.0).unwrap_or(&steps[0]);
    let last = steps.iter().rev().find(|one| one.0 == step.0).unwrap_or(step);
    step.0 + RECENT_SECONDS >= tick && counted(before) != counted(last)
}

#[test]
fn durations_are_those_of_the_range_or_unknown() {
    let percentiles = Some(Percentiles { p50_ns: 5, p90_ns: 6, p99_ns: 7 });
    let before = Times { exits: 3, max_ns: 90, percentiles, ..nothing() };
    let after = |exits: u64, max_ns: u64| Times { exits, max_ns, percentiles, ..nothing() };
    let since = |mark: &Times, now: Times, known: Option<RangedDurations>| {
        let mut basis = RangeBasis::at_mark(Counted::of(mark.exits, Some(mark)));
        basis.durations = known;
        let numbers = basis.numbers(&Counted::of(now.exits, Some(&now)), Some(&now), 0);
        numbers.times.map(|times| (times.percentiles, times.max_ns))
    };
    assert_eq!(since(&nothing(), after(4, 90), None), Some((percentiles, 90)), "all calls are in the range");
    assert_eq!(since(&before, after(4, 90), None), Some((None, 0)), "not known");
    assert_eq!(since(&before, after(4, 91), None), Some((None, 91)), "longer than any before");
    let known = RangedDurations { percentiles, max_ns: 40 };
    assert_eq!(since(&before, after(4, 90), Some(known)), Some((percentiles, 40)));
    assert_eq!(since(&before, after(3, 90), Some(known)), Some((None, 0)), "no call ended");
}

#[test]
fn an_agent_that_counts_anew_begins_at_zero() {
    let before = Counted::of(100, None);
    for mut basis in [RangeBasis::at_mark(before.clone()), RangeBasis::recent(before)] {
        basis.record(&Counted::of(7, None), 3);
        assert_eq!(basis.numbers(&Counted::of(7, None), None, 4).calls, 7);
    }
}

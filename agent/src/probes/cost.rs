//! What a call costs more at each level: the probe's own work, done again and again on a thread of ours.
//!
//! What the JIT adds around it (a spilled register, a larger frame) is not in it, and neither is what a cache miss takes;
//! `cargo xtask bench count time` measures whole calls.

use super::blocks;
use super::stacks::{self, PAGE_BITS, PAGE_MASK, REGION_BITS, REGION_MASK};
use super::{callers, time_leaf};
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Calls that are measured together: tens of microseconds, so that most rounds are not interrupted.
const CALLS: u64 = 4_000;
/// The fastest of so many rounds is taken: whatever disturbs one makes it slower.
const ROUNDS: usize = 24;

/// Where the calls return to by whose callers' cost is measured: nobody's address, only noted.
const RETURN: usize = 0x1000;

/// What is counted to see what counting costs.
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// The costs of one call at the levels up to `most`, but for off. Measured at the first use, which takes milliseconds: not for
/// threads of the host.
pub fn of_a_call(most: Level) -> Vec<Cost> {
    static COUNT: OnceLock<Option<u64>> = OnceLock::new();
    static TIME: OnceLock<Option<u64>> = OnceLock::new();
    let mut costs = Vec::new();
    let mut tell = |level: Level, measured: &OnceLock<Option<u64>>, measure: fn() -> Option<u64>| {
        if level <= most {
            let picoseconds = *measured.get_or_init(measure);
            costs.extend(picoseconds.map(|picoseconds| Cost { level, picoseconds }));
        }
    };
    tell(Level::Count, &COUNT, of_counting);
    tell(Level::Time, &TIME, of_timing);
    costs
}

/// What a timed call costs more where its caller is counted, too, picoseconds; None where callers cannot be told. Measured as
/// [`of_a_call`].
pub fn of_a_caller() -> Option<u64> {
    static CALLER: OnceLock<Option<u64>> = OnceLock::new();
    let calls = |counted| callers::calls_of_nothing(blocks::OWN, RETURN, counted);
    let measure = || callers::KNOWN.then(|| more(calls(true), calls(false)));
    *CALLER.get_or_init(measure)
}

/// None where memory for the table of stacks is refused, and bodies count otherwise.
fn of_counting() -> Option<u64> {
    let table = stacks::table()?;
    Some(more_than_nothing(|| count(table)))
}

/// Counts one call as an instrumented body does, by where its stack is; but in [`COUNTED`], so that a thread of ours needs no
/// block.
#[inline(always)]
fn count(table: usize) {
    let variable = 0_u64;
    let here = std::ptr::from_ref(black_box(&variable)).addr();
    let first = std::ptr::with_exposed_provenance::<*const *mut u64>(table);
    // SAFETY: the table has an entry for every region, each leads to one for every page, and neither is given back.
    let base = unsafe {
        let pages = first.add(here >> REGION_BITS & REGION_MASK).read_volatile();
        pages.add(here >> PAGE_BITS & PAGE_MASK).read_volatile()
    };
    black_box(base);
    COUNTED.store(black_box(&COUNTED).load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

fn of_timing() -> Option<u64> {
    Some(more_than_nothing(time_leaf::calls_of_nothing(blocks::OWN)))
}

/// Picoseconds that one call of `probe` takes more than none.
fn more_than_nothing(probe: impl Fn()) -> u64 {
    more(probe, || {
        black_box(0_u64);
    })
}

/// Picoseconds that one call of `probe` takes more than one of `other`. Rounds of both alternate: what slows the machine down
/// for a while slows both.
fn more(probe: impl Fn(), other: impl Fn()) -> u64 {
    let (all, all_other) = (|| (0..CALLS).for_each(|_| probe()), || (0..CALLS).for_each(|_| other()));
    let pair = |_| (round(&all), round(&all_other));
    let fastest = |(a, b): (u64, u64), (c, d): (u64, u64)| (a.min(c), b.min(d));
    let (with, without) = (0..ROUNDS).map(pair).reduce(fastest).unwrap_or_default();
    with.saturating_sub(without).saturating_mul(1000) / CALLS
}

/// Nanoseconds.
fn round(call: &dyn Fn()) -> u64 {
    let begun = Instant::now();
    call();
    begun.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_those_of_the_levels_offered_and_stay_what_they_were() {
        assert!(of_a_call(Level::Off).is_empty());
        let levels = |most| of_a_call(most).iter().map(|cost| cost.level).collect::<Vec<_>>();
        assert_eq!(levels(Level::Count), [Level::Count]);
        assert_eq!(levels(Level::Trace), [Level::Count, Level::Time]);
        let all = of_a_call(Level::Time);
        assert_eq!(all, of_a_call(Level::Time));
        // Two readings of a clock are in it, and nothing that waits.
        assert!(
            all.iter().all(|cost| cost.picoseconds < 100_000_000) && all[1].picoseconds > 1_000,
            "{all:?}"
        );
    }

    #[test]
    fn what_a_caller_costs_is_measured_once() {
        let more = of_a_caller();
        assert_eq!(more.is_some(), callers::KNOWN);
        // It may be hidden behind the readings of the clock.
        assert!(more.is_none_or(|picoseconds| picoseconds < 100_000_000), "{more:?}");
        assert_eq!(more, of_a_caller());
    }

    #[test]
    fn what_is_measured_is_counted_and_takes_no_block() {
        let (blocks, counted) = (blocks::count(), COUNTED.load(Ordering::Relaxed));
        assert!(of_counting().is_some_and(|picoseconds| picoseconds < 100_000_000));
        assert!(COUNTED.load(Ordering::Relaxed) >= counted + CALLS * ROUNDS as u64);
        assert_eq!(blocks::count(), blocks);
    }
}

//! Measures the additional cost of a call at each level: the probe's own work, repeated on a thread of the
//! agent.
//!
//! It does not include the effect on the surrounding code (a spilled register, a larger frame) or cache misses;
//! `cargo xtask bench count time` measures whole calls.

use super::blocks;
use super::stack_pages::{self, PAGE_BITS, PAGE_MASK, REGION_BITS, REGION_MASK};
use super::{callers, time_helper, trace};
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Calls measured together: tens of microseconds, so that most rounds are not interrupted.
const CALLS: u64 = 4_000;
/// The fastest of this many rounds counts: disturbances only make rounds slower.
const ROUNDS: usize = 24;

/// Return address of the calls that measure the cost of callers; it belongs to no code and is only recorded.
const RETURN: usize = 0x1000;

/// Counter for measuring the cost of counting.
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// Returns the costs of one call at the levels up to `most`, except off. The first use measures them, which
/// takes milliseconds, so not for threads of the host.
pub fn per_call(most: Level) -> Vec<Cost> {
    static COUNT: OnceLock<Option<u64>> = OnceLock::new();
    static TIME: OnceLock<Option<u64>> = OnceLock::new();
    static TRACE: OnceLock<Option<u64>> = OnceLock::new();
    let mut costs = Vec::new();
    let mut add = |level: Level, measured: &OnceLock<Option<u64>>, measure: fn() -> Option<u64>| {
        if level <= most {
            let picoseconds = *measured.get_or_init(measure);
            costs.extend(picoseconds.map(|picoseconds| Cost { level, picoseconds }));
        }
    };
    add(Level::Count, &COUNT, of_counting);
    add(Level::Time, &TIME, of_timing);
    add(Level::Trace, &TRACE, of_tracing);
    costs
}

/// Returns the additional cost of counting the caller of a timed call, in picoseconds; None if callers cannot
/// be identified. Measured like [`per_call`].
pub fn per_caller() -> Option<u64> {
    static CALLER: OnceLock<Option<u64>> = OnceLock::new();
    let calls = |counted| callers::calls_of_nothing(blocks::MEASUREMENT_SLOT, RETURN, counted);
    let measure = || callers::KNOWN.then(|| more(calls(true), calls(false)));
    *CALLER.get_or_init(measure)
}

/// None if memory for the table of stacks is refused; then bodies count in another way.
fn of_counting() -> Option<u64> {
    let table = stack_pages::table()?;
    Some(more_than_nothing(|| count(table)))
}

/// Counts one call by the address of its stack, as an instrumented body does, but in [`COUNTED`], so that an
/// agent thread needs no block.
#[inline(always)]
fn count(table: usize) {
    let variable = 0_u64;
    let here = std::ptr::from_ref(black_box(&variable)).addr();
    let first = std::ptr::with_exposed_provenance::<*const *mut u64>(table);
    // SAFETY: the table has an entry for every region, each leads to one for every page, and neither is given
    // back.
    let base = unsafe {
        let pages = first.add(here >> REGION_BITS & REGION_MASK).read_volatile();
        pages.add(here >> PAGE_BITS & PAGE_MASK).read_volatile()
    };
    black_box(base);
    COUNTED.store(black_box(&COUNTED).load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

fn of_timing() -> Option<u64> {
    Some(more_than_nothing(time_helper::calls_of_nothing(blocks::MEASUREMENT_SLOT)))
}

/// Of a call that is captured, with a few numbers; strings take more. None if memory is refused.
fn of_tracing() -> Option<u64> {
    let captured = more_than_nothing(trace::helpers::captures_of_nothing()?);
    Some(of_timing()?.saturating_add(captured))
}

/// Returns the picoseconds that one call of `probe` takes more than an empty call.
fn more_than_nothing(probe: impl Fn()) -> u64 {
    more(probe, || {
        black_box(0_u64);
    })
}

/// Returns the picoseconds that one call of `probe` takes more than one of `other`. Rounds of both alternate,
/// so that a temporary slowdown of the machine affects both.
fn more(probe: impl Fn(), other: impl Fn()) -> u64 {
    let (all, all_other) = (|| (0..CALLS).for_each(|_| probe()), || (0..CALLS).for_each(|_| other()));
    let pair = |_| (round(&all), round(&all_other));
    let fastest = |(a, b): (u64, u64), (c, d): (u64, u64)| (a.min(c), b.min(d));
    let (with, without) = (0..ROUNDS).map(pair).reduce(fastest).unwrap_or_default();
    with.saturating_sub(without).saturating_mul(1000) / CALLS
}

/// Returns nanoseconds.
fn round(call: &dyn Fn()) -> u64 {
    let begun = Instant::now();
    call();
    begun.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_stable_costs_for_offered_levels() {
        assert!(per_call(Level::Off).is_empty());
        let levels = |most| per_call(most).iter().map(|cost| cost.level).collect::<Vec<_>>();
        assert_eq!(levels(Level::Count), [Level::Count]);
        assert_eq!(levels(Level::Trace), [Level::Count, Level::Time, Level::Trace]);
        let all = per_call(Level::Time);
        assert_eq!(all, per_call(Level::Time));
        // The cost includes two readings of a clock and nothing that waits.
        assert!(
            all.iter().all(|cost| cost.picoseconds < 100_000_000) && all[1].picoseconds > 1_000,
            "{all:?}"
        );
    }

    #[test]
    fn measures_the_cost_of_callers_once() {
        let more = per_caller();
        assert_eq!(more.is_some(), callers::KNOWN);
        // The cost may be hidden behind the readings of the clock.
        assert!(more.is_none_or(|picoseconds| picoseconds < 100_000_000), "{more:?}");
        assert_eq!(more, per_caller());
    }

    #[test]
    fn measuring_counts_without_a_block() {
        let (blocks, counted) = (blocks::count(), COUNTED.load(Ordering::Relaxed));
        assert!(of_counting().is_some_and(|picoseconds| picoseconds < 100_000_000));
        assert!(COUNTED.load(Ordering::Relaxed) >= counted + CALLS * ROUNDS as u64);
        assert_eq!(blocks::count(), blocks);
    }
}

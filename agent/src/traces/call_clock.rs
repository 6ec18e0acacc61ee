//! Unix times of calls.

use crate::probes::clock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The most by which times of calls may differ from the system's clock.
const MAX_DIFFERENCE: Duration = Duration::from_millis(1);
/// Both clocks are read this often, and the closest pair of readings wins.
const TRIES: usize = 4;

/// Converts ticks to Unix times. All calls are converted alike, as long as the system's clock allows it: a callee must
/// not begin before its caller, even if they are collected at different times.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallClock {
    /// Ticks and Unix time in nanoseconds at the same moment.
    pair: (u64, u64),
    ns_per_tick: f64,
    /// Ticks at the latest comparison with the system's clock.
    now: u64,
}

impl CallClock {
    /// Reads the clocks.
    pub(super) fn now() -> CallClock {
        let readings = (0..TRIES).map(|_| {
            let before = clock::ticks();
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (clock::ticks().wrapping_sub(before), (before, unix.as_nanos() as u64))
        });
        let pair = readings.min_by_key(|(apart, _)| *apart).map_or((0, 0), |(_, pair)| pair);
        CallClock { pair, ns_per_tick: clock::ns_per_tick(), now: pair.0 }
    }

    /// Returns the clock for the next calls, after `earlier` ones.
    pub(super) fn after(earlier: Option<CallClock>) -> CallClock {
        let fresh = CallClock::now();
        earlier.and_then(|earlier| earlier.continued(fresh)).unwrap_or(fresh)
    }

    /// Returns this clock at the time of `fresh`, unless they differ too much.
    fn continued(self, fresh: CallClock) -> Option<CallClock> {
        let difference = self.unix_ns(fresh.now).abs_diff(fresh.pair.1);
        let may_continue = u128::from(difference) <= MAX_DIFFERENCE.as_nanos();
        may_continue.then_some(CallClock { now: fresh.now, ..self })
    }

    /// Returns the Unix time of the beginning of a call, in nanoseconds; if its ticks are 0, of the latest comparison.
    pub(super) fn start_unix_ns(&self, start: u64) -> u64 {
        // The counter may have jumped.
        let age = if start == 0 { 0 } else { clock::between(start, self.now) };
        self.unix_ns(self.now.wrapping_sub(age))
    }

    /// Returns the nanoseconds that ticks take.
    pub(super) fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns_per_tick) as u64
    }

    fn unix_ns(&self, ticks: u64) -> u64 {
        let (then, unix_ns) = self.pair;
        let ns = ticks.wrapping_sub(then).cast_signed() as f64 * self.ns_per_tick;
        unix_ns.saturating_add_signed(ns as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pair: (u64, u64), now: u64) -> CallClock {
        CallClock { pair, ns_per_tick: 0.5, now }
    }

    #[test]
    fn later_readings_do_not_move_calls() {
        let first = at((1_000_000, 5_000_000), 1_000_000);
        // 10 ms later, by a reading that is 300 µs late.
        let fresh = CallClock { ns_per_tick: 0.500_001, ..at((21_000_000, 15_300_000), 21_000_000) };
        let second = first.continued(fresh).expect("close enough");
        for ticks in [999_000, 1_000_000, 1_000_400] {
            assert_eq!(first.unix_ns(ticks), second.unix_ns(ticks));
        }
        assert_eq!(first.start_unix_ns(999_000), 4_999_500);
        assert_eq!(second.start_unix_ns(20_000_000), 14_500_000);
        assert_eq!(second.start_unix_ns(0), 15_000_000, "the time of the comparison");
    }

    #[test]
    fn follows_changes_of_the_system_clock() {
        let first = at((1_000_000, 5_000_000), 1_000_000);
        for unix_ns in [13_900_000, 16_100_000, 0] {
            assert!(first.continued(at((21_000_000, unix_ns), 21_000_000)).is_none(), "{unix_ns}");
        }
        assert!(first.continued(at((21_000_000, 14_100_000), 21_000_000)).is_some());
    }

    #[test]
    fn a_counter_that_went_back_is_now() {
        let clock = at((1_000_000, 5_000_000), 1_000_000);
        assert_eq!(clock.start_unix_ns(1_000_500), 5_000_000);
    }

    #[test]
    fn calls_begin_around_now() {
        let clock = CallClock::after(Some(CallClock::now()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
        assert!(now.abs_diff(clock.start_unix_ns(0)) < 60_000_000_000);
        assert_eq!(clock.ns(0), 0);
    }
}

//! Durations of a copy's calls.

use crate::ids::{MethodToken, RowId};
use serde::{Deserialize, Serialize};

/// All times of a row since its module was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The row.
    pub row: RowId,
    /// Calls in flight.
    pub in_flight: u64,
    /// Timed calls that ended.
    pub exits: u64,
    /// Timed calls that ended with an exception.
    pub exceptions: u64,
    /// Nanoseconds in the method, counting only the outermost activation on each thread.
    pub total_ns: u64,
    /// Nanoseconds in the method, excluding callees that are timed too.
    pub self_ns: u64,
    /// The longest call, nanoseconds.
    pub max_ns: u64,
    /// Absent before the first call has ended, and if memory for them ran out.
    pub percentiles: Option<Percentiles>,
    /// Completions of an async method's calls, on the row of the method and of its `MoveNext`. Absent for other
    /// methods, and if that `MoveNext` was never timed.
    pub completions: Option<Completions>,
    /// For an async method, the `MoveNext` in the same module that does its work. The method's own times end at
    /// its first wait.
    pub move_next: Option<MethodToken>,
}

/// Completions of an async method's calls while its `MoveNext` was timed. The latency of a call lasts from its
/// beginning to the moment before its awaiter is notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completions {
    /// Calls whose beginning was seen.
    pub starts: u64,
    /// Calls whose completion was seen: with a result, with an exception, or cancelled.
    pub completions: u64,
    /// Calls that have begun and not completed. Calls that began before timing count only as far as they are
    /// known.
    pub in_flight: u64,
    /// Completed calls whose beginning was not seen; they count as begun when timing started.
    pub before: u64,
    /// Total nanoseconds that these calls have been in flight.
    pub waited_ns: u64,
}

impl Times {
    /// Returns the same times without calls in flight, for a copy that has none or whose number is unknown.
    #[must_use]
    pub fn at_rest(self) -> Times {
        let completions = self.completions.map(|completions| Completions { in_flight: 0, ..completions });
        Times { in_flight: 0, completions, ..self }
    }
}

impl Completions {
    /// Returns the mean latency to completion in nanoseconds: total time in flight divided by completions
    /// (Little's law). None before the first completion.
    ///
    /// The mean is exact if no call is in flight. Otherwise it is too long by the time of the calls in flight,
    /// spread over the completed ones.
    pub fn mean_ns(&self) -> Option<u64> {
        self.waited_ns.checked_div(self.completions)
    }

    /// Returns the sum for two copies.
    pub fn plus(self, other: Completions) -> Completions {
        Completions {
            starts: self.starts.saturating_add(other.starts),
            completions: self.completions.saturating_add(other.completions),
            in_flight: self.in_flight.saturating_add(other.in_flight),
            before: self.before.saturating_add(other.before),
            waited_ns: self.waited_ns.saturating_add(other.waited_ns),
        }
    }
}

/// Percentiles of call durations in nanoseconds, at most 2 % off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// 50th percentile.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_latency_needs_a_completed_call() {
        let one = Completions { starts: 3, completions: 2, in_flight: 1, before: 0, waited_ns: 900 };
        assert_eq!((one.mean_ns(), Completions::default().mean_ns()), (Some(450), None));
        let all = one.plus(Completions { completions: 1, before: 1, waited_ns: u64::MAX, ..one });
        assert_eq!((all.starts, all.completions, all.in_flight, all.before), (6, 3, 2, 1));
        assert_eq!(all.waited_ns, u64::MAX);
    }
}

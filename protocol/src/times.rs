//! How long calls of a copy take.

use crate::ids::{MethodToken, RowId};
use serde::{Deserialize, Serialize};

/// A row's times, all that were taken since its module loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The row.
    pub row: RowId,
    /// Calls under way.
    pub in_flight: u64,
    /// Timed calls that ended.
    pub exits: u64,
    /// Those of them that ended by an exception.
    pub exceptions: u64,
    /// Nanoseconds in it, of the outermost of its activations on each thread.
    pub total_ns: u64,
    /// Nanoseconds in it without dialled callees that are timed, too.
    pub self_ns: u64,
    /// The longest call, nanoseconds.
    pub max_ns: u64,
    /// Absent while no call has ended, and where memory for them ran out.
    pub percentiles: Option<Percentiles>,
    /// Of an async method and of the `MoveNext` that does its work: how its calls complete. Absent for others, and where that
    /// `MoveNext` was never timed.
    pub completions: Option<Completions>,
    /// Of an async method: the `MoveNext` that does its work, in the same module. Its own times end where it first waits.
    pub move_next: Option<MethodToken>,
}

/// How calls of an async method complete, as far as its `MoveNext` was timed meanwhile. What they take lies between
/// their beginning and the moment before whoever awaits them is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completions {
    /// Calls seen to begin.
    pub starts: u64,
    /// Calls seen to complete, with a result, by an exception or cancelled.
    pub completions: u64,
    /// Calls begun and not completed, of those begun before as far as is known.
    pub in_flight: u64,
    /// Calls that had begun before they could be seen to, as far as they have completed; they count as begun then.
    pub before: u64,
    /// Nanoseconds that all these calls have been in flight, added up.
    pub waited_ns: u64,
}

impl Times {
    /// The same once nothing is under way any more, or nobody can tell.
    #[must_use]
    pub fn at_rest(self) -> Times {
        let completions = self.completions.map(|of| Completions { in_flight: 0, ..of });
        Times { in_flight: 0, completions, ..self }
    }
}

impl Completions {
    /// The mean latency to completion, nanoseconds: the time that all calls were in flight by the number that completed
    /// (Little's law). Exact when none is in flight; else too long by what those have taken so far, spread over the completed
    /// ones. None while none has completed.
    pub fn mean_ns(&self) -> Option<u64> {
        self.waited_ns.checked_div(self.completions)
    }

    /// Those of two copies together.
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

/// Durations that so many calls in a hundred did not pass, nanoseconds; at most 2 % off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of them.
    pub p50_ns: u64,
    /// 90 of them.
    pub p90_ns: u64,
    /// 99 of them.
    pub p99_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_known_once_a_call_has_completed() {
        let one = Completions { starts: 3, completions: 2, in_flight: 1, before: 0, waited_ns: 900 };
        assert_eq!((one.mean_ns(), Completions::default().mean_ns()), (Some(450), None));
        let all = one.plus(Completions { completions: 1, before: 1, waited_ns: u64::MAX, ..one });
        assert_eq!((all.starts, all.completions, all.in_flight, all.before), (6, 3, 2, 1));
        assert_eq!(all.waited_ns, u64::MAX);
    }
}

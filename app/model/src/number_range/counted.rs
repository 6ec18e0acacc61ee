//! The counts of a row at a moment.

use super::RangedDurations;
use redial_protocol::times::{Completions, Times};

/// The numbers of a row that add up over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls.
    pub calls: u64,
    /// Timed calls that ended.
    pub exits: u64,
    exceptions: u64,
    total_ns: u64,
    self_ns: u64,
    max_ns: u64,
    completions: Option<Box<Completions>>,
}

impl Counted {
    /// Returns the counts among the agent's numbers of a row.
    pub fn of(calls: u64, times: Option<&Times>) -> Counted {
        let Some(times) = times else { return Counted { calls, ..Counted::default() } };
        Counted {
            calls,
            exits: times.exits,
            exceptions: times.exceptions,
            total_ns: times.total_ns,
            self_ns: times.self_ns,
            max_ns: times.max_ns,
            completions: times.completions.map(Box::new),
        }
    }

    /// Returns whether `other` was counted later than these.
    pub fn is_before(&self, other: &Counted) -> bool {
        self.calls < other.calls || self.exits < other.exits
    }

    /// Returns the times of the calls that ended after `before`. Numbers that do not add up are those of `times`, the latest of
    /// the row: calls in flight, and durations if all calls are in the range. Other durations are `durations`; without
    /// them percentiles are absent, and the longest call is 0 unless it is longer than any before.
    pub fn times_since(&self, before: &Counted, times: &Times, durations: Option<RangedDurations>) -> Times {
        let exits = self.exits.saturating_sub(before.exits);
        let (percentiles, max_ns) = match durations {
            _ if exits == 0 => (None, 0),
            _ if before.exits == 0 => (times.percentiles, self.max_ns),
            Some(known) => (known.percentiles, known.max_ns),
            None => (None, if self.max_ns > before.max_ns { self.max_ns } else { 0 }),
        };
        Times {
            exits,
            exceptions: self.exceptions.saturating_sub(before.exceptions),
            total_ns: self.total_ns.saturating_sub(before.total_ns),
            self_ns: self.self_ns.saturating_sub(before.self_ns),
            max_ns,
            percentiles,
            completions: times.completions.map(|now| self.completions_since(before, now)),
            ..*times
        }
    }

    fn completions_since(&self, before: &Counted, now: Completions) -> Completions {
        let all = |of: &Counted| of.completions.as_deref().copied().unwrap_or_default();
        let (last, first) = (all(self), all(before));
        Completions {
            starts: last.starts.saturating_sub(first.starts),
            completions: last.completions.saturating_sub(first.completions),
            in_flight: now.in_flight,
            before: last.before.saturating_sub(first.before),
            waited_ns: last.waited_ns.saturating_sub(first.waited_ns),
        }
    }
}

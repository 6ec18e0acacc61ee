//! The calls that numbers of methods cover: all, those since a moment, or those of the last ten seconds. The agent
//! counts on; ranges are differences between its reports.

mod counted;
mod recent;

pub use counted::Counted;
pub use recent::RecentCounts;

use redial_protocol::times::{Percentiles, Times};

/// Seconds that [`NumberRange::Recent`] covers.
pub const RECENT_SECONDS: u64 = 10;

/// The calls that numbers cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberRange {
    /// All calls since the method was first dialled.
    #[default]
    Total,
    /// The calls since a moment that the user marked.
    Since {
        /// That moment, Unix time in milliseconds.
        unix_ms: u64,
    },
    /// The calls of the last ten whole seconds.
    Recent,
}

/// The numbers of a row in a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangedNumbers {
    /// Calls.
    pub calls: u64,
    /// Times of the calls that ended; absent if none was ever timed.
    pub times: Option<Times>,
}

/// Percentiles and the longest call of a range, read from histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangedDurations {
    /// Percentiles; absent if no call ended.
    pub percentiles: Option<Percentiles>,
    /// The longest call in nanoseconds, at most 3 % too long.
    pub max_ns: u64,
}

/// The counts of a row before a range, from which the numbers in it are differences.
#[derive(Clone, Debug)]
pub struct RangeBasis {
    counts: BasisCounts,
    /// Read from histograms, which not every row has.
    pub durations: Option<RangedDurations>,
    /// Whether its owner lists it among those whose numbers change as time passes.
    pub is_listed: bool,
    /// Whether the row has times of calls before the range that have not arrived yet.
    pub lacks_times: bool,
}

#[derive(Clone, Debug)]
enum BasisCounts {
    Mark(Counted),
    Recent(RecentCounts),
}

impl RangeBasis {
    /// Begins a range of all calls after `counted`.
    pub fn at_mark(counted: Counted) -> RangeBasis {
        RangeBasis {
            counts: BasisCounts::Mark(counted),
            durations: None,
            is_listed: false,
            lacks_times: false,
        }
    }

    /// Begins a range of the last seconds with the calls after `counted`.
    pub fn recent(counted: Counted) -> RangeBasis {
        RangeBasis {
            counts: BasisCounts::Recent(RecentCounts::new(counted)),
            durations: None,
            is_listed: false,
            lacks_times: false,
        }
    }

    /// Takes the first times of a row as those of calls before the range. `calls` are its present calls.
    pub fn begin_times(&mut self, calls: u64, times: &Times) {
        self.lacks_times = false;
        match &mut self.counts {
            BasisCounts::Mark(mark) => *mark = Counted::of(mark.calls, Some(times)),
            BasisCounts::Recent(recent) => *recent = RecentCounts::new(Counted::of(calls, Some(times))),
        }
    }

    /// Records the present counts, in second `tick`.
    pub fn record(&mut self, now: &Counted, tick: u64) {
        match &mut self.counts {
            // Fewer calls than before: the agent counts anew.
            BasisCounts::Mark(mark) if now.is_before(mark) => *mark = Counted::default(),
            BasisCounts::Mark(_) => {}
            BasisCounts::Recent(recent) => recent.record(now, tick),
        }
    }

    /// Returns the counts before the range, whose last second is the one before `tick`.
    pub fn before(&self, tick: u64) -> &Counted {
        match &self.counts {
            BasisCounts::Mark(mark) => mark,
            BasisCounts::Recent(recent) => recent.window(tick).0,
        }
    }

    /// Returns the numbers of the range, given all of the row's times; see [`RangeBasis::before`] for `tick`.
    pub fn numbers(&self, now: &Counted, times: Option<&Times>, tick: u64) -> RangedNumbers {
        let (before, now) = match &self.counts {
            BasisCounts::Mark(mark) => (mark, now),
            BasisCounts::Recent(recent) => recent.window(tick),
        };
        RangedNumbers {
            calls: now.calls.saturating_sub(before.calls),
            times: times.map(|times| now.times_since(before, times, self.durations)),
        }
    }

    /// Returns whether the numbers change as time passes, without any call.
    pub fn moves(&self, tick: u64) -> bool {
        matches!(&self.counts, BasisCounts::Recent(recent) if recent.moves(tick))
    }
}

#[cfg(test)]
mod tests;

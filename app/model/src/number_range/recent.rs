//! The counts of a row at the end of each of the last seconds.

use super::{Counted, RECENT_SECONDS};
use std::collections::VecDeque;

/// The counts of the last seconds; seconds in which nothing changed have none of their own.
#[derive(Clone, Debug)]
pub struct RecentCounts {
    /// The counts before the first second that is known.
    first: Counted,
    /// Counts at the end of a second, ascending by second.
    ends: VecDeque<(u64, Counted)>,
}

impl RecentCounts {
    /// Begins now: calls after `counted` belong to the range.
    pub fn new(counted: Counted) -> RecentCounts {
        RecentCounts { first: counted, ends: VecDeque::new() }
    }

    /// Records the present counts.
    pub fn record(&mut self, now: &Counted, tick: u64) {
        if now.is_before(self.ends.back().map_or(&self.first, |(_, last)| last)) {
            // The agent counts anew.
            *self = RecentCounts::new(Counted::default());
        }
        self.forget(tick);
        match self.ends.back_mut() {
            Some((last, counted)) if *last >= tick => counted.clone_from(now),
            Some((_, counted)) if counted == now => {}
            None if self.first == *now => {}
            _ => self.ends.push_back((tick, now.clone())),
        }
    }

    /// Returns the counts before and at the end of the seconds that precede `tick`.
    pub fn window(&self, tick: u64) -> (&Counted, &Counted) {
        let before = |end: u64| {
            let found = self.ends.iter().rev().find(|(second, _)| *second < end);
            found.map_or(&self.first, |(_, counted)| counted)
        };
        (before(tick.saturating_sub(RECENT_SECONDS)), before(tick))
    }

    /// Returns whether numbers of the range change as seconds pass.
    pub fn moves(&self, tick: u64) -> bool {
        self.ends.back().is_some_and(|(last, _)| last + RECENT_SECONDS >= tick)
    }

    fn forget(&mut self, tick: u64) {
        let start = tick.saturating_sub(RECENT_SECONDS);
        while let Some((_, counted)) = self.ends.pop_front_if(|(second, _)| *second < start) {
            self.first = counted;
        }
    }
}

//! Call rates averaged over about a second: snapshots come four times a second, and what one of them covers varies
//! with the load of the machine.

use crate::snapshot_clock::Interval;

/// Snapshots that an average covers at most.
const SNAPSHOTS: usize = 4;
/// Time that an average covers, if the snapshots are as close as that, milliseconds.
const SPAN_MS: u64 = 1_000;

/// The lengths of the latest intervals between snapshots, the latest first.
#[derive(Clone, Debug, Default)]
pub struct RecentIntervals {
    ms: [u64; SNAPSHOTS],
    known: usize,
}

impl RecentIntervals {
    /// Adds the interval of a snapshot; one of unknown length ends all averages.
    pub fn push(&mut self, interval: Option<Interval>) {
        let Some(interval) = interval else {
            self.known = 0;
            return;
        };
        self.ms.rotate_right(1);
        if let Some(first) = self.ms.first_mut() {
            *first = interval.ms();
        }
        self.known = (self.known + 1).min(SNAPSHOTS);
    }

    /// Returns the number of snapshots that an average over at most `most` covers, and their milliseconds.
    fn window(&self, most: u64) -> (usize, u64) {
        let (mut covered, mut ms) = (0, 0);
        for one in self.ms.iter().take(self.known) {
            if covered > 0 && (ms + one > SPAN_MS || covered as u64 >= most) {
                break;
            }
            (covered, ms) = (covered + 1, ms + one);
        }
        (covered, ms)
    }
}

/// The calls of a row in the latest snapshots, the latest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentCalls {
    calls: [u32; SNAPSHOTS],
    /// The snapshot of the first number, and the one after which counting began.
    at: u64,
    begun: u64,
}

impl RecentCalls {
    /// Returns the calls of a row that begins to count after the given snapshot.
    pub fn begin(snapshot: u64) -> RecentCalls {
        RecentCalls { calls: [0; SNAPSHOTS], at: snapshot, begun: snapshot }
    }

    /// Adds the calls of a snapshot; returns the averaged rate per second, `None` while the length of the last
    /// interval is unknown.
    pub fn push(&mut self, snapshot: u64, calls: u64, intervals: &RecentIntervals) -> Option<f32> {
        let passed = usize::try_from(snapshot.saturating_sub(self.at)).unwrap_or(SNAPSHOTS).min(SNAPSHOTS);
        self.calls.rotate_right(passed);
        self.calls.iter_mut().take(passed).for_each(|calls| *calls = 0);
        self.at = snapshot;
        if let Some(first) = self.calls.first_mut() {
            *first = first.saturating_add(u32::try_from(calls).unwrap_or(u32::MAX));
        }
        let (covered, ms) = intervals.window(snapshot.saturating_sub(self.begun));
        let sum: u64 = self.calls.iter().take(covered).map(|calls| u64::from(*calls)).sum();
        (ms > 0).then(|| (sum as f64 * 1_000.0 / ms as f64) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot_clock::SnapshotClock;

    /// Returns the rate after each snapshot: its distance from the one before, and its calls.
    fn rates(begun: u64, snapshots: &[(u64, u64)]) -> Vec<Option<f32>> {
        let (mut clock, mut intervals) = (SnapshotClock::default(), RecentIntervals::default());
        let (mut calls, mut t_ms) = (RecentCalls::begin(begun), 0);
        let push = |(number, (ms, count)): (usize, &(u64, u64))| {
            t_ms += ms;
            intervals.push(clock.advance(t_ms, 0));
            calls.push(number as u64 + 1, *count, &intervals)
        };
        snapshots.iter().enumerate().map(push).collect()
    }

    #[test]
    fn rate_is_averaged_over_a_second() {
        let steady = rates(0, &[(0, 0), (250, 300), (250, 8), (250, 600), (250, 292), (250, 300)]);
        let rounded: Vec<_> = steady.into_iter().map(|rate| rate.map(f32::round)).collect();
        assert_eq!(rounded, [None, Some(1_200.0), Some(616.0), Some(1_211.0), Some(1_200.0), Some(1_200.0)]);
    }

    #[test]
    fn slow_snapshots_stand_alone() {
        assert_eq!(rates(0, &[(0, 0), (1_000, 9), (1_000, 4)]), [None, Some(9.0), Some(4.0)]);
        assert_eq!(rates(0, &[(0, 0), (2_000, 9), (250, 1)]), [None, Some(4.5), Some(4.0)]);
    }

    #[test]
    fn counting_that_has_just_begun_is_not_averaged_with_before() {
        assert_eq!(rates(3, &[(0, 0), (250, 0), (250, 0), (250, 100)])[3], Some(400.0));
    }

    #[test]
    fn rate_falls_to_zero_within_a_second() {
        let ended = rates(0, &[(0, 0), (250, 100), (250, 0), (250, 0), (250, 0), (250, 0)]);
        assert_eq!(ended.last(), Some(&Some(0.0)));
        assert_eq!(ended[4], Some(100.0));
    }
}

//! Distribution of the durations of a row's calls: the number of calls in each bucket.

use crate::codec::capped;
use crate::limits::MAX_BUCKETS;
use crate::times::Times;
use serde::{Deserialize, Serialize};

/// Buckets per octave (from a power of two to the next), all with the same width.
pub const BUCKETS_PER_OCTAVE: u16 = 32;

/// A row's times and the buckets of its calls, read at nearly the same moment. The buckets may include calls
/// that ended after the times were read. Buckets are numbered from the shortest durations;
/// [`RowHistogram::lower_ns`] returns where each begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowHistogram {
    /// Times of the row. Calls that ended but are in no bucket had no memory left for one.
    pub times: Times,
    /// Femtoseconds per tick of the agent's clock. Bucket bounds are whole ticks.
    pub tick_fs: u64,
    /// Buckets with calls, ascending, below [`MAX_BUCKETS`]. Same length as `calls`.
    #[serde(deserialize_with = "capped::<_, _, MAX_BUCKETS>")]
    pub buckets: Vec<u16>,
    /// Calls in each bucket.
    #[serde(deserialize_with = "capped::<_, _, MAX_BUCKETS>")]
    pub calls: Vec<u64>,
}

impl RowHistogram {
    /// Returns the lower bound of a bucket, which is the upper bound of the one before, in nanoseconds.
    pub fn lower_ns(&self, bucket: u32) -> f64 {
        lower_ticks(bucket) as f64 * self.tick_fs as f64 / 1e6
    }

    /// Returns the buckets with calls and their counts.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u64)> {
        let known = |(bucket, _): &(u16, u64)| usize::from(*bucket) < MAX_BUCKETS;
        self.buckets.iter().copied().zip(self.calls.iter().copied()).filter(known)
    }
}

/// Returns the shortest duration in a bucket, in ticks. In the first two octaves each tick has its own bucket.
/// From then on the width doubles with each octave.
pub fn lower_ticks(bucket: u32) -> u64 {
    let per_octave = u32::from(BUCKETS_PER_OCTAVE);
    // All buckets beyond the last are the same.
    let bucket = bucket.min(MAX_BUCKETS as u32);
    match (bucket / per_octave).checked_sub(1) {
        None => bucket.into(),
        Some(shift) => u64::from(per_octave + bucket % per_octave) << shift,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RowId;

    fn histogram() -> RowHistogram {
        let times = Times {
            row: RowId(1),
            in_flight: 0,
            exits: 3,
            exceptions: 0,
            total_ns: 9,
            self_ns: 9,
            max_ns: 4,
            percentiles: None,
            completions: None,
            move_next: None,
        };
        RowHistogram { times, tick_fs: 500_000, buckets: vec![3, 40, u16::MAX], calls: vec![1, 2] }
    }

    #[test]
    fn buckets_meet_and_double_with_each_octave() {
        let bounds: Vec<u64> = (0..=MAX_BUCKETS as u32).map(lower_ticks).collect();
        assert!(bounds.is_sorted_by(|one, next| one < next));
        assert_eq!([bounds[0], bounds[31], bounds[32], bounds[63], bounds[64]], [0, 31, 32, 63, 64]);
        for octave in 1..MAX_BUCKETS / 32 {
            assert_eq!(bounds[octave * 32 + 32], 2 * bounds[octave * 32], "octave {octave}");
        }
        assert_eq!(lower_ticks(u32::MAX), bounds[MAX_BUCKETS]);
    }

    #[test]
    fn columns_of_unequal_length_and_unknown_buckets_are_harmless() {
        let mut histogram = histogram();
        assert_eq!(histogram.counts().collect::<Vec<_>>(), [(3, 1), (40, 2)]);
        histogram.calls.push(7);
        assert_eq!(histogram.counts().count(), 2, "there is no such bucket");
        assert_eq!(histogram.lower_ns(40), 20.0, "half a nanosecond a tick");
        let longest = RowHistogram { tick_fs: u64::MAX, ..histogram };
        assert!(longest.lower_ns(u32::MAX).is_finite());
    }
}

//! Percentiles of the calls between two histograms: a histogram has all calls since the method was first timed.

use redial_protocol::histogram::RowHistogram;

/// The calls of the last histogram, by bucket.
#[derive(Debug, Default)]
pub struct IntervalPercentiles {
    last: Option<Vec<u64>>,
}

impl IntervalPercentiles {
    /// Returns p50 and p99 in nanoseconds of the calls that ended since the last histogram: the upper bounds of their buckets.
    /// None at first, and if none ended.
    pub fn take(&mut self, histogram: &RowHistogram) -> Option<(f64, f64)> {
        let size = histogram.counts().map(|(bucket, _)| usize::from(bucket) + 1).max().unwrap_or(0);
        let mut now = vec![0_u64; size];
        for (bucket, calls) in histogram.counts() {
            if let Some(place) = now.get_mut(usize::from(bucket)) {
                *place = calls;
            }
        }
        let before = self.last.replace(now)?;
        let now = self.last.as_ref()?;
        let count = |buckets: &[u64], bucket: usize| buckets.get(bucket).copied().unwrap_or(0);
        // Fewer calls than before: the row begins anew.
        if (0..before.len()).any(|bucket| count(now, bucket) < count(&before, bucket)) {
            return None;
        }
        let new: Vec<u64> =
            (0..now.len()).map(|bucket| count(now, bucket) - count(&before, bucket)).collect();
        let all = new.iter().fold(0_u64, |sum, calls| sum.saturating_add(*calls));
        if all == 0 {
            return None;
        }
        let percentile = |share: f64| {
            let rank = (share * all as f64).ceil().max(1.0) as u64;
            let mut sum = 0_u64;
            let within = |calls: &u64| {
                sum = sum.saturating_add(*calls);
                sum >= rank
            };
            let bucket = new.iter().position(within).unwrap_or(0) as u32;
            histogram.lower_ns(bucket + 1)
        };
        Some((percentile(0.5), percentile(0.99)))
    }
}

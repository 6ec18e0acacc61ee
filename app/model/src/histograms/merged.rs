//! The histogram of several copies together: buckets of equal bounds add up, and percentiles follow from the sums.

use super::chart::Chart;
use crate::live::time_sums;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::times::Percentiles;
use std::collections::BTreeMap;

/// Adds histograms up; `None` without any, or if their clocks tick differently, so that bounds are not the same.
pub fn merged<'a>(all: impl IntoIterator<Item = &'a RowHistogram>) -> Option<RowHistogram> {
    let mut all = all.into_iter().peekable();
    let tick_fs = all.peek()?.tick_fs;
    let (mut sums, mut counts) = (None, BTreeMap::<u16, u64>::new());
    for one in all {
        if one.tick_fs != tick_fs {
            return None;
        }
        time_sums::add(&mut sums, &one.times);
        for (bucket, calls) in one.counts() {
            let sum = counts.entry(bucket).or_default();
            *sum = sum.saturating_add(calls);
        }
    }
    let (buckets, calls) = counts.into_iter().unzip();
    let mut merged = RowHistogram { times: sums?, tick_fs, buckets, calls };
    merged.times.percentiles = percentiles(&merged);
    Some(merged)
}

/// Reads percentiles off a histogram; absent without calls.
pub fn percentiles(histogram: &RowHistogram) -> Option<Percentiles> {
    let [p50_ns, p90_ns, p99_ns] = Chart::of(histogram, None, 1).lines;
    let ((p50, p90), p99) = p50_ns.zip(p90_ns).zip(p99_ns)?;
    Some(Percentiles { p50_ns: p50 as u64, p90_ns: p90 as u64, p99_ns: p99 as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::histogram;

    #[test]
    fn buckets_and_times_add_up() {
        let (one, other) = (histogram(0, &[(64, 10), (96, 30)]), histogram(1, &[(96, 60), (128, 1)]));
        let both = merged([&one, &other]).expect("equal clocks");
        assert_eq!(both.counts().collect::<Vec<_>>(), [(64, 10), (96, 90), (128, 1)]);
        assert_eq!(both.times.exits, 101);
        let whole = histogram(0, &[(64, 10), (96, 90), (128, 1)]);
        assert_eq!(both.times.percentiles, whole.times.percentiles, "as if one program had made all calls");
        assert_eq!(merged([&one]).map(|one| one.counts().count()), Some(2));
    }

    #[test]
    fn other_bounds_do_not_add_up() {
        let one = histogram(0, &[(64, 10)]);
        let other = RowHistogram { tick_fs: 5, ..one.clone() };
        assert_eq!(merged([&one, &other]), None);
        assert_eq!(merged([]), None);
    }
}

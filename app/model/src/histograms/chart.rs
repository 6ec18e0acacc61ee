//! A histogram as bars, few enough to draw and read. With a mark, shows calls since the mark beside those
//! before it.

use redial_protocol::histogram::{BUCKETS_PER_OCTAVE, RowHistogram, lower_ticks};
use redial_text::times::{between, share};
use redial_text::words;
use std::collections::BTreeMap;

/// The reported percentiles, in per mille.
const PER_MILLE: [u64; 3] = [500, 900, 990];
/// Their names.
pub const NAMES: [&str; 3] = ["p50", "p90", "p99"];
/// The maximum number of bars that are read out.
const READ_OUT: u32 = 12;

/// Bars and their totals. *Calls* are those since the mark, or all calls without one.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Ascending; only those with calls.
    pub bars: Vec<ChartBar>,
    /// Calls in all bars.
    pub calls: u64,
    /// Calls before the mark; `None` without a mark.
    pub before: Option<u64>,
    /// Finished calls that are in no bar.
    pub missing: u64,
    /// Upper bounds of the fastest 500, 900 and 990 of 1,000 calls, in nanoseconds.
    pub lines: [Option<f64>; 3],
    /// The same before the mark.
    pub lines_before: [Option<f64>; 3],
}

/// Calls of similar duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartBar {
    /// Inclusive lower bound, nanoseconds.
    pub from_ns: f64,
    /// Exclusive upper bound, nanoseconds.
    pub to_ns: f64,
    /// Calls.
    pub calls: u64,
    /// Calls before the mark.
    pub before: u64,
}

/// Calls in a bucket: since the mark and before it.
type BucketCounts = BTreeMap<u32, [u64; 2]>;

impl Chart {
    /// Converts a histogram into at most `most` bars, and at least one; with a mark, of the calls since then.
    pub fn of(now: &RowHistogram, mark: Option<&RowHistogram>, most: u32) -> Chart {
        let mut counts = BucketCounts::new();
        now.counts().for_each(|(bucket, calls)| counts.entry(bucket.into()).or_default()[0] = calls);
        for (bucket, calls) in mark.into_iter().flat_map(RowHistogram::counts) {
            let both = counts.entry(bucket.into()).or_default();
            *both = [both[0].saturating_sub(calls), calls];
        }
        let sum = |which: usize| counts.values().fold(0_u64, |sum, both| sum.saturating_add(both[which]));
        let (calls, before) = (sum(0), mark.map(|_| sum(1)));
        // Buckets are read after the number of calls, so they may contain a few more.
        let lack = |one: &RowHistogram| {
            one.times
                .exits
                .saturating_sub(one.counts().fold(0_u64, |sum, (_, calls)| sum.saturating_add(calls)))
        };
        Chart {
            bars: bars(now, &counts, width(&counts, most.max(1))),
            calls,
            before,
            missing: lack(now).saturating_sub(mark.map_or(0, lack)),
            lines: PER_MILLE.map(|per_mille| quantile(now, &counts, 0, per_mille)),
            lines_before: PER_MILLE.map(|per_mille| quantile(now, &counts, 1, per_mille)),
        }
    }

    /// Describes a bar: `12,345 calls took 1.00–1.10 ms (3.1 %)`.
    pub fn describe(&self, bar: &ChartBar) -> String {
        let took = between(bar.from_ns.round() as u64, bar.to_ns.round() as u64);
        let part = share(bar.calls, self.calls);
        let calls = words::count(bar.calls, "call", "calls");
        match self.before {
            None => format!("{calls} took {took} ({part})"),
            Some(all) => {
                let (before, of_before) = (words::grouped(bar.before), share(bar.before, all));
                format!("{calls} since the mark took {took} ({part}); before it {before} ({of_before})")
            }
        }
    }

    /// Describes calls and percentiles, since the mark if there is one: `1,000 calls: p50 1.20 ms, p90 …`.
    pub fn summary(&self) -> String {
        let since = if self.before.is_some() { " since the mark" } else { "" };
        summary(self.calls, since, &self.lines)
    }

    /// Describes calls and percentiles before the mark.
    pub fn summary_before(&self) -> Option<String> {
        self.before.map(|calls| summary(calls, " before it", &self.lines_before))
    }
}

fn summary(calls: u64, since: &str, lines: &[Option<f64>; 3]) -> String {
    let known = NAMES.iter().zip(lines).filter_map(|(name, ns)| Some((name, (*ns)?)));
    let parts: Vec<String> =
        known.map(|(name, ns)| format!("{name} {}", words::duration(ns.round() as u64))).collect();
    let calls = words::count(calls, "call", "calls");
    if parts.is_empty() { format!("{calls}{since}") } else { format!("{calls}{since}: {}", parts.join(", ")) }
}

/// Returns the buckets per bar: a power of two, so that bars and octaves align.
fn width(counts: &BucketCounts, most: u32) -> u32 {
    let (first, last) = match (counts.first_key_value(), counts.last_key_value()) {
        (Some((first, _)), Some((last, _))) => (*first, *last),
        _ => return 1,
    };
    let mut widths = (0..16).map(|power| 1_u32 << power);
    widths.find(|width| last / width - first / width < most).unwrap_or(1 << 16)
}

fn bars(histogram: &RowHistogram, counts: &BucketCounts, width: u32) -> Vec<ChartBar> {
    let mut bars: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for (bucket, [calls, before]) in counts {
        let bar = bars.entry(bucket / width).or_default();
        *bar = [bar[0].saturating_add(*calls), bar[1].saturating_add(*before)];
    }
    let with_calls = bars.into_iter().filter(|(_, both)| *both != [0, 0]);
    let bar = |(number, [calls, before]): (u32, [u64; 2])| ChartBar {
        from_ns: histogram.lower_ns(number * width),
        to_ns: histogram.lower_ns((number + 1) * width),
        calls,
        before,
    };
    with_calls.map(bar).collect()
}

/// Returns the middle of the bucket that contains the percentile, in nanoseconds.
fn quantile(histogram: &RowHistogram, counts: &BucketCounts, which: usize, per_mille: u64) -> Option<f64> {
    let all: u128 = counts.values().map(|both| u128::from(both[which])).sum();
    let rank = (all * u128::from(per_mille)).div_ceil(1000).max(1);
    let mut seen = 0;
    for (bucket, both) in counts {
        seen += u128::from(both[which]);
        if seen >= rank {
            // Rounded like the agent does; buckets of one tick are exact.
            let ticks = lower_ticks(*bucket) + (lower_ticks(bucket + 1) - lower_ticks(*bucket)) / 2;
            let longest = histogram.times.max_ns;
            let middle = (ticks as f64 * histogram.tick_fs as f64 / 1e6).floor();
            return Some(if longest > 0 { middle.min(longest as f64) } else { middle });
        }
    }
    None
}

impl ChartBar {
    /// Returns its width on a logarithmic axis in octaves. A bar that starts at 0 is one octave wide.
    pub fn octaves(&self) -> f64 {
        if self.from_ns > 0.0 { (self.to_ns / self.from_ns).log2().max(1.0 / 4096.0) } else { 1.0 }
    }
}

/// Returns at most a dozen bars, each at least an octave wide, for reading out.
pub fn coarse(now: &RowHistogram, mark: Option<&RowHistogram>) -> Chart {
    let per_octave = u32::from(BUCKETS_PER_OCTAVE);
    let octaves = now.counts().last().map_or(0, |(last, _)| u32::from(last) / per_octave)
        - now.counts().next().map_or(0, |(first, _)| u32::from(first) / per_octave);
    Chart::of(now, mark, (octaves + 1).min(READ_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::histogram;

    #[test]
    fn bars_contain_all_calls_and_align_with_octaves() {
        // 64 to 127 ns in buckets of 2 ns, 128 to 255 ns in buckets of 4.
        let now = histogram(0, &[(64, 1), (65, 2), (95, 3), (96, 10), (127, 4)]);
        let fine = Chart::of(&now, None, 64);
        assert_eq!(fine.bars.len(), 5);
        assert_eq!((fine.bars[1].from_ns, fine.bars[1].to_ns, fine.bars[1].calls), (66.0, 68.0, 2));
        let octaves = Chart::of(&now, None, 2);
        let of = |bar: &ChartBar| (bar.from_ns, bar.to_ns, bar.calls);
        assert_eq!(octaves.bars.iter().map(of).collect::<Vec<_>>(), [(64.0, 128.0, 6), (128.0, 256.0, 14)]);
        assert_eq!(octaves.bars[1].octaves(), 1.0);
        for most in [1, 2, 3, 7, 60, 10_000] {
            let chart = Chart::of(&now, None, most);
            assert!(chart.bars.len() <= most as usize, "{most}");
            assert_eq!((chart.bars.iter().map(|bar| bar.calls).sum::<u64>(), chart.calls), (20, 20));
        }
        assert_eq!(octaves.describe(&octaves.bars[0]), "6 calls took 64–128 ns (30.0 %)");
    }

    #[test]
    fn with_a_mark_bars_show_the_difference() {
        let before = histogram(0, &[(64, 100), (65, 50)]);
        let now = histogram(0, &[(64, 100), (65, 51), (320, 9)]);
        let chart = Chart::of(&now, Some(&before), 1_000);
        assert_eq!((chart.calls, chart.before, chart.missing), (10, Some(150), 0));
        let both: Vec<(u64, u64)> = chart.bars.iter().map(|bar| (bar.calls, bar.before)).collect();
        assert_eq!(both, [(0, 100), (1, 50), (9, 0)]);
        assert_eq!(
            chart.describe(&chart.bars[1]),
            "1 call since the mark took 66–68 ns (10.0 %); before it 50 (33.3 %)"
        );
        assert_eq!(chart.lines_before.map(|line| line.is_some()), [true; 3]);
        assert!(chart.lines[0] > chart.lines_before[2], "they are slower now");
        assert_eq!(chart.summary(), "10 calls since the mark: p50 16.6 µs, p90 16.6 µs, p99 16.6 µs");
        assert_eq!(
            chart.summary_before().as_deref(),
            Some("150 calls before it: p50 65 ns, p90 67 ns, p99 67 ns")
        );
        let nothing = Chart::of(&before, Some(&before), 10);
        assert_eq!((nothing.calls, nothing.lines), (0, [None; 3]));
        assert_eq!(nothing.summary(), "0 calls since the mark");
    }

    #[test]
    fn reports_calls_without_a_bucket() {
        let mut now = histogram(0, &[(64, 5)]);
        now.times.exits = 8;
        assert_eq!(Chart::of(&now, None, 10).missing, 3);
        let mut ahead = histogram(0, &[(64, 4)]);
        ahead.times.exits = 1;
        assert_eq!(Chart::of(&now, Some(&ahead), 10).missing, 3, "buckets that were ahead are no loss");
        let empty = histogram(0, &[]);
        let chart = Chart::of(&empty, None, 10);
        assert!(chart.bars.is_empty() && chart.lines == [None; 3] && chart.calls == 0);
        assert!(coarse(&empty, None).bars.is_empty());
    }

    #[test]
    fn coarse_charts_are_short() {
        let wide: Vec<(u16, u64)> = (0..40).map(|octave| (octave * 32, 1)).collect();
        let chart = coarse(&histogram(0, &wide), None);
        assert!(!chart.bars.is_empty() && chart.bars.len() <= 12 && chart.calls == 40);
    }
}

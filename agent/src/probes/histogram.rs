//! Call durations in buckets: each octave (from a power of two to the next) has 32 of the same width, so the
//! middle of a bucket is at most 1/64 (1.6 %) from every value in it. Pure.
#![forbid(unsafe_code)]

use redial_protocol::histogram::BUCKETS_PER_OCTAVE;
use redial_protocol::limits::MAX_BUCKETS;

/// Buckets per octave, as a power of two.
const BITS: u32 = 5;
/// Buckets per octave.
pub const BUCKETS: usize = 1 << BITS;
/// Octaves: the first has the durations below 32 ticks exactly, the last all from 2^49 ticks on (days).
pub const OCTAVES: usize = 46;

// Must match `redial_protocol::histogram`, which readers of buckets use.
const _: () = assert!(BUCKETS == BUCKETS_PER_OCTAVE as usize && BUCKETS * OCTAVES == MAX_BUCKETS);

/// Returns octave and bucket of a duration in ticks.
pub fn place(ticks: u64) -> (usize, usize) {
    const MOST: u64 = (1 << (OCTAVES as u32 - 1 + BITS)) - 1;
    place_short(ticks.min(MOST))
}

/// Like [`place`], without a limit: a longer duration may get an octave that does not exist.
#[inline(always)]
pub fn place_short(ticks: u64) -> (usize, usize) {
    // The first two octaves have buckets of the same width.
    let shift = (ticks | BUCKETS as u64).ilog2() - BITS;
    let number = (shift << BITS) + (ticks >> shift) as u32;
    ((number >> BITS) as usize, number as usize % BUCKETS)
}

/// Returns the middle of a bucket in ticks.
fn middle(octave: usize, bucket: usize) -> u64 {
    match octave.checked_sub(1) {
        None => bucket as u64,
        Some(shift) => (((BUCKETS + bucket) as u64) << shift) + ((1_u64 << shift) >> 1),
    }
}

/// Counts summed over all threads.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[[u64; BUCKETS]; OCTAVES]>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: Box::new([[0; BUCKETS]; OCTAVES]), total: 0 }
    }
}

impl Histogram {
    /// Removes all counts.
    pub fn clear(&mut self) {
        if self.total > 0 {
            *self.counts = [[0; BUCKETS]; OCTAVES];
            self.total = 0;
        }
    }

    /// Adds calls to a bucket.
    pub fn add(&mut self, octave: usize, bucket: usize, calls: u64) {
        if let Some(count) = self.counts.get_mut(octave).and_then(|octave| octave.get_mut(bucket)) {
            *count = count.saturating_add(calls);
            self.total = self.total.saturating_add(calls);
        }
    }

    /// Iterates over the buckets with calls, ascending, with their numbers.
    pub fn buckets(&self) -> impl Iterator<Item = (u16, u64)> {
        (0..).zip(self.counts.iter().flatten().copied()).filter(|(_, calls)| *calls > 0)
    }

    /// Returns the duration in ticks that this many of a thousand calls did not exceed; None without calls.
    pub fn quantile(&self, per_mille: u64) -> Option<u64> {
        // The number of the call in question, from 1.
        let rank = (u128::from(self.total) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0_u128;
        for (octave, counts) in self.counts.iter().enumerate() {
            for (bucket, count) in counts.iter().enumerate() {
                seen += u128::from(*count);
                if seen >= rank {
                    return Some(middle(octave, bucket));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use redial_protocol::histogram::lower_ticks;

    #[test]
    fn small_durations_are_exact_and_octaves_adjoin() {
        for ticks in 0..64 {
            let (octave, bucket) = place(ticks);
            assert_eq!(middle(octave, bucket), ticks);
        }
        assert_eq!((place(31), place(32), place(63), place(64)), ((0, 31), (1, 0), (1, 31), (2, 0)));
        assert_eq!(place(u64::MAX), (OCTAVES - 1, BUCKETS - 1));
        assert_eq!(place((1 << 50) - 1), (OCTAVES - 1, BUCKETS - 1));
    }

    proptest! {
        #[test]
        fn a_bucket_is_at_most_two_per_cent_off(bits in 0_u32..50, low in any::<u64>()) {
            let ticks = (1_u64 << bits) | low & ((1 << bits) - 1);
            let (octave, bucket) = place(ticks);
            prop_assert!(octave < OCTAVES && bucket < BUCKETS);
            let off = middle(octave, bucket).abs_diff(ticks) as f64 / ticks as f64;
            prop_assert!(off <= 0.02, "{ticks}: {off}");
        }

        #[test]
        fn buckets_have_the_published_bounds(bits in 0_u32..50, low in any::<u64>()) {
            let ticks = (1_u64 << bits) | low & ((1 << bits) - 1);
            let (octave, bucket) = place(ticks);
            let mut histogram = Histogram::default();
            histogram.add(octave, bucket, 3);
            let buckets: Vec<(u16, u64)> = histogram.buckets().collect();
            let [(number, 3)] = buckets[..] else { panic!("{buckets:?}") };
            prop_assert!((lower_ticks(number.into())..lower_ticks(u32::from(number) + 1)).contains(&ticks));
        }

        #[test]
        fn quantiles_match_a_sorted_list(mut all in proptest::collection::vec(0_u64..1 << 40, 1..300)) {
            let mut histogram = Histogram::default();
            for ticks in &all {
                let (octave, bucket) = place(*ticks);
                histogram.add(octave, bucket, 1);
            }
            all.sort_unstable();
            for per_mille in [0, 1, 500, 900, 990, 1000] {
                let rank = (all.len() * per_mille).div_ceil(1000).max(1);
                let exact = all[rank - 1];
                let quantile = histogram.quantile(per_mille as u64).expect("there are calls");
                prop_assert!(quantile.abs_diff(exact) as f64 <= exact as f64 * 0.02, "{quantile} for {exact}");
            }
            histogram.clear();
            prop_assert_eq!(histogram.quantile(500), None);
        }
    }
}

//! A sparkline: the rates of the last ticks.

/// Ticks in a sparkline.
pub const LENGTH: usize = 60;

/// Rates at the last [`LENGTH`] ticks. Ticks without a sample are zero and cost nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Indexed by tick modulo the length; NaN while counting was off.
    ring: Box<[f32; LENGTH]>,
    /// The ticks of the first and the newest sample.
    first: u64,
    last: u64,
    /// Whether counting has been off since then.
    ended: bool,
}

impl Series {
    /// Creates a series whose first sample is `rate` at `tick`.
    pub fn new(tick: u64, rate: f32) -> Series {
        let mut series = Series { ring: Box::new([0.0; LENGTH]), first: tick, last: tick, ended: false };
        series.put(tick, rate);
        series
    }

    /// Sets the rate at a tick. A second sample at the same tick replaces the first; earlier ticks are
    /// ignored.
    pub fn put(&mut self, tick: u64, rate: f32) {
        if tick < self.last {
            return;
        }
        self.begin(tick);
        // Ticks in between had no sample: their rate was zero.
        self.fill(tick.saturating_sub(1), 0.0);
        self.set(tick, rate);
        self.last = tick;
    }

    /// Sets the rate at the tick in which counting ended, if it is higher than the newest sample. It covers
    /// more time than was counted, so a lower value would wrongly show a drop.
    pub fn put_last(&mut self, tick: u64, rate: f32) {
        let recorded = self.ring.get((self.last.min(tick) % LENGTH as u64) as usize).copied();
        if recorded.is_none_or(|recorded| recorded.is_nan() || rate > recorded) {
            self.put(tick, rate);
        }
    }

    /// Ends counting after this tick.
    pub fn end(&mut self, tick: u64) {
        if !std::mem::replace(&mut self.ended, true) {
            self.fill(tick, 0.0);
        }
    }

    /// Starts counting again at this tick.
    pub fn begin(&mut self, tick: u64) {
        if std::mem::take(&mut self.ended) {
            self.fill(tick.saturating_sub(1), f32::NAN);
        }
    }

    /// Returns whether counting is off.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Sets one rate for every tick after the newest, up to this one.
    fn fill(&mut self, to: u64, rate: f32) {
        for tick in (self.last + 1..=to).rev().take(LENGTH) {
            self.set(tick, rate);
        }
        self.last = self.last.max(to);
    }

    fn set(&mut self, tick: u64, rate: f32) {
        if let Some(place) = self.ring.get_mut((tick % LENGTH as u64) as usize) {
            *place = rate;
        }
    }

    /// Returns the rates of the [`LENGTH`] ticks up to `now`, oldest first; NaN while counting was off.
    pub fn at(&self, now: u64) -> impl ExactSizeIterator<Item = f32> + '_ {
        (0..LENGTH).map(move |index| {
            let tick = (now + 1 + index as u64).checked_sub(LENGTH as u64);
            let Some(tick) = tick.filter(|tick| *tick >= self.first) else { return f32::NAN };
            if tick > self.last {
                return if self.ended { f32::NAN } else { 0.0 };
            }
            let recorded = tick + LENGTH as u64 > self.last;
            if recorded {
                self.ring.get((tick % LENGTH as u64) as usize).copied().unwrap_or(0.0)
            } else {
                0.0
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn shown(series: &Series, now: u64) -> Vec<f32> {
        series.at(now).map(|rate| if rate.is_nan() { -1.0 } else { rate }).collect()
    }

    #[test]
    fn the_newest_is_last_and_gaps_are_zero() {
        let mut series = Series::new(100, 1.0);
        series.put(103, 4.0);
        let rates = shown(&series, 103);
        assert_eq!(rates.len(), LENGTH);
        assert_eq!(rates[LENGTH - 4..], [1.0, 0.0, 0.0, 4.0]);
        assert_eq!(shown(&series, 105)[LENGTH - 6..], [1.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
        assert!(shown(&series, 103 + LENGTH as u64).iter().all(|rate| *rate == 0.0));
    }

    #[test]
    fn there_is_no_rate_while_counting_is_off() {
        let mut series = Series::new(100, 5.0);
        series.end(102);
        series.end(104);
        assert_eq!(shown(&series, 105)[LENGTH - 6..], [5.0, 0.0, 0.0, -1.0, -1.0, -1.0]);
        series.begin(106);
        assert_eq!(shown(&series, 107)[LENGTH - 6..], [0.0, -1.0, -1.0, -1.0, 0.0, 0.0]);
        series.put(108, 7.0);
        assert_eq!(shown(&series, 108)[LENGTH - 4..], [-1.0, 0.0, 0.0, 7.0]);
        // A late sample after the end does not resume counting.
        series.end(108);
        series.put(109, 2.0);
        series.end(109);
        assert_eq!(shown(&series, 110)[LENGTH - 3..], [7.0, 2.0, -1.0]);
        series.put(110 + 2 * LENGTH as u64, 1.0);
        assert!(shown(&series, 110 + 2 * LENGTH as u64)[..LENGTH - 1].iter().all(|rate| *rate == -1.0));
    }

    #[test]
    fn the_last_snapshot_never_lowers_a_rate() {
        let mut series = Series::new(100, 5.0);
        series.put(101, 6.0);
        series.end(101);
        series.put_last(101, 2.0);
        series.end(101);
        assert_eq!(shown(&series, 102)[LENGTH - 3..], [5.0, 6.0, -1.0], "the tick had a whole sample");
        series.begin(103);
        series.put(103, 4.0);
        series.end(103);
        series.put_last(104, 1.0);
        series.end(104);
        assert_eq!(shown(&series, 104)[LENGTH - 2..], [4.0, -1.0], "a partial tick has no rate");
        series.put_last(104, 9.0);
        series.end(104);
        assert_eq!(shown(&series, 105)[LENGTH - 3..], [4.0, 9.0, -1.0], "calls in between are shown");
    }

    #[test]
    fn agrees_with_a_map_of_samples() {
        for gaps in [[1u64, 1, 1], [2, 59, 60], [61, 1, 120], [0, 3, 1_000]] {
            let (mut tick, mut samples) = (7u64, BTreeMap::new());
            let mut series = Series::new(tick, 0.5);
            samples.insert(tick, 0.5f32);
            for (index, gap) in gaps.iter().cycle().take(50).enumerate() {
                tick += gap;
                series.put(tick, index as f32);
                samples.insert(tick, index as f32);
                for now in [tick, tick + 1, tick + 30] {
                    let expected: Vec<f32> = (0..LENGTH as u64)
                        .map(|back| now.checked_sub(LENGTH as u64 - 1 - back))
                        .map(|at| at.filter(|at| *at >= 7))
                        .map(|at| at.map_or(-1.0, |at| samples.get(&at).copied().unwrap_or(0.0)))
                        .collect();
                    assert_eq!(shown(&series, now), expected, "gap {gap}, now {now}");
                }
            }
        }
    }

    #[test]
    fn early_ticks_and_late_samples_are_harmless() {
        let mut series = Series::new(2, 3.0);
        series.put(1, 9.0);
        assert_eq!(shown(&series, 2)[LENGTH - 3..], [-1.0, -1.0, 3.0]);
        series.put(2, 4.0);
        assert_eq!(shown(&series, 2)[LENGTH - 1], 4.0);
    }
}

//! How methods were called over time: a sample a second of the rows that the user charts, kept for an hour.

mod interval;

use interval::IntervalPercentiles;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use std::collections::{BTreeMap, VecDeque};

use crate::ids::ConnectionId;
use crate::live::LiveRow;

/// Most rows charted together.
pub const MAX_CHARTED: usize = 8;
/// Most rows whose samples are kept.
const MAX_SERIES: usize = 64;
/// Most samples of a row: an hour.
const MAX_SAMPLES: usize = 3_600;
/// The shortest time between two samples, milliseconds.
const PACE_MS: u64 = 1_000;
/// Milliseconds after which a request for a histogram counts as lost.
const LOST_MS: u64 = 10_000;

/// A row of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartKey {
    /// The process's connection.
    pub connection: ConnectionId,
    /// The row.
    pub row: RowId,
}

/// What a row did in about a second. Numbers that are unknown are absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its end, Unix time in milliseconds.
    pub unix_ms: u64,
    /// Calls per second; absent while calls are not counted.
    pub rate: Option<f64>,
    /// Exceptions per second; absent while calls are not timed.
    pub exceptions: Option<f64>,
}

/// How long the calls took that ended between two histograms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DurationSample {
    /// The time of the second histogram, Unix time in milliseconds.
    pub unix_ms: u64,
    /// Half of the calls took no longer, nanoseconds.
    pub p50_ns: f64,
    /// 99 % of the calls took no longer, nanoseconds.
    pub p99_ns: f64,
}

/// The samples of a row.
#[derive(Debug)]
pub struct ChartSeries {
    /// The method's name.
    pub name: String,
    samples: VecDeque<Sample>,
    durations: VecDeque<DurationSample>,
    percentiles: IntervalPercentiles,
    /// Calls, exceptions and time of the last sample.
    last: Option<(u64, Option<u64>, u64)>,
    /// Calls that had ended when a histogram was last requested, and when.
    asked: Option<(u64, u64)>,
    is_awaited: bool,
    /// When it was last charted.
    used: u64,
}

impl ChartSeries {
    /// Returns the samples, oldest first.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> {
        self.samples.iter()
    }

    /// Returns durations, oldest first.
    pub fn durations(&self) -> impl DoubleEndedIterator<Item = &DurationSample> {
        self.durations.iter()
    }

    fn sample(&mut self, row: &LiveRow, unix_ms: u64) {
        let thrown = row.times.as_deref().filter(|_| row.is_timed()).map(|times| times.exceptions);
        let Some((calls, exceptions, at)) = self.last else {
            self.last = Some((row.calls, thrown, unix_ms));
            return;
        };
        let passed = unix_ms.saturating_sub(at);
        if passed < PACE_MS {
            return;
        }
        let seconds = passed as f64 / 1e3;
        let per_second = |now: u64, before: u64| Some(now.checked_sub(before)? as f64 / seconds);
        let rate = per_second(row.calls, calls).filter(|_| row.counts());
        let exceptions = thrown.zip(exceptions).and_then(|(now, before)| per_second(now, before));
        push(&mut self.samples, Sample { unix_ms, rate, exceptions });
        self.last = Some((row.calls, thrown, unix_ms));
    }
}

fn push<T>(samples: &mut VecDeque<T>, sample: T) {
    if samples.len() == MAX_SAMPLES {
        samples.pop_front();
    }
    samples.push_back(sample);
}

/// The samples of all charted rows.
#[derive(Debug, Default)]
pub struct Charts {
    series: BTreeMap<ChartKey, ChartSeries>,
    charted: Vec<ChartKey>,
    used: u64,
}

impl Charts {
    /// Charts these rows, at most [`MAX_CHARTED`]. Samples of rows charted before are kept for a while.
    pub fn set_charted(&mut self, rows: impl IntoIterator<Item = (ChartKey, String)>) {
        self.used += 1;
        self.charted.clear();
        for (key, name) in rows.into_iter().take(MAX_CHARTED) {
            self.charted.push(key);
            let series = self.series.entry(key).or_insert_with(|| ChartSeries {
                name: String::new(),
                samples: VecDeque::new(),
                durations: VecDeque::new(),
                percentiles: IntervalPercentiles::default(),
                last: None,
                asked: None,
                is_awaited: false,
                used: 0,
            });
            (series.name, series.used) = (name, self.used);
        }
        while self.series.len() > MAX_SERIES {
            let oldest = self.series.iter().min_by_key(|(_, series)| series.used).map(|(key, _)| *key);
            oldest.and_then(|key| self.series.remove(&key));
        }
    }

    /// Takes in a row's numbers; a sample a second is kept.
    pub fn sample(&mut self, key: ChartKey, row: &LiveRow, unix_ms: u64) {
        if let Some(series) = self.series.get_mut(&key) {
            series.sample(row, unix_ms);
        }
    }

    /// Returns whether to request a row's histogram now, which counts as done: calls have ended since the last request, which
    /// is answered and at least a second old.
    pub fn ask(&mut self, key: ChartKey, exits: u64, unix_ms: u64) -> bool {
        let Some(series) = self.series.get_mut(&key) else { return false };
        if let Some((asked, at)) = series.asked {
            let age = unix_ms.saturating_sub(at);
            if age < PACE_MS || asked == exits || series.is_awaited && age < LOST_MS {
                return false;
            }
        }
        (series.asked, series.is_awaited) = (Some((exits, unix_ms)), true);
        true
    }

    /// Takes in a row's histogram.
    pub fn take_histogram(&mut self, key: ChartKey, histogram: &RowHistogram, unix_ms: u64) {
        let Some(series) = self.series.get_mut(&key) else { return };
        series.is_awaited = false;
        if let Some((p50_ns, p99_ns)) = series.percentiles.take(histogram) {
            push(&mut series.durations, DurationSample { unix_ms, p50_ns, p99_ns });
        }
    }

    /// Returns the charted rows with their samples.
    pub fn charted(&self) -> impl Iterator<Item = (ChartKey, &ChartSeries)> {
        self.charted.iter().filter_map(|key| Some((*key, self.series.get(key)?)))
    }

    /// Forgets the rows of a connection.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.series.retain(|key, _| key.connection != connection);
        self.charted.retain(|key| key.connection != connection);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

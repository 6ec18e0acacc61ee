//! Histograms of the calls in a range: the difference between two histograms of a row. Those at the beginning of the range
//! are read when the user marks it, the latest ones while rows are visible.

use super::merged::percentiles;
use crate::number_range::{Counted, NumberRange, RECENT_SECONDS, RangedDurations};
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

/// Most rows whose histogram at the mark is kept, those with the longest total times.
pub const MAX_MARKED: usize = 1_000;
/// Most visible rows whose latest histograms are kept.
const MAX_WATCHED: usize = 256;
/// Most requests without an answer.
const MAX_AWAITED: usize = 32;
/// The shortest time between two requests about a row.
const PACE: Duration = Duration::from_secs(1);
/// Time after which a request counts as lost.
const LOST: Duration = Duration::from_secs(10);
/// Time that the latest histograms cover.
const RECENT: Duration = Duration::from_secs(RECENT_SECONDS);

/// The histograms of one connection's rows, as far as a range needs them.
#[derive(Debug, Default)]
pub struct RangeHistograms {
    range: NumberRange,
    marked: HashMap<RowId, RowHistogram>,
    /// Rows whose histogram at the mark is still to be read, and all that are.
    unread: VecDeque<RowId>,
    expected: HashSet<RowId>,
    awaited: HashMap<RowId, Duration>,
    watched: HashMap<RowId, WatchedRow>,
    /// Visible rows whose histogram arrived, and when durations were last read from all.
    arrived: HashSet<RowId>,
    read: Duration,
    /// The time of the last call.
    now: Duration,
}

/// A visible row.
#[derive(Debug, Default)]
struct WatchedRow {
    /// When it was last requested, and how many calls had ended.
    asked: Option<(Duration, u64)>,
    /// When it was last visible.
    seen: Duration,
    /// Its histograms with the times of their arrival, oldest first. Since a mark only the latest.
    known: VecDeque<(Duration, RowHistogram)>,
}

/// A row that is visible.
#[derive(Clone, Copy, Debug)]
pub struct VisibleRow {
    /// The row.
    pub row: RowId,
    /// Calls that ended before the range.
    pub exits_before: u64,
    /// Calls that have ended.
    pub exits: u64,
}

impl RangeHistograms {
    /// Begins a range. `rows` have calls that ended before it, those to read first at the beginning.
    pub fn begin(&mut self, range: NumberRange, rows: impl IntoIterator<Item = RowId>) {
        *self = RangeHistograms { range, ..RangeHistograms::default() };
        if matches!(range, NumberRange::Since { .. }) {
            self.unread.extend(rows.into_iter().take(MAX_MARKED));
            self.expected.extend(&self.unread);
        }
    }

    /// Begins a session: the agent has forgotten all requests.
    pub fn begin_session(&mut self) {
        let again: Vec<RowId> = self.awaited.drain().map(|(row, _)| row).collect();
        let unread = again.into_iter().filter(|row| self.expected.contains(row));
        self.unread.extend(unread);
        self.watched.values_mut().for_each(|row| row.asked = None);
        if self.range == NumberRange::Recent {
            self.watched.clear();
        }
    }

    /// Returns the rows whose histograms to request now, which counts as done.
    pub fn ask(&mut self, visible: &[VisibleRow], now: Duration) -> Vec<RowId> {
        if self.range == NumberRange::Total {
            return Vec::new();
        }
        self.now = now;
        self.awaited.retain(|_, at| now < *at + LOST);
        let mut asked = Vec::new();
        while self.awaited.len() < MAX_AWAITED
            && let Some(row) = self.unread.pop_front()
        {
            self.awaited.insert(row, now);
            asked.push(row);
        }
        for visible in visible.iter().take(MAX_WATCHED) {
            // The agent's own percentiles are those of the range.
            if visible.exits_before == 0 && self.range != NumberRange::Recent {
                continue;
            }
            let row = self.watched.entry(visible.row).or_default();
            if self.range == NumberRange::Recent && row.seen + 2 * PACE < now {
                // Histograms from before it was out of view are older than the range.
                *row = WatchedRow::default();
            }
            row.seen = now;
            let is_due = row.asked.is_none_or(|(at, exits)| exits != visible.exits && now >= at + PACE);
            if is_due && self.awaited.len() < MAX_AWAITED && !self.awaited.contains_key(&visible.row) {
                row.asked = Some((now, visible.exits));
                self.awaited.insert(visible.row, now);
                asked.push(visible.row);
            }
        }
        while self.watched.len() > MAX_WATCHED {
            let oldest = self.watched.iter().min_by_key(|(_, row)| row.seen).map(|(row, _)| *row);
            oldest.and_then(|row| self.watched.remove(&row));
        }
        asked
    }

    /// Applies an answer; `None` if the agent refused.
    pub fn take(&mut self, row: RowId, histogram: Option<&RowHistogram>, now: Duration) {
        self.awaited.remove(&row);
        let Some(histogram) = histogram.filter(|_| self.range != NumberRange::Total) else {
            // A later histogram is not that of the mark.
            self.expected.remove(&row);
            return;
        };
        if self.expected.contains(&row) && !self.marked.contains_key(&row) {
            self.marked.insert(row, histogram.clone());
        }
        self.now = self.now.max(now);
        let recent = self.range == NumberRange::Recent;
        let Some(watched) = self.watched.get_mut(&row) else { return };
        if !recent {
            watched.known.clear();
        }
        watched.known.push_back((now, histogram.clone()));
        while watched.known.get(1).is_some_and(|(at, _)| *at + RECENT <= now) {
            watched.known.pop_front();
        }
        self.arrived.insert(row);
    }

    /// Returns visible rows with new percentiles in the range: rows whose histogram arrived, and once a second all rows,
    /// because the last seconds move on.
    pub fn take_durations(&mut self) -> Vec<(RowId, RangedDurations)> {
        let mut rows = std::mem::take(&mut self.arrived);
        if self.range == NumberRange::Recent && self.now >= self.read + PACE {
            self.read = self.now;
            rows.extend(self.watched.keys());
        }
        let known = rows.into_iter().filter_map(|row| {
            let histogram = self.latest(row)?;
            let known =
                RangedDurations { percentiles: percentiles(&histogram), max_ns: histogram.times.max_ns };
            Some((row, known))
        });
        known.collect()
    }

    /// Returns the latest histogram of the calls of a visible row in the range; `None` if one of the two that it takes is
    /// unknown.
    pub fn latest(&self, row: RowId) -> Option<RowHistogram> {
        let known = &self.watched.get(&row)?.known;
        let (_, latest) = known.back()?;
        let first = match self.range {
            NumberRange::Recent => {
                let at_start = known.iter().rev().find(|(at, _)| *at + RECENT <= self.now);
                &at_start.or_else(|| known.front())?.1
            }
            _ => self.marked.get(&row)?,
        };
        Some(difference(latest, first))
    }

    /// Returns whether the histogram of a row at the mark is still to come.
    pub fn is_awaited(&self, row: RowId) -> bool {
        self.unread.contains(&row) || self.awaited.contains_key(&row) && !self.marked.contains_key(&row)
    }

    /// Returns the calls of `latest` that ended since the mark. `exits_before`: how many had ended before.
    pub fn since_mark(&self, latest: &RowHistogram, exits_before: u64) -> Option<RowHistogram> {
        match self.marked.get(&latest.times.row) {
            _ if exits_before == 0 => Some(latest.clone()),
            Some(first) => Some(difference(latest, first)),
            None => None,
        }
    }
}

/// Returns the calls of a histogram that ended after an earlier one of the same row.
pub fn difference(latest: &RowHistogram, first: &RowHistogram) -> RowHistogram {
    let (now, before) = (Counted::of(0, Some(&latest.times)), Counted::of(0, Some(&first.times)));
    if now.is_before(&before) || latest.tick_fs != first.tick_fs {
        return latest.clone();
    }
    let known: HashMap<u16, u64> = first.counts().collect();
    let left = latest.counts().filter_map(|(bucket, calls)| {
        let left = calls.saturating_sub(known.get(&bucket).copied().unwrap_or(0));
        (left > 0).then_some((bucket, left))
    });
    let (buckets, calls): (Vec<u16>, Vec<u64>) = left.unzip();
    let end = buckets.last().map_or(0.0, |last| latest.lower_ns(u32::from(*last) + 1));
    let longest = (end.ceil() as u64).min(latest.times.max_ns);
    let known = RangedDurations { percentiles: None, max_ns: longest };
    let times = now.times_since(&before, &latest.times, Some(known));
    let times = redial_protocol::times::Times { max_ns: longest, ..times };
    let mut difference = RowHistogram { times, tick_fs: latest.tick_fs, buckets, calls };
    difference.times.percentiles = percentiles(&difference);
    difference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::histogram;

    const ROW: RowId = RowId(7);
    const MARK: NumberRange = NumberRange::Since { unix_ms: 1 };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn visible(exits_before: u64, exits: u64) -> [VisibleRow; 1] {
        [VisibleRow { row: ROW, exits_before, exits }]
    }

    fn buckets(histogram: &RowHistogram) -> Vec<(u16, u64)> {
        histogram.counts().collect()
    }

    #[test]
    fn difference_has_the_calls_of_random_halves() {
        let mut state = 1_u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for _ in 0..200 {
            let mut counts = |calls: u64| -> Vec<(u16, u64)> {
                (0..400).map(|bucket| (bucket, if random(20) == 0 { random(calls) } else { 0 })).collect()
            };
            let (before, since) = (counts(1_000), counts(50));
            let all = before.iter().zip(&since).map(|((bucket, one), (_, other))| (*bucket, one + other));
            let with_calls = |counts: &[(u16, u64)]| -> Vec<(u16, u64)> {
                counts.iter().copied().filter(|(_, calls)| *calls > 0).collect()
            };
            let all = histogram(7, &with_calls(&all.collect::<Vec<_>>()));
            let found = difference(&all, &histogram(7, &with_calls(&before)));
            let alone = histogram(7, &with_calls(&since));
            assert_eq!(buckets(&found), buckets(&alone));
            assert_eq!(found.times.exits, alone.times.exits);
            assert_eq!(found.times.percentiles, alone.times.percentiles);
            assert!(found.times.max_ns <= all.times.max_ns);
        }
    }

    #[test]
    fn marked_rows_are_read_once_and_compared_with_the_latest() {
        let mut kept = RangeHistograms::default();
        assert!(kept.ask(&visible(3, 5), at(0)).is_empty(), "totals need none");
        kept.begin(MARK, [ROW]);
        assert_eq!(kept.ask(&visible(10, 10), at(1)), [ROW]);
        kept.take(ROW, Some(&histogram(7, &[(64, 10)])), at(1));
        assert_eq!(kept.ask(&visible(10, 10), at(2)), [ROW], "the latest");
        kept.take(ROW, Some(&histogram(7, &[(64, 10)])), at(2));
        assert!(kept.ask(&visible(10, 10), at(9)).is_empty(), "no call has ended since");
        assert_eq!(kept.ask(&visible(10, 13), at(10)), [ROW]);
        kept.take(ROW, Some(&histogram(7, &[(64, 11), (320, 2)])), at(10));
        let latest = kept.latest(ROW).expect("both are known");
        assert_eq!(buckets(&latest), [(64, 1), (320, 2)]);
        let all = histogram(7, &[(64, 12)]);
        assert_eq!(kept.since_mark(&all, 10).map(|since| buckets(&since)), Some(vec![(64, 2)]));
        assert_eq!(kept.since_mark(&all, 0).map(|since| buckets(&since)), Some(vec![(64, 12)]));
        assert_eq!(kept.since_mark(&histogram(8, &[(64, 12)]), 1), None, "not read at the mark");
    }

    #[test]
    fn recent_histograms_cover_ten_seconds() {
        let mut kept = RangeHistograms::default();
        kept.begin(NumberRange::Recent, [ROW]);
        for second in 0..30_u64 {
            assert_eq!(kept.ask(&visible(1, second + 1), at(second)), [ROW], "{second}");
            kept.take(ROW, Some(&histogram(7, &[(64, second + 1)])), at(second));
            let calls = kept.latest(ROW).map(|latest| latest.times.exits);
            assert_eq!(calls, Some(second.min(RECENT_SECONDS)));
        }
        assert_eq!(kept.take_durations().len(), 1);
        assert!(kept.take_durations().is_empty(), "nothing is new");
        kept.ask(&[], at(60));
        let later = kept.latest(ROW).map(|latest| latest.times.exits);
        assert_eq!(later, Some(0), "nothing has been called for long");
        let none = RangedDurations { percentiles: None, max_ns: 0 };
        assert_eq!(kept.take_durations(), [(ROW, none)]);
    }

    #[test]
    fn histograms_from_before_a_row_was_out_of_view_are_forgotten() {
        let mut kept = RangeHistograms::default();
        kept.begin(NumberRange::Recent, [ROW]);
        for (second, calls) in [(0, 5), (70, 905), (71, 915)] {
            assert_eq!(kept.ask(&visible(1, calls), at(second)), [ROW]);
            kept.take(ROW, Some(&histogram(7, &[(64, calls)])), at(second));
        }
        assert_eq!(kept.latest(ROW).map(|latest| latest.times.exits), Some(10));
    }

    #[test]
    fn requests_are_bounded_and_repeated_in_the_next_session() {
        let mut kept = RangeHistograms::default();
        kept.begin(MARK, (0..5_000).map(RowId));
        assert_eq!(kept.ask(&[], at(0)).len(), MAX_AWAITED);
        assert!(kept.ask(&[], at(1)).is_empty());
        kept.take(RowId(0), None, at(1));
        assert_eq!(kept.ask(&[], at(1)), [RowId(MAX_AWAITED as u32)]);
        kept.begin_session();
        assert_eq!(kept.ask(&[], at(2)).len(), MAX_AWAITED);
        let rows: Vec<VisibleRow> =
            (0..9_000).map(|row| VisibleRow { row: RowId(row), exits_before: 1, exits: 1 }).collect();
        kept.ask(&rows, at(3));
        assert!(kept.watched.len() <= MAX_WATCHED);
        assert_eq!(kept.expected.len(), MAX_MARKED - 1, "one was refused");
    }
}

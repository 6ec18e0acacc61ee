//! Histograms of single methods: asked for while one is looked at, and kept where the user marked one, so that what came
//! after can be compared with what was before.

pub mod chart;

use super::looked_at::{self, Ask, LookedAt};
use redial_protocol::calls::RowCalls;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use std::collections::VecDeque;
use std::time::Duration;

/// Marks kept, of one connection: whoever sets more forgets the oldest. Each is some 18 KiB at most.
const MARKS: usize = 32;

/// What is known of a row's histogram.
pub type Answer = looked_at::Answer<RowHistogram>;

/// The histograms of one connection.
#[derive(Debug, Default)]
pub struct Histograms {
    last: LookedAt<RowHistogram>,
    /// The worst calls of the row looked at; told with its histogram.
    calls: Option<Box<RowCalls>>,
    /// Oldest first, one a row.
    marks: VecDeque<RowHistogram>,
}

impl Histograms {
    /// Whether the histogram of a row that is looked at is to be asked for, given how many of its calls have ended.
    pub fn ask(&mut self, row: RowId, exits: u64, now: Duration) -> Ask {
        let is_old = |known: &Answer| known.as_ref().is_ok_and(|known| known.times.exits < exits);
        self.last.ask(row, is_old, now)
    }

    /// Takes an answer in.
    pub fn take(&mut self, row: RowId, answer: Answer) {
        self.last.take(row, answer);
    }

    /// Takes the worst calls of a row in.
    pub fn take_calls(&mut self, row: RowId, calls: Option<Box<RowCalls>>) {
        if self.last.is_about(row) {
            self.calls = calls;
        }
    }

    /// The worst calls of a row, as far as they are known.
    pub fn calls(&self, row: RowId) -> Option<&RowCalls> {
        self.calls.as_deref().filter(|calls| calls.row == row)
    }

    /// Other calls are kept of a row from now on.
    pub fn forget_calls(&mut self, row: RowId) {
        self.calls.take_if(|calls| calls.row == row);
    }

    /// A new session begins.
    pub fn begin_session(&mut self) {
        self.calls = None;
        self.last.begin_session();
    }

    /// What is known of a row's histogram.
    pub fn of(&self, row: RowId) -> Option<&Answer> {
        self.last.of(row)
    }

    /// Keeps the present histogram of a row, to compare later ones with.
    pub fn mark(&mut self, row: RowId) {
        let Some(Ok(now)) = self.of(row) else { return };
        let now = now.as_ref().clone();
        self.clear_mark(row);
        self.marks.push_back(now);
        if self.marks.len() > MARKS {
            self.marks.pop_front();
        }
    }

    /// Forgets it.
    pub fn clear_mark(&mut self, row: RowId) {
        self.marks.retain(|mark| mark.times.row != row);
    }

    /// The histogram of a row as it was when it was marked.
    pub fn marked(&self, row: RowId) -> Option<&RowHistogram> {
        self.marks.iter().find(|mark| mark.times.row == row)
    }
}

/// Tests, and histograms for others.
#[cfg(test)]
pub mod tests {
    use super::*;
    use redial_protocol::times::{Percentiles, Times};

    /// A histogram of a row with calls in these buckets, a nanosecond a tick.
    pub fn histogram(row: u32, counts: &[(u16, u64)]) -> RowHistogram {
        let (buckets, calls): (Vec<u16>, Vec<u64>) = counts.iter().copied().unzip();
        let exits = calls.iter().sum();
        let mut histogram = RowHistogram {
            times: Times {
                row: RowId(row),
                in_flight: 0,
                exits,
                exceptions: 0,
                total_ns: 0,
                self_ns: 0,
                max_ns: 0,
                percentiles: None,
                completions: None,
                move_next: None,
            },
            tick_fs: 1_000_000,
            buckets,
            calls,
        };
        let [p50_ns, p90_ns, p99_ns] =
            chart::Chart::of(&histogram, None, 1).lines.map(|ns| ns.unwrap_or(0.0) as u64);
        histogram.times.percentiles = (exits > 0).then_some(Percentiles { p50_ns, p90_ns, p99_ns });
        let last = histogram.buckets.last().map_or(0, |last| u32::from(*last) + 1);
        let max = histogram.lower_ns(last) as u64;
        histogram.times =
            Times { max_ns: max, total_ns: exits * p50_ns, self_ns: exits * p50_ns, ..histogram.times };
        histogram
    }

    const SECOND: Duration = Duration::from_secs(1);
    const ROW: RowId = RowId(7);

    fn answer(calls: u64) -> Answer {
        Ok(Box::new(histogram(ROW.0, &[(100, calls)])))
    }

    #[test]
    fn it_is_asked_for_once_a_second_while_calls_end() {
        let mut histograms = Histograms::default();
        assert_eq!(histograms.ask(ROW, 5, SECOND), Ask::Now);
        assert_eq!(histograms.ask(ROW, 6, 9 * SECOND), Ask::No, "the answer is awaited");
        histograms.take(ROW, answer(6));
        assert_eq!(histograms.ask(ROW, 6, 9 * SECOND), Ask::No, "nothing has ended since");
        assert_eq!(histograms.ask(ROW, 7, SECOND), Ask::At(2 * SECOND));
        assert_eq!(histograms.ask(ROW, 7, 2 * SECOND), Ask::Now);
        assert_eq!(histograms.ask(RowId(8), 1, 2 * SECOND), Ask::Now, "another is looked at");
        histograms.take(ROW, answer(7));
        assert!(histograms.of(RowId(8)).is_none(), "that was the answer for the one before");
        histograms.begin_session();
        assert_eq!(
            histograms.ask(RowId(8), 1, 2 * SECOND),
            Ask::Now,
            "nobody will answer what was asked before"
        );
    }

    #[test]
    fn a_refusal_stands_until_the_next_session() {
        let mut histograms = Histograms::default();
        histograms.ask(ROW, 5, SECOND);
        histograms.take(ROW, Err("its module was unloaded".into()));
        assert!(histograms.of(ROW).is_some_and(Result::is_err));
        assert_eq!(histograms.ask(ROW, 9, 99 * SECOND), Ask::No);
        histograms.begin_session();
        assert_eq!(histograms.ask(ROW, 9, 99 * SECOND), Ask::Now);
    }

    #[test]
    fn a_mark_is_kept_for_its_row() {
        let mut histograms = Histograms::default();
        histograms.mark(ROW);
        assert!(histograms.marked(ROW).is_none(), "there is nothing to keep yet");
        for row in 0..=MARKS as u32 {
            histograms.ask(RowId(row), 1, SECOND);
            histograms.take(RowId(row), Ok(Box::new(histogram(row, &[(100, 1)]))));
            histograms.mark(RowId(row));
            histograms.mark(RowId(row));
        }
        assert!(histograms.marked(RowId(0)).is_none() && histograms.marked(RowId(1)).is_some());
        assert_eq!(histograms.marks.len(), MARKS);
        histograms.clear_mark(RowId(1));
        assert!(histograms.marked(RowId(1)).is_none() && histograms.marked(RowId(2)).is_some());
    }
}

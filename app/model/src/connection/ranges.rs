//! The range of calls that the numbers of a process cover.

use super::Connection;
use crate::histograms::ranged::VisibleRow;
use crate::live::LiveRow;
use crate::number_range::NumberRange;
use crate::update::Now;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use std::cmp::Reverse;
use std::time::Duration;

impl Connection {
    /// Shows numbers of this range from now on.
    pub fn set_range(&mut self, range: NumberRange) {
        self.table.live.set_range(range);
        self.begin_range_histograms();
    }

    /// Takes in that a range begins with a session's first numbers.
    pub(super) fn begin_range_late(&mut self, now: Now) {
        self.table.live.begin_since(now.unix_ms);
        self.begin_range_histograms();
    }

    fn begin_range_histograms(&mut self) {
        let ended = self.table.live.rows().filter_map(|row| {
            let times = row.times.as_deref().filter(|times| times.exits > 0)?;
            Some((Reverse(times.total_ns), row.id))
        });
        let mut ended: Vec<(Reverse<u64>, RowId)> = ended.collect();
        ended.sort_unstable();
        self.range_histograms.begin(self.table.live.range(), ended.into_iter().map(|(_, row)| row));
    }

    /// Returns the rows whose histograms to request for percentiles of the range, which counts as done. `visible` are the
    /// rows on display.
    pub fn ask_for_range(&mut self, visible: &[RowId], now: Duration) -> Vec<RowId> {
        let live = &self.table.live;
        let visible = visible.iter().filter_map(|id| {
            let row = live.row(*id)?;
            let exits = row.times.as_deref().filter(|times| times.exits > 0)?.exits;
            Some(VisibleRow { row: *id, exits_before: live.exits_before_range(row)?, exits })
        });
        let visible: Vec<VisibleRow> = visible.collect();
        let asked = self.range_histograms.ask(&visible, now);
        for (row, durations) in self.range_histograms.take_durations() {
            self.table.live.set_ranged_durations(row, durations);
        }
        asked
    }

    /// Returns whether a histogram that the range of a row takes is still to come.
    pub fn awaits_range(&self, row: RowId) -> bool {
        self.range_histograms.is_awaited(row)
    }

    /// Returns the calls of a histogram that are in the range; `None` if its beginning is unknown.
    pub fn in_range(&self, row: &LiveRow, histogram: &RowHistogram) -> Option<RowHistogram> {
        match self.table.live.range() {
            NumberRange::Total => Some(histogram.clone()),
            NumberRange::Recent => self.range_histograms.latest(row.id),
            NumberRange::Since { .. } => {
                let before = self.table.live.exits_before_range(row)?;
                self.range_histograms.since_mark(histogram, before)
            }
        }
    }
}

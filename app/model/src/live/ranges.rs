//! Numbers of rows in the range on display.

use super::{Live, LiveRow};
use crate::number_range::{Counted, NumberRange, RECENT_SECONDS, RangeBasis, RangedDurations};
use redial_protocol::ids::RowId;

impl Live {
    /// Returns the calls that the numbers on display cover.
    pub fn range(&self) -> NumberRange {
        self.range
    }

    /// Notes the range of numbers that rows elsewhere have computed, see [`Live::mirror`], and how many of the last seconds
    /// they cover.
    pub fn label_range(&mut self, range: NumberRange, seconds: u64) {
        self.range = range;
        (self.range_begun, self.range_tick) = (0, seconds);
    }

    /// Shows numbers of this range from now on.
    pub fn set_range(&mut self, range: NumberRange) {
        self.range = range;
        self.rebase(false);
    }

    /// Returns how many seconds the numbers of the last seconds cover: fewer at first.
    pub fn recent_seconds(&self) -> u64 {
        self.range_tick.saturating_sub(self.range_begun).min(RECENT_SECONDS)
    }

    /// Returns how many calls had ended before the range; absent if it covers all.
    pub fn exits_before_range(&self, row: &LiveRow) -> Option<u64> {
        row.basis.as_ref().map(|basis| basis.before(self.range_tick).exits)
    }

    /// Sets percentiles and the longest call of a row in the range, as read from histograms.
    pub fn set_ranged_durations(&mut self, id: RowId, durations: RangedDurations) {
        let Some(basis) = self.row_mut(id).and_then(|row| row.basis.as_mut()) else { return };
        if basis.durations.replace(durations) != Some(durations) {
            self.folds += 1;
            self.record_changed(id);
            self.show_range(id);
        }
    }

    /// Moves a range of the last seconds along with the clock.
    pub(super) fn move_range(&mut self) {
        let tick = self.tick();
        if self.range != NumberRange::Recent || self.range_tick == tick || self.ended {
            return;
        }
        self.move_range_to(tick);
    }

    fn move_range_to(&mut self, tick: u64) {
        self.range_tick = tick;
        let rows = std::mem::take(&mut self.moving_rows);
        self.folds += u64::from(!rows.is_empty());
        for id in rows {
            if let Some(basis) = self.row_mut(id).and_then(|row| row.basis.as_mut()) {
                basis.is_listed = false;
            }
            self.record_changed(id);
            self.show_range(id);
        }
    }

    /// Begins a session: the clock of the one before says nothing about this one.
    pub(super) fn begin_ranges(&mut self) {
        self.range_tick = 0;
        if self.range == NumberRange::Recent {
            self.rebase(false);
        }
    }

    /// Takes the rows as listed at a session's beginning: calls made before are not in the range, unless the range began in
    /// an earlier session. Returns whether it begins here.
    pub(super) fn rows_listed(&mut self) -> bool {
        (self.range_tick, self.range_begun) = (self.tick(), self.tick());
        let is_first = !std::mem::replace(&mut self.has_listed, true);
        let begins = (is_first || self.range == NumberRange::Recent) && self.range != NumberRange::Total;
        if begins {
            self.rebase(true);
        }
        begins
    }

    /// Notes that a range since a mark begins later here, with the numbers that came first.
    pub fn begin_since(&mut self, now_ms: u64) {
        if let NumberRange::Since { unix_ms } = &mut self.range {
            *unix_ms = now_ms.max(*unix_ms);
        }
    }

    /// Shows the numbers up to the end.
    pub(super) fn finish_ranges(&mut self) {
        if self.range == NumberRange::Recent {
            self.move_range_to(self.tick() + 1);
        }
    }

    /// Begins the range anew, without the calls counted until now. When a session begins, times arrive after the counts, some of
    /// them seconds later.
    fn rebase(&mut self, session_begins: bool) {
        self.folds += 1;
        (self.range_tick, self.range_begun) = (self.tick(), self.tick());
        self.moving_rows.clear();
        let rows: Vec<RowId> = self.rows.iter().map(|row| row.id).collect();
        let range = self.range;
        for id in rows {
            if let Some(row) = self.row_mut(id) {
                let counted = Counted::of(row.calls, row.times.as_deref());
                row.basis = match range {
                    NumberRange::Total => None,
                    NumberRange::Since { .. } => Some(Box::new(RangeBasis::at_mark(counted))),
                    NumberRange::Recent => Some(Box::new(RangeBasis::recent(counted))),
                };
                let lacks_times = session_begins && row.lacks_times();
                row.basis.iter_mut().for_each(|basis| basis.lacks_times = lacks_times);
            }
            self.record_changed(id);
            self.show_range(id);
        }
    }

    /// Takes in that a row's numbers have changed.
    pub(super) fn record_range(&mut self, id: RowId) {
        let (tick, range) = (self.tick(), self.range);
        if range == NumberRange::Total {
            return;
        }
        let Some(row) = self.row_mut(id) else { return };
        let now = Counted::of(row.calls, row.times.as_deref());
        // Rows that appear later begin at zero.
        let basis = row.basis.get_or_insert_with(|| {
            Box::new(match range {
                NumberRange::Recent => RangeBasis::recent(Counted::default()),
                NumberRange::Total | NumberRange::Since { .. } => RangeBasis::at_mark(Counted::default()),
            })
        });
        basis.record(&now, tick);
        self.show_range(id);
    }

    fn show_range(&mut self, id: RowId) {
        let tick = self.range_tick;
        let Some(row) = self.row_mut(id) else { return };
        let Some(basis) = &mut row.basis else {
            row.ranged = None;
            return;
        };
        let now = Counted::of(row.calls, row.times.as_deref());
        let numbers = basis.numbers(&now, row.times.as_deref(), tick);
        let begins_to_move = basis.moves(tick) && !std::mem::replace(&mut basis.is_listed, true);
        match &mut row.ranged {
            Some(ranged) => **ranged = numbers,
            none => *none = Some(Box::new(numbers)),
        }
        if begins_to_move {
            self.moving_rows.push(id);
        }
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;

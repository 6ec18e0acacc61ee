//! Copies rows from another process's table and keeps them up to date.

use super::{Live, LiveRow, times};
use crate::catalogue::Catalogue;
use crate::catalogue::bit_set::BitSet;
use crate::series::{LENGTH, Series};
use redial_protocol::ids::{CopyKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

/// A copied row's identity here.
#[derive(Clone, Copy, Debug)]
pub struct MirrorTarget<'a> {
    /// Its id here.
    pub id: RowId,
    /// Its copy key here.
    pub copy: CopyKey,
    /// The name of its process.
    pub place: &'a str,
    /// Whether its process answers; otherwise its wanted and actual levels are unknown.
    pub answers: bool,
    /// The newest tick of the sparklines at the source.
    pub tick: u64,
}

impl Live {
    /// Starts recording changed rows for [`Live::take_changed`], beginning with all rows.
    pub fn watch(&mut self) {
        self.changed = Some(BitSet::default());
        let rows: Vec<RowId> = self.rows.iter().map(|row| row.id).collect();
        rows.into_iter().for_each(|id| self.record_changed(id));
    }

    /// Stops recording changed rows.
    pub fn unwatch(&mut self) {
        self.changed = None;
    }

    /// Returns the rows that changed since the last call, each once.
    pub fn take_changed(&mut self) -> Vec<RowId> {
        let Some(changed) = &mut self.changed else { return Vec::new() };
        std::mem::take(changed).iter_in(0..u32::MAX).map(RowId).collect()
    }

    pub(super) fn record_changed(&mut self, id: RowId) {
        if let Some(changed) = &mut self.changed {
            if changed.len() <= id.0 as usize {
                // In steps, because rows arrive one by one.
                changed.grow((id.0 as usize + 1).next_multiple_of(4096));
            }
            changed.set(id.0, true);
        }
    }

    /// Copies a row; returns whether its numbers changed. [`Live::pass`] sets the time.
    pub fn mirror(&mut self, from: &LiveRow, to: MirrorTarget<'_>, catalogue: &Catalogue) -> bool {
        let MirrorTarget { id, copy, place, answers, tick } = to;
        let (wanted, state) = if answers { (from.wanted, from.state) } else { (Level::Off, CopyState::Off) };
        let now = self.tick();
        if self.row(id).is_none() {
            let domain = place.into();
            let fresh = LiveRow { id, copy, method: None, domain, series: None, basis: None, ..from.clone() };
            self.rows.insert(LiveRow { wanted, state, series: shifted(from, tick, now), ..fresh });
            self.rows_edition += 1;
            match catalogue.find(copy) {
                Some(method) => self.place_one(id, method),
                None => self.unplaced.push(id),
            }
        }
        let rate = from.rate.filter(|_| answers);
        let Some(mine) = self.row_mut(id) else { return false };
        let (other_state, other_numbers) =
            ((mine.wanted, mine.state) != (wanted, state), (mine.calls, mine.rate) != (from.calls, rate));
        (mine.wanted, mine.state, mine.version) = (wanted, state, from.version.filter(|_| answers));
        mine.options = from.options;
        mine.note = from.note;
        if mine.times_note != from.times_note {
            mine.times_note.clone_from(&from.times_note);
        }
        if mine.instances.len() != from.instances.len() || other_state {
            mine.instances.clone_from(&from.instances);
        }
        (mine.calls, mine.rate, mine.last_rate) = (from.calls, rate, from.last_rate);
        let other_range = mine.ranged != from.ranged;
        if other_range {
            mine.ranged.clone_from(&from.ranged);
        }
        // If a process does not answer, nobody knows which calls are still in flight.
        let theirs = from.times.as_deref().map(|theirs| if answers { *theirs } else { theirs.at_rest() });
        let other_times = times::mirror(&mut mine.times, theirs);
        let counted = |rate: &f32| mine.counts() || *rate > 0.0;
        match rate.filter(|rate| other_numbers && counted(rate)) {
            Some(rate) => mine.record_rate(now, rate),
            None if mine.is_sampled() => mine.record_counting(now),
            // The clock here runs ahead of the process's snapshots: the tick that has just begun is not yet
            // complete.
            None => mine.record_counting(now.saturating_sub(1)),
        }
        self.timed |= from.times.is_some();
        self.record_timed(wanted);
        if other_state {
            self.mark(id, true);
        }
        other_numbers || other_times || other_range
    }

    /// Sets the time in milliseconds, as a counter snapshot does. `counted`: whether numbers changed.
    pub fn pass(&mut self, ms: u64, counted: bool) {
        self.clock.move_to(ms);
        self.folds += u64::from(counted);
    }

    /// Returns the summed rates of several rows over the last minute; NaN where none was counted yet.
    pub fn rates_of<'a>(&self, rows: impl Iterator<Item = &'a LiveRow>) -> [f32; LENGTH] {
        let mut sums = [f32::NAN; LENGTH];
        for series in rows.filter_map(|row| row.series.as_ref()) {
            for (sum, rate) in sums.iter_mut().zip(series.at(self.tick())) {
                if !rate.is_nan() {
                    *sum = if sum.is_nan() { rate } else { *sum + rate };
                }
            }
        }
        sums
    }
}

/// Converts a sparkline as of `tick` at the source to one as of `now` here.
fn shifted(from: &LiveRow, tick: u64, now: u64) -> Option<Series> {
    let there = from.series.as_ref()?.at(tick);
    let places = (0..LENGTH as u64).map(|place| (now + 1 + place).checked_sub(LENGTH as u64));
    let mut known = places.zip(there).filter_map(|(at, rate)| at.filter(|_| !rate.is_nan()).zip(Some(rate)));
    let (first, rate) = known.next()?;
    let mut series = Series::new(first, rate);
    let mut last = first;
    for (at, rate) in known {
        if at > last + 1 {
            series.end(last);
        }
        series.put(at, rate);
        last = at;
    }
    if from.series.as_ref().is_some_and(Series::has_ended) {
        series.end(last);
    }
    Some(series)
}

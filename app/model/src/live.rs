//! The agent's rows of one process, kept up to date: wanted and actual levels, calls, rates, sparklines.
//! Contains only the agent's reports; unanswered requests are in `changes`.

pub mod mirror;
mod ranges;
mod recent_rate;
pub(super) mod row;
mod row_removal;
pub mod sparkline_clock;
pub mod time_sums;
pub mod times;

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::ids::MethodIx;
use super::number_range::NumberRange;
use super::row_index::RowIndex;
use super::row_pages::LiveRows;
use super::snapshot_clock::SnapshotClock;
use recent_rate::{RecentCalls, RecentIntervals};
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STATUS_ROWS;
use redial_protocol::message::{StatusRow, Transition};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::words;
pub use row::LiveRow;
use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

/// Length of a sparkline tick in milliseconds.
pub const TICK_MS: u64 = 1000;
/// Maximum row number. Numbers are never reused, so there can be more of them than rows.
const MAX_ROW_NUMBER: u32 = 1 << 28;

/// All rows of one agent.
#[derive(Debug, Default)]
pub struct Live {
    rows: LiveRows,
    by_method: RowIndex,
    /// Rows whose module is not in the catalogue yet.
    unplaced: Vec<RowId>,
    /// Rows with a rate above zero.
    called_rows: Vec<RowId>,
    /// Methods with a row, and those of each wanted level and each state.
    known: BitSet,
    by_level: [BitSet; Level::ALL.len()],
    by_state: [BitSet; STATES],
    /// Number of methods in each state, which every frame needs.
    in_state: [usize; STATES],
    clock: SnapshotClock,
    intervals: RecentIntervals,
    /// When the last snapshot arrived on our clock if it was empty, and how many milliseconds the sparklines
    /// have advanced since.
    quiet_since: Option<Duration>,
    ahead_ms: u64,
    /// Agent time of the last snapshot with calls.
    called_ms: Option<u64>,
    folds: u64,
    /// Counter snapshots so far. Other updates change numbers, too, but cover no time.
    snapshots: u64,
    updates: u64,
    ended: bool,
    /// Changed rows, while somebody wants to know.
    changed: Option<BitSet>,
    /// Whether any row is or was timed.
    timed: bool,
    /// The self time of all rows, and the editions of numbers and rows that it was computed from.
    self_time: Cell<Option<((u64, u64), u64)>>,
    rows_edition: u64,
    states_edition: u64,
    range: NumberRange,
    /// Seconds whose calls the numbers of the range cover end before this one; and when the range began.
    range_tick: u64,
    range_begun: u64,
    /// Rows whose numbers in the range change as time passes.
    moving_rows: Vec<RowId>,
    /// Whether all rows of any session have arrived.
    has_listed: bool,
}

const STATES: usize = 7;

/// Totals of a group of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowTotals {
    /// Methods with a row.
    pub known: u32,
    /// Methods with a row by wanted level.
    pub wanted: [u32; Level::ALL.len()],
    /// Methods with a row by state (in the order of `CopyState`).
    pub states: [u32; STATES],
    /// Calls of all.
    pub calls: u64,
    /// Calls per second of all.
    pub rate: f64,
    /// Times of all. Percentiles do not add up, so they are present only if a single method was timed.
    pub times: Option<Times>,
    /// Methods being timed, so that these times continue.
    pub timed: u32,
}

impl Live {
    /// Begins a new session with the same agent, which sends its rows again and whose clock is not yet known.
    pub fn begin_session(&mut self) {
        self.clock = SnapshotClock::default();
        self.intervals = RecentIntervals::default();
        (self.quiet_since, self.ahead_ms) = (None, 0);
        // Ending rates changes numbers like a snapshot.
        self.folds += 1;
        self.ended = false;
        self.begin_ranges();
        for id in std::mem::take(&mut self.called_rows) {
            if let Some(row) = self.row_mut(id) {
                row.rate = None;
                self.record_changed(id);
            }
        }
    }

    /// Forgets everything, because another process is shown.
    pub fn clear(&mut self) {
        let (rows, states) = (self.rows_edition + 1, self.states_edition + 1);
        let changed = self.changed.take().map(|_| BitSet::default());
        let range = self.range;
        *self = Live { rows_edition: rows, states_edition: states, changed, range, ..Live::default() };
    }

    /// Places rows whose modules have arrived in the catalogue.
    pub fn place(&mut self, catalogue: &Catalogue) {
        self.known.grow(catalogue.len());
        self.by_level.iter_mut().chain(&mut self.by_state).for_each(|bits| bits.grow(catalogue.len()));
        for id in std::mem::take(&mut self.unplaced) {
            let Some(copy) = self.row(id).map(|row| row.copy) else { continue };
            match catalogue.find(copy) {
                Some(method) => self.place_one(id, method),
                None => self.unplaced.push(id),
            }
        }
    }

    fn place_one(&mut self, id: RowId, method: MethodIx) {
        let before = self.by_method.insert(method, id);
        // A method has one row; if there are two, the newer one counts.
        if let Some(before) = before.filter(|before| *before != id) {
            self.mark(before, false);
            if let Some(row) = self.row_mut(before) {
                row.method = None;
            }
        }
        if let Some(row) = self.row_mut(id) {
            row.method = Some(method);
        }
        self.rows_edition += 1;
        self.mark(id, true);
    }

    /// Adds a row to the bits or removes it.
    fn mark(&mut self, id: RowId, on: bool) {
        let Some((Some(MethodIx(method)), wanted, state)) =
            self.row(id).map(|row| (row.method, row.wanted, row.state))
        else {
            return;
        };
        self.known.set(method, on);
        for (level, bits) in self.by_level.iter_mut().enumerate() {
            bits.set(method, on && level == wanted as usize);
        }
        for (index, (bits, count)) in self.by_state.iter_mut().zip(&mut self.in_state).enumerate() {
            let before = bits.get(method);
            bits.set(method, on && index == state as usize);
            *count = *count + usize::from(bits.get(method)) - usize::from(before);
        }
        self.states_edition += 1;
    }

    /// Applies a page of rows.
    pub fn take_rows(&mut self, rows: Vec<StatusRow>, catalogue: &Catalogue) {
        self.updates += 1;
        for row in rows {
            self.take_row(row, catalogue);
        }
    }

    fn take_row(&mut self, row: StatusRow, catalogue: &Catalogue) {
        let id = row.row;
        if id.0 >= MAX_ROW_NUMBER || self.rows.len() >= MAX_STATUS_ROWS && self.row(id).is_none() {
            return;
        }
        self.record_changed(id);
        let known = self.row(id).is_some_and(|known| known.copy == row.copy);
        if !known {
            self.mark(id, false);
            let snapshots = self.snapshots;
            let method = self.row(id).and_then(|old| old.method);
            if let Some(method) = method {
                self.by_method.remove(method);
            }
            let fresh = LiveRow {
                id,
                copy: row.copy,
                method: None,
                name: format!("{}!{}{}", row.module, row.method, words::plain_parameters(&row.signature))
                    .into(),
                domain: row.domain.into(),
                wanted: row.wanted,
                options: row.options,
                state: row.state,
                version: None,
                note: None,
                times_note: None,
                calls: 0,
                rate: None,
                last_rate: 0.0,
                series: None,
                instances: Box::default(),
                times: None,
                ranged: None,
                basis: None,
                fold: 0,
                recent: RecentCalls::begin(snapshots),
            };
            self.rows.insert(fresh);
            self.rows_edition += 1;
        }
        let tick = self.tick();
        let Some(mine) = self.row_mut(id) else { return };
        (mine.wanted, mine.state, mine.version) = (row.wanted, row.state, row.version);
        mine.options = row.options;
        mine.record_counting(tick);
        mine.note = row.note;
        mine.times_note = row.times_note.map(Box::new);
        mine.calls = row.calls;
        mine.instances = row.instances.into();
        self.record_timed(row.wanted);
        self.record_range(id);
        if known {
            self.mark(id, true);
            return;
        }
        match catalogue.find(row.copy) {
            Some(method) => self.place_one(id, method),
            None => self.unplaced.push(id),
        }
    }

    /// Applies a transition; returns the previous wanted level and state, if the row is known.
    pub fn take_transition(&mut self, transition: Transition) -> Option<(Level, CopyState)> {
        self.updates += 1;
        let (tick, snapshots) = (self.tick(), self.snapshots);
        let row = self.row_mut(transition.row)?;
        let before = (row.wanted, row.state);
        (row.wanted, row.state, row.version) = (transition.wanted, transition.state, transition.version);
        row.options = transition.options;
        if row.counts() && !before.1.counts() {
            row.recent = RecentCalls::begin(snapshots);
        }
        row.record_counting(tick);
        row.note = transition.note;
        row.times_note = transition.times_note.map(Box::new);
        row.instances = transition.instances.into();
        self.record_timed(transition.wanted);
        self.mark(transition.row, true);
        self.record_changed(transition.row);
        Some(before)
    }

    /// Applies a counter snapshot. Returns whether the range on display begins with it.
    pub fn take_counters(&mut self, delta: &CounterDelta, dropped: u64) -> bool {
        self.updates += 1;
        self.folds += 1;
        self.snapshots += 1;
        let is_first = self.clock.last_ms().is_none();
        let interval = self.clock.advance(delta.t_ms, dropped);
        self.intervals.push(interval);
        let intervals = self.intervals.clone();
        self.ahead_ms = 0;
        let (fold, snapshot, tick) = (self.folds, self.snapshots, self.tick());
        let begins = is_first && self.rows_listed();
        self.move_range();
        if !delta.rows.is_empty() {
            self.called_ms = Some(delta.t_ms);
        }
        let mut called_rows = Vec::with_capacity(delta.rows.len());
        for (id, calls) in delta.rows.iter().zip(&delta.calls) {
            let Some(row) = self.row_mut(*id) else { continue };
            row.calls = row.calls.saturating_add(*calls);
            row.fold = fold;
            let before = row.rate.unwrap_or(0.0);
            row.rate = row.recent.push(snapshot, *calls, &intervals);
            if let Some(rate) = row.rate.filter(|rate| *rate > 0.0) {
                row.last_rate = rate.max(before);
            }
            // The sparkline's ticks average by themselves.
            if let Some(interval) = interval {
                row.record_rate(tick, interval.rate(*calls) as f32);
            }
            called_rows.push(*id);
            self.record_changed(*id);
            self.record_range(*id);
        }
        for id in std::mem::replace(&mut self.called_rows, called_rows) {
            let quiet = self.row_mut(id).filter(|row| row.fold != fold);
            if let Some(row) = quiet {
                row.rate = row.recent.push(snapshot, 0, &intervals);
                let goes_on = row.rate.is_some_and(|rate| rate > 0.0);
                self.called_rows.extend(goes_on.then_some(id));
                self.record_changed(id);
            }
        }
        begins
    }

    /// Records that the agent said goodbye; the numbers are final.
    pub fn end(&mut self) {
        self.ended = true;
        self.finish_ranges();
    }

    /// Returns whether all rows of this session have arrived and been placed as far as possible.
    pub fn is_read(&self, catalogue: &Catalogue) -> bool {
        // A session's first counter snapshot follows all its rows.
        self.clock.last_ms().is_some() && (self.unplaced.is_empty() || catalogue.is_complete())
    }

    /// Returns a row.
    pub fn row(&self, id: RowId) -> Option<&LiveRow> {
        self.rows.get(id)
    }

    fn row_mut(&mut self, id: RowId) -> Option<&mut LiveRow> {
        self.rows.get_mut(id)
    }

    /// Returns a method's row, if it is or was dialled.
    pub fn of_method(&self, method: MethodIx) -> Option<&LiveRow> {
        self.row(self.by_method.get(method)?)
    }

    /// Returns all rows in ledger order.
    pub fn rows(&self) -> impl Iterator<Item = &LiveRow> {
        self.rows.iter()
    }

    /// Returns the methods with a row, as bits.
    pub fn known(&self) -> &BitSet {
        &self.known
    }

    /// Returns the methods with this wanted level, as bits; excludes those without a row.
    pub fn wanted(&self, level: Level) -> Option<&BitSet> {
        self.by_level.get(level as usize)
    }

    /// Returns the methods in this state, as bits; excludes those without a row.
    pub fn in_state(&self, state: CopyState) -> Option<&BitSet> {
        self.by_state.get(state as usize)
    }

    /// Returns the number of methods in a state.
    pub fn count(&self, state: CopyState) -> usize {
        self.in_state.get(state as usize).copied().unwrap_or(0)
    }

    /// Returns the totals of the methods in `ranges`, restricted to `of` if given.
    pub fn sums(&self, ranges: &[Range<u32>], of: Option<&BitSet>) -> RowTotals {
        let mut sums = RowTotals::default();
        for range in ranges {
            let methods = self.known.iter_in(range.clone());
            for method in methods.filter(|method| of.is_none_or(|of| of.get(*method))) {
                // Visit each row once: its numbers, level and state are adjacent in memory.
                let Some(row) = self.of_method(MethodIx(method)) else { continue };
                sums.known += 1;
                sums.wanted[row.wanted as usize] += 1;
                sums.states[row.state as usize] += 1;
                sums.calls = sums.calls.saturating_add(row.shown_calls());
                sums.rate += f64::from(row.rate.unwrap_or(0.0));
                sums.timed += u32::from(row.is_timed());
                if let Some(times) = row.shown_times() {
                    time_sums::add(&mut sums.times, times);
                }
            }
        }
        sums
    }

    /// Returns the number of snapshots applied; each changes numbers and rates.
    pub fn folds(&self) -> u64 {
        self.folds
    }

    /// Returns the number of messages applied.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Returns whether the last snapshot was late because we were slow; no calls are lost.
    pub fn late(&self) -> bool {
        self.clock.late()
    }

    /// Returns whether the agent said goodbye.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Grows when rows are added or placed.
    pub fn rows_edition(&self) -> u64 {
        self.rows_edition
    }

    /// Grows when wanted levels or states change.
    pub fn states_edition(&self) -> u64 {
        self.states_edition
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
pub mod tests;

//! The agent's rows of one process, kept up to date: what is wanted, what the runtime does, calls, rates,
//! sparklines. Only what the agent said is in here; what the user asked for and is not answered yet is `turns`'s.

pub mod curves;
mod forget;
pub mod mirror;
pub mod times;

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::ids::MethodIx;
use super::live_index::RowOf;
use super::live_rows::LiveRows;
use super::series::Series;
use crate::output::words;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::{CopyKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Instance, StatusRow, Transition};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::State;
use redial_protocol::times::Times;
use std::ops::Range;
use std::time::Duration;

/// Milliseconds of one tick of the sparklines.
pub const TICK_MS: u64 = 1000;
/// Rows an agent may have; more are not kept. (An agent's own budget is below.)
const MAX_ROWS: usize = 4 << 20;
/// Numbers they may have: they are never used again, so there are more of them than rows.
const FARTHEST: u32 = 1 << 28;

/// One row of the agent's ledger.
#[derive(Clone, Debug)]
pub struct LiveRow {
    /// Its number.
    pub id: RowId,
    /// The copy.
    pub copy: CopyKey,
    /// The method, once the catalogue has it.
    pub method: Option<MethodIx>,
    /// `Module!Namespace.Type.Method(PARAMS)`, as people read it.
    pub name: Box<str>,
    /// The AppDomain's name.
    pub domain: Box<str>,
    /// What the agent is to do.
    pub wanted: Level,
    /// What it is to tell beyond times.
    pub options: TimeOptions,
    /// What the runtime does.
    pub state: State,
    /// The number of its live body.
    pub version: Option<u32>,
    /// Why refused or failed, or what the number leaves out.
    pub note: Option<Box<str>>,
    /// Why it is only counted where times are wanted, or what is missing of them.
    pub times_note: Option<Box<str>>,
    /// Calls since it was first dialled.
    pub calls: u64,
    /// Calls a second over the last fold; absent before there was one.
    pub rate: Option<f32>,
    /// The last rate that was not nothing, of two folds the higher: in the one that ends it, it is that of a part.
    pub last_rate: f32,
    /// Rates of the last ticks; absent while it was never called.
    pub series: Option<Series>,
    /// Every compiled instance.
    pub instances: Box<[Instance]>,
    /// How long its calls take; absent while none was timed.
    pub times: Option<Box<Times>>,
    fold: u64,
}

impl LiveRow {
    /// Whether calls are counted, or will be at the next one; else its number is the last there was.
    pub fn counts(&self) -> bool {
        self.state.counts()
    }

    /// Whether calls are timed, or will be at the next one; else its times are the last there were.
    pub fn is_timed(&self) -> bool {
        self.state.is_timed(self.wanted)
    }

    /// Calls a second, while it counts: of what is off nobody knows how often it is called.
    pub fn counted_rate(&self) -> Option<f32> {
        self.rate.filter(|_| self.counts())
    }

    /// Whether its sparkline goes on: of what is reverting no call that begins is counted.
    pub(super) fn goes_on(&self) -> bool {
        self.counts() && self.state != State::Reverting
    }

    /// Notes the rate at a tick of the sparklines.
    fn note_rate(&mut self, tick: u64, rate: f32) {
        let goes_on = self.goes_on();
        match &mut self.series {
            Some(series) if goes_on => series.put(tick, rate),
            Some(series) => {
                series.put_last(tick, rate);
                series.end(tick.saturating_sub(1));
            }
            None => self.series = Some(Series::new(tick, rate)),
        }
        self.note_counting(tick);
    }

    /// Notes whether it counts: while it does not, its sparkline is at no height.
    fn note_counting(&mut self, tick: u64) {
        let goes_on = self.goes_on();
        match &mut self.series {
            Some(series) if goes_on => series.begin(tick),
            Some(series) => series.end(tick),
            None => {}
        }
    }
}

/// All rows of one agent.
#[derive(Debug, Default)]
pub struct Live {
    rows: LiveRows,
    by_method: RowOf,
    /// Rows whose module the catalogue does not have yet.
    unplaced: Vec<RowId>,
    /// Rows with a rate that is not zero.
    busy: Vec<RowId>,
    /// Methods with a row, and those of each level wanted and each state.
    known: Bits,
    by_level: [Bits; Level::ALL.len()],
    by_state: [Bits; STATES],
    /// Methods in each state, which every frame asks for.
    in_state: [usize; STATES],
    /// Agent time up to which the counters are folded.
    folded_to: Option<u64>,
    /// When the last fold was taken in, on our clock, if nothing was called in it, and how far the sparklines went on
    /// since, milliseconds.
    quiet_since: Option<Duration>,
    ahead_ms: u64,
    /// Agent time of the last fold in which something was called.
    called_ms: Option<u64>,
    folds: u64,
    updates: u64,
    /// Updates of this session that the agent sent late, merged with later ones, because we took none; and whether
    /// there were more of them before the last fold.
    dropped: u64,
    late: bool,
    ended: bool,
    /// Rows that changed, while somebody wants to know.
    changed: Option<Bits>,
    /// Some row is or was timed.
    timed: bool,
    rows_edition: u64,
    states_edition: u64,
}

const STATES: usize = 7;

/// What a group of methods amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Methods with a row.
    pub known: u32,
    /// Methods by wanted level, those without a row left out.
    pub wanted: [u32; Level::ALL.len()],
    /// Methods by state (in the order of `State`), those without a row left out.
    pub states: [u32; STATES],
    /// Calls of all.
    pub calls: u64,
    /// Calls a second of all.
    pub rate: f64,
    /// Times of those that were timed, with percentiles where one alone was: they do not add up.
    pub times: Option<Times>,
    /// Methods that are timed, so that these times go on.
    pub timed: u32,
}

impl Live {
    /// A new session with the same agent begins: it sends its rows anew, and its clock is not known.
    pub fn begin_session(&mut self) {
        (self.folded_to, self.quiet_since, self.ahead_ms) = (None, None, 0);
        // Rates that end change numbers as a fold does.
        self.folds += 1;
        self.ended = false;
        (self.dropped, self.late) = (0, false);
        for id in std::mem::take(&mut self.busy) {
            if let Some(row) = self.row_mut(id) {
                row.rate = None;
                self.note_changed(id);
            }
        }
    }

    /// Everything is forgotten: another process is looked at.
    pub fn clear(&mut self) {
        let (rows, states) = (self.rows_edition + 1, self.states_edition + 1);
        let changed = self.changed.take().map(|_| Bits::default());
        *self = Live { rows_edition: rows, states_edition: states, changed, ..Live::default() };
    }

    /// The catalogue grew: rows that waited for their module are placed.
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
        // A method has one row; should there be two, the newer speaks.
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

    /// Enters a row in the bits, or takes it out.
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

    /// Takes a page of rows in.
    pub fn take_rows(&mut self, rows: Vec<StatusRow>, catalogue: &Catalogue) {
        self.updates += 1;
        for row in rows {
            self.take_row(row, catalogue);
        }
    }

    fn take_row(&mut self, row: StatusRow, catalogue: &Catalogue) {
        let id = row.row;
        if id.0 >= FARTHEST || self.rows.len() >= MAX_ROWS && self.row(id).is_none() {
            return;
        }
        self.note_changed(id);
        let known = self.row(id).is_some_and(|known| known.copy == row.copy);
        if !known {
            self.mark(id, false);
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
                fold: 0,
            };
            self.rows.insert(fresh);
            self.rows_edition += 1;
        }
        let tick = self.tick();
        let Some(mine) = self.row_mut(id) else { return };
        (mine.wanted, mine.state, mine.version) = (row.wanted, row.state, row.version);
        mine.options = row.options;
        mine.note_counting(tick);
        mine.note = row.note.map(Into::into);
        mine.times_note = row.times_note.map(Into::into);
        mine.calls = row.calls;
        mine.instances = row.instances.into();
        self.note_timed(row.wanted);
        if known {
            self.mark(id, true);
            return;
        }
        match catalogue.find(row.copy) {
            Some(method) => self.place_one(id, method),
            None => self.unplaced.push(id),
        }
    }

    /// Takes a transition in: the row as it was before, if it is known.
    pub fn take_transition(&mut self, transition: Transition) -> Option<(Level, State)> {
        self.updates += 1;
        let tick = self.tick();
        let row = self.row_mut(transition.row)?;
        let before = (row.wanted, row.state);
        (row.wanted, row.state, row.version) = (transition.wanted, transition.state, transition.version);
        row.options = transition.options;
        row.note_counting(tick);
        row.note = transition.note.map(Into::into);
        row.times_note = transition.times_note.map(Into::into);
        row.instances = transition.instances.into();
        self.note_timed(transition.wanted);
        self.mark(transition.row, true);
        self.note_changed(transition.row);
        Some(before)
    }

    /// Takes a fold of the counters in.
    pub fn take_counters(&mut self, delta: &CounterDelta, dropped: u64) {
        self.updates += 1;
        self.folds += 1;
        self.late = dropped > self.dropped;
        self.dropped = dropped;
        let elapsed = self.folded_to.and_then(|before| delta.t_ms.checked_sub(before)).filter(|ms| *ms > 0);
        (self.folded_to, self.ahead_ms) = (Some(delta.t_ms), 0);
        let (fold, tick) = (self.folds, self.tick());
        if !delta.rows.is_empty() {
            self.called_ms = Some(delta.t_ms);
        }
        let mut busy = Vec::with_capacity(delta.rows.len());
        for (id, calls) in delta.rows.iter().zip(&delta.calls) {
            let Some(row) = self.row_mut(*id) else { continue };
            row.calls = row.calls.saturating_add(*calls);
            row.fold = fold;
            let before = row.rate.unwrap_or(0.0);
            row.rate = elapsed.map(|ms| (*calls as f64 * 1000.0 / ms as f64) as f32);
            if let Some(rate) = row.rate {
                if rate > 0.0 {
                    row.last_rate = rate.max(before);
                }
                row.note_rate(tick, rate);
            }
            busy.push(*id);
            self.note_changed(*id);
        }
        for id in std::mem::replace(&mut self.busy, busy) {
            let quiet = self.row_mut(id).filter(|row| row.fold != fold);
            if let Some(row) = quiet {
                row.rate = elapsed.map(|_| 0.0);
                self.note_changed(id);
            }
        }
    }

    /// The agent said goodbye: these are the last numbers.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether all rows of this session are here, in their places as far as these are known.
    pub fn is_read(&self, catalogue: &Catalogue) -> bool {
        // A session's first fold of the counters comes after all its rows.
        self.folded_to.is_some() && (self.unplaced.is_empty() || catalogue.is_complete())
    }

    /// A row.
    pub fn row(&self, id: RowId) -> Option<&LiveRow> {
        self.rows.get(id)
    }

    fn row_mut(&mut self, id: RowId) -> Option<&mut LiveRow> {
        self.rows.get_mut(id)
    }

    /// A method's row, if it is or was dialled.
    pub fn of_method(&self, method: MethodIx) -> Option<&LiveRow> {
        self.row(self.by_method.get(method)?)
    }

    /// All rows, in the order of the agent's ledger.
    pub fn rows(&self) -> impl Iterator<Item = &LiveRow> {
        self.rows.iter()
    }

    /// Methods with a row, as bits.
    pub fn known(&self) -> &Bits {
        &self.known
    }

    /// Methods whose wanted level is this, as bits; those without a row are in none.
    pub fn wanted(&self, level: Level) -> Option<&Bits> {
        self.by_level.get(level as usize)
    }

    /// Methods in this state, as bits; those without a row are in none.
    pub fn in_state(&self, state: State) -> Option<&Bits> {
        self.by_state.get(state as usize)
    }

    /// Rows by state, of all methods.
    pub fn count(&self, state: State) -> usize {
        self.in_state.get(state as usize).copied().unwrap_or(0)
    }

    /// What methods amount to: those of `ranges` that are in `of`, or all of them.
    pub fn sums(&self, ranges: &[Range<u32>], of: Option<&Bits>) -> Sums {
        let mut sums = Sums::default();
        for range in ranges {
            let methods = self.known.iter_in(range.clone());
            for method in methods.filter(|method| of.is_none_or(|of| of.get(*method))) {
                // Each row is looked at once: its number, level and state lie together.
                let Some(row) = self.of_method(MethodIx(method)) else { continue };
                sums.known += 1;
                sums.wanted[row.wanted as usize] += 1;
                sums.states[row.state as usize] += 1;
                sums.calls = sums.calls.saturating_add(row.calls);
                sums.rate += f64::from(row.rate.unwrap_or(0.0));
                sums.timed += u32::from(row.is_timed());
                if let Some(times) = &row.times {
                    times::add(&mut sums.times, times);
                }
            }
        }
        sums
    }

    /// Folds taken in: numbers and rates changed with each.
    pub fn folds(&self) -> u64 {
        self.folds
    }

    /// Messages taken in.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Whether the last fold came late because we were slow; nothing is lost by that.
    pub fn late(&self) -> bool {
        self.late
    }

    /// Whether the agent said goodbye.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Grows when rows come or are placed.
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

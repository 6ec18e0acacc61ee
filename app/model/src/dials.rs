//! The dialled copies of one process: a table built from rows, transitions and counters.

use super::cost::{self, CostEstimate, DialLoad};
use super::snapshot_clock::SnapshotClock;
use redial_protocol::cost::{Cost, CostBudget};
use redial_protocol::counters::CounterDelta;
use redial_protocol::diagnostics::MissingTimes;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_ANSWER, ROW_MEMORY};
use redial_protocol::message::{Event, Instance, StatusRow, Transition};
use redial_protocol::slowest_calls::RowSlowestCalls;
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Memory of all rows, bytes. An agent that sends more is faulty, or its dialled methods do not fit into one table.
const MAX_MEMORY: usize = MAX_ANSWER;

/// A dialled copy with its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct DialledCopy {
    /// The agent's last row; counter deltas keep `calls` up to date.
    pub row: StatusRow,
    /// Calls per second in the last interval; `None` until there are two counter snapshots.
    pub rate: Option<f64>,
    /// Durations of its calls; `None` if none was timed.
    pub times: Option<Times>,
    /// Its slowest calls; `None` without a condition for them, or if nobody requested them.
    pub calls: Option<RowSlowestCalls>,
}

impl DialledCopy {
    /// Returns whether it was dialled and is off: level off is wanted, no instrumented body is active, and it
    /// has no calls.
    pub fn is_over(&self) -> bool {
        let rests = matches!(self.row.state, CopyState::Off | CopyState::Refused | CopyState::Lost);
        self.row.wanted == Level::Off && rests && !self.rate.is_some_and(|rate| rate > 0.0)
    }
}

/// All rows of one agent in ledger order.
#[derive(Clone, Debug, Default)]
pub struct DialledCopies {
    rows: BTreeMap<RowId, Box<DialledCopy>>,
    memory: usize,
    max_memory: Option<usize>,
    is_full: bool,
    clock: SnapshotClock,
    ended: bool,
    missed_deadlines: u64,
    costs: Vec<Cost>,
    budget: Option<CostBudget>,
}

/// The effect of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialsUpdate {
    /// Nothing that is shown changed.
    None,
    /// Rows or their states changed.
    Rows,
    /// A counter snapshot changed numbers and rates.
    Counters,
    /// The process is ending; these are its last numbers.
    Ended,
}

impl DialledCopies {
    /// Applies an event.
    pub fn apply(&mut self, event: Event) -> DialsUpdate {
        match event {
            Event::Rows { rows, .. } => {
                self.rows(rows);
                DialsUpdate::Rows
            }
            Event::Transition(transition) => self.transition(transition),
            Event::Counters { delta, dropped } => {
                self.counters(&delta, dropped);
                DialsUpdate::Counters
            }
            Event::Times { times, .. } => {
                self.times(times);
                // A counter snapshot follows.
                DialsUpdate::None
            }
            Event::Goodbye { missed_deadlines } => {
                self.ended = true;
                self.missed_deadlines = missed_deadlines;
                DialsUpdate::Ended
            }
            Event::Budget(budget) => {
                self.budget = Some(budget);
                DialsUpdate::None
            }
            Event::Reply { .. }
            | Event::Methods { .. }
            | Event::Control(_)
            | Event::Progress { .. }
            | Event::Catalogue { .. }
            | Event::Il { .. }
            | Event::Calls { .. }
            | Event::Exceptions { .. } => DialsUpdate::None,
        }
    }

    /// Applies a page of rows; known rows keep their rates. Ignores rows that do not fit into memory; see `is_full`.
    pub fn rows(&mut self, rows: Vec<StatusRow>) {
        let max_memory = self.max_memory.unwrap_or(MAX_MEMORY);
        for row in rows {
            let entry = self.rows.entry(row.row);
            let before = match &entry {
                Entry::Occupied(occupied) => memory(&occupied.get().row),
                Entry::Vacant(_) => 0,
            };
            let memory = self.memory - before + memory(&row);
            if memory > max_memory {
                self.is_full = true;
                continue;
            }
            self.memory = memory;
            match entry {
                Entry::Vacant(vacant) => {
                    vacant.insert(Box::new(DialledCopy { row, rate: None, times: None, calls: None }));
                }
                Entry::Occupied(mut occupied) => occupied.get_mut().row = row,
            }
        }
    }

    /// Sets the memory of all rows, bytes, for a caller that keeps more than these rows.
    pub fn limit_memory(&mut self, bytes: usize) {
        self.max_memory = Some(bytes);
    }

    /// Returns whether rows were ignored because they do not fit into memory.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Applies the slowest calls of rows.
    pub fn calls(&mut self, calls: Vec<RowSlowestCalls>) {
        for one in calls {
            if let Some(dial) = self.rows.get_mut(&one.row) {
                dial.calls = Some(one);
            }
        }
    }

    /// Applies a page of times.
    pub fn times(&mut self, times: Vec<Times>) {
        for one in times {
            if let Some(dial) = self.rows.get_mut(&one.row) {
                dial.times = Some(one);
            }
        }
    }

    fn transition(&mut self, transition: Transition) -> DialsUpdate {
        let Some(dial) = self.rows.get_mut(&transition.row) else { return DialsUpdate::None };
        self.memory -= memory(&dial.row);
        dial.row.wanted = transition.wanted;
        dial.row.state = transition.state;
        dial.row.version = transition.version;
        dial.row.instances = transition.instances;
        dial.row.note = transition.note;
        dial.row.times_note = transition.times_note;
        dial.row.options = transition.options;
        if self.memory + memory(&dial.row) > self.max_memory.unwrap_or(MAX_MEMORY) {
            (dial.row.instances, dial.row.times_note, self.is_full) = (Vec::new(), None, true);
        }
        self.memory += memory(&dial.row);
        DialsUpdate::Rows
    }

    fn counters(&mut self, delta: &CounterDelta, dropped: u64) {
        let interval = self.clock.advance(delta.t_ms, dropped);
        self.zero_rates(interval.is_some());
        for (row, calls) in delta.rows.iter().zip(&delta.calls) {
            let Some(dial) = self.rows.get_mut(row) else { continue };
            dial.row.calls = dial.row.calls.saturating_add(*calls);
            dial.rate = interval.map(|interval| interval.rate(*calls));
        }
    }

    /// Sets how long ago the rows arrived, which is the time that the first counter snapshot covers.
    pub fn first_interval_covers(&mut self, ms: u64) {
        self.clock.set_first_interval(ms);
    }

    /// Records that `ms` of agent time passed without a snapshot, so nothing was called.
    pub fn silence(&mut self, ms: u64) {
        if let Some(before) = self.clock.last_ms() {
            self.clock.move_to(before.saturating_add(ms));
            self.zero_rates(true);
        }
    }

    fn zero_rates(&mut self, known: bool) {
        for dial in self.rows.values_mut() {
            dial.rate = known.then_some(0.0);
        }
    }

    /// Sets the costs of calls in this process.
    pub fn calls_cost(&mut self, costs: Vec<Cost>) {
        self.costs = costs;
    }

    /// Returns the overhead budget; `None` until the agent reported it.
    pub fn budget(&self) -> Option<&CostBudget> {
        self.budget.as_ref()
    }

    /// Returns a row.
    pub fn get(&self, row: RowId) -> Option<&DialledCopy> {
        self.rows.get(&row).map(Box::as_ref)
    }

    /// Returns the cost of the dials in percent of one processor; `None` if unknown.
    pub fn cost_percent(&self) -> Option<f64> {
        cost::of_all(&self.costs, self.iter().map(DialLoad::from))
    }

    /// Estimates the cost of the dials at a level from their current rates; `None` if unknown.
    pub fn estimate_cost(&self, level: Level) -> Option<CostEstimate> {
        cost::estimate(&self.costs, self.iter().map(DialLoad::from), level)
    }

    /// Returns the rows in ledger order.
    pub fn iter(&self) -> impl Iterator<Item = &DialledCopy> {
        self.rows.values().map(Box::as_ref)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of updates that the agent merged with later ones because this reader was slow; no
    /// calls are lost.
    pub fn dropped(&self) -> u64 {
        self.clock.dropped()
    }

    /// Returns whether the last snapshot was late because this reader was slow.
    pub fn late(&self) -> bool {
        self.clock.late()
    }

    /// Returns whether the agent said goodbye, so that the numbers are final.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the goodbye's number of modules whose first calls may have been missed.
    pub fn missed_deadlines(&self) -> u64 {
        self.missed_deadlines
    }
}

/// Estimates the memory of a row and of the copies of its texts in listings.
fn memory(row: &StatusRow) -> usize {
    let texts = [&row.method, &row.signature, &row.module, &row.domain].map(String::capacity);
    let note = match row.times_note.as_ref().and_then(|note| note.missing.as_ref()) {
        Some(MissingTimes::CompletionsNeedDial { pattern }) => pattern.capacity(),
        _ => 0,
    };
    let instances = row.instances.capacity() * size_of::<Instance>();
    ROW_MEMORY + 2 * (texts.iter().sum::<usize>() + note) + instances
}

impl From<&DialledCopy> for DialLoad {
    fn from(dial: &DialledCopy) -> DialLoad {
        DialLoad::of((dial.row.wanted, dial.row.state), dial.times.is_some(), dial.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{counters, row};
    use redial_protocol::diagnostics::{RowNote, TimesNote};
    use redial_protocol::ids::InstanceId;
    use redial_protocol::level::Level;
    use redial_protocol::message::Instance;
    use redial_protocol::order::TimeOptions;
    use redial_protocol::state::CopyState;

    const ID: InstanceId = InstanceId { function_id: 0x7f00_2000, rejit_id: 1 };

    fn table(rows: Vec<StatusRow>) -> DialledCopies {
        let mut dials = DialledCopies::default();
        assert_eq!(dials.apply(Event::Rows { id: None, rows }), DialsUpdate::Rows);
        dials
    }

    fn numbers(dials: &DialledCopies) -> Vec<(u64, Option<f64>)> {
        dials.iter().map(|dial| (dial.row.calls, dial.rate)).collect()
    }

    #[test]
    fn deltas_add_up_and_rates_follow_the_agents_clock() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 5), row(1, "Shop.Cart.Clear", 0)]);
        assert_eq!(numbers(&dials), [(5, None), (0, None)]);
        dials.apply(counters(1_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(15, None), (0, None)], "the first snapshot has no predecessor");
        dials.apply(counters(1_500, &[(0, 100)]));
        assert_eq!(numbers(&dials), [(115, Some(200.0)), (0, Some(0.0))]);
        dials.apply(counters(2_000, &[(1, 1)]));
        assert_eq!(numbers(&dials), [(115, Some(0.0)), (1, Some(2.0))]);
    }

    #[test]
    fn the_readers_clock_measures_the_first_interval() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 5)]);
        dials.first_interval_covers(500);
        dials.apply(counters(77_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(15, Some(20.0))]);
        dials.first_interval_covers(9_000);
        dials.apply(counters(78_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(25, Some(10.0))], "from then on the agent's clock counts");
    }

    #[test]
    fn silence_is_a_rate_of_zero() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 0)]);
        dials.apply(counters(1_000, &[(0, 10)]));
        dials.silence(3_000);
        assert_eq!(numbers(&dials), [(10, Some(0.0))]);
        dials.apply(counters(5_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(20, Some(10.0))]);
    }

    #[test]
    fn a_stopped_or_reversed_clock_gives_no_rate() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 0)]);
        for t_ms in [1_000, 1_000, 10] {
            dials.apply(counters(t_ms, &[(0, 1)]));
            assert_eq!(dials.iter().next().and_then(|dial| dial.rate), None);
        }
    }

    #[test]
    fn transitions_change_state_and_keep_numbers() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 7)]);
        let transition = |row| Transition {
            row: RowId(row),
            t_ms: 3,
            wanted: Level::Count,
            state: CopyState::Live,
            version: Some(1),
            instances: vec![Instance { id: ID, state: CopyState::Live }],
            note: Some(RowNote::Inlined),
            times_note: Some(TimesNote { spared: true, ..TimesNote::default() }),
            options: TimeOptions::default(),
        };
        assert_eq!(dials.apply(Event::Transition(transition(0))), DialsUpdate::Rows);
        assert_eq!(
            dials.apply(Event::Transition(transition(9))),
            DialsUpdate::None,
            "an unknown row is ignored"
        );
        let dial = dials.iter().next().expect("one row");
        assert_eq!((dial.row.state, dial.row.version, dial.row.calls), (CopyState::Live, Some(1), 7));
        assert_eq!(dial.row.note, Some(RowNote::Inlined));
        assert_eq!(dial.row.times_note, Some(TimesNote { spared: true, ..TimesNote::default() }));
        assert_eq!(dial.row.instances, [Instance { id: ID, state: CopyState::Live }]);
    }

    #[test]
    fn tolerates_unequal_columns_and_unknown_rows() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", u64::MAX - 1)]);
        let delta = CounterDelta { t_ms: 1, rows: vec![RowId(0), RowId(5), RowId(6)], calls: vec![10, 1] };
        dials.apply(Event::Counters { delta, dropped: 3 });
        assert_eq!(numbers(&dials), [(u64::MAX, None)]);
        assert_eq!((dials.dropped(), dials.late()), (3, true));
    }

    #[test]
    fn rows_are_bounded_in_memory() {
        let page =
            |from: u32, text: &str| (from..from + 1024).map(|index| row(index, text, 0)).collect::<Vec<_>>();
        for text in ["A.B".to_owned(), "x".repeat(4_000)] {
            let one = memory(&row(0, &text, 0));
            let mut dials = DialledCopies::default();
            for first in (0..(MAX_MEMORY / one) as u32).step_by(1024) {
                dials.rows(page(first, &text));
            }
            dials.rows(page(1 << 20, &text));
            assert!(dials.is_full() && dials.len() <= MAX_MEMORY / one, "{} rows", dials.len());
            dials.rows(page(0, "A"));
            assert_eq!(
                dials.get(RowId(0)).map(|dial| dial.row.method.as_str()),
                Some("A"),
                "known rows change"
            );
        }
    }

    #[test]
    fn goodbye_ends_it() {
        let mut dials = DialledCopies::default();
        assert!(!dials.ended());
        assert_eq!(dials.apply(Event::Goodbye { missed_deadlines: 0 }), DialsUpdate::Ended);
        assert!(dials.ended());
    }
}

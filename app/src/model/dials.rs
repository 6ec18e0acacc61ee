//! The dialled copies of one process: rows, transitions and counters folded into one table.

use super::cost::{self, Foreseen, Load};
use redial_protocol::cost::Cost;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow, Transition};
use redial_protocol::state::State;
use redial_protocol::times::Times;
use std::collections::BTreeMap;

/// One dialled copy with its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Dial {
    /// The row as the agent last said it; `calls` is kept up to date by counter deltas.
    pub row: StatusRow,
    /// Calls a second over the last fold; None until one fold has a predecessor to be measured from.
    pub rate: Option<f64>,
    /// How long its calls take; None while none was timed.
    pub times: Option<Times>,
}

impl Dial {
    /// Whether it was dialled and is no more: nothing is wanted of it, nothing of ours runs, and nobody calls what did.
    pub fn is_over(&self) -> bool {
        let rests = matches!(self.row.state, State::Off | State::Refused | State::Lost);
        self.row.wanted == Level::Off && rests && !self.rate.is_some_and(|rate| rate > 0.0)
    }
}

/// All rows of one agent, in the order of its ledger.
#[derive(Clone, Debug, Default)]
pub struct Dials {
    rows: BTreeMap<RowId, Dial>,
    /// Agent time, ms, up to which the counters are folded; None before anything is known of its clock.
    folded_to: Option<u64>,
    /// Milliseconds the first fold covers, by the reader's clock.
    first_fold: Option<u64>,
    dropped: u64,
    late: bool,
    ended: bool,
    missed_deadlines: u64,
    costs: Vec<Cost>,
}

/// What an event changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that is shown.
    None,
    /// Rows or their states.
    Rows,
    /// A fold of the counters: numbers and rates.
    Fold,
    /// The process is ending; these are its last numbers.
    Ended,
}

impl Dials {
    /// Takes an event in.
    pub fn apply(&mut self, event: Event) -> Change {
        match event {
            Event::Rows { rows, .. } => {
                self.rows(rows);
                Change::Rows
            }
            Event::Transition(transition) => self.transition(transition),
            Event::Counters { delta, dropped } => {
                self.late = dropped > self.dropped;
                self.dropped = dropped;
                self.fold(&delta);
                Change::Fold
            }
            Event::Times { times, .. } => {
                self.times(times);
                // A fold of the counters follows.
                Change::None
            }
            Event::Goodbye { missed_deadlines } => {
                self.ended = true;
                self.missed_deadlines = missed_deadlines;
                Change::Ended
            }
            Event::Reply { .. }
            | Event::Methods { .. }
            | Event::Control(_)
            | Event::Progress { .. }
            | Event::Catalogue { .. }
            | Event::Il { .. } => Change::None,
        }
    }

    /// Takes a page of rows in; a row that is known keeps its rate.
    pub fn rows(&mut self, rows: Vec<StatusRow>) {
        for row in rows {
            match self.rows.entry(row.row) {
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(Dial { row, rate: None, times: None });
                }
                std::collections::btree_map::Entry::Occupied(mut occupied) => occupied.get_mut().row = row,
            }
        }
    }

    /// Takes a page of times in.
    pub fn times(&mut self, times: Vec<Times>) {
        for one in times {
            if let Some(dial) = self.rows.get_mut(&one.row) {
                dial.times = Some(one);
            }
        }
    }

    fn transition(&mut self, transition: Transition) -> Change {
        let Some(dial) = self.rows.get_mut(&transition.row) else { return Change::None };
        dial.row.wanted = transition.wanted;
        dial.row.state = transition.state;
        dial.row.version = transition.version;
        dial.row.instances = transition.instances;
        dial.row.note = transition.note;
        dial.row.times_note = transition.times_note;
        dial.row.options = transition.options;
        Change::Rows
    }

    fn fold(&mut self, delta: &CounterDelta) {
        let elapsed = match self.folded_to {
            Some(before) => delta.t_ms.checked_sub(before),
            None => self.first_fold,
        };
        let elapsed = elapsed.filter(|ms| *ms > 0);
        self.folded_to = Some(delta.t_ms);
        self.zero_rates(elapsed.is_some());
        for (row, calls) in delta.rows.iter().zip(&delta.calls) {
            let Some(dial) = self.rows.get_mut(row) else { continue };
            dial.row.calls = dial.row.calls.saturating_add(*calls);
            dial.rate = elapsed.map(|ms| *calls as f64 * 1000.0 / ms as f64);
        }
    }

    /// Says how long ago the rows were taken in, should the next fold be the first: nothing else can tell what
    /// time it covers.
    pub fn first_fold_covers(&mut self, ms: u64) {
        self.first_fold = Some(ms);
    }

    /// Notes that `ms` of agent time passed without a fold: nothing was called.
    pub fn silence(&mut self, ms: u64) {
        if let Some(folded_to) = &mut self.folded_to {
            *folded_to = folded_to.saturating_add(ms);
            self.zero_rates(true);
        }
    }

    fn zero_rates(&mut self, known: bool) {
        for dial in self.rows.values_mut() {
            dial.rate = known.then_some(0.0);
        }
    }

    /// Says what calls cost in this process.
    pub fn calls_cost(&mut self, costs: Vec<Cost>) {
        self.costs = costs;
    }

    /// Percent of one processor that the dials cost; None while that is not known.
    pub fn cost_percent(&self) -> Option<f64> {
        cost::of_all(&self.costs, self.iter().map(Load::from))
    }

    /// What the dials would cost at a level, by their present rates; None while that is not known.
    pub fn foresee(&self, level: Level) -> Option<Foreseen> {
        cost::foresee(&self.costs, self.iter().map(Load::from), level)
    }

    /// The rows in ledger order.
    pub fn iter(&self) -> impl Iterator<Item = &Dial> {
        self.rows.values()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Updates the agent merged with later ones because this reader was slow; no number is lost by that.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether the last fold came late because this reader was slow.
    pub fn late(&self) -> bool {
        self.late
    }

    /// Whether the agent said goodbye, so that the numbers are the last ones.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Modules whose first calls may have been missed, as the goodbye said.
    pub fn missed_deadlines(&self) -> u64 {
        self.missed_deadlines
    }
}

/// Tests, and rows for others.
#[cfg(test)]
pub mod tests {
    use super::*;
    use redial_protocol::ids::{CopyKey, InstanceId, MethodToken, ModuleKey};
    use redial_protocol::level::Level;
    use redial_protocol::message::Instance;
    use redial_protocol::order::TimeOptions;
    use redial_protocol::state::State;
    use redial_protocol::times::Percentiles;

    const ID: InstanceId = InstanceId { function_id: 0x7f00_2000, rejit_id: 1 };

    /// Times of a row.
    pub fn times(index: u32) -> Times {
        Times {
            row: RowId(index),
            in_flight: 3,
            exits: 1_000,
            exceptions: 20,
            total_ns: 1_100_000_000_000,
            self_ns: 550_000_000_000,
            max_ns: 17_180_000_000,
            percentiles: Some(Percentiles { p50_ns: 1_200, p90_ns: 250_000, p99_ns: 8_590_000_000 }),
        }
    }

    /// A row with so many calls.
    pub fn row(index: u32, method: &str, calls: u64) -> StatusRow {
        StatusRow {
            row: RowId(index),
            copy: CopyKey {
                module: ModuleKey { module_id: 0x7f00_1000, generation: 1 },
                token: MethodToken(0x0600_0001 + index),
            },
            method: method.to_owned(),
            signature: "()".to_owned(),
            module: "Shop".to_owned(),
            domain: "clrhost".to_owned(),
            wanted: Level::Count,
            state: State::Asked,
            version: None,
            instances: Vec::new(),
            note: None,
            times_note: None,
            options: TimeOptions::default(),
            calls,
        }
    }

    /// A fold at `t_ms` with the calls of rows.
    pub fn counters(t_ms: u64, rows: &[(u32, u64)]) -> Event {
        Event::Counters {
            delta: CounterDelta {
                t_ms,
                rows: rows.iter().map(|(row, _)| RowId(*row)).collect(),
                calls: rows.iter().map(|(_, calls)| *calls).collect(),
            },
            dropped: 0,
        }
    }

    fn table(rows: Vec<StatusRow>) -> Dials {
        let mut dials = Dials::default();
        assert_eq!(dials.apply(Event::Rows { id: None, rows }), Change::Rows);
        dials
    }

    fn numbers(dials: &Dials) -> Vec<(u64, Option<f64>)> {
        dials.iter().map(|dial| (dial.row.calls, dial.rate)).collect()
    }

    #[test]
    fn deltas_add_up_and_rates_follow_the_agents_clock() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 5), row(1, "Shop.Cart.Clear", 0)]);
        assert_eq!(numbers(&dials), [(5, None), (0, None)]);
        dials.apply(counters(1_000, &[(0, 10)]));
        assert_eq!(
            numbers(&dials),
            [(15, None), (0, None)],
            "the first fold has nothing to be measured from"
        );
        dials.apply(counters(1_500, &[(0, 100)]));
        assert_eq!(numbers(&dials), [(115, Some(200.0)), (0, Some(0.0))]);
        dials.apply(counters(2_000, &[(1, 1)]));
        assert_eq!(numbers(&dials), [(115, Some(0.0)), (1, Some(2.0))]);
    }

    #[test]
    fn the_first_fold_is_measured_by_the_readers_clock() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 5)]);
        dials.first_fold_covers(500);
        dials.apply(counters(77_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(15, Some(20.0))]);
        dials.first_fold_covers(9_000);
        dials.apply(counters(78_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(25, Some(10.0))], "from then on the agent's clock rules");
    }

    #[test]
    fn silence_is_a_rate_of_zero_and_is_not_counted_twice() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", 0)]);
        dials.apply(counters(1_000, &[(0, 10)]));
        dials.silence(3_000);
        assert_eq!(numbers(&dials), [(10, Some(0.0))]);
        dials.apply(counters(5_000, &[(0, 10)]));
        assert_eq!(numbers(&dials), [(20, Some(10.0))]);
    }

    #[test]
    fn a_clock_that_stands_or_runs_back_gives_no_rate() {
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
            state: State::Live,
            version: Some(1),
            instances: vec![Instance { id: ID, state: State::Live }],
            note: Some("inlined in 2 callers".into()),
            times_note: Some("it is only counted".into()),
            options: TimeOptions::default(),
        };
        assert_eq!(dials.apply(Event::Transition(transition(0))), Change::Rows);
        assert_eq!(dials.apply(Event::Transition(transition(9))), Change::None, "an unknown row is ignored");
        let dial = dials.iter().next().expect("one row");
        assert_eq!((dial.row.state, dial.row.version, dial.row.calls), (State::Live, Some(1), 7));
        assert_eq!(dial.row.note.as_deref(), Some("inlined in 2 callers"));
        assert_eq!(dial.row.times_note.as_deref(), Some("it is only counted"));
        assert_eq!(dial.row.instances, [Instance { id: ID, state: State::Live }]);
    }

    #[test]
    fn columns_of_unequal_length_and_unknown_rows_are_harmless() {
        let mut dials = table(vec![row(0, "Shop.Cart.Add", u64::MAX - 1)]);
        let delta = CounterDelta { t_ms: 1, rows: vec![RowId(0), RowId(5), RowId(6)], calls: vec![10, 1] };
        dials.apply(Event::Counters { delta, dropped: 3 });
        assert_eq!(numbers(&dials), [(u64::MAX, None)]);
        assert_eq!((dials.dropped(), dials.late()), (3, true));
    }

    #[test]
    fn goodbye_ends_it() {
        let mut dials = Dials::default();
        assert!(!dials.ended());
        assert_eq!(dials.apply(Event::Goodbye { missed_deadlines: 0 }), Change::Ended);
        assert!(dials.ended());
    }
}

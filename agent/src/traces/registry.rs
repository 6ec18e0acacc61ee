//! What other parts of the agent do with traced methods.

use super::call::{Call, TracedRow};
use super::call_clock::CallClock;
use super::collector;
use super::state::State;
use super::stream::CallStream;
use crate::capture::CapturePlan;
use crate::instrument::traced_method::{TracedBody, TracingOptions};
use crate::ledger::copy_identity::CopyIdentity;
use crate::probes::trace::{self, Dropped};
use crate::sync::lock;
use redial_protocol::ids::RowId;
use redial_protocol::order::TimeOptions;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

/// The traced methods and their calls.
pub struct Traces(Arc<Mutex<State>>);

impl Traces {
    /// Makes the list of traced methods. `rate`: calls of all of them that may be captured in a second, if the host sets
    /// a limit.
    pub fn new(rate: Option<u64>) -> Traces {
        Traces(Arc::new(Mutex::new(State::new(rate.unwrap_or(collector::RATE_OF_PROCESS)))))
    }

    /// Sets the limits of a row's calls, if it has ever been traced.
    pub fn set_limits(&self, row: RowId, options: TimeOptions) {
        let state = lock(&self.0);
        if let Some(traced) = state.of_row.get(&row).and_then(|plan| state.plans.get(plan)) {
            traced.body.method.set_limits(options.rate, options.depth);
        }
    }

    /// Returns the body of a row with these captured values and options: an earlier one, if they are the same. None if the
    /// memory for further bodies is used up.
    pub fn body(
        &self,
        row: RowId,
        identity: Arc<CopyIdentity>,
        mut plan: CapturePlan,
        mut options: TracingOptions,
    ) -> Option<&'static TracedBody> {
        let mut guard = lock(&self.0);
        let state = &mut *guard;
        let latest = state.of_row.get(&row).copied();
        let mut earlier = state.earlier.get(&row).into_iter().flatten().copied();
        let is_same = |number: &u32| {
            let known = state.plans.get(number);
            known.is_some_and(|known| known.body.plan == plan && known.body.has(&options))
        };
        let known = latest.filter(is_same).or_else(|| earlier.find(is_same));
        if let Some((number, known)) = known.and_then(|number| Some((number, state.plans.get(&number)?))) {
            let body = known.body;
            state.set_latest_plan(row, number);
            return Some(body);
        }
        plan.share(&mut state.values);
        if let Some(condition) = &mut options.condition {
            condition.share(&mut state.values);
        }
        let number = state.latest_plan.wrapping_add(1);
        let body = TracedBody::new(number, plan, options);
        if !state.bodies.add(&body, latest.is_none()) {
            return None;
        }
        state.latest_plan = number;
        let body: &'static TracedBody = Box::leak(Box::new(body));
        state.plans.insert(number, Arc::new(TracedRow { row, identity, body }));
        state.set_latest_plan(row, number);
        Some(body)
    }

    /// Adds plans of rows that are about to be traced. Starts the collector if necessary.
    pub fn add_active(&self, plans: impl IntoIterator<Item = u32>) {
        let mut guard = lock(&self.0);
        let state = &mut *guard;
        let before = state.active.len();
        for plan in plans {
            if state.add_active(plan)
                && let Some(row) = state.plans.get(&plan)
            {
                collector::fill(row);
            }
        }
        if state.active.len() != before {
            trace::set_traced(state.active.len() as u32);
        }
        if !state.active.is_empty() && !state.collects {
            collector::fill_process(state.rate);
            state.collects = collector::start(Arc::clone(&self.0));
        }
    }

    /// Returns the rows that are traced now as far as known, with their plans.
    pub fn active(&self) -> Vec<(RowId, u32)> {
        let state = lock(&self.0);
        state.active().map(|row| (row.row, row.body.method.plan)).collect()
    }

    /// Returns at most `most` methods that are traced now, after skipping `place` of them. Their order stays while the same
    /// methods are traced.
    pub fn active_from(&self, place: usize, most: usize) -> Vec<Arc<TracedRow>> {
        lock(&self.0).active().skip(place).take(most).cloned().collect()
    }

    /// Removes plans of rows that are not traced any more, and their calls.
    pub fn remove_active(&self, plans: &[u32]) {
        let mut guard = lock(&self.0);
        // Streams get what ended until now.
        collector::collect(&mut guard);
        let state = &mut *guard;
        state.remove_active(plans);
        state.async_calls.remove(&plans.iter().copied().collect());
        let traced: HashSet<RowId> = state.active().map(|row| row.row).collect();
        let rows = plans.iter().filter_map(|plan| state.plans.get(plan)).map(|row| row.row);
        state.kept.remove(rows.filter(|row| !traced.contains(row)).collect::<Vec<_>>());
        trace::set_traced(state.active.len() as u32);
    }

    /// Forgets rows of an unloaded module once enough others have unloaded since. Their names stay with calls that are
    /// already on their way.
    pub fn retire(&self, rows: Vec<RowId>) {
        let mut guard = lock(&self.0);
        collector::collect(&mut guard);
        guard.retire(rows);
    }

    /// Takes the calls that ended so far from the threads' areas.
    pub fn collect(&self) {
        collector::collect(&mut lock(&self.0));
    }

    /// Returns the latest calls of each method that matches.
    pub fn kept(&self, matches: impl Fn(&TracedRow) -> bool) -> Vec<Arc<Call>> {
        let mut state = lock(&self.0);
        collector::collect(&mut state);
        state.kept.of(|call| matches(&call.row))
    }

    /// Returns the calls in flight of each method that matches.
    pub fn in_flight(&self, matches: impl Fn(&TracedRow) -> bool) -> Vec<Arc<Call>> {
        let calls = trace::calls_in_flight();
        let mut state = lock(&self.0);
        // Async calls that wait have left their areas.
        collector::collect(&mut state);
        let clock = CallClock::after(state.clock);
        let call = |call: trace::EndedCall| {
            let row = state.plans.get(&call.plan).filter(|row| matches(row))?;
            Some(Arc::new(Call::new(&clock, Arc::clone(row), 0, call)))
        };
        let mut calls: Vec<_> = calls.into_iter().filter_map(call).collect();
        let waiting = state.async_calls.waiting().filter(|(row, _)| matches(row));
        calls.extend(waiting.map(|(row, call)| {
            Arc::new(Call::new(&clock, Arc::clone(row), 0, call.clone()).waiting(&clock))
        }));
        calls
    }

    /// Returns the methods that are traced or were, each with its plan.
    pub fn rows(&self) -> Vec<Arc<TracedRow>> {
        lock(&self.0).plans.values().cloned().collect()
    }

    /// Returns the dropped calls of methods with these plans that have some.
    pub fn dropped(&self, plans: impl IntoIterator<Item = u32>) -> Vec<(RowId, Dropped)> {
        let rows: Vec<Arc<TracedRow>> = {
            let state = lock(&self.0);
            plans.into_iter().filter_map(|plan| state.plans.get(&plan).cloned()).collect()
        };
        let mut sums: BTreeMap<RowId, Dropped> = BTreeMap::new();
        for row in rows {
            let dropped = trace::dropped(&row.body.method);
            let sum = sums.entry(row.row).or_default();
            sum.over_rate += dropped.over_rate;
            sum.no_room += dropped.no_room;
            sum.undecided += dropped.undecided;
        }
        sums.into_iter().filter(|(_, dropped)| *dropped != Dropped::default()).collect()
    }

    /// Adds a stream, which gets every call that is collected from now on.
    pub fn add_stream(&self, stream: Arc<CallStream>) {
        let mut state = lock(&self.0);
        collector::collect(&mut state);
        state.streams.push(stream);
    }

    /// Removes a stream.
    pub fn remove_stream(&self, stream: &Arc<CallStream>) {
        lock(&self.0).streams.retain(|other| !Arc::ptr_eq(other, stream));
    }

    /// Returns the bytes of all areas, kept calls and bodies with their values.
    pub fn bytes(&self) -> usize {
        let state = lock(&self.0);
        let values: usize = state.values.iter().map(|value| value.bytes()).sum();
        trace::touched_bytes()
            + state.kept.bytes()
            + state.async_calls.bytes()
            + state.bodies.bytes()
            + values
    }
}

#[cfg(test)]
mod tests {
    use super::super::body_memory::MAX_FURTHER;
    use super::*;
    use crate::capture::{CallCondition, Capture, PlannedValue, Primitive};
    use crate::catalogue::Module;
    use redial_protocol::condition::Condition;
    use redial_protocol::ids::ModuleKey;

    struct Case {
        traces: Traces,
        identity: Arc<CopyIdentity>,
    }

    impl Case {
        fn new() -> Case {
            let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation: 1 }, "Sample"));
            let identity = Arc::new(CopyIdentity::sample(module, 0x0600_0001));
            Case { traces: Traces::new(None), identity }
        }

        /// Asks for a body of a method with one parameter.
        fn body(&self, row: u32, condition: &str, stack: bool) -> Option<&'static TracedBody> {
            let value = PlannedValue {
                name: "number".to_owned(),
                type_name: "int".to_owned(),
                argument: 0,
                capture: Capture::Primitive(Primitive::I4),
            };
            let plan = CapturePlan { parameters: vec![Arc::new(value)], has_this: false, result: None };
            let written = Arc::new(Condition::parse(condition).expect("it is correct"));
            let condition = Some(CallCondition::decided_elsewhere(written, plan.clone()));
            let options = TracingOptions { condition, stack, ..TracingOptions::default() };
            self.traces.body(RowId(row), Arc::clone(&self.identity), plan, options)
        }
    }

    #[test]
    fn known_options_take_no_further_memory() {
        let case = Case::new();
        let conditions = ["number > 1", "number > 2", "number > 3"];
        let change = |number: usize| {
            let condition = conditions.get(number % conditions.len()).expect("it exists");
            case.body(7, condition, number.is_multiple_of(2)).expect("there is room")
        };
        let first: Vec<_> = (0..6).map(change).collect();
        let bytes = case.traces.bytes();
        for number in 6..500 {
            assert_eq!(Some(&change(number)), first.get(number % 6), "change {number}");
        }
        assert_eq!(case.traces.bytes(), bytes);
        assert_eq!(case.traces.rows().len(), 6);
    }

    #[test]
    fn bodies_of_further_options_are_counted_and_limited() {
        const ROWS: u32 = 64;
        let case = Case::new();
        let empty = case.traces.bytes();
        let body = |number: u32| {
            let condition = format!("number > {number} && number != {}", number + 2);
            case.body(number % ROWS, &condition, false)
        };
        assert!((0..ROWS).all(|number| body(number).is_some()));
        let first = case.traces.bytes() - empty;
        assert!(first > ROWS as usize * size_of::<TracedBody>(), "{first} bytes");
        let most = (MAX_FURTHER / size_of::<TracedBody>()) as u32;
        let made = (ROWS..most).take_while(|number| body(*number).is_some()).count();
        let all = case.traces.bytes() - empty;
        assert!(made > 1_000 && made < (most - ROWS) as usize, "{made} bodies");
        assert!(all > made * size_of::<TracedBody>() && all <= MAX_FURTHER + first, "{all} bytes");
        // Known ones, and the first ones of other rows.
        assert!(body(0).is_some() && body(ROWS).is_some() && body(most).is_none());
        assert!(case.body(ROWS, "number > 1", false).is_some());
    }

    #[test]
    fn bodies_of_forgotten_rows_stay_counted() {
        let case = Case::new();
        for row in 0..32 {
            assert!(case.body(row, "number > 1", false).is_some());
            case.traces.retire(vec![RowId(row)]);
        }
        let bytes = case.traces.bytes();
        assert_eq!(case.traces.rows().len(), 16);
        let body = |row| case.body(row, "number > 1", false).is_some();
        assert!(body(33), "another row");
        assert!(bytes >= 32 * size_of::<TracedBody>() && case.traces.bytes() > bytes);
    }
}

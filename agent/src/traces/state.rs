//! The traced methods, shared by the ReJIT thread, the collector and the sessions.

use super::kept_calls::KeptCalls;
use super::stream::CallStream;
use super::{Call, collector};
use crate::capture::CapturePlan;
use crate::instrument::traced_method::TracedBody;
use crate::ledger::copy_identity::CopyIdentity;
use crate::probes::trace::{self, Dropped};
use crate::sync::lock;
use redial_protocol::ids::RowId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// A traced method.
pub struct TracedRow {
    /// Its row in the ledger.
    pub row: RowId,
    /// The copy.
    pub identity: Arc<CopyIdentity>,
    /// The captured values.
    pub body: &'static TracedBody,
}

/// The traced methods and their calls.
#[derive(Default)]
pub struct Traces(pub(super) Arc<Mutex<State>>);

#[derive(Default)]
pub(super) struct State {
    /// Every plan so far by its number. Bodies may still run, and kept calls refer to them.
    plans: HashMap<u32, Arc<TracedRow>>,
    /// The latest plan of each row.
    of_row: BTreeMap<RowId, u32>,
    /// Plans of the rows that are traced now.
    active: Vec<u32>,
    pub(super) kept: KeptCalls,
    pub(super) streams: Vec<Arc<CallStream>>,
    /// Number of the latest call.
    pub(super) number: u64,
    /// Whether a collector runs.
    pub(super) collects: bool,
}

impl State {
    /// Returns the traced method with this plan.
    pub(super) fn plan(&self, plan: u32) -> Option<&Arc<TracedRow>> {
        self.plans.get(&plan)
    }

    /// Returns the methods that are traced now.
    pub(super) fn active(&self) -> impl Iterator<Item = &Arc<TracedRow>> {
        self.active.iter().filter_map(|plan| self.plans.get(plan))
    }

    /// Whether anybody waits for calls.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }
}

impl Traces {
    /// Returns the body of a row with these captured values: the same as before, if they are the same.
    pub fn body(&self, row: RowId, identity: Arc<CopyIdentity>, plan: CapturePlan) -> &'static TracedBody {
        let mut state = lock(&self.0);
        let known = state.of_row.get(&row).and_then(|number| state.plans.get(number));
        if let Some(known) = known.filter(|known| known.body.plan == plan) {
            return known.body;
        }
        let number = state.plans.len() as u32 + 1;
        let body: &'static TracedBody = Box::leak(Box::new(TracedBody::new(number, plan)));
        state.plans.insert(number, Arc::new(TracedRow { row, identity, body }));
        state.of_row.insert(row, number);
        body
    }

    /// Whether any method is or was traced.
    pub fn has_any(&self) -> bool {
        !lock(&self.0).plans.is_empty()
    }

    /// Returns the rows that are or were traced.
    pub fn rows(&self) -> Vec<RowId> {
        lock(&self.0).of_row.keys().copied().collect()
    }

    /// Sets which rows are traced now, with their plans. Starts the collector if necessary.
    pub fn set_active(&self, traced: &[(RowId, u32)]) {
        let mut state = lock(&self.0);
        let active: Vec<u32> = traced.iter().map(|(_, plan)| *plan).collect();
        if state.active == active {
            return;
        }
        state.active = active;
        trace::set_traced(state.active.len() as u32);
        collector::refill(&state, None);
        if !state.active.is_empty() && !state.collects {
            state.collects = collector::start(Arc::clone(&self.0));
        }
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
        let state = lock(&self.0);
        let clock = collector::CallClock::now();
        let call = |call: trace::EndedCall| {
            let row = state.plans.get(&call.plan).filter(|row| matches(row))?;
            Some(Arc::new(clock.call(Arc::clone(row), 0, call)))
        };
        calls.into_iter().filter_map(call).collect()
    }

    /// Returns the dropped calls of each method that matches and has some.
    pub fn dropped(&self, matches: impl Fn(&TracedRow) -> bool) -> Vec<(RowId, Dropped)> {
        let state = lock(&self.0);
        let mut sums: BTreeMap<RowId, Dropped> = BTreeMap::new();
        for row in state.plans.values().filter(|row| matches(row)) {
            let dropped = trace::dropped(&row.body.method);
            let sum = sums.entry(row.row).or_default();
            sum.over_rate += dropped.over_rate;
            sum.no_room += dropped.no_room;
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

    /// Returns the bytes of all areas and kept calls.
    pub fn bytes(&self) -> usize {
        trace::used_bytes() + lock(&self.0).kept.bytes()
    }
}

//! The traced methods with their calls and streams.

use super::async_calls::AsyncCalls;
use super::body_memory::BodyMemory;
use super::call::TracedRow;
use super::call_clock::CallClock;
use super::kept_calls::KeptCalls;
use super::stream::CallStream;
use crate::capture::PlannedValue;
use redial_protocol::ids::RowId;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Unloaded modules whose traced rows are kept.
const UNLOADED_KEPT: usize = 16;

/// The state that the ReJIT thread, the collector and the sessions share.
pub(super) struct State {
    /// Plans by number. Bodies may still run, and kept calls refer to them.
    pub(super) plans: HashMap<u32, Arc<TracedRow>>,
    /// Number of the latest plan.
    pub(super) latest_plan: u32,
    /// The values of all plans.
    pub(super) values: HashSet<Arc<PlannedValue>>,
    /// The memory of the bodies of all plans, and of forgotten ones.
    pub(super) bodies: BodyMemory,
    /// The latest plan of each row.
    pub(super) of_row: BTreeMap<RowId, u32>,
    /// Earlier plans of rows with several.
    pub(super) earlier: HashMap<RowId, Vec<u32>>,
    /// Traced rows of each of the latest unloaded modules.
    pub(super) unloaded: VecDeque<Vec<RowId>>,
    /// Plans of the rows that are traced now.
    pub(super) active: HashSet<u32>,
    pub(super) kept: KeptCalls,
    pub(super) async_calls: AsyncCalls,
    /// Plans of the traced starts of async methods, by the addresses of their links.
    pub(super) starts: HashMap<usize, u32>,
    pub(super) streams: Vec<Arc<CallStream>>,
    /// Number of the latest call.
    pub(super) number: u64,
    /// The clock of the latest calls.
    pub(super) clock: Option<CallClock>,
    /// Whether a collector runs.
    pub(super) collects: bool,
    /// Calls a second of all methods together.
    pub(super) rate: u64,
}

impl State {
    pub(super) fn new(rate: u64) -> State {
        State {
            plans: HashMap::new(),
            latest_plan: 0,
            values: HashSet::new(),
            bodies: BodyMemory::default(),
            of_row: BTreeMap::new(),
            earlier: HashMap::new(),
            unloaded: VecDeque::new(),
            active: HashSet::new(),
            kept: KeptCalls::default(),
            async_calls: AsyncCalls::default(),
            starts: HashMap::new(),
            streams: Vec::new(),
            number: 0,
            clock: None,
            collects: false,
            rate,
        }
    }

    /// Returns the traced method with this plan.
    pub(super) fn plan(&self, plan: u32) -> Option<&Arc<TracedRow>> {
        self.plans.get(&plan)
    }

    /// Makes a plan the latest one of a row.
    pub(super) fn set_latest_plan(&mut self, row: RowId, plan: u32) {
        let before = self.of_row.insert(row, plan).filter(|before| *before != plan);
        if let Some(before) = before {
            let earlier = self.earlier.entry(row).or_default();
            earlier.retain(|number| *number != plan);
            earlier.push(before);
        }
    }

    /// Adds a plan of a row that is about to be traced; returns whether it is new. The async calls that its method starts
    /// have this plan from now on, even if it is not new: another plan of the row may have been added since.
    pub(super) fn add_active(&mut self, plan: u32) -> bool {
        let is_new = self.active.insert(plan);
        if let Some(link) = self.plans.get(&plan).and_then(|row| row.body.starts()) {
            link.set_starts_traced(true);
            self.starts.insert(std::ptr::from_ref(link).addr(), plan);
        }
        is_new
    }

    /// Removes plans of rows that are not traced any more.
    pub(super) fn remove_active(&mut self, plans: &[u32]) {
        for plan in plans {
            self.active.remove(plan);
            if let Some(link) = self.plans.get(plan).and_then(|row| row.body.starts())
                && let Entry::Occupied(of_link) = self.starts.entry(std::ptr::from_ref(link).addr())
                && of_link.get() == plan
            {
                of_link.remove();
                link.set_starts_traced(false);
            }
        }
    }

    /// Keeps the plans of an unloaded module's rows, and forgets those of the oldest unloaded modules. A plan's body is
    /// not freed: threads may still hold its address.
    pub(super) fn retire(&mut self, mut rows: Vec<RowId>) {
        rows.retain(|row| self.of_row.contains_key(row));
        if rows.is_empty() {
            return;
        }
        self.unloaded.push_back(rows);
        let surplus = self.unloaded.len().saturating_sub(UNLOADED_KEPT);
        let forgotten: HashSet<RowId> = self.unloaded.drain(..surplus).flatten().collect();
        if forgotten.is_empty() {
            return;
        }
        self.count_forgotten(&forgotten);
        self.of_row.retain(|row, _| !forgotten.contains(row));
        self.earlier.retain(|row, _| !forgotten.contains(row));
        self.plans.retain(|_, traced| !forgotten.contains(&traced.row));
        self.active.retain(|plan| self.plans.contains_key(plan));
        self.starts.retain(|_, plan| self.plans.contains_key(plan));
        self.kept.remove(forgotten);
    }

    /// Counts the first bodies of rows that are about to be forgotten among those without a row.
    fn count_forgotten(&mut self, rows: &HashSet<RowId>) {
        for row in rows {
            let first = self.earlier.get(row).and_then(|plans| plans.iter().min()).or(self.of_row.get(row));
            if let Some(traced) = first.and_then(|plan| self.plans.get(plan)) {
                self.bodies.forget_row(traced.body);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CapturePlan;
    use crate::catalogue::Module;
    use crate::instrument::traced_method::{TracedBody, TracedPart, TracingOptions};
    use crate::ledger::copy_identity::CopyIdentity;
    use crate::probes::trace::async_calls::AsyncLink;
    use redial_protocol::ids::ModuleKey;

    static LINK: AsyncLink = AsyncLink::of_class();

    #[test]
    fn starts_belong_to_the_plan_added_last() {
        let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation: 1 }, "Sample"));
        let identity = Arc::new(CopyIdentity::sample(module, 0x0600_0001));
        let mut state = State::new(1);
        for number in [1, 2] {
            let plan = CapturePlan { parameters: Vec::new(), has_this: false, result: None };
            let options = TracingOptions { part: TracedPart::Starts(&LINK), ..TracingOptions::default() };
            let body: &'static TracedBody = Box::leak(Box::new(TracedBody::new(number, plan, options)));
            let row = TracedRow { row: RowId(0), identity: Arc::clone(&identity), body };
            state.plans.insert(number, Arc::new(row));
        }
        let of_starts = |state: &State| state.starts.values().copied().collect::<Vec<u32>>();
        assert!(state.add_active(1) && state.add_active(2));
        assert_eq!(of_starts(&state), [2]);
        assert!(!state.add_active(1), "it is still there");
        state.remove_active(&[2]);
        assert_eq!((of_starts(&state), state.active.len()), (vec![1], 1));
        state.remove_active(&[1]);
        assert!(state.starts.is_empty() && state.active.is_empty());
    }
}

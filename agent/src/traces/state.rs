//! The traced methods with their calls and streams.

use super::async_calls::AsyncCalls;
use super::call::TracedRow;
use super::call_clock::CallClock;
use super::kept_calls::KeptCalls;
use super::stream::CallStream;
use crate::capture::PlannedValue;
use redial_protocol::ids::RowId;
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
        self.of_row.retain(|row, _| !forgotten.contains(row));
        self.earlier.retain(|row, _| !forgotten.contains(row));
        self.plans.retain(|_, traced| !forgotten.contains(&traced.row));
        self.active.retain(|plan| self.plans.contains_key(plan));
        self.starts.retain(|_, plan| self.plans.contains_key(plan));
        self.kept.remove(forgotten);
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

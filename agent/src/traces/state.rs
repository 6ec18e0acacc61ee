//! The traced methods with their calls and streams.

use super::call::TracedRow;
use super::kept_calls::KeptCalls;
use super::stream::CallStream;
use crate::capture::PlannedValue;
use redial_protocol::ids::RowId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The state that the ReJIT thread, the collector and the sessions share.
pub(super) struct State {
    /// Every plan so far by its number. Bodies may still run, and kept calls refer to them.
    pub(super) plans: HashMap<u32, Arc<TracedRow>>,
    /// The values of all plans.
    pub(super) values: HashSet<Arc<PlannedValue>>,
    /// The latest plan of each row.
    pub(super) of_row: BTreeMap<RowId, u32>,
    /// Plans of the rows that are traced now.
    pub(super) active: HashSet<u32>,
    pub(super) kept: KeptCalls,
    pub(super) streams: Vec<Arc<CallStream>>,
    /// Number of the latest call.
    pub(super) number: u64,
    /// Whether a collector runs.
    pub(super) collects: bool,
    /// Calls a second of all methods together.
    pub(super) rate: u64,
}

impl State {
    pub(super) fn new(rate: u64) -> State {
        State {
            plans: HashMap::new(),
            values: HashSet::new(),
            of_row: BTreeMap::new(),
            active: HashSet::new(),
            kept: KeptCalls::default(),
            streams: Vec::new(),
            number: 0,
            collects: false,
            rate,
        }
    }

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

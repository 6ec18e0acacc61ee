//! The ledger's data: every copy that is or was dialled, with wanted and actual level, and the ring of transitions.
#![forbid(unsafe_code)]

use super::bodies::ThreadMark;
use super::copy_identity::CopyIdentity;
use super::recompiled_callers::RecompiledCallers;
use super::request_state::RequestState;
use super::reverting_rows::RevertingRows;
use super::row::Row;
use super::row_notes::RowSnapshot;
use super::row_table::RowTable;
use super::slots::Slots;
use crate::inlining::Method;
use crate::planner::OrderLifetime;
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::message::Transition;
use redial_protocol::reason::Reason;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Instant;

/// Transitions kept for sessions that have not read them yet. A session that falls further behind learns how many
/// it missed and gets the rows' present state.
const RING: usize = 16_384;

/// The data behind the lock.
#[derive(Default)]
pub struct LedgerState {
    rows: RowTable,
    /// Rows of loaded modules, by ModuleID and then by MethodDef row number, as callbacks identify them.
    live: HashMap<usize, Vec<Option<RowId>>>,
    ring: VecDeque<RowSnapshot>,
    /// Number of the ring's first entry.
    ring_first: u64,
    /// Which rows have counters.
    pub slots: Slots,
    compilations: u64,
    /// The last module load of each thread, as far as it matters to open compilations.
    pub(super) module_loads: HashMap<ThreadMark, Instant>,
    /// Copies recompiled because they had inlined dialled methods.
    pub recompiled_callers: RecompiledCallers,
    /// Deferred requests, for methods that were being inlined.
    pub deferred: DeferredRequests,
    /// Rows that may have calls in flight in earlier bodies.
    pub reverting: RevertingRows,
    /// Rows that the runtime passed over, not reported yet.
    pub(super) ignored: BTreeSet<RowId>,
    /// Whether an order on an async method ever applied to its `MoveNext`.
    follows_bodies: bool,
    stopping: bool,
}

/// Deferred parts of requests.
#[derive(Default)]
pub struct DeferredRequests {
    /// Rows.
    pub rows: BTreeSet<RowId>,
    /// Recompiled callers, and rows that become such.
    pub recompiled_callers: HashSet<Method>,
}

impl DeferredRequests {
    /// Whether nothing is deferred.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.recompiled_callers.is_empty()
    }
}

impl LedgerState {
    /// Counts a compilation that the agent caused.
    pub(super) fn add_compilation(&mut self) {
        self.compilations += 1;
    }

    /// Records that an order on an async method applies to its `MoveNext`.
    pub fn note_inherited(&mut self) {
        self.follows_bodies = true;
    }

    /// Whether an order on an async method ever applied to its `MoveNext`.
    pub fn follows_bodies(&self) -> bool {
        self.follows_bodies
    }

    /// Records that the agent stops.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
    }

    /// Hides a copy of an unloading module from callbacks; `method` identifies it.
    pub(super) fn unlist(&mut self, module_id: usize, token: u32) {
        if let Some(entry) = self.live.get_mut(&module_id).and_then(|rows| rows.get_mut(index(token))) {
            *entry = None;
        }
    }

    /// Drops the list of a module after all its copies were removed: modules come and go.
    pub(super) fn drop_empty_list(&mut self, module_id: usize) {
        if self.live.get(&module_id).is_some_and(|rows| rows.iter().all(Option::is_none)) {
            self.live.remove(&module_id);
        }
    }

    /// Retires the rows of an unloaded module.
    pub(super) fn retire(&mut self, rows: Vec<RowId>) {
        self.rows.retire(rows);
    }

    /// Whether the agent is stopping.
    pub fn stopping(&self) -> bool {
        self.stopping
    }

    /// Returns all rows, in order of [`RowId`].
    pub fn rows(&self) -> &RowTable {
        &self.rows
    }

    /// Returns a row.
    pub fn row(&self, id: RowId) -> Option<&Row> {
        self.rows.get(id)
    }

    /// Returns a row for changing.
    pub fn row_mut(&mut self, id: RowId) -> Option<&mut Row> {
        self.rows.get_mut(id)
    }

    /// Returns the number of compilations that the agent has caused, in all versions and tiers.
    pub fn compilations(&self) -> u64 {
        self.compilations
    }

    /// Adds a row for a copy that has none. None if there is no room.
    pub fn add_row(&mut self, identity: CopyIdentity, ineligible: Option<Reason>) -> Option<RowId> {
        let (module, at) = (identity.module.id(), index(identity.token));
        let id = self.rows.add(identity, ineligible)?;
        let of_module = self.live.entry(module).or_default();
        if of_module.len() <= at {
            of_module.resize(at + 1, None);
        }
        if let Some(entry) = of_module.get_mut(at) {
            *entry = Some(id);
        }
        Some(id)
    }

    /// Returns the row of a copy identified by a callback.
    pub fn find(&self, module_id: usize, token: u32) -> Option<RowId> {
        self.live.get(&module_id)?.get(index(token)).copied().flatten()
    }

    /// Whether a copy has an active request.
    pub fn is_on(&self, method: Method) -> bool {
        self.find(method.0, method.1).and_then(|id| self.row(id)).is_some_and(Row::is_on)
    }

    /// Adds a row's present state to the ring.
    pub fn record_transition(&mut self, id: RowId, now: u64) {
        let Some(snapshot) = self.row(id).map(|row| row.snapshot(now)) else { return };
        if self.ring.len() >= RING {
            self.ring.pop_front();
            self.ring_first += 1;
        }
        self.ring.push_back(snapshot);
    }

    /// Returns the number that the next transition will have.
    pub fn ring_end(&self) -> u64 {
        self.ring_first + self.ring.len() as u64
    }

    /// Returns at most `limit` transitions from number `seen` on, and how many were lost before them. The last of
    /// each row includes its present instances; the ring keeps none, because a generic method may have hundreds.
    pub fn transitions(&self, seen: u64, limit: usize) -> (Vec<Transition>, u64) {
        let lost = self.ring_first.saturating_sub(seen);
        let skip = seen.saturating_sub(self.ring_first) as usize;
        let moments: Vec<&RowSnapshot> = self.ring.iter().skip(skip).take(limit).collect();
        let mut brought = HashSet::new();
        let transition = |snapshot: &&RowSnapshot| {
            let row = self.row(snapshot.row).filter(|_| brought.insert(snapshot.row));
            snapshot.transition(row.map(|row| row.bodies.shown_instances()).unwrap_or_default())
        };
        let mut page: Vec<Transition> = moments.iter().rev().map(transition).collect();
        page.reverse();
        (page, lost)
    }

    /// Returns the rows of a loaded module, ascending.
    pub(super) fn rows_of(&self, key: ModuleKey) -> Vec<RowId> {
        let of_module = self.live.get(&(key.module_id as usize)).into_iter().flatten().copied().flatten();
        let is_of_it = |id: &RowId| self.row(*id).is_some_and(|row| row.identity.module.key == key);
        let mut rows: Vec<RowId> = of_module.filter(is_of_it).collect();
        rows.sort_unstable();
        rows
    }

    /// Counts the copies that are on (pending or live).
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for row in self.rows.iter().filter(|row| row.is_on()) {
            totals.live += u64::from(matches!(row.state, RequestState::Live { .. }));
            match row.wanted.owner {
                _ if !row.wanted.is_on() => totals.awaiting_revert += 1,
                Some(OrderLifetime::Held(_)) => totals.held += 1,
                _ => totals.kept += 1,
            }
        }
        totals
    }
}

/// Numbers of copies that are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those with a live body.
    pub live: u64,
    /// Those on by kept orders.
    pub kept: u64,
    /// Those on by held orders.
    pub held: u64,
    /// Those that should be off.
    pub awaiting_revert: u64,
}

/// Returns the row number of a MethodDef token.
fn index(token: u32) -> usize {
    (token & 0x00FF_FFFF) as usize
}

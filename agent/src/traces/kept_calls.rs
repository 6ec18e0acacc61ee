//! The latest calls of each traced method.

use super::call::Call;
use redial_protocol::ids::RowId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Calls kept of a method.
const MAX_CALLS: usize = 64;
/// Maximum bytes of all kept calls: with the areas of threads, 64 MiB.
const BUDGET: usize = 16 << 20;
/// Bytes of a call besides its captured ones.
const OVERHEAD: usize = 160;

/// The latest calls of methods, within a budget. If it is exceeded, the calls of the method go that was not called for
/// longest.
#[derive(Default)]
pub(super) struct KeptCalls {
    rows: HashMap<RowId, VecDeque<Arc<Call>>>,
    /// Rows by the number of their latest call.
    latest: BTreeMap<u64, RowId>,
    bytes: usize,
}

impl KeptCalls {
    pub(super) fn add(&mut self, call: Arc<Call>) {
        let row = call.row.row;
        let calls = self.rows.entry(row).or_default();
        if let Some(before) = calls.back() {
            self.latest.remove(&before.number);
        }
        self.latest.insert(call.number, row);
        self.bytes += bytes(&call);
        calls.push_back(call);
        if calls.len() > MAX_CALLS
            && let Some(oldest) = calls.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(bytes(&oldest));
        }
        while self.bytes > BUDGET
            && self.latest.len() > 1
            && let Some((_, row)) = self.latest.pop_first()
        {
            let gone: usize = self.rows.remove(&row).iter().flatten().map(|call| bytes(call)).sum();
            self.bytes = self.bytes.saturating_sub(gone);
        }
    }

    /// Forgets the calls of rows.
    pub(super) fn remove(&mut self, rows: impl IntoIterator<Item = RowId>) {
        for row in rows {
            let calls = self.rows.remove(&row).unwrap_or_default();
            if let Some(latest) = calls.back() {
                self.latest.remove(&latest.number);
            }
            let gone: usize = calls.iter().map(|call| bytes(call)).sum();
            self.bytes = self.bytes.saturating_sub(gone);
        }
        if self.rows.is_empty() {
            // A map keeps its room.
            *self = KeptCalls::default();
        }
    }

    /// Returns the calls of rows that match, each row's oldest first.
    pub(super) fn of(&self, matches: impl Fn(&Call) -> bool) -> Vec<Arc<Call>> {
        let mut rows: Vec<(&RowId, &VecDeque<Arc<Call>>)> = self.rows.iter().collect();
        rows.sort_by_key(|(row, _)| **row);
        let rows = rows.into_iter().filter(|(_, calls)| calls.front().is_some_and(|call| matches(call)));
        rows.flat_map(|(_, calls)| calls.iter().cloned()).collect()
    }

    /// Returns the bytes of all kept calls.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn bytes(call: &Call) -> usize {
    OVERHEAD + call.call.bytes.len() + call.completion().map_or(0, |completion| completion.call.bytes.len())
}

//! Opens and closes the completion counters of async methods.
#![forbid(unsafe_code)]

use super::async_role::AsyncRole;
use super::row::Row;
use super::row_timing::BodyTiming;
use super::state::LedgerState;
use crate::instrument::timed_body::Timing;
use crate::probes::blocks::Slot;
use crate::probes::completions::Account;
use redial_protocol::diagnostics::UnseenCompletions;
use redial_protocol::ids::RowId;
use std::sync::Arc;

/// Completion counters to open before requesting the body that records in these slots.
pub type AccountStart = (Arc<Account>, Slot);

impl LedgerState {
    /// Sets the role of a row that is about to be requested. Gives a `MoveNext` slots for its completion counters,
    /// and returns them.
    pub fn open_account(&mut self, id: RowId, is: Option<AsyncRole>, now: u64) -> Option<AccountStart> {
        let row = self.row_mut(id)?;
        // A row that is only counted now keeps its earlier role: there are last numbers.
        row.timing.async_role = is.or(row.timing.async_role.take());
        let Some(AsyncRole::Completes(account)) = row.timing.async_role.clone() else { return None };
        let (module, has) = (row.identity.module.id(), row.timing.async_slots);
        let timing = row.timing.body.timing()?;
        let slots = has.or_else(|| self.slots.allocate_run());
        let row = self.row_mut(id)?;
        row.timing.async_slots = slots;
        let Some(slots) = slots else {
            row.timing.async_role = Some(AsyncRole::Unseen(UnseenCompletions::NoRoom));
            return None;
        };
        let offset = slots.0 as usize * size_of::<u64>();
        row.timing.body = BodyTiming::Timed(Timing { noted_at: Some(offset), ..timing });
        if account.opens() {
            self.record_method_transition(module, account.method, now);
        }
        Some((account, slots))
    }

    /// Ends the observation of completions in a row's body, because it is turned down or has gone.
    pub fn close_account(&mut self, id: RowId, now: u64) {
        let row = self.row(id);
        let closed = row.and_then(|row| Some((row.identity.module.id(), row.completes()?.method)));
        let closed = closed.filter(|_| row.and_then(Row::completes).is_some_and(|account| account.close()));
        if let Some((module, method)) = closed {
            self.record_method_transition(module, method, now);
        }
    }

    /// Announces that an async method's times now lack other data.
    fn record_method_transition(&mut self, module: usize, method: u32, now: u64) {
        let id = self.find(module, method);
        if let Some(id) = id.filter(|id| self.row(*id).is_some_and(|row| row.wanted.is_timed())) {
            self.record_transition(id, now);
        }
    }
}

//! Gives slots to rows.
#![forbid(unsafe_code)]

use super::async_role::AsyncRole;
use super::counters::{Counters, Recorded};
use super::request_state::RequestState;
use super::row::Row;
use super::slots::CountedRow;
use super::state::LedgerState;
use crate::probes::blocks::Slot;
use redial_protocol::ids::RowId;

impl LedgerState {
    /// Gives a row its counters. False if the budget is used up, or if the row is lost: nothing would free the slot.
    pub fn assign_slot(&mut self, id: RowId) -> bool {
        let Some(row) = self.row(id) else { return false };
        if row.counters.slot().is_some() {
            return true;
        }
        if row.state == RequestState::Lost {
            return false;
        }
        let Some((slot, start)) = self.slots.take() else { return false };
        if let Some(row) = self.row_mut(id) {
            row.counters = Counters::Active { slot, start, recorded: Recorded::default() };
        }
        self.slots.counted.push(CountedRow { row: id, slot, start, timed: false, completion_slot: None });
        self.slots.revision += 1;
        true
    }

    /// Updates which rows have times, after new ones were requested.
    pub fn note_timed(&mut self) {
        let mut counted = std::mem::take(&mut self.slots.counted);
        for one in &mut counted {
            let row = self.row(one.row);
            one.timed = row.is_some_and(|row| row.counters.recorded().times);
            one.completion_slot = row.and_then(|row| self.completion_slot(row));
        }
        self.slots.counted = counted;
        self.slots.revision += 1;
    }

    fn completion_slot(&self, row: &Row) -> Option<Slot> {
        let Some(AsyncRole::Starts(account)) = &row.timing.async_role else { return None };
        self.row(self.find(row.identity.module.id(), account.move_next)?)?.counters.slot()
    }
}

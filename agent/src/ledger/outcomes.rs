//! Rows that the runtime stops running: failed, refused, or turned off.
#![forbid(unsafe_code)]

use super::request_state::RequestState;
use super::row::Row;
use super::state::LedgerState;
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;

impl LedgerState {
    /// Marks a row as failed or refused.
    pub fn fail(&mut self, id: RowId, state: RequestState, reason: Reason, hresult: u32, now: u64) {
        // A lost copy stays lost, whatever becomes known afterwards.
        self.close_account(id, now);
        if let Some(row) = self.row_mut(id).filter(|row| row.state != RequestState::Lost) {
            row.state = state;
            row.reason = Some((reason, hresult));
            row.bodies.retire_instances();
            self.record_transition(id, now);
        }
    }

    /// Sets a row to off, or to reverting while calls are in flight.
    pub fn mark_off(&mut self, id: RowId, in_flight: bool, now: u64) {
        self.close_account(id, now);
        let Some(row) = self.row_mut(id) else { return };
        row.reset_to_original(in_flight);
        if in_flight {
            self.reverting.rows.insert(id);
            self.reverting.added += 1;
        }
        self.record_transition(id, now);
    }

    /// Records that no order stands. Returns the rows that one decided, and those that are on.
    pub fn without_orders(&mut self) -> Vec<RowId> {
        let is_decided = |row: &Row| row.wanted.deciding_order.is_some() && !row.identity.module.is_gone();
        let affected = |row: &&Row| row.is_on() || is_decided(row);
        let rows: Vec<RowId> = self.rows().iter().filter(affected).map(|row| row.id).collect();
        for id in &rows {
            if let Some(row) = self.row_mut(*id) {
                row.wanted.deciding_order = None;
            }
        }
        rows
    }

    /// Returns the rows that still revert; the others were turned on again, or are gone.
    pub fn still_reverting(&mut self) -> (Vec<RowId>, u64) {
        let mut rows = std::mem::take(&mut self.reverting.rows);
        rows.retain(|id| self.row(*id).is_some_and(|row| row.state == RequestState::Reverting));
        let listed = rows.iter().copied().collect();
        self.reverting.rows = rows;
        (listed, self.reverting.added)
    }

    /// Calls of these rows are no longer in flight: they are off, unless they were turned on meanwhile.
    pub fn ended(&mut self, rows: &[RowId], now: u64) {
        for id in rows {
            if let Some(row) = self.row_mut(*id).filter(|row| row.state == RequestState::Reverting) {
                row.state = RequestState::Off;
                self.record_transition(*id, now);
            }
            self.reverting.rows.remove(id);
        }
    }
}

//! The times that a session watches: sends those that changed since they were last sent, in one pass no more than
//! there is time for; the others follow in the next passes.
#![forbid(unsafe_code)]

use super::times::{TimesReader, async_roles};
use crate::ledger::Ledger;
use crate::ledger::slots::CountedRow;
use crate::probes::blocks::Slot;
use crate::probes::slot_changes::SlotChanges;
use crate::probes::timers;
use redial_protocol::ids::RowId;
use redial_protocol::limits::TIMES_PER_PAGE;
use redial_protocol::times::Times;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// Rows to read between two checks of the time.
const ROWS_PER_CHECK: usize = 64;

/// A row, and the slot that shows by its calls when the row's times changed.
#[derive(Clone, Copy, Debug)]
pub struct WatchedRow {
    row: RowId,
    slot: Slot,
    looked_at: Slot,
}

impl WatchedRow {
    /// Watches a row by its own calls, in its slot.
    pub fn own(row: RowId, slot: Slot) -> WatchedRow {
        WatchedRow { row, slot, looked_at: slot }
    }

    /// Also watches it by calls of the `MoveNext` in which its calls complete.
    pub fn of(counted: &CountedRow) -> impl Iterator<Item = WatchedRow> {
        let own = WatchedRow::own(counted.row, counted.slot);
        let other = counted.completion_slot.map(|slot| WatchedRow { looked_at: slot, ..own });
        [Some(own), other].into_iter().flatten()
    }
}

/// The watched rows, and their last sent times.
#[derive(Default)]
pub struct WatchedTimes {
    rows: Vec<WatchedRow>,
    /// Changes of the watched slots, by the same indices.
    changes: SlotChanges,
    /// Indices of rows that changed and were not sent since.
    due: BTreeSet<usize>,
    /// The index to continue with, so that no row waits for ever.
    next: usize,
    /// Calls in flight and calls ended, as last sent; for an async method also its starts and completions. If none
    /// of these changed, no time did.
    sent: HashMap<RowId, [u64; 4]>,
    reader: TimesReader,
}

impl WatchedTimes {
    /// Watches these rows from now on, and no others.
    pub fn watch(&mut self, rows: Vec<WatchedRow>) {
        self.changes = SlotChanges::of(rows.iter().map(|one| one.looked_at).collect());
        // The first check reports everything that ever changed.
        self.due.clear();
        let before = std::mem::take(&mut self.sent);
        self.sent = rows.iter().filter_map(|one| Some((one.row, *before.get(&one.row)?))).collect();
        self.rows = rows;
    }

    /// Sends changed times. `until` bounds the reading, except for the first few rows. `send` returns whether to go
    /// on, as does this.
    pub fn send(
        &mut self,
        ledger: &Ledger,
        until: Option<Instant>,
        mut send: impl FnMut(Vec<Times>) -> bool,
    ) -> bool {
        self.due.extend(self.changes.take());
        if self.due.is_empty() {
            return true;
        }
        self.reader.calibrate();
        let order: Vec<usize> =
            self.due.range(self.next..).chain(self.due.range(..self.next)).copied().collect();
        let mut page = Vec::new();
        for (part, places) in order.chunks(ROWS_PER_CHECK).enumerate() {
            if part > 0 && until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            page.extend(self.read(ledger, places));
            if page.len() + ROWS_PER_CHECK > TIMES_PER_PAGE && !send(std::mem::take(&mut page)) {
                return false;
            }
        }
        page.is_empty() || send(page)
    }

    /// Returns the times of the rows at these indices, if they differ from the last sent ones.
    fn read(&mut self, ledger: &Ledger, places: &[usize]) -> Vec<Times> {
        let mut rows: Vec<(RowId, Slot)> =
            places.iter().filter_map(|place| self.rows.get(*place)).map(|one| (one.row, one.slot)).collect();
        // The two entries of an async method are adjacent.
        rows.dedup();
        for place in places {
            self.due.remove(place);
            self.next = place + 1;
        }
        let slots: Vec<Slot> = rows.iter().map(|(_, slot)| *slot).collect();
        let roles = async_roles(ledger, rows.iter().map(|(id, _)| *id));
        let sums = rows.into_iter().zip(timers::sums(&slots)).zip(roles);
        let changed = sums.filter(|(((id, _), sums), role)| {
            let of_calls = role.as_ref().and_then(|role| role.account()?.read()).unwrap_or_default();
            let now = [sums.in_flight, sums.exits, of_calls.starts, of_calls.completions];
            self.sent.get(id).copied().unwrap_or_default() != now
        });
        let changed: Vec<(RowId, Slot)> = changed.map(|((row, _), _)| row).collect();
        let times = self.reader.of_slots(ledger, &changed);
        let sent = |one: &Times| {
            let of_calls = one.completions.unwrap_or_default();
            (one.row, [one.in_flight, one.exits, of_calls.starts, of_calls.completions])
        };
        self.sent.extend(times.iter().map(sent));
        times
    }
}

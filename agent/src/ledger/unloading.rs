//! Handles modules that unload: their rows are lost, with their last numbers, and other rows get their slots. The host's
//! thread that unloads only marks the rows. The ReJIT thread does what takes longer with more threads.
#![forbid(unsafe_code)]

use super::counters::{Counters, FinalNumbers};
use super::lock::Ledger;
use super::request_state::RequestState;
use super::slots::CountedRow;
use super::state::LedgerState;
use crate::probes::blocks::{self, Slot};
use crate::probes::completions::Account;
use crate::probes::condition_setter;
use crate::probes::histogram::Histogram;
use crate::probes::timers;
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use std::collections::HashMap;
use std::sync::Arc;

impl Ledger {
    /// Handles the unload of a module: marks its rows as lost, and returns them for [`Ledger::finish_unload`]. Until then they
    /// keep their slots, so their numbers are still there.
    pub fn unload(&self, key: ModuleKey) -> Vec<RowId> {
        self.change(|locked, _| locked.unload(key))
    }

    /// Freezes the last numbers of lost rows, and frees their slots. Sums over all threads, so not for threads of the
    /// host.
    pub fn finish_unload(&self, lost: Vec<RowId>) {
        let (counted, accounts) = {
            let locked = self.lock();
            (locked.counted_of(&lost), locked.accounts_of(&lost))
        };
        accounts.iter().for_each(|account| account.finish());
        // Their code no longer runs.
        let last = last_numbers(&counted);
        self.change(|locked, now| locked.finish_unload(lost, last, now));
        for CountedRow { slot, timed, .. } in &counted {
            condition_setter::set(*slot, TimeOptions::default());
            if *timed {
                timers::reset(*slot);
            }
        }
        let slots: Vec<Slot> = counted.iter().map(|one| one.slot).collect();
        let mut sums = Vec::new();
        blocks::sum(&slots, &mut sums);
        self.lock().slots.give_back(slots.into_iter().zip(sums));
    }
}

impl LedgerState {
    /// Returns the completion counters of rows.
    fn accounts_of(&self, rows: &[RowId]) -> Vec<Arc<Account>> {
        rows.iter().filter_map(|id| self.row(*id)?.completes().map(Arc::clone)).collect()
    }

    /// Returns the counters of rows.
    fn counted_of(&self, rows: &[RowId]) -> Vec<CountedRow> {
        let counted = rows.iter().filter_map(|id| {
            let row = self.row(*id)?;
            let Counters::Active { slot, start, recorded } = row.counters else { return None };
            Some(CountedRow { row: row.id, slot, start, timed: recorded.times, completion_slot: None })
        });
        counted.collect()
    }

    /// Marks the rows of an unloading module as lost.
    fn unload(&mut self, key: ModuleKey) -> Vec<RowId> {
        let lost = self.rows_of(key);
        for id in &lost {
            let Some(row) = self.row_mut(*id) else { continue };
            row.state = RequestState::Lost;
            (row.wanted.level, row.wanted.options) = (Level::Off, TimeOptions::default());
            row.reason = Some((Reason::Unloaded, 0));
            row.bodies.retire_instances();
            row.completes().map(|account| account.close());
            let token = row.identity.token;
            self.unlist(key.module_id as usize, token);
        }
        self.recompiled_callers.forget(key.module_id as usize);
        self.drop_empty_list(key.module_id as usize);
        lost
    }

    /// Gives lost rows their last numbers and takes their slots.
    fn finish_unload(&mut self, lost: Vec<RowId>, mut last: HashMap<RowId, FinalNumbers>, now: u64) {
        for id in lost.iter().copied() {
            let Some(row) = self.row_mut(id) else { continue };
            row.counters.retire(last.remove(&id).unwrap_or_default());
            let run = row.timing.async_slots.take();
            run.into_iter().for_each(|run| self.slots.free_run(run));
            self.record_transition(id, now);
        }
        self.slots.forget(&lost);
        self.retire(lost);
    }
}

fn last_numbers(counted: &[CountedRow]) -> HashMap<RowId, FinalNumbers> {
    let slots: Vec<Slot> = counted.iter().map(|one| one.slot).collect();
    let mut sums = Vec::new();
    blocks::sum(&slots, &mut sums);
    let calls = |(one, sum): (&CountedRow, u64)| {
        (one.row, FinalNumbers { calls: sum.saturating_sub(one.start), times: None })
    };
    let mut last: HashMap<RowId, FinalNumbers> = counted.iter().zip(sums).map(calls).collect();
    let timed: Vec<&CountedRow> = counted.iter().filter(|one| one.timed).collect();
    let slots: Vec<Slot> = timed.iter().map(|one| one.slot).collect();
    for (one, taken) in timed.into_iter().zip(timers::slot_times(&slots, &mut Histogram::default())) {
        if let Some(last) = last.get_mut(&one.row) {
            last.times = Some(Box::new(taken));
        }
    }
    last
}

/// Tests, and test ledgers for other modules.
#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::catalogue::Module;
    use crate::ledger::copy_identity::CopyIdentity;
    use crate::ledger::request_state::ActiveRequest;
    use crate::ledger::row_timing::BodyTiming;
    use crate::probes::missing_data::{self, MissingData};
    use crate::probes::time_helper;
    use crate::sync::ShortLock;
    use redial_protocol::diagnostics::RowNote;
    use redial_protocol::level::Level;
    use redial_protocol::state::CopyState;
    use std::collections::HashSet;
    use std::sync::Arc;

    /// Makes a ledger with slots of its own, if each test uses different numbers.
    pub fn ledger(first_slot: u32) -> Ledger {
        let ledger = Ledger::default();
        ledger.lock().slots.next = first_slot;
        ledger
    }

    /// Adds a live row, timed in a slot; returns its module key, row id and slot.
    pub fn timed(ledger: &Ledger, module_id: u64) -> (ModuleKey, RowId, Slot) {
        let key = ModuleKey { module_id, generation: module_id as u32 };
        let identity = CopyIdentity::sample(Arc::new(Module::sample(key, "Sample")), 0x0600_0001);
        let mut locked = ledger.lock();
        let id = locked.add_row(identity, None).unwrap();
        assert!(locked.assign_slot(id));
        let row = locked.row_mut(id).unwrap();
        let request = ActiveRequest { level: Level::Time, body: BodyTiming::NotWanted };
        (row.wanted.level, row.state) = (Level::Time, RequestState::Live { request, version: 0 });
        row.counters.will_record(true, false);
        let slot = row.counters.slot().unwrap();
        locked.note_timed();
        (key, id, slot)
    }

    /// Makes this many calls, on a new thread.
    pub fn calls(slot: Slot, number: u32) {
        let run = move || (0..number).for_each(|_| time_helper::tests::call(slot.0, &mut 0, || true));
        std::thread::spawn(run).join().unwrap();
    }

    #[test]
    fn unload_keeps_last_numbers_and_frees_the_slot() {
        let ledger = ledger(140);
        let (key, row, slot) = timed(&ledger, 1);
        calls(slot, 3);
        missing_data::note(slot.0 as usize * 8, MissingData::Buckets);
        let revision = ledger.lock().slots.revision;
        let lost = {
            // Nothing that takes longer with more threads (debug builds).
            let _host = ShortLock::begin();
            ledger.unload(key)
        };
        let status_of = |id| {
            ledger
                .lock()
                .row(id)
                .map(|row| (row.status(String::new(), 0), row.counters.final_calls()))
                .unwrap()
        };
        assert_eq!(status_of(row).0.state, CopyState::Lost);
        assert_eq!(
            ledger.lock().row(row).and_then(|row| row.counters.slot()),
            Some(slot),
            "its numbers are there"
        );
        ledger.finish_unload(lost);

        let (status, final_calls) = status_of(row);
        assert_eq!((status.state, final_calls), (CopyState::Lost, 3));
        assert_eq!(status.note, Some(RowNote::NotDialled { reason: Reason::Unloaded, hresult: 0 }));
        let missing = status.times_note.and_then(|note| note.missing);
        assert_eq!(missing, MissingData::Buckets.code(), "the note about its times stays");
        let times = *ledger.lock().row(row).and_then(|row| row.counters.last()?.times.as_deref()).unwrap();
        assert_eq!(
            (times.sums.exits, times.percentiles, times.missing_data),
            (3, None, MissingData::Buckets)
        );
        let lost = ledger.lock().slots.lost_since(revision, [row].into_iter());
        assert_eq!(lost, HashSet::from([row]));

        let (other_key, other, again) = timed(&ledger, 2);
        assert_eq!((again, ledger.lock().slots.ever()), (slot, 141), "no slot more");
        calls(again, 2);
        assert_eq!(timers::sum(again).exits, 2);
        assert_eq!(status_of(other).0.times_note, None);
        ledger.finish_unload(ledger.unload(other_key));
        assert_eq!((status_of(other).1, status_of(row).1), (2, 3));
    }

    #[test]
    fn lost_rows_get_no_slot() {
        let ledger = ledger(190);
        let (key, row, _) = timed(&ledger, 1);
        ledger.finish_unload(ledger.unload(key));
        let mut locked = ledger.lock();
        assert!(!locked.assign_slot(row));
        assert_eq!(locked.row(row).map(|row| row.counters.slot()), Some(None));
    }
}

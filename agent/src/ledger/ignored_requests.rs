//! Finds requests that the runtime accepts but ignores. `eligibility.rs` refuses the known cases beforehand; this
//! finds others by a sign that the method is called nevertheless: the runtime compiles its original code for the
//! first time after the request. For a generic method it may be one of many instances.
#![forbid(unsafe_code)]

use super::lock::Ledger;
use super::request_state::IgnoredRequest;
use super::state::LedgerState;
use redial_protocol::ids::RowId;
use std::time::{Duration, Instant};

/// How long the runtime may take to compile the instrumented body after it compiled the original: a thread that
/// chose the original code just before the request compiles that, and the next call takes the instrumented body.
const RECOMPILATION_TIME: Duration = Duration::from_secs(2);

impl LedgerState {
    /// Returns the row of a copy that is on, unless it is already passed over.
    pub fn on_and_not_ignored(&self, module_id: usize, token: u32) -> Option<RowId> {
        let row = self.find(module_id, token).and_then(|id| self.row(id))?;
        (row.is_on() && row.ignored_request.is_none()).then_some(row.id)
    }

    /// The runtime compiled original code of a row for the first time, in spite of its request.
    pub fn note_ignored(&mut self, id: RowId, function: usize) {
        if let Some(row) = self.row_mut(id) {
            row.ignored_request = Some(IgnoredRequest { function, since: Instant::now(), reported: false });
            self.ignored.insert(id);
        }
    }

    /// Returns the rows that were passed over longer than `patience` ago and have not been reported. Drops them
    /// from the set, along with rows that are off or were not passed over after all.
    fn due_ignored_requests(&mut self, patience: Duration) -> Vec<RowId> {
        let mut ignored = std::mem::take(&mut self.ignored);
        let seen_of =
            |id: &RowId| self.row(*id).filter(|row| row.is_on()).and_then(|row| row.ignored_request);
        ignored.retain(|id| seen_of(id).is_some_and(|seen| !seen.reported));
        let is_due = |id: &RowId| seen_of(id).is_some_and(|seen| seen.since.elapsed() >= patience);
        let due: Vec<RowId> = ignored.iter().copied().filter(is_due).collect();
        due.iter().for_each(|id| {
            ignored.remove(id);
        });
        self.ignored = ignored;
        due
    }
}

impl Ledger {
    /// Reports the rows that were passed over a while ago.
    pub fn report_ignored_requests(&self) {
        let ignored = self.lock().due_ignored_requests(RECOMPILATION_TIME);
        if ignored.is_empty() {
            return;
        }
        self.change(|ledger, now| {
            for id in ignored {
                if let Some(seen) = ledger.row_mut(id).and_then(|row| row.ignored_request.as_mut()) {
                    seen.reported = true;
                    ledger.record_transition(id, now);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::request_state::RequestState;
    use crate::ledger::unloading::tests::{ledger, timed};

    #[test]
    fn reports_passed_over_rows_once() {
        const LONG: Duration = Duration::from_secs(3600);
        let ledger = ledger(180);
        let [(_, ignored, _), (_, other, _), (_, off, _)] = [1, 2, 3].map(|module| timed(&ledger, module));
        let mut locked = ledger.lock();
        assert!(locked.due_ignored_requests(Duration::ZERO).is_empty());
        [ignored, other, off].into_iter().for_each(|id| locked.note_ignored(id, 77));
        assert!(locked.due_ignored_requests(LONG).is_empty() && locked.ignored.len() == 3, "not yet");
        // One is compiled after all; one is turned off.
        locked.row_mut(other).unwrap().note_request(77);
        locked.row_mut(off).unwrap().state = RequestState::Off;
        assert_eq!(locked.due_ignored_requests(Duration::ZERO), [ignored]);
        assert!(locked.ignored.is_empty());
    }
}

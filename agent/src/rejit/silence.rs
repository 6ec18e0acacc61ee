//! Requests that the runtime accepts and does nothing about. Those that are known to be in vain are refused beforehand
//! (`eligibility.rs`); this finds others, by what shows that a method is called all the same: the runtime compiles original
//! code of it for the first time after the request. It may be one of many that a generic method has.
#![forbid(unsafe_code)]

use super::ledger::Book;
use super::row::Row;
use crate::agent::Agent;
use redial_protocol::ids::RowId;
use std::time::{Duration, Instant};

/// How long the runtime may take to compile the body of a method that it compiled without: a thread that had chosen the
/// original code just before the request compiles that, and the next call takes ours.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was seen of a row's method after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// FunctionID of the original code that was compiled for the first time.
    function: usize,
    /// When.
    since: Instant,
    /// That is so long ago that it is told of.
    pub told: bool,
}

impl Agent {
    /// `JITCompilationStarted`: original code, for which the runtime asks us nothing.
    pub fn jit_started(&self, function: usize) {
        self.inlining.compiling(function);
        if !self.has_orders() {
            return;
        }
        let Ok((module, token)) = self.info.function_info(function) else { return };
        let row = self.ledger.book().on_and_not_passed_over(module, token);
        // Code that is there is only compiled better: that says nothing of calls.
        if let Some(row) = row.filter(|_| !self.info.has_code(function, 0)) {
            self.ledger.book().pass_over(row, function);
        }
    }

    /// Tells of the rows that were passed over a while ago.
    pub(super) fn look_after_silent_requests(&self) {
        let silent = self.ledger.book().no_longer_silent(PATIENCE);
        if silent.is_empty() {
            return;
        }
        self.ledger.change(|book, now| {
            for id in silent {
                if let Some(seen) = book.row_mut(id).and_then(|row| row.passed_over.as_mut()) {
                    seen.told = true;
                    book.announce(id, now);
                }
            }
        });
    }
}

impl Row {
    /// `ReJITCompilationStarted`: a function was not passed over.
    pub(super) fn was_asked_for(&mut self, function: usize) {
        self.passed_over.take_if(|seen| seen.function == function);
    }
}

impl Book {
    /// The row of a copy that is on, unless it is known to be passed over.
    fn on_and_not_passed_over(&self, module_id: usize, token: u32) -> Option<RowId> {
        let row = self.find(module_id, token).and_then(|id| self.row(id))?;
        (row.is_on() && row.passed_over.is_none()).then_some(row.id)
    }

    fn pass_over(&mut self, id: RowId, function: usize) {
        if let Some(row) = self.row_mut(id) {
            row.passed_over = Some(PassedOver { function, since: Instant::now(), told: false });
            self.silent.insert(id);
        }
    }

    /// Rows that were passed over longer than `patience` ago, and were not told of. They are looked at no more, nor are those
    /// that were not passed over after all, or are off.
    fn no_longer_silent(&mut self, patience: Duration) -> Vec<RowId> {
        let mut silent = std::mem::take(&mut self.silent);
        let seen_of = |id: &RowId| self.row(*id).filter(|row| row.is_on()).and_then(|row| row.passed_over);
        silent.retain(|id| seen_of(id).is_some_and(|seen| !seen.told));
        let is_due = |id: &RowId| seen_of(id).is_some_and(|seen| seen.since.elapsed() >= patience);
        let due: Vec<RowId> = silent.iter().copied().filter(is_due).collect();
        due.iter().for_each(|id| {
            silent.remove(id);
        });
        self.silent = silent;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rejit::slots::tests::{ledger, timed};
    use redial_protocol::state::State;

    #[test]
    fn only_what_was_passed_over_is_looked_at_and_told_of_once() {
        const LONG: Duration = Duration::from_secs(3600);
        let ledger = ledger(180);
        let [(_, silent, _), (_, other, _), (_, off, _)] = [1, 2, 3].map(|module| timed(&ledger, module));
        let mut book = ledger.book();
        assert!(book.no_longer_silent(Duration::ZERO).is_empty());
        [silent, other, off].into_iter().for_each(|id| book.pass_over(id, 77));
        assert!(book.no_longer_silent(LONG).is_empty() && book.silent.len() == 3, "not yet");
        // Compiled anew after all; turned off.
        book.row_mut(other).unwrap().was_asked_for(77);
        book.row_mut(off).unwrap().state = State::Off;
        assert_eq!(book.no_longer_silent(Duration::ZERO), [silent]);
        assert!(book.silent.is_empty());
    }
}

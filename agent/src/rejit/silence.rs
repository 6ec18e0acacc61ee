//! Requests that the runtime accepts and does nothing about. Those that are known to be in vain are refused beforehand
//! (`eligibility.rs`); this finds others, by what shows that a method is called all the same: the runtime compiles its
//! original code for the first time after the request.
#![forbid(unsafe_code)]

use super::ledger::Book;
use super::row::Row;
use crate::agent::Agent;
use redial_protocol::ids::RowId;
use redial_protocol::state::State;
use std::time::{Duration, Instant};

/// How long the runtime may take to ask for a body whose method it compiled without: a thread that had chosen the original
/// code just before the request compiles that, and the next call asks.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was seen of a row's method after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// When its original code was compiled for the first time.
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
        let awaited = self.ledger.book().awaited(module, token);
        // Code that is there is only compiled better: that says nothing of calls.
        if let Some(row) = awaited.filter(|_| !self.info.has_code(function, 0)) {
            self.ledger.book().pass_over(row);
        }
    }

    /// Tells of the rows that were passed over a while ago.
    pub(super) fn look_after_silent_requests(&self) {
        let silent = self.ledger.book().silent(PATIENCE);
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
    /// The runtime was asked for its body, and has not come for it.
    fn is_awaited(&self) -> bool {
        self.state == State::Asked && !self.handed
    }
}

impl Book {
    /// The row of a copy that is awaited, unless it is known to be passed over.
    fn awaited(&self, module_id: usize, token: u32) -> Option<RowId> {
        let row = self.find(module_id, token).and_then(|id| self.row(id))?;
        (row.is_awaited() && row.passed_over.is_none()).then_some(row.id)
    }

    fn pass_over(&mut self, id: RowId) {
        if let Some(row) = self.row_mut(id) {
            row.passed_over = Some(PassedOver { since: Instant::now(), told: false });
        }
    }

    /// Rows that were passed over longer than `patience` ago, are awaited still, and were not told of.
    fn silent(&self, patience: Duration) -> Vec<RowId> {
        let is_silent = |row: &&Row| {
            row.is_awaited()
                && row.passed_over.is_some_and(|seen| !seen.told && seen.since.elapsed() >= patience)
        };
        self.rows().iter().filter(is_silent).map(|row| row.id).collect()
    }
}

//! Thrown exceptions of the program `throws`, as a controller receives them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use redial_protocol::exceptions::{ThrownException, ThrownRow, ThrownTotals};
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::trace::Value;

use crate::controller::Controller;

/// Type and throwing method of a row.
pub type RowName = (String, String);

/// The exceptions of a stream.
#[derive(Debug, Default)]
pub struct Exceptions {
    rows: Vec<ThrownRow>,
    counts: BTreeMap<u32, (u64, u64)>,
    /// Single exceptions, in the order of arrival.
    pub exceptions: Vec<ThrownException>,
    /// The sums.
    pub totals: ThrownTotals,
}

/// Starts a stream of exceptions whose types match.
///
/// # Errors
/// If the agent refuses.
pub fn stream(controller: &mut Controller, types: Option<&str>, rate: Option<u32>) -> Result<()> {
    controller.execute(WireCommand::StreamExceptions { types: types.map(str::to_owned), rate })
}

/// Stops the stream, and returns all of it.
///
/// # Errors
/// If its parts do not agree.
pub fn stop(controller: &mut Controller) -> Result<Exceptions> {
    controller.execute(WireCommand::StopExceptions)?;
    let mut all = Exceptions::default();
    for event in controller.take_queued()? {
        all.take(&event)?;
    }
    all.ensure_consistent()?;
    Ok(all)
}

impl Exceptions {
    /// Adds a page; ignores other events.
    ///
    /// # Errors
    /// If a row, count or exception refers to a row that was not sent.
    pub fn take(&mut self, event: &Event) -> Result<()> {
        let Event::Exceptions { rows, counts, exceptions, totals } = event else { return Ok(()) };
        for row in rows {
            ensure!(row.row as usize == self.rows.len(), "{row:?} after {} rows", self.rows.len());
            self.rows.push(row.clone());
        }
        for count in counts {
            ensure!((count.row as usize) < self.rows.len(), "{count:?} has no row");
            self.counts.insert(count.row, (count.thrown, count.rethrown));
        }
        for exception in exceptions {
            ensure!((exception.row as usize) < self.rows.len(), "{exception:?} has no row");
        }
        self.exceptions.extend_from_slice(exceptions);
        self.totals = *totals;
        Ok(())
    }

    /// Checks the sums of a stream that has ended.
    fn ensure_consistent(&self) -> Result<()> {
        let ThrownTotals { thrown, rethrown, others, unsent } = self.totals;
        let of_rows: u64 = self.counts.values().map(|(thrown, _)| thrown).sum();
        ensure!(of_rows + others == thrown, "{:?}: {:?}", self.totals, self.counts());
        ensure!(self.counts.values().map(|(_, rethrown)| rethrown).sum::<u64>() <= rethrown);
        ensure!(
            self.exceptions.len() as u64 + unsent == thrown,
            "{} {:?}",
            self.exceptions.len(),
            self.totals
        );
        Ok(())
    }

    fn name(&self, row: u32) -> RowName {
        let Some(row) = self.rows.get(row as usize) else { return RowName::default() };
        let method = row.method.as_ref().map(|method| format!("{}!{}", method.module, method.method));
        (row.type_name.clone().unwrap_or_default(), method.unwrap_or_default())
    }

    /// Returns the throws by type and method: all, and the rethrown ones.
    pub fn counts(&self) -> BTreeMap<RowName, (u64, u64)> {
        self.counts.iter().map(|(row, counts)| (self.name(*row), *counts)).collect()
    }

    /// Returns the single exceptions of a type that a method threw, whose names end so.
    pub fn of(&self, type_name: &str, method: &str) -> Vec<&ThrownException> {
        let is_it = |exception: &&ThrownException| {
            let name = self.name(exception.row);
            name.0.ends_with(type_name) && name.1.ends_with(method)
        };
        self.exceptions.iter().filter(is_it).collect()
    }

    /// Returns the message of the only exception of a type that a method threw.
    ///
    /// # Errors
    /// If there is none, or another number.
    pub fn message(&self, type_name: &str, method: &str) -> Result<Value> {
        let of = self.of(type_name, method);
        ensure!(of.len() == 1, "{type_name} {method}: {of:?}");
        Ok(of.first().context("one")?.message.clone())
    }
}

/// The expected counts, from `(type, method, thrown, rethrown)`.
pub fn expected(rows: &[(&str, &str, u64, u64)]) -> BTreeMap<RowName, (u64, u64)> {
    let row = |row: &(&str, &str, u64, u64)| ((row.0.to_owned(), row.1.to_owned()), (row.2, row.3));
    rows.iter().map(row).collect()
}

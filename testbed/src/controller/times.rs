//! Reading the times of a method.

use anyhow::{Result, anyhow};
use redial_protocol::message::{StatusRow, WireCommand};
use redial_protocol::times::Times;

use super::Controller;

impl Controller {
    /// Returns the one matching row and its times.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when not exactly one row matches, or the row has no times.
    pub fn timed(&mut self, pattern: &str) -> Result<(StatusRow, Times)> {
        let mut answer = self.ask(WireCommand::Status { pattern: Some(pattern.to_owned()) })?;
        match (answer.rows.pop(), answer.times.pop(), answer.rows.len()) {
            (Some(row), Some(times), 0) if row.row == times.row => Ok((row, times)),
            (row, times, _) => Err(anyhow!("{pattern}: {row:?} has {times:?}")),
        }
    }
}

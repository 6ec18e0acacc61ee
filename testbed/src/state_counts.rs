//! The result of a dial on everything: how many copies are live, pending or refused.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, ensure};
use redial_protocol::message::StatusRow;
use redial_protocol::reason::Reason;
use redial_text::diagnostics::{Reader, reasons, row_notes};
use serde_json::Value;

/// Copies by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Called since, with a counting body.
    pub live: usize,
    /// Not called since.
    pub asked: usize,
    /// Refused, by reason.
    pub refused: BTreeMap<String, usize>,
    /// In any other state, which is unexpected: `state method (reason)`.
    pub other: Vec<String>,
}

impl StateCounts {
    /// Sorts the rows that a controller received.
    pub fn of_rows(rows: &[StatusRow]) -> Self {
        let mut sorted = Self::default();
        for row in rows {
            let note = row.note.map(|note| row_notes::note(note, Reader::CommandLine));
            sorted.add(row.state.word(), &row.method, note.as_deref());
        }
        sorted
    }

    /// Sorts the rows of `status` in a report, or of `redial status --json`.
    ///
    /// # Errors
    /// When a value is not a row.
    pub fn of_json(rows: &Value) -> Result<Self> {
        let mut sorted = Self::default();
        for row in rows.as_array().context("no array of rows")? {
            let text = |field: &str| row[field].as_str();
            let state = text("state").with_context(|| format!("no state in {row}"))?;
            sorted.add(state, text("method").unwrap_or_default(), text("reason"));
        }
        Ok(sorted)
    }

    fn add(&mut self, state: &str, method: &str, reason: Option<&str>) {
        match state {
            "live" => self.live += 1,
            "asked" => self.asked += 1,
            "refused" => *self.refused.entry(reason.unwrap_or_default().to_owned()).or_default() += 1,
            _ => self.other.push(format!("{state} {method} ({})", reason.unwrap_or("no reason"))),
        }
    }

    /// Checks that no copy is in an unexpected state and that each refusal has the sentence of a reason.
    ///
    /// # Errors
    /// When a check fails.
    pub fn ensure_sound(&self) -> Result<()> {
        ensure!(self.other.is_empty(), "neither on nor refused: {:?}", self.other);
        let sentences = Reason::ALL.map(|reason| reasons::sentence(reason, Reader::CommandLine));
        // A note about times may follow.
        let has_sentence = |why: &String| sentences.iter().any(|sentence| why.starts_with(sentence));
        ensure!(self.refused.keys().all(has_sentence), "refused without a reason: {:?}", self.refused);
        Ok(())
    }
}

impl fmt::Display for StateCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} live, {} never called, refused {:?}", self.live, self.asked, self.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_copies_and_reports_odd_ones() {
        let reason = reasons::sentence(Reason::PInvoke, Reader::CommandLine);
        let mut rows = vec![
            serde_json::json!({"state": "live", "method": "A.B"}),
            serde_json::json!({"state": "asked", "method": "A.C"}),
            serde_json::json!({"state": "refused", "method": "A.D", "reason": reason}),
        ];
        let sorted = StateCounts::of_json(&rows.clone().into()).unwrap();
        assert_eq!((sorted.live, sorted.asked, sorted.refused[reason]), (1, 1, 1));
        sorted.ensure_sound().unwrap();
        rows.push(serde_json::json!({"state": "refused", "method": "A.E"}));
        assert!(StateCounts::of_json(&rows.clone().into()).unwrap().ensure_sound().is_err());
        rows[3]["reason"] = "NotDialled { reason: PInvoke, hresult: 0 }".into();
        assert!(StateCounts::of_json(&rows.clone().into()).unwrap().ensure_sound().is_err(), "a bare code");
        rows[3]["state"] = "failed".into();
        let failed = StateCounts::of_json(&rows.into()).unwrap().ensure_sound().unwrap_err();
        assert!(failed.to_string().contains("failed A.E"), "{failed}");
    }
}

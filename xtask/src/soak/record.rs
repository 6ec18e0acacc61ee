//! The record of soaks per commit: suites that passed, inputs fuzzed, hours and steps of random use. It lies in the target
//! folder. Changes that are not committed count as a commit of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use redial_testbed::continuous::{StepCounts, Summary};
use serde_json::{Map, Value, json};

use super::goals;
use crate::build;
use crate::process::{command, run_quietly};

/// The record of one commit.
#[derive(Debug)]
pub struct Record(PathBuf);

impl Record {
    /// Returns the record of the checked-out commit.
    ///
    /// # Errors
    /// When git cannot name the commit.
    pub fn of_this_commit() -> Result<Self> {
        let commit = run_quietly(&mut command("git", &["rev-parse", "--short=12", "HEAD"]))?;
        let changes = run_quietly(&mut command("git", &["status", "--porcelain"]))?;
        let suffix = if changes.trim().is_empty() { "" } else { "-changed" };
        let folder = build::target_folder().join("soak");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder.join(format!("{}{suffix}.json", commit.trim()))))
    }

    /// Returns whether a suite has passed.
    pub fn has_passed(&self, suite: &str) -> bool {
        self.read().is_ok_and(|all| all["suites"][suite].is_u64())
    }

    /// Adds a suite that passed, and the inputs of each fuzz target.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn add_suite(&self, suite: &str, fuzzed: &BTreeMap<String, u64>) -> Result<()> {
        let mut all = self.read()?;
        add(&mut all["suites"][suite], 1);
        for (target, inputs) in fuzzed {
            add(&mut all["fuzzed"][target], *inputs);
        }
        self.write(&all)
    }

    /// Returns how long a program has been used.
    pub fn used_for(&self, program: &str) -> Duration {
        let all = self.read().unwrap_or_default();
        Duration::from_secs(all["used"][program]["seconds"].as_u64().unwrap_or_default())
    }

    /// Adds steps and time of one program.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn add_use(&self, program: &str, steps: &StepCounts, lasted: Duration) -> Result<()> {
        let mut all = self.read()?;
        let used = &mut all["used"][program];
        add(&mut used["seconds"], lasted.as_secs());
        for (step, many) in steps.iter() {
            add(&mut used["steps"][step.name()], many);
        }
        self.write(&all)
    }

    /// Adds the end of a run: its slopes and its slowest revert.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn add_summary(&self, program: &str, summary: &Summary) -> Result<()> {
        let mut all = self.read()?;
        let ends = &mut all["used"][program]["ends"];
        let end = json!({
            "minutes": summary.lasted.as_secs() / 60,
            "slopes": summary.slopes.to_string(),
            "slowest_revert_ms": summary.slowest_revert.as_millis() as u64,
        });
        match ends.as_array_mut() {
            Some(ends) => ends.push(end),
            None => *ends = json!([end]),
        }
        self.write(&all)
    }

    /// Returns everything that ran on this commit, as lines.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn table(&self) -> Result<String> {
        let all = self.read()?;
        let name = self.0.file_stem().unwrap_or_default().to_string_lossy();
        let mut lines = vec![format!("soaks of {name}")];
        for (suite, times) in entries(&all["suites"]) {
            lines.push(format!("  suite {suite}: passed {times} times"));
        }
        for (target, inputs) in entries(&all["fuzzed"]) {
            lines.push(format!("  fuzzed {target}: {inputs} inputs of {}", goals::inputs(target)));
        }
        for (program, used) in entries(&all["used"]) {
            let minutes = used["seconds"].as_u64().unwrap_or_default() / 60;
            let steps = entries(&used["steps"]).map(|(step, many)| format!("{many} {step}"));
            lines.push(format!("  {program}: {minutes} min, {}", steps.collect::<Vec<_>>().join(", ")));
            for end in used["ends"].as_array().into_iter().flatten() {
                let slopes = end["slopes"].as_str().unwrap_or_default();
                lines.push(format!(
                    "    {} min: {slopes}; slowest revert {} ms",
                    end["minutes"], end["slowest_revert_ms"]
                ));
            }
        }
        Ok(lines.join("\n"))
    }

    fn read(&self) -> Result<Value> {
        if !self.0.exists() {
            return Ok(json!({}));
        }
        let text = fs::read_to_string(&self.0)?;
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", self.0.display()))
    }

    fn write(&self, all: &Value) -> Result<()> {
        let text = serde_json::to_string_pretty(all)?;
        // Replaced as a whole: an interrupted soak must not lose the record.
        let new = self.0.with_extension("new");
        fs::write(&new, text)?;
        fs::rename(&new, &self.0).with_context(|| format!("cannot write {}", self.0.display()))
    }
}

fn add(to: &mut Value, more: u64) {
    *to = json!(to.as_u64().unwrap_or_default() + more);
}

fn entries(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_add_up_and_survive() -> Result<()> {
        let file = std::env::temp_dir().join(format!("redial-soak-record-{}.json", std::process::id()));
        let record = Record(file.clone());
        assert!(!record.has_passed("fuzz"));
        for _ in 0..2 {
            record.add_suite("fuzz", &BTreeMap::from([("frames".to_owned(), 7)]))?;
            record.add_use("Shop", &StepCounts::default(), Duration::from_secs(90))?;
        }
        let again = Record(file.clone());
        assert!(again.has_passed("fuzz") && !again.has_passed("unit"));
        assert_eq!(again.used_for("Shop"), Duration::from_secs(180));
        let table = again.table()?;
        assert!(table.contains("fuzzed frames: 14 inputs of 100000000"), "{table}");
        assert!(table.contains("Shop: 3 min"), "{table}");
        fs::remove_file(file)?;
        Ok(())
    }
}

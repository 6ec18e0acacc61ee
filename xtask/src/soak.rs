//! `cargo xtask soak`: the gate's suites with larger numbers, real time-outs and long fuzzing; or, with `--hours`, random
//! use of live programs. A record per commit lets both continue where an earlier run stopped.

mod continuous;
mod goals;
mod record;

use anyhow::{Result, bail};

use crate::test::suites::Suite;
use crate::test::{Plan, run_suites};

pub use continuous::run as run_continuously;
use record::Record;

/// The suites that have larger numbers, or more tests.
const SUITES: [Suite; 5] = [Suite::Unit, Suite::E2e, Suite::Wine, Suite::WineE2e, Suite::Fuzz];

/// Runs `chosen` suites, or all that have larger numbers (`REDIAL_SOAK=1`), and every fuzz target for `fuzz_seconds`.
/// Skips suites that have passed on this commit, unless `again` is set.
///
/// # Errors
/// When a test failed, or a suite has no larger numbers.
pub fn run(chosen: &[Suite], fuzz_seconds: u32, again: bool) -> Result<()> {
    if let Some(other) = chosen.iter().find(|suite| !SUITES.contains(suite)) {
        bail!("suite {} has no larger numbers; {} have", other.name(), SUITES.map(Suite::name).join(", "));
    }
    let record = Record::of_this_commit()?;
    let mut left = if chosen.is_empty() { SUITES.to_vec() } else { chosen.to_vec() };
    if !again {
        left.retain(|suite| !record.has_passed(suite.name()));
    }
    let mut failed = Vec::new();
    for suite in left {
        let plan = Plan { only: None, soak: true, fuzz_seconds: Some(fuzz_seconds), built: None };
        match run_suites(&[suite], plan) {
            Ok(tally) => record.add_suite(suite.name(), &tally.inputs)?,
            Err(error) => failed.push(format!("{}: {error:#}", suite.name())),
        }
    }
    println!("\n{}", record.table()?);
    if !failed.is_empty() {
        bail!("the soak failed: {}", failed.join("; "));
    }
    Ok(())
}

//! `cargo xtask soak`: the gate's suites with larger numbers, real time-outs and long fuzzing.

use anyhow::{Result, bail};

use crate::test::suites::Suite;
use crate::test::{Plan, run_suites};

/// The suites that have larger numbers.
const SUITES: [Suite; 4] = [Suite::Unit, Suite::E2e, Suite::Wine, Suite::Fuzz];

/// Runs `chosen` suites, or all that have larger numbers (`REDIAL_SOAK=1`), and every fuzz target for `fuzz_seconds`.
///
/// # Errors
/// When a test failed, or a suite has no larger numbers.
pub fn run(chosen: &[Suite], fuzz_seconds: u32) -> Result<()> {
    if let Some(other) = chosen.iter().find(|suite| !SUITES.contains(suite)) {
        bail!("suite {} has no larger numbers; {} have", other.name(), SUITES.map(Suite::name).join(", "));
    }
    let plan = Plan { only: None, soak: true, fuzz_seconds: Some(fuzz_seconds), built: None };
    run_suites(if chosen.is_empty() { &SUITES } else { chosen }, plan)
}

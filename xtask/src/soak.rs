//! `cargo xtask soak`: the gate's suites with larger numbers, real time-outs and long fuzzing.

use anyhow::Result;

use crate::test::suites::Suite;
use crate::test::{Plan, run_suites};

/// Runs the suites that have larger numbers (`REDIAL_SOAK=1`), then every fuzz target for `fuzz_seconds`.
///
/// # Errors
/// When anything failed.
pub fn run(fuzz_seconds: u32) -> Result<()> {
    let plan = Plan { only: None, soak: true, fuzz_seconds: Some(fuzz_seconds), built: None };
    run_suites(&[Suite::Unit, Suite::E2e, Suite::Wine, Suite::Fuzz], plan)
}

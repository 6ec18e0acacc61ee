//! `cargo xtask test`: builds first, runs the suites, and ends with one line of counts over all of them.

mod fuzz;
mod nextest;
pub mod suites;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::build::{self, Built, Profile};
use crate::setup;
use suites::Suite;

/// Numbers of tests; a suite that is one check counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ran and held.
    pub passed: u64,
    /// Ran and did not hold, or did not end in time.
    pub failed: u64,
    /// Did not run, for a reason that was printed.
    pub skipped: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// What the suites need to know.
pub struct Plan<'a> {
    /// Run only tests whose names contain this.
    pub only: Option<&'a str>,
    /// Larger numbers and real time-outs.
    pub soak: bool,
    /// How long each fuzz target runs; a fixed number of inputs when absent.
    pub fuzz_seconds: Option<u32>,
    /// Agent and program for this machine; absent when no chosen suite needs them.
    pub built: Option<Built>,
}

/// Runs `chosen` suites, or all.
///
/// # Errors
/// When anything failed; the details have been printed by then.
pub fn run(chosen: &[Suite], only: Option<&str>) -> Result<()> {
    run_suites(chosen, Plan { only, soak: false, fuzz_seconds: None, built: None })
}

/// As [`run`], with a plan.
///
/// # Errors
/// As [`run`].
pub fn run_suites(chosen: &[Suite], mut plan: Plan<'_>) -> Result<()> {
    let suites = if chosen.is_empty() { Suite::all() } else { chosen.to_vec() };
    setup::everything()?;
    let mut total = Tally::default();
    let mut rows: Vec<(Suite, Tally, Duration)> = Vec::new();
    if suites.iter().any(|suite| suite.needs_build()) {
        match build::native(Profile::Debug) {
            Ok(built) => plan.built = Some(built),
            Err(error) => {
                eprintln!("error: {error:#}");
                total.failed += 1;
            }
        }
    }
    for suite in suites {
        println!("==> suite {}: {}", suite.name(), suite.subject());
        let start = Instant::now();
        let tally = if suite.needs_build() && plan.built.is_none() {
            println!("    not run: agent and program do not build");
            Tally { skipped: 1, ..Tally::default() }
        } else {
            suite.run(&plan).unwrap_or_else(|error| {
                eprintln!("error: suite {}: {error:#}", suite.name());
                Tally { failed: 1, ..Tally::default() }
            })
        };
        total.add(tally);
        rows.push((suite, tally, start.elapsed()));
    }
    println!("\n{:<10} {:>8} {:>8} {:>8} {:>9}", "suite", "passed", "failed", "skipped", "minutes");
    for (suite, tally, took) in &rows {
        println!(
            "{:<10} {:>8} {:>8} {:>8} {:>9.1}",
            suite.name(),
            tally.passed,
            tally.failed,
            tally.skipped,
            took.as_secs_f64() / 60.0
        );
    }
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    if total.failed > 0 {
        bail!("not all tests passed");
    }
    Ok(())
}

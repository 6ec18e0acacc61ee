//! `cargo xtask test`: builds first, runs the suites, and ends with one line of counts over all of them.

mod fuzz;
mod nextest;
mod older_release;
mod packages;
mod plan;
pub mod suites;
pub mod windows_tests;
pub mod wine;
pub mod wine_lists;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::build;
use crate::setup;
pub use plan::Plan;
use plan::Tally;
use suites::Suite;

/// Runs `chosen` suites, or all.
///
/// # Errors
/// When anything failed; the details have been printed by then.
pub fn run(chosen: &[Suite], only: Option<&str>) -> Result<()> {
    run_suites(chosen, Plan { only, soak: false, fuzz_seconds: None, built: None }).map(drop)
}

/// As [`run`], with a plan. Returns the numbers of all suites.
///
/// # Errors
/// As [`run`].
pub fn run_suites(chosen: &[Suite], mut plan: Plan<'_>) -> Result<Tally> {
    let suites = if chosen.is_empty() { Suite::all() } else { chosen.to_vec() };
    setup::everything()?;
    let mut total = Tally::default();
    let mut rows: Vec<(Suite, Tally, Duration)> = Vec::new();
    if suites.iter().any(|suite| suite.needs_build()) {
        match build::for_tests() {
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
        total.add(&tally);
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
    Ok(total)
}

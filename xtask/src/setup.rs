//! `cargo xtask setup`: everything the other tasks need. A second run is instant.

mod apt;
mod tools;
pub mod wine;

use std::time::Instant;

pub use tools::deny as cargo_deny;

use anyhow::Result;
use redial_testbed::{cache, programs, runtimes};

/// System packages, tools, the Windows target, Wine and the real runtimes.
///
/// # Errors
/// The first thing that could not be had, as a sentence that says what to do.
pub fn everything() -> Result<()> {
    step("system packages", || apt::ensure(apt::ALL))?;
    step("Rust components and tools", tools::ensure)?;
    step(&format!("real .NET runtimes in {}", cache::folder().display()), || runtimes::ensure_all(true))?;
    step("a Wine prefix", || wine::ensure().map(drop))
}

/// What the demo needs: the runtimes and the compiled demo program.
///
/// # Errors
/// As [`everything`].
pub fn for_demo() -> Result<programs::Program> {
    step("real .NET runtimes, the C# compiler", || runtimes::ensure_all(false))?;
    step("the demo program", programs::shop)
}

/// Announces `what`, does it, and says how long it took when that was felt.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {what}");
    let start = Instant::now();
    let result = work()?;
    let seconds = start.elapsed().as_secs();
    if seconds >= 2 {
        println!("    {seconds} s");
    }
    Ok(result)
}

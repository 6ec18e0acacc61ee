//! `cargo xtask setup`: everything the other tasks need.

use anyhow::Result;
use redial_testbed::runtimes;

/// Sets up what is missing; a second run is instant.
pub fn run() -> Result<()> {
    println!("runtimes in {}", redial_testbed::cache::folder().display());
    runtimes::ensure_all(true)
}

//! The packages: made, compared with those from another folder, and used by tests as new users would.

use anyhow::Result;

use super::nextest::{self, WORKSPACE};
use super::older_release;
use super::plan::{Plan, Tally};
use crate::setup::{self, apt, step};
use crate::{build, dist};

/// System packages that the tests need, besides the tools of `dist`.
const TOOLS: &[&str] = &["cpio", "debootstrap", "musl-tools", "rpm2cpio", "unzip", "wine", "wine64"];
/// The tests that use packages, and those that build an older version.
const TESTS: &str = "package(redial-testbed) & (binary(packages) + binary(upgrades))";

/// Makes all packages, builds them again in a copy of the checkout, and runs the tests.
///
/// # Errors
/// When packages cannot be made, or differ between the two folders.
pub fn run(plan: &Plan<'_>) -> Result<Tally> {
    step("tools for tests of packages", || apt::ensure(TOOLS))?;
    let folder = dist::run(&[])?;
    let mut tally = Tally::default();
    if plan.only.is_none() {
        dist::reproduce()?;
        tally.passed += 1;
    }
    let older = older_release::build()?;
    let built = build::for_tests()?;
    let wine = setup::wine::ensure()?;
    let _claim = wine.claim()?;
    let tests = nextest::run(plan, WORKSPACE, TESTS, |command| {
        wine.tell(command);
        older.tell(command);
        built.tell(command);
        command.env("REDIAL_PACKAGES", &folder);
    })?;
    tally.add(&tests);
    Ok(tally)
}

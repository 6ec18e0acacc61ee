//! Windows builds on Windows runtimes. The suite `wine` starts the programs from Linux; in `wine-e2e` the end-to-end tests
//! themselves are Windows programs.

use std::process::Command;

use anyhow::Result;
use redial_testbed::artefacts::WINDOWS_TARGET;
use redial_testbed::prebuilt;

use super::nextest::{self, WORKSPACE};
use super::plan::{Plan, Tally};
use super::wine_lists::{LINUX_ONLY, OPEN, SHARE};
use crate::build::{self, WINDOWS_PACKAGES};
use crate::setup;

/// The tests that start Windows programs from Linux.
const FROM_LINUX: &str = "package(redial-testbed) & binary(windows)";

/// Runs the tests that start Windows programs from Linux.
///
/// # Errors
/// When the Windows builds do not compile, or Wine does not work.
pub fn from_linux(plan: &Plan<'_>) -> Result<Tally> {
    let built = build::windows(&[])?;
    let wine = setup::wine::ensure()?;
    let _claim = wine.claim()?;
    nextest::run(plan, WORKSPACE, FROM_LINUX, |command| {
        built.tell(command);
        wine.tell(command);
    })
}

/// Runs the end-to-end tests as Windows programs: a share, or all in a soak and with a text to look for.
///
/// # Errors
/// As [`from_linux`].
pub fn end_to_end(plan: &Plan<'_>) -> Result<Tally> {
    let all = plan.soak || plan.only.is_some();
    let suites = suites(all);
    let built = build::windows(&suites)?;
    let wine = setup::wine::ensure()?;
    setup::step("the C# programs of the tests", prebuilt::ensure_all)?;
    for (suite, test, reason) in OPEN {
        println!("    not run on Windows: {suite}::{test}: {reason}");
    }
    let claim = wine.claim()?;
    claim.serve()?;
    // The larger numbers of a soak are for Linux; here all tests run with those of the gate.
    let plan = Plan { only: plan.only, soak: false, fuzz_seconds: None, built: None };
    let prepare = |command: &mut Command| {
        built.tell_inside_wine(command);
        wine.tell(command);
        command.env(RUNNER, &wine.loader);
    };
    let mut tally = nextest::run(&plan, &[WINDOWS_PACKAGES, &suites].concat(), &inside_wine(all), prepare)?;
    if all {
        tally.add(&nextest::run(&plan, TRANSPORT, "test(/^transport::/) + binary(=pipe)", prepare)?);
    }
    Ok(tally)
}

/// The tests of the pipe itself.
const TRANSPORT: &[&str] =
    &["--package", "redial-protocol", "--lib", "--test", "pipe", "--target", WINDOWS_TARGET];

/// Returns the arguments that select the suites to build: those of the share, or all. Each one takes seconds to link.
fn suites(all: bool) -> Vec<&'static str> {
    if all {
        return vec!["--test", "*"];
    }
    SHARE.iter().flat_map(|(suite, _)| ["--test", *suite]).collect()
}

/// The variable that names the program under which tests for Windows run.
const RUNNER: &str = "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER";

/// Returns the filter of the tests that are Windows programs.
fn inside_wine(all: bool) -> String {
    let suites = LINUX_ONLY.iter().map(|(suite, _)| format!("binary(={suite})"));
    let open = OPEN.iter().map(|(suite, test, _)| filter_of(suite, test));
    let excluded = suites.chain(open).collect::<Vec<_>>().join(" + ");
    if all {
        return format!("package(redial-testbed) & kind(test) - ({excluded})");
    }
    let chosen = SHARE.iter().flat_map(|(suite, tests)| tests.iter().map(|test| filter_of(suite, test)));
    format!("package(redial-testbed) & ({}) - ({excluded})", chosen.collect::<Vec<_>>().join(" + "))
}

/// Returns the filter of a test, or of a function's tests on all runtimes.
fn filter_of(suite: &str, test: &str) -> String {
    match test {
        "*" => format!("binary(={suite})"),
        _ => format!("(binary(={suite}) & test(/^{test}(::|$)/))"),
    }
}

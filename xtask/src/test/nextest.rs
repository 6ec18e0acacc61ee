//! Running tests through cargo-nextest and reading how many passed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::plan::{Plan, Tally};
use crate::build;
use crate::process::{cargo, end_with_this_process, line};

/// The arguments that select every package. All suites but one build the whole workspace, because Cargo compiles
/// dependencies anew for each selection of packages.
pub const WORKSPACE: &[&str] = &["--workspace"];

/// Runs the tests of `packages` that `filter` selects, with the built artefacts named in the environment.
///
/// # Errors
/// When nextest cannot be started or ends without a summary (tests that do not compile).
pub fn run(
    plan: &Plan<'_>,
    packages: &[&str],
    filter: &str,
    prepare: impl FnOnce(&mut Command),
) -> Result<Tally> {
    let not_run = build::target_folder().join(format!("not-run-{}", std::process::id()));
    // An earlier suite of this run may have left it.
    let _ = std::fs::remove_file(&not_run);
    let mut nextest = cargo(&["nextest", "run", "--no-fail-fast", "--no-tests=warn", "-E", filter]);
    nextest.args(packages);
    // A backtrace of the harness below each error would hide the message. Panics keep theirs.
    nextest.env("REDIAL_NOT_RUN", &not_run).env("RUST_LIB_BACKTRACE", "0");
    if let Some(only) = plan.only {
        nextest.arg(only);
    }
    if let Some(built) = &plan.built {
        built.tell(&mut nextest);
    }
    if plan.soak {
        nextest.env("REDIAL_SOAK", "1").args(["--profile", "soak"]);
    }
    prepare(&mut nextest);
    end_with_this_process(&mut nextest);
    let mut tally = watch(nextest)?;
    if let Ok(listed) = std::fs::read_to_string(&not_run) {
        for test in listed.lines() {
            println!("    not run: {test}");
            tally.passed = tally.passed.saturating_sub(1);
            tally.skipped += 1;
        }
        std::fs::remove_file(&not_run).context("cannot remove the list of tests not run")?;
    }
    Ok(tally)
}

/// Passes nextest's lines on and reads the last summary.
fn watch(mut nextest: Command) -> Result<Tally> {
    let what = line(&nextest);
    let mut child =
        nextest.stderr(Stdio::piped()).spawn().with_context(|| format!("`{what}` cannot be started"))?;
    let mut summary = None;
    if let Some(stderr) = child.stderr.take() {
        for said in BufReader::new(stderr).lines() {
            let said = said.context("cannot read what nextest says")?;
            eprintln!("{said}");
            if let Some(tally) = parse_summary(&said) {
                summary = Some(tally);
            }
        }
    }
    let status = child.wait()?;
    let mut tally = summary.with_context(|| format!("`{what}` ended with {status} and no summary"))?;
    if !status.success() && tally.failed == 0 {
        // A leak or an interrupted run must not count as success.
        tally.failed = 1;
    }
    Ok(tally)
}

/// Reads `Summary [  1.2s] 5 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 2 skipped`.
fn parse_summary(said: &str) -> Option<Tally> {
    let rest = said.trim_start().strip_prefix("Summary [")?;
    let (_, counts) = rest.split_once(" run: ")?;
    let mut tally = Tally::default();
    for count in without_parentheses(counts).split(", ") {
        let (number, word) = count.trim().split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word.trim() {
            "passed" => tally.passed += number,
            "skipped" => tally.skipped += number,
            _ => tally.failed += number,
        }
    }
    Some(tally)
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0u32;
    let mut kept = String::new();
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let read = |text| parse_summary(text).map(|tally| (tally.passed, tally.failed, tally.skipped));
        assert_eq!(read("     Summary [   0.003s] 6 tests run: 6 passed, 0 skipped"), Some((6, 0, 0)));
        assert_eq!(
            read(
                "     Summary [  12.003s] 9/11 tests run: 5 passed (1 slow, 2 leaky), 3 failed, 1 timed out, 4 skipped"
            ),
            Some((5, 4, 4))
        );
        assert_eq!(read("     Summary [   0.000s] 0 tests run: 0 passed, 7 skipped"), Some((0, 0, 7)));
        assert_eq!(read("        PASS [   0.003s] crate tests::run: it"), None);
    }
}

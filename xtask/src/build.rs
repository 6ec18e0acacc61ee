//! Building the agent and the program, and passing their paths to commands.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use redial_testbed::artefacts::{self, WINDOWS_TARGET};
use redial_testbed::wine::windows_path;

use crate::process::{cargo, run};
use crate::setup::step;

/// Built artefacts of one platform.
#[derive(Clone, Debug)]
pub struct Built {
    agent: PathBuf,
    program: PathBuf,
    other_profiler: Option<PathBuf>,
    windows: bool,
}

impl Built {
    /// Returns an agent and a program of this machine that were built otherwise.
    pub fn of(agent: PathBuf, program: PathBuf) -> Built {
        Built { agent, program, other_profiler: None, windows: false }
    }

    /// The agent library.
    pub fn agent(&self) -> &PathBuf {
        &self.agent
    }

    /// The `redial` program.
    pub fn program(&self) -> &PathBuf {
        &self.program
    }

    /// Sets the variables by which [`artefacts`] finds Windows builds in tests that are Windows programs themselves.
    pub fn tell_inside_wine(&self, command: &mut Command) {
        command.env("REDIAL_AGENT", windows_path(&self.agent)).env("REDIAL_BIN", windows_path(&self.program));
    }

    /// Sets the variables by which [`artefacts`] finds them.
    pub fn tell(&self, command: &mut Command) {
        let (agent, program) = if self.windows {
            ("REDIAL_AGENT_WINDOWS", "REDIAL_BIN_WINDOWS")
        } else {
            ("REDIAL_AGENT", "REDIAL_BIN")
        };
        command.env(agent, &self.agent).env(program, &self.program);
        if let Some(other) = &self.other_profiler {
            command.env("REDIAL_OTHER_PROFILER", other);
        }
    }
}

/// Build profile: unoptimised with overflow checks for tests, optimised for use and measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// `dev`
    Debug,
    /// `release`
    Release,
}

/// Builds agent and program for this machine.
///
/// # Errors
/// When they do not compile.
pub fn native(profile: Profile) -> Result<Built> {
    build(profile)
}

/// Builds agent, program and every test for this machine. Cargo compiles dependencies anew for each selection of
/// packages, so this selects the same as the suites do.
///
/// # Errors
/// When something does not compile.
pub fn for_tests() -> Result<Built> {
    step("agent, program and tests (the first time about ten minutes)", || {
        run(&mut cargo(&[&["build", "--workspace", "--all-targets"], quiet()].concat()))
    })?;
    Ok(built(Profile::Debug, false))
}

/// The packages of builds for Windows. As on this machine, all of them select the same.
pub const WINDOWS_PACKAGES: &[&str] = &[
    "--package",
    "redial-agent",
    "--package",
    "redial",
    "--package",
    "redial-testbed",
    "--target",
    WINDOWS_TARGET,
    "--config",
    "xtask/windows-tests.toml",
];

/// Builds agent and program for Windows, and the end-to-end suites of this selection (`--test NAME …`).
///
/// # Errors
/// When they do not compile.
pub fn windows(suites: &[&str]) -> Result<Built> {
    let what = ["build", "--lib", "--bins"];
    step("agent, program and tests for Windows", || {
        run(&mut cargo(&[&what, WINDOWS_PACKAGES, suites, quiet()].concat()))
    })?;
    Ok(built(Profile::Debug, true))
}

fn build(profile: Profile) -> Result<Built> {
    let mut arguments = vec!["build", "--package", "redial-agent", "--package", "redial"];
    arguments.extend(quiet());
    // Only tests need a second profiler; without it a release build is the one that `cargo build --release` makes.
    match profile {
        Profile::Release => arguments.push("--release"),
        Profile::Debug => arguments.extend(["--package", "redial-bench-hooks"]),
    }
    step("agent and program (the first time about ten minutes)", || run(&mut cargo(&arguments)))?;
    Ok(built(profile, false))
}

fn has_hooks(profile: Profile, windows: bool) -> bool {
    !windows && profile == Profile::Debug
}

/// The first build takes minutes. A terminal shows cargo's progress; a log gets a line now and then from `step`.
fn quiet() -> &'static [&'static str] {
    if std::io::stderr().is_terminal() { &[] } else { &["--quiet"] }
}

fn built(profile: Profile, windows: bool) -> Built {
    let mut folder = target_folder();
    if windows {
        folder.push(WINDOWS_TARGET);
    }
    folder.push(if profile == Profile::Release { "release" } else { "debug" });
    Built {
        agent: folder.join(artefacts::library_name(windows || cfg!(windows))),
        program: folder.join(artefacts::program_name(windows || cfg!(windows))),
        other_profiler: has_hooks(profile, windows).then(|| folder.join(artefacts::OTHER_PROFILER)),
        windows,
    }
}

/// Builds the optimised profiler that the benchmark compares with, and returns its library.
///
/// # Errors
/// When it does not compile.
pub fn bench_hooks() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--release", "--package", "redial-bench-hooks"]))?;
    Ok(target_folder().join("release").join(artefacts::OTHER_PROFILER))
}

/// Returns cargo's target folder.
pub fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) if !folder.is_empty() => crate::process::checkout().join(folder),
        _ => crate::process::checkout().join("target"),
    }
}

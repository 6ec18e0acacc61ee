//! The suites of the gate and the commands they run.

use anyhow::Result;
use redial_testbed::artefacts::{ARM_TARGET, WINDOWS_TARGET};

use super::nextest::WORKSPACE;
use super::plan::{Plan, Tally};
use super::{fuzz, nextest, packages, wine};
use crate::process::{cargo, checkout, command, run, run_quietly};
use crate::{bindings, setup, tidy};

/// A part of the gate that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Suite {
    /// rustfmt
    Fmt,
    /// clippy, warnings denied
    Clippy,
    /// Dependency direction, file lengths, docs, words
    Tidy,
    /// The committed bindings are what the generator writes
    Bindings,
    /// Licences, sources, advisories of the dependencies
    Deny,
    /// Unit and property tests of every crate
    Unit,
    /// Real runtimes, the real agent, the real pipe
    E2e,
    /// Type check for Windows
    Windows,
    /// Type check of agent and command line for Linux on 64-bit ARM
    Arm,
    /// Windows builds on Windows runtimes under Wine
    Wine,
    /// A share of the end-to-end tests as Windows programs under Wine, or all with --only; not in the gate yet
    WineE2e,
    /// Fuzz targets
    Fuzz,
    /// Packages: made, compared with those from another folder, installed and used; not in the gate
    Dist,
}

impl Suite {
    /// Every suite of the gate, cheap ones first.
    pub fn all() -> Vec<Self> {
        use Suite::*;
        vec![Fmt, Tidy, Deny, Clippy, Bindings, Unit, E2e, Windows, Arm, Wine, Fuzz]
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Tidy => "tidy",
            Self::Bindings => "bindings",
            Self::Deny => "deny",
            Self::Unit => "unit",
            Self::E2e => "e2e",
            Self::Windows => "windows",
            Self::Arm => "arm",
            Self::Wine => "wine",
            Self::WineE2e => "wine-e2e",
            Self::Fuzz => "fuzz",
            Self::Dist => "dist",
        }
    }

    /// Its subject, for progress lines.
    pub const fn subject(self) -> &'static str {
        match self {
            Self::Fmt => "rustfmt changes nothing",
            Self::Clippy => "no warning of compiler or clippy",
            Self::Tidy => "dependency direction, file lengths, docs, words",
            Self::Bindings => "the committed bindings are what the generator writes",
            Self::Deny => "licences, sources and advisories of the dependencies",
            Self::Unit => "unit and property tests of every crate",
            Self::E2e => "real runtimes, the real agent, the real pipe",
            Self::Windows => "everything type-checks for Windows",
            Self::Arm => "agent and command line type-check for 64-bit ARM",
            Self::Wine => "Windows builds on Windows runtimes, under Wine",
            Self::WineE2e => "end-to-end tests as Windows programs, under Wine",
            Self::Fuzz => "no input makes decoders panic or over-allocate",
            Self::Dist => "packages are reproducible, install, count and uninstall",
        }
    }

    /// Returns whether it needs agent and program built for this machine.
    pub const fn needs_build(self) -> bool {
        matches!(self, Self::E2e)
    }

    /// Runs it.
    ///
    /// # Errors
    /// For a single check, its failure. For many tests, the reason why they could not run at all.
    pub fn run(self, plan: &Plan<'_>) -> Result<Tally> {
        match self {
            Self::Fmt => one(run(&mut cargo(&["fmt", "--all", "--check"]))),
            Self::Clippy => one(run(&mut cargo(&[
                "clippy",
                "--quiet",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]))),
            Self::Tidy => one(tidy::run()),
            Self::Bindings => one(bindings::run(&checkout(), true)),
            Self::Deny => deny(),
            Self::Unit => nextest::run(plan, WORKSPACE, UNIT_TESTS, |_| ()),
            Self::E2e => nextest::run(plan, WORKSPACE, E2E_TESTS, |_| ()),
            Self::Windows => one(run(&mut cargo(&[
                "check",
                "--quiet",
                "--workspace",
                "--all-targets",
                "--target",
                WINDOWS_TARGET,
            ]))),
            Self::Arm => one(run(&mut cargo(&[
                "check",
                "--quiet",
                "--package",
                "redial-agent",
                "--package",
                "redial-cli",
                "--target",
                ARM_TARGET,
            ]))),
            Self::Wine => wine::from_linux(plan),
            Self::WineE2e => wine::end_to_end(plan),
            Self::Fuzz => fuzz::run_targets(plan),
            Self::Dist => packages::run(plan),
        }
    }
}

/// The unit tests, for nextest.
const UNIT_TESTS: &str = "not package(redial-testbed)";
/// The end-to-end tests of this machine.
const E2E_TESTS: &str =
    "package(redial-testbed) & not binary(windows) & not binary(packages) & not binary(upgrades)";

fn one(result: Result<()>) -> Result<Tally> {
    result.map(|()| Tally { passed: 1, ..Tally::default() })
}

fn deny() -> Result<Tally> {
    let deny = setup::cargo_deny()?.to_string_lossy().into_owned();
    run_quietly(&mut command(&deny, &["--workspace", "check", "licenses", "bans", "sources"]))?;
    match run_quietly(&mut command(&deny, &["--workspace", "check", "advisories"])) {
        Ok(_) => Ok(Tally { passed: 2, ..Tally::default() }),
        Err(error) if error.to_string().contains("failed to fetch advisory database") => {
            println!("    not run: advisories (the advisory database cannot be reached from here)");
            Ok(Tally { passed: 1, skipped: 1, ..Tally::default() })
        }
        Err(error) => Err(error),
    }
}

//! The version, the commit and the time that packages carry.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{cargo, command, run_quietly};

/// Facts of a release. All packages of one commit carry the same, so that they come out with the same bytes.
#[derive(Clone, Debug)]
pub struct Release {
    /// The version in `Cargo.toml`.
    pub version: String,
    /// The commit, with `-dirty` where files differ from it.
    pub commit: String,
    /// Unix time of the commit: the time of every packed file.
    pub time: u64,
}

impl Release {
    /// Returns the facts of this checkout.
    ///
    /// # Errors
    /// When Git or cargo cannot say.
    pub fn of_checkout() -> Result<Release> {
        let git = |arguments: &[&str]| run_quietly(&mut command("git", arguments));
        let mut commit = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
        if !git(&["status", "--porcelain", "--untracked-files=no"])?.trim().is_empty() {
            commit.push_str("-dirty");
        }
        let time = git(&["log", "-1", "--format=%ct"])?;
        let time = time.trim().parse().with_context(|| format!("Git names {time:?} as the commit's time"))?;
        Ok(Release { version: version()?, commit, time })
    }

    /// Returns the name that archives of this system start with.
    pub fn name(&self, rid: &str) -> String {
        format!("redial-{}-{rid}", self.version)
    }
}

/// Returns the version of the program, which it inherits from the workspace.
fn version() -> Result<String> {
    let metadata = run_quietly(&mut cargo(&["metadata", "--no-deps", "--format-version=1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo lists no packages")?;
    let program = packages.iter().find(|package| package["name"] == "redial");
    let version = program.and_then(|package| package["version"].as_str());
    Ok(version.context("cargo lists no version of redial")?.to_owned())
}

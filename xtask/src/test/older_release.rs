//! An agent and a controller of an earlier protocol, built from an earlier commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use redial_testbed::artefacts;

use crate::build::target_folder;
use crate::process::{cargo, checkout, command, run, run_quietly};
use crate::setup::step;

/// The last commit with protocol 4. Once packages exist, this is the commit of an earlier one.
const COMMIT: &str = "fa257e83";

/// The controller: that commit's command line, without the window, which takes most of the time to build.
const MAIN: &str = "fn main() { std::process::exit(redial_cli::main(|_, _| 1)) }\n";
const MANIFEST: &str = "[package]\nname = \"older-redial\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                        [dependencies]\nredial-cli = { path = \"../source/app/cli\" }\n\n\
                        [profile.dev]\ndebug = false\n\n[workspace]\n";

/// Agent and controller.
#[derive(Clone, Debug)]
pub struct OlderRelease {
    agent: PathBuf,
    program: PathBuf,
}

impl OlderRelease {
    /// Sets the variables by which tests find them.
    pub fn tell(&self, command: &mut Command) {
        command.env("REDIAL_OLDER_AGENT", &self.agent).env("REDIAL_OLDER_BIN", &self.program);
    }
}

/// Builds both in a folder of their own, unless they are built.
///
/// # Errors
/// When the commit is missing, as in a shallow clone, or does not compile.
pub fn build() -> Result<OlderRelease> {
    let folder = target_folder().join("older-release").join(COMMIT);
    let (source, controller) = (folder.join("source"), folder.join("controller"));
    let built = folder.join("target/debug");
    let older = OlderRelease {
        agent: built.join(artefacts::library_name(cfg!(windows))),
        program: built.join(format!("older-redial{}", std::env::consts::EXE_SUFFIX)),
    };
    if older.agent.is_file() && older.program.is_file() {
        return Ok(older);
    }
    std::fs::create_dir_all(&source).with_context(|| source.display().to_string())?;
    let unpack = format!("git archive {COMMIT} | tar --extract --directory=\"$1\"");
    run_quietly(
        command("bash", &["-o", "pipefail", "-c", &unpack, "bash"]).arg(&source).current_dir(checkout()),
    )
    .context("the earlier commit is missing; a shallow clone needs its history (git fetch --unshallow)")?;
    std::fs::create_dir_all(controller.join("src"))?;
    std::fs::write(controller.join("Cargo.toml"), MANIFEST)?;
    std::fs::write(controller.join("src/main.rs"), MAIN)?;
    // The same versions of libraries; cargo removes what the controller does not use.
    std::fs::copy(source.join("Cargo.lock"), controller.join("Cargo.lock"))?;
    step(&format!("agent and controller of commit {COMMIT}"), || {
        let target = folder.join("target");
        compile(&source, &["--package", "redial-agent", "--locked"], &target)?;
        compile(&controller, &[], &target)
    })?;
    Ok(older)
}

fn compile(folder: &Path, options: &[&str], target: &Path) -> Result<()> {
    let mut build = cargo(&["build", "--quiet"]);
    build.args(options).current_dir(folder).env("CARGO_TARGET_DIR", target);
    run(&mut build)
}

//! Rust components and cargo tools.

use std::path::PathBuf;

use anyhow::Result;
use redial_testbed::artefacts::WINDOWS_TARGET;
use redial_testbed::cache;

use crate::process::{cargo, command, run_quietly, works};

/// The pinned version of cargo-deny; built into the cache folder, so that a user's own is left alone.
const DENY: &str = "cargo-deny@0.20.2";

/// Components of the pinned toolchain, the Windows target, cargo-nextest and cargo-deny.
///
/// # Errors
/// What rustup or cargo said.
pub fn ensure() -> Result<()> {
    if works("rustup", &["--version"]) {
        run_quietly(&mut command("rustup", &["component", "add", "rustfmt", "clippy"]))?;
        run_quietly(&mut command("rustup", &["target", "add", WINDOWS_TARGET]))?;
    } else {
        println!("    no rustup; the target {WINDOWS_TARGET}, rustfmt and clippy are taken to be there");
    }
    if !works("cargo-nextest", &["nextest", "--version"]) {
        println!("    building cargo-nextest (a few minutes, once)");
        install("cargo-nextest", &[])?;
    }
    deny().map(drop)
}

/// The cargo-deny program, built when the cache has none.
///
/// # Errors
/// What cargo said.
pub fn deny() -> Result<PathBuf> {
    let folder = cache::ensure("tools/cargo-deny", DENY, |into| {
        println!("    building {DENY} (a few minutes, once)");
        // Unoptimised: it builds in a third of the time and runs once a gate.
        let root = into.to_string_lossy();
        install(DENY, &["--debug", "--no-track", "--root", &root])
    })?;
    Ok(folder.join("bin/cargo-deny"))
}

fn install(tool: &str, options: &[&str]) -> Result<()> {
    let mut arguments = vec!["install", "--locked", "--quiet"];
    arguments.extend(options);
    arguments.push(tool);
    run_quietly(cargo(&arguments).env_remove("CARGO_TARGET_DIR")).map(drop)
}

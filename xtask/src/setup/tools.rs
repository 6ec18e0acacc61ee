//! Rust components and cargo tools.

use std::path::PathBuf;

use anyhow::Result;
use redial_testbed::artefacts::{ARM_TARGET, WINDOWS_TARGET};
use redial_testbed::cache;

use crate::process::{cargo, command, run_quietly, works};

/// The pinned version of cargo-deny, built into the cache folder so that a user's own copy stays.
const DENY: &str = "cargo-deny@0.20.2";
/// The pinned version of cargo-machete, which finds unused dependencies.
const MACHETE: &str = "cargo-machete@0.9.2";

/// Installs components of the pinned toolchain, the targets, cargo-nextest, cargo-deny and cargo-machete.
///
/// # Errors
/// The output of rustup or cargo when it fails.
pub fn ensure() -> Result<()> {
    if works("rustup", &["--version"]) {
        run_quietly(&mut command("rustup", &["component", "add", "rustfmt", "clippy"]))?;
        run_quietly(&mut command("rustup", &["target", "add", WINDOWS_TARGET, ARM_TARGET]))?;
    } else {
        println!(
            "    no rustup; the targets {WINDOWS_TARGET} and {ARM_TARGET}, rustfmt and clippy are taken to be there"
        );
    }
    if !works("cargo-nextest", &["nextest", "--version"]) {
        println!("    building cargo-nextest (a few minutes, once)");
        install("cargo-nextest", &[])?;
    }
    deny()?;
    machete().map(drop)
}

/// Returns the cargo-deny program, built if the cache has none.
///
/// # Errors
/// The output of cargo when it fails.
pub fn deny() -> Result<PathBuf> {
    tool("cargo-deny", DENY)
}

/// Returns the cargo-machete program, built if the cache has none.
///
/// # Errors
/// The output of cargo when it fails.
pub fn machete() -> Result<PathBuf> {
    tool("cargo-machete", MACHETE)
}

fn tool(name: &str, package: &str) -> Result<PathBuf> {
    let folder = cache::ensure(&format!("tools/{name}"), package, |into| {
        println!("    building {package} (a few minutes, once)");
        // A debug build takes a third of the time, and the gate runs it once.
        let root = into.to_string_lossy();
        install(package, &["--debug", "--no-track", "--root", &root])
    })?;
    Ok(folder.join("bin").join(name))
}

fn install(tool: &str, options: &[&str]) -> Result<()> {
    let mut arguments = vec!["install", "--locked", "--quiet"];
    arguments.extend(options);
    arguments.push(tool);
    run_quietly(cargo(&arguments).env_remove("CARGO_TARGET_DIR")).map(drop)
}

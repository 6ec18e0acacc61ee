//! Zig as a linker, which can aim at an older glibc than this machine's, and its cargo command. Both come from the Python
//! index by name.

use std::path::PathBuf;

use anyhow::{Context, Result};
use redial_testbed::cache;

use crate::process::{command, run_quietly};

/// The pinned packages.
const PACKAGES: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// The two programs.
#[derive(Clone, Debug)]
pub struct Zig {
    /// `cargo-zigbuild`
    pub cargo_command: PathBuf,
    /// `zig`
    pub zig: PathBuf,
}

/// Returns Zig in the cache folder, installed by pip if missing.
///
/// # Errors
/// pip's message.
pub fn ensure() -> Result<Zig> {
    let folder = cache::ensure("tools/zig", &PACKAGES.join("\n"), |into| {
        println!("    installing {}", PACKAGES.join(" "));
        let target = into.to_string_lossy();
        let mut pip = vec!["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"];
        pip.extend(["--target", &target]);
        pip.extend(PACKAGES);
        run_quietly(&mut command("python3", &pip)).map(drop).context("pip cannot install Zig")
    })?;
    Ok(Zig { cargo_command: folder.join("bin/cargo-zigbuild"), zig: folder.join("ziglang/zig") })
}

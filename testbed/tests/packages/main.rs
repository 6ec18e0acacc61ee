//! The packages that `cargo xtask dist` made, installed and used as a new user would. `cargo xtask test dist` names their
//! folder in the environment.
#![cfg(target_os = "linux")]

mod containers;
mod fresh_root;
mod linux;
mod other_platforms;
mod windows;

use std::path::PathBuf;

use anyhow::{Context, Result};

/// Returns the package whose file name ends with `end`.
fn package(end: &str) -> Result<PathBuf> {
    let folder = std::env::var_os("REDIAL_PACKAGES").context(
        "REDIAL_PACKAGES names no folder; `cargo xtask test dist` makes the packages and names it",
    )?;
    let folder = PathBuf::from(folder);
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end)) {
            return Ok(path);
        }
    }
    anyhow::bail!("no package *{end} in {}", folder.display())
}

//! Every dependency in a manifest is used; found by cargo-machete.

use anyhow::Result;

use crate::process::{checkout, command};
use crate::setup;

/// Returns a breach for each package with unused dependencies.
///
/// # Errors
/// When cargo-machete cannot be built or started.
pub fn check() -> Result<Vec<String>> {
    let program = setup::cargo_machete()?;
    let folder = checkout();
    let output = command(&program.to_string_lossy(), &[&folder.to_string_lossy()]).output()?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let report =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok(vec![format!("cargo-machete finds unused dependencies:\n{}", report.trim())])
}

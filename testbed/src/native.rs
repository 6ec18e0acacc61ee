//! Small C libraries of `testbed/native`, compiled on first use and loaded into a host before all others.

use std::path::PathBuf;
use std::process::Command;

use crate::{cache, fetch};
use anyhow::{Context, Result, ensure};

/// Returns the library compiled from `testbed/native/NAME.c`.
///
/// # Errors
/// When there is no such file or no C compiler, or the compiler's messages.
pub fn library(name: &str) -> Result<PathBuf> {
    let source = cache::checkout().join(format!("testbed/native/{name}.c"));
    let recipe = fetch::sha256_of(&source)?;
    let file = format!("lib{name}.so");
    let folder = cache::ensure(&format!("native/{name}"), &recipe, |into| {
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-pthread", "-o"]);
        let output = compiler.arg(into.join(&file)).arg(&source).output().context("cc cannot be started")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    })?;
    Ok(folder.join(file))
}

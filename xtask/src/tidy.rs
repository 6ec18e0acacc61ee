//! `cargo xtask tidy`: project rules that the compiler does not check.

mod dependencies;
mod documents;
mod imports;
mod layers;
mod markdown;
mod prose;
mod sources;
mod windows_suites;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::process::{checkout, command, run_quietly};

/// Checks every rule and prints every breach.
///
/// # Errors
/// When a rule is broken, or git or cargo cannot be asked.
pub fn run() -> Result<()> {
    let files = files()?;
    let mut breaches = layers::check()?;
    breaches.extend(sources::check(&files)?);
    breaches.extend(documents::check(&files)?);
    breaches.extend(prose::check(&files)?);
    breaches.extend(dependencies::check()?);
    breaches.extend(windows_suites::check()?);
    for breach in &breaches {
        eprintln!("tidy: {breach}");
    }
    if !breaches.is_empty() {
        bail!("{} project rules are broken", breaches.len());
    }
    println!("tidy: {} files, nothing to say", files.len());
    Ok(())
}

/// Returns every file that git tracks or would add, as paths from the checkout's root.
fn files() -> Result<Vec<PathBuf>> {
    let listed =
        run_quietly(&mut command("git", &["ls-files", "--cached", "--others", "--exclude-standard", "-z"]))?;
    let mut files: Vec<_> = listed
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .filter(|path| checkout().join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

//! `cargo xtask tidy`: rules that the compiler does not know.

mod documents;
mod imports;
mod layers;
mod markdown;
mod prose;
mod sources;

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
    for breach in &breaches {
        eprintln!("tidy: {breach}");
    }
    if !breaches.is_empty() {
        bail!("{} project rules are broken", breaches.len());
    }
    println!("tidy: {} files, nothing to say", files.len());
    Ok(())
}

/// Every file of the checkout that git knows or would add, as paths from its root.
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

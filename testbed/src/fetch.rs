//! Fetches packages by name with `pip` and `npm` and checks them against their pinned hashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::cache;
use crate::packages::{Manager, Package};

const ATTEMPTS: u32 = 4;

/// Returns the package's file, fetching it unless the cache has a good copy.
///
/// # Errors
/// The package manager's last lines when every attempt failed, or an error when the hash differs.
pub fn package(package: &Package) -> Result<PathBuf> {
    let item = format!("downloads/{}", package.file_name());
    let folder = cache::ensure(&item, package.sha256, |aside| {
        eprintln!("  fetching {} {} ({} MB)", package.name, package.version, package.bytes / 1_000_000);
        let mut attempt = 1;
        let fetched = loop {
            match attempt_once(package, aside) {
                Ok(file) => break file,
                Err(error) if attempt < ATTEMPTS => {
                    eprintln!("  {} {}: attempt {attempt} failed: {error:#}", package.name, package.version);
                    // The pause lets an overloaded registry recover; the code does not wait for any event.
                    std::thread::sleep(Duration::from_secs(2 * u64::from(attempt)));
                    attempt += 1;
                }
                Err(error) => {
                    return Err(error.context(format!(
                        "{} {} could not be fetched in {ATTEMPTS} attempts",
                        package.name, package.version
                    )));
                }
            }
        };
        let kept = aside.join(package.file_name());
        fs::rename(&fetched, &kept).with_context(|| format!("cannot move {}", fetched.display()))
    })?;
    Ok(folder.join(package.file_name()))
}

fn attempt_once(package: &Package, into: &Path) -> Result<PathBuf> {
    clear(into)?;
    let mut command = command(package, into);
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("`{program}` cannot be started; is it installed and on the PATH?"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("`{program}` ended with {}: {}", output.status, words.trim());
    }
    let file = only_file(into)?;
    let found = sha256_of(&file)?;
    if found != package.sha256 {
        bail!(
            "{} {} has SHA-256 {found}, not the pinned {}; it is not used",
            package.name,
            package.version,
            package.sha256
        );
    }
    Ok(file)
}

fn command(package: &Package, into: &Path) -> Command {
    match package.manager {
        Manager::Pip { platforms, abi } => {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]);
            pip.args(["--only-binary=:all:", "--python-version", "3.11", "--abi", abi]);
            pip.args(["--implementation", if abi == "none" { "py" } else { "cp" }]);
            for platform in platforms {
                pip.args(["--platform", platform]);
            }
            pip.arg("--dest").arg(into);
            pip.arg(format!("{}=={}", package.name, package.version));
            pip
        }
        Manager::Npm => {
            let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
            npm.args(["pack", "--silent", "--pack-destination"]).arg(into);
            npm.arg(format!("{}@{}", package.name, package.version));
            npm
        }
    }
}

fn clear(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    match files.as_slice() {
        [file] => Ok(file.clone()),
        _ => bail!("one file was expected in {}, there are {}", folder.display(), files.len()),
    }
}

/// Returns the SHA-256 of a file in lower-case hexadecimal.
pub fn sha256_of(file: &Path) -> Result<String> {
    let mut opened = fs::File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let mut hasher = Sha256::new();
    std::io::copy(&mut opened, &mut hasher).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(format!("{:x}", hasher.finalize()))
}

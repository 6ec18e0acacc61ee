//! The cache folder. An item is either complete or absent, even if several processes set it up at once.
//!
//! An item is a folder built aside and then renamed into place. Its marker file holds the *recipe* it was built
//! from, and a changed recipe rebuilds the item. A process that dies half-way leaves only an unused folder. A
//! lock file keeps processes from building the same item at once.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const MARKER: &str = ".complete";

/// Returns the cache folder: `$REDIAL_CACHE`, else `.cache` in the checkout.
pub fn folder() -> PathBuf {
    match std::env::var_os("REDIAL_CACHE") {
        Some(folder) if !folder.is_empty() => on_a_drive(PathBuf::from(folder)),
        _ => checkout().join(".cache"),
    }
}

/// Returns a path of the machine that built this crate as one that Windows programs take: Wine has its files on
/// a drive. Elsewhere the path stays as it is.
fn on_a_drive(path: PathBuf) -> PathBuf {
    if cfg!(windows) { std::path::absolute(&path).unwrap_or(path) } else { path }
}

/// Returns the root of the checkout that this crate was built from.
pub fn checkout() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    on_a_drive(here.parent().unwrap_or(here).to_path_buf())
}

/// Returns a path as the machine that built this crate writes it, so that a recipe made under Wine is the same.
pub fn path_at_home(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !cfg!(windows) {
        return text.into_owned();
    }
    let without_drive = text.split_once(':').map_or(&*text, |(_, rest)| rest);
    without_drive.replace('\\', "/")
}

/// Makes sure that `item` (a path below the cache folder) matches `recipe`, builds it if it does not, and
/// returns its folder.
///
/// `build` gets an empty folder to fill. At most one build of an item runs at a time, over all processes.
///
/// # Errors
/// The error of `build`, or an error that names the path that the file system refused.
pub fn ensure(item: &str, recipe: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let target = folder().join(item);
    if is_complete(&target, recipe) {
        return Ok(target);
    }
    let _lock = lock(item)?;
    if is_complete(&target, recipe) {
        return Ok(target);
    }
    let aside = fresh_folder(item)?;
    fs::create_dir_all(&aside).with_context(|| format!("cannot create {}", aside.display()))?;
    build(&aside)?;
    let marker = aside.join(MARKER);
    fs::write(&marker, recipe).with_context(|| format!("cannot write {}", marker.display()))?;
    remove(&target)?;
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    fs::rename(&aside, &target)
        .with_context(|| format!("cannot move {} to {}", aside.display(), target.display()))?;
    Ok(target)
}

/// Returns whether `target` was completely built from `recipe`.
pub fn is_complete(target: &Path, recipe: &str) -> bool {
    fs::read_to_string(target.join(MARKER)).is_ok_and(|built_from| built_from == recipe)
}

/// Returns a folder of this process to build `item` in, and removes leftovers of dead processes.
///
/// The caller holds the lock. Leftovers are still neither used nor required to disappear: an unpacker started
/// by a dead process may still be writing to them.
fn fresh_folder(item: &str) -> Result<PathBuf> {
    let building = folder().join("building").join(item.replace('/', "-"));
    if let Ok(leftovers) = fs::read_dir(&building) {
        for leftover in leftovers.flatten() {
            // A later set-up removes leftovers that cannot be removed now; they are harmless.
            let _ = fs::remove_dir_all(leftover.path());
        }
    }
    let aside = building.join(std::process::id().to_string());
    remove(&aside)?;
    Ok(aside)
}

/// Waits for the lock of `item` and holds it until the returned file is dropped.
fn lock(item: &str) -> Result<File> {
    let locks = folder().join("locks");
    fs::create_dir_all(&locks).with_context(|| format!("cannot create {}", locks.display()))?;
    let path = locks.join(item.replace('/', "-"));
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", folder.display())),
    }
}

//! Archives with the same bytes for the same files: tar.gz and zip.

use std::path::Path;

use anyhow::{Context, Result};

use super::file_tree::FileTree;
use super::release::Release;
use crate::process::{command, run_quietly};

/// Packs the folder of a tree under its own name.
///
/// # Errors
/// When tar or gzip fails.
pub fn tar_gz(tree: &FileTree, release: &Release, to: &Path) -> Result<()> {
    let root = tree.root();
    let parent = root.parent().context("a folder without a parent")?;
    pack_tar(parent, root.file_name().unwrap_or_default().as_ref(), release, to)
}

/// Packs what is below `folder` / `inside`. The compressor writes neither name nor time.
///
/// # Errors
/// When tar or gzip fails.
pub fn pack_tar(folder: &Path, inside: &Path, release: &Release, to: &Path) -> Result<()> {
    let mut tar = command("tar", &["--create", "--format=gnu", "--sort=name", "--use-compress-program"]);
    tar.args(["gzip --best --no-name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", release.time));
    tar.arg("--file").arg(to).arg("--directory").arg(folder).arg(inside);
    run_quietly(&mut tar).map(drop)
}

/// Packs files of a folder, named as they are below it, without fields that differ between machines.
///
/// # Errors
/// When zip fails.
pub fn zip(folder: &Path, files: &[String], to: &Path) -> Result<()> {
    if to.exists() {
        std::fs::remove_file(to).with_context(|| to.display().to_string())?;
    }
    // Times in a zip file are local times.
    let mut zip = command("zip", &["--quiet", "-X", "--no-dir-entries", "--no-wild"]);
    zip.arg(to).args(files).current_dir(folder).env("TZ", "UTC");
    run_quietly(&mut zip).map(drop)
}

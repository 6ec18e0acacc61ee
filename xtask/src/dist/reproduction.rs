//! The same packages from another folder, compared byte by byte.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::release::Release;
use super::target::Target;
use super::{Format, compile, pack_all};
use crate::build::target_folder;
use crate::process::{checkout, command, run_quietly};
use crate::setup::step;

/// Builds the checkout again from a copy in another folder, with nothing built before, makes the packages again, and
/// compares them with those in `target/packages`. wixl writes the time into the msi, so that one is left out.
///
/// # Errors
/// The names of files that differ.
pub fn reproduce() -> Result<()> {
    let release = Release::of_checkout()?;
    let folder = target_folder().join("packages/other-folder");
    let source = folder.join("source");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::create_dir_all(&source).with_context(|| source.display().to_string())?;
    copy_sources(&source)?;
    let target = folder.join("target");
    let programs = Target::ALL
        .map(|system| compile::compile_from(&source, &target, system, &release))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let again = folder.join("packages");
    let formats: Vec<Format> = Format::ALL.into_iter().filter(|format| *format != Format::Msi).collect();
    pack_all(&formats, &programs, &release, &again)?;
    step("comparing both folders", || {
        compare(&again, &target_folder().join("packages").join(&release.version))
    })?;
    std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())
}

/// Copies the files that Git knows, as they are now.
fn copy_sources(to: &Path) -> Result<()> {
    let script = "git ls-files -z | tar --create --null --files-from=- --ignore-failed-read --file=- | \
                  tar --extract --file=- --directory=\"$1\"";
    run_quietly(command("sh", &["-c", script, "sh"]).arg(to).current_dir(checkout())).map(drop)
}

fn compare(again: &Path, first: &Path) -> Result<()> {
    let mut different = Vec::new();
    let mut same = 0;
    for entry in std::fs::read_dir(again).with_context(|| again.display().to_string())? {
        let name = entry?.file_name();
        if name == "SHA256SUMS" {
            continue;
        }
        let read = |folder: &Path| {
            let path = folder.join(&name);
            std::fs::read(&path).with_context(|| path.display().to_string())
        };
        match read(again)? == read(first)? {
            true => same += 1,
            false => different.push(name.to_string_lossy().into_owned()),
        }
    }
    ensure!(
        different.is_empty(),
        "these packages depend on the folder they are built in: {}",
        different.join(", ")
    );
    println!("    {same} files are the same");
    Ok(())
}

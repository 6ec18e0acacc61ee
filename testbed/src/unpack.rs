//! Unpacks wheels (zip) and npm tarballs with commonly installed programs, and sets file modes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Unpacks a `.whl` or `.tgz` into an existing folder.
///
/// # Errors
/// The unpacker's messages.
pub fn archive(archive: &Path, into: &Path) -> Result<()> {
    let is_wheel = archive.extension().is_some_and(|extension| extension == "whl");
    let mut command = if is_wheel {
        let mut python = Command::new("python3");
        python.args(["-m", "zipfile", "-e"]).arg(archive).arg(into);
        python
    } else {
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(archive).arg("-C").arg(into).arg("--no-same-owner");
        tar
    };
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("`{program}` cannot be started"))?;
    if !output.status.success() {
        bail!("{} cannot be unpacked: {}", archive.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Makes everything below `folder` readable by every user, and the files named in `programs` executable.
///
/// Archives contain modes such as 0744, or none, and tests start hosts as other users.
///
/// # Errors
/// When a mode cannot be set; the error names the path.
pub fn settle_modes(folder: &Path, programs: &[&str]) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            set_mode(&path, 0o755)?;
            settle_modes(&path, programs)?;
        } else if kind.is_file() {
            let name = path.file_name().unwrap_or_default();
            let runs = programs.iter().any(|program| name == *program);
            set_mode(&path, if runs { 0o755 } else { 0o644 })?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", path.display()))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> Result<()> {
    Ok(())
}

//! Paths of the built agent library and the built `redial` program.
//!
//! `xtask` builds them first and names them in the environment. A test started by hand finds them in the folder
//! of its own binary.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The target triple of the Windows builds.
pub const WINDOWS_TARGET: &str = "x86_64-pc-windows-gnu";

/// The target triple of Linux on 64-bit ARM, where nothing runs yet.
pub const ARM_TARGET: &str = "aarch64-unknown-linux-gnu";

/// Returns the path of the agent library: `$REDIAL_AGENT`, else the one beside the running test's build.
///
/// # Errors
/// An error that names the searched place, when the file does not exist.
pub fn agent() -> Result<PathBuf> {
    built("REDIAL_AGENT", "", library_name(cfg!(windows)))
}

/// Returns the path of the `redial` program: `$REDIAL_BIN`, else the one beside the running test's build.
///
/// # Errors
/// Fails like [`agent`].
pub fn redial() -> Result<PathBuf> {
    built("REDIAL_BIN", "", program_name(cfg!(windows)))
}

/// Returns the path of the profiler library that the benchmark compares with: `$REDIAL_OTHER_PROFILER`, else
/// the one beside the running test's build.
///
/// # Errors
/// Fails like [`agent`].
pub fn other_profiler() -> Result<PathBuf> {
    built("REDIAL_OTHER_PROFILER", "", OTHER_PROFILER)
}

/// File name of the library that [`other_profiler`] returns.
pub const OTHER_PROFILER: &str =
    if cfg!(windows) { "redial_bench_hooks.dll" } else { "libredial_bench_hooks.so" };

/// Returns the path of the agent library for Windows: `$REDIAL_AGENT_WINDOWS`, else the cross-built one in the
/// same target folder.
///
/// # Errors
/// Fails like [`agent`].
pub fn windows_agent() -> Result<PathBuf> {
    built("REDIAL_AGENT_WINDOWS", WINDOWS_TARGET, library_name(true))
}

/// Returns the path of the `redial` program for Windows: `$REDIAL_BIN_WINDOWS`, else the cross-built one in the
/// same target folder.
///
/// # Errors
/// Fails like [`agent`].
pub fn windows_redial() -> Result<PathBuf> {
    built("REDIAL_BIN_WINDOWS", WINDOWS_TARGET, program_name(true))
}

/// Returns the file name of the agent library.
pub const fn library_name(windows: bool) -> &'static str {
    if windows { "redial_agent.dll" } else { "libredial_agent.so" }
}

/// Returns the file name of the `redial` program.
pub const fn program_name(windows: bool) -> &'static str {
    if windows { "redial.exe" } else { "redial" }
}

fn built(variable: &str, triple: &str, file: &str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        if path.is_file() {
            return Ok(path);
        }
        bail!("{variable} names {}, which is not a file", path.display());
    }
    let own = std::env::current_exe()?;
    // The binary is TARGET/PROFILE/xtask, TARGET/PROFILE/deps/TEST or TARGET/PROFILE/examples/NAME.
    let folder = own.parent().unwrap_or(&own);
    let is_inner = folder.file_name().is_some_and(|name| name == "deps" || name == "examples");
    let profile = if is_inner { folder.parent().unwrap_or(folder) } else { folder };
    let path = with_triple(profile, triple).join(file);
    if path.is_file() {
        return Ok(path);
    }
    bail!("there is no {}; `cargo xtask test` builds it first, or set {variable}", path.display())
}

fn with_triple(profile: &Path, triple: &str) -> PathBuf {
    match (profile.parent(), profile.file_name()) {
        (Some(target), Some(name)) if !triple.is_empty() => target.join(triple).join(name),
        _ => profile.to_path_buf(),
    }
}

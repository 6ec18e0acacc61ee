//! Windows programs under Wine. `cargo xtask test wine` names the prefix and the loader in the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

use anyhow::{Context, Result};

use crate::artefacts;
use crate::host;
use crate::runtimes::Runtime;

/// Returns the command of `program`, a Windows program, under Wine. It keeps the environment that xtask set
/// (`WINEPREFIX` and others).
///
/// # Errors
/// When `REDIAL_WINE` is not set, because `cargo xtask test wine` did not start the test.
pub fn command(program: &Path) -> Result<Command> {
    let loader = std::env::var_os("REDIAL_WINE")
        .context("REDIAL_WINE names no Wine; `cargo xtask test wine` sets one up and names it")?;
    static EARLIER: Once = Once::new();
    EARLIER.call_once(|| wait_for_earlier_server(Path::new(&loader)));
    let mut command = Command::new(loader);
    command.arg(windows_path(program));
    Ok(command)
}

/// Waits until the server of an earlier test has ended. A program that starts meanwhile fails without a message.
fn wait_for_earlier_server(loader: &Path) {
    let beside = loader.with_file_name("wineserver");
    let mut server = Command::new(if beside.is_file() { beside } else { PathBuf::from("wineserver") });
    server.arg("-w").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Where it cannot be asked, the program itself says what is wrong with Wine.
    drop(server.status());
}

/// Returns `dotnet.exe DLL` of a Windows runtime under Wine.
///
/// # Errors
/// Fails like [`command`], or when the runtime cannot be set up.
pub fn dotnet(runtime: Runtime, dll: &Path) -> Result<Command> {
    let mut command = command(&runtime.ensure()?.dotnet())?;
    runtime.settle_environment(&mut command);
    command.env("DOTNET_ROOT", windows_path(&runtime.root()));
    command.arg(windows_path(dll));
    Ok(command)
}

/// Sets the variables that make a Windows CLR load the Windows agent.
///
/// # Errors
/// When the Windows agent has not been built.
pub fn load_agent(command: &mut Command) -> Result<()> {
    let library = artefacts::windows_agent()?;
    host::load_agent_from(command, Path::new(&windows_path(&library)));
    Ok(())
}

/// Returns `redial.exe ARGUMENTS` under Wine, with the Windows agent named in its environment.
///
/// # Errors
/// When the Windows builds are missing.
pub fn redial(arguments: &[&str]) -> Result<Command> {
    let mut command = command(&artefacts::windows_redial()?)?;
    command.env("REDIAL_AGENT", windows_path(&artefacts::windows_agent()?)).args(arguments);
    Ok(command)
}

/// Returns the path of a local file on Wine's drive `Z:`.
pub fn windows_path(path: &Path) -> OsString {
    let absolute: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    OsString::from(format!("Z:{}", absolute.to_string_lossy().replace('/', "\\")))
}

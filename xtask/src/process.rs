//! Running other programs, with readable errors.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Returns the checkout's root, where every command runs.
pub fn checkout() -> PathBuf {
    redial_testbed::cache::checkout()
}

/// Returns a command that runs in the checkout.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(checkout());
    command
}

/// Returns `cargo ARGUMENTS` with the current toolchain.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    for_another_package(command(&program, arguments))
}

/// Removes the variables that `cargo run` set for this package; another cargo must not inherit them.
pub fn for_another_package(mut command: Command) -> Command {
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command
}

/// Has the system end the command when this process ends, however it ends. A killed run of tests leaves none behind.
#[cfg(target_os = "linux")]
pub fn end_with_this_process(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only prctl runs, with numbers; it is async-signal-safe.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

/// Does nothing: only Linux offers it.
#[cfg(not(target_os = "linux"))]
pub fn end_with_this_process(_command: &mut Command) {}

/// Runs a command with this terminal's streams.
///
/// # Errors
/// A sentence with the command line, when it cannot be started or ends with another code than 0.
pub fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    let status = command.status().with_context(|| format!("`{line}` cannot be started"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Runs a command silently and returns its standard output.
///
/// # Errors
/// As [`run`], with the command's output.
pub fn run_quietly(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("`{line}` cannot be started"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!(
            "`{line}` ended with {}:\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(said)
}

/// Returns whether a command starts and ends with code 0.
pub fn works(program: &str, arguments: &[&str]) -> bool {
    command(program, arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Formats the command line for messages.
pub fn line(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

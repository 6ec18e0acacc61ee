//! Finds processes and their .NET runtimes, recognized by their mapped libraries. Read-only: nothing here
//! loads, stops or changes anything.

mod census;
pub mod group;
mod process;
pub mod runtime;

#[cfg(unix)]
mod diagnostics;
#[cfg(unix)]
mod elf;
#[cfg(unix)]
mod proc_files;
#[cfg(unix)]
#[path = "linux.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;
#[cfg(unix)]
mod users;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use system::tests::WaitingProgram;

use crate::platform::Platform;
pub use census::{Census, CensusChanges};
pub use process::{Halt, Process, ProcessSummary, RuntimeSearch};
use redial_protocol::ids::ProcessKey;

/// Converts a numeric user id from an agent to the user's name; returns other words unchanged.
pub fn user_name(word: &str) -> String {
    #[cfg(unix)]
    if let Ok(uid) = word.parse() {
        return users::name(uid);
    }
    word.to_owned()
}

/// Returns the user's name with its id, as other tools show it: `www (33)`.
pub fn user_title(word: &str) -> String {
    let name = user_name(word);
    if name == word { name } else { format!("{name} ({word})") }
}

/// Returns all processes by ascending pid, including zombies. Omits processes that end meanwhile.
///
/// # Errors
/// If processes cannot be listed.
pub fn all() -> std::io::Result<Vec<Process>> {
    let mut census = Census::default();
    census.refresh()?;
    Ok(census.processes().cloned().collect())
}

/// Returns one process; `None` if there is no such process or it has ended.
pub fn find(pid: u32) -> Option<Process> {
    system::find(pid)
}

/// Returns whether the pid of this process now belongs to another one. A start of 0 is an unknown one.
pub fn is_another(process: ProcessKey) -> bool {
    let ProcessKey { pid, start } = process;
    start != 0 && redial_protocol::process::key_of(pid).is_ok_and(|key| key.start != start)
}

/// Returns why a process is halted; `None` if it runs or nothing is known.
pub fn halted(pid: u32) -> Option<Halt> {
    system::halted(pid)
}

/// Returns the pids of all processes, including zombies; cheap.
///
/// # Errors
/// If processes cannot be listed.
pub fn pids() -> std::io::Result<Vec<u32>> {
    system::pids()
}

/// Returns the runtime's diagnostics port: the path of a socket or named pipe. `None` if there is none that
/// is visible from here.
pub fn diagnostics_port(pid: u32) -> Option<std::path::PathBuf> {
    system::diagnostics_port(pid)
}

/// Returns the processor and the C library of a .NET process; `None` if they cannot be read.
pub fn platform(pid: u32) -> Option<Platform> {
    system::platform(pid)
}

/// Returns name and value of the first fitting variable in a process's initial environment. `None` if it
/// cannot be read.
pub fn variable(pid: u32, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    system::variable(pid, fits)
}

/// Returns whether a process has mapped this file; `false` if unknown.
pub fn has_mapped(pid: u32, file: &std::path::Path) -> bool {
    system::has_mapped(pid, file)
}

/// Returns whether a process with that pid runs; a zombie does not.
pub fn runs(pid: u32) -> bool {
    system::runs(pid)
}

//! Which processes there are and which .NET runtime each has, told by the libraries it has mapped. Everything
//! here only looks; nothing is loaded, stopped or changed.

pub mod group;
pub mod runtime;

#[cfg(unix)]
mod diagnostics;
#[cfg(unix)]
mod elf;
#[cfg(unix)]
#[path = "linux.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use runtime::Runtime;

/// A process as `ps` shows it.
#[derive(Clone, Debug)]
pub struct Process {
    /// Process id, as this machine sees it.
    pub pid: u32,
    /// File name of the program; where that may not be read, the kernel's short name.
    pub name: String,
    /// The user it runs as.
    pub user: Option<String>,
    /// The service, container or application pool it belongs to.
    pub group: Option<String>,
    /// The command line; absent where it may not be read or is empty.
    pub command: Option<String>,
    /// Its runtime.
    pub runtime: Found,
}

/// What was found out about a process's runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has one.
    Runtime(Runtime),
    /// It has none.
    None,
    /// It could not be looked at.
    Unknown {
        /// Why, as a sentence without a final period.
        why: String,
        /// Whether something else (its name, a diagnostics socket) speaks for .NET.
        likely: bool,
    },
}

/// Every process there is, by ascending pid. Those that end meanwhile are left out.
pub fn all() -> std::io::Result<Vec<Process>> {
    let mut processes = system::all()?;
    processes.sort_by_key(|process| process.pid);
    Ok(processes)
}

/// One process; None when there is none with that pid.
pub fn one(pid: u32) -> Option<Process> {
    system::one(pid)
}

/// The pids of all processes, zombies included; cheap.
pub fn pids() -> std::io::Result<Vec<u32>> {
    system::pids()
}

/// Where the runtime of a process takes diagnostics commands: a socket's path, or a named pipe's. None when it offers
/// nothing, or nothing that can be seen from here.
pub fn diagnostics_port(pid: u32) -> Option<std::path::PathBuf> {
    system::diagnostics_port(pid)
}

/// The first variable whose name fits, of the environment a process was started with: name and value. None where that
/// cannot be read.
pub fn variable(pid: u32, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    system::variable(pid, fits)
}

/// Whether a process has this file mapped; false where that cannot be told.
pub fn has_mapped(pid: u32, file: &std::path::Path) -> bool {
    system::has_mapped(pid, file)
}

/// Whether a process with that pid runs (one that has exited but was not yet waited for does not).
pub fn runs(pid: u32) -> bool {
    system::runs(pid)
}

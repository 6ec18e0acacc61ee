//! What the system reports about a process: memory, threads, libraries, connections to its agent.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use crate::pe;

#[cfg_attr(windows, path = "process_facts/windows.rs")]
#[cfg_attr(not(windows), path = "process_facts/linux.rs")]
mod os;

/// A number that the system keeps for each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Reserved addresses, kB.
    AddressSpace,
    /// Resident memory, kB.
    Resident,
    /// The most resident memory so far, kB.
    PeakResident,
    /// Number of threads.
    Threads,
}

/// Returns a number of a process.
///
/// # Errors
/// When the process has ended, or the system does not report it.
pub fn of(pid: u32, fact: Fact) -> Result<u64> {
    os::of(pid, fact)
}

/// Returns whether a process has loaded a library whose file name contains `name`.
///
/// # Errors
/// When the process has ended, or the system does not list its libraries.
pub fn has_library(pid: u32, name: &str) -> Result<bool> {
    Ok(os::libraries(pid)?.iter().any(|path| path.contains(name)))
}

/// Returns the paths of the managed libraries that the system loaded. Those of IL only may be missing: a runtime can read them
/// as other files.
///
/// # Errors
/// When the process has ended, or the system does not list its libraries.
pub fn managed_libraries(pid: u32) -> Result<BTreeSet<String>> {
    let mut libraries = os::libraries(pid)?;
    libraries.retain(|path| {
        path.ends_with(".dll") && pe::Assembly::read(Path::new(path)).is_ok_and(|read| read.is_some())
    });
    Ok(libraries)
}

/// Returns a number that grows by one with each connection to a process's agent: its open sockets, or the instances of its
/// pipe. Other files do not count, because the runtime opens and closes some at any time.
///
/// # Errors
/// When the process has ended, or its agent answers nobody.
pub fn connections(pid: u32) -> Result<usize> {
    os::connections(pid)
}

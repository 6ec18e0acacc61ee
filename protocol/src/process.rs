//! Identity of a process: its key (pid and start time) and its owner, from the operating system.
//!
//! This module must not know what runs in the process.

#[cfg(unix)]
mod linux;
mod owner;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use linux as system;
#[cfg(windows)]
use windows as system;

#[cfg(unix)]
pub(crate) use linux::{environment_of, inner_uid};
#[cfg(windows)]
pub(crate) use windows::{enable_debug_privilege, sid_text};

use crate::ids::ProcessKey;
pub use owner::{Owner, ProcessError};

/// Returns the key of this process, as it sees itself.
///
/// # Errors
/// If the system does not report the start time (on Linux, if /proc is not mounted).
pub fn own_key() -> Result<ProcessKey, ProcessError> {
    system::own_key()
}

/// Returns the key by which the process with pid `pid` (as seen from here) knows *itself*: inside a container,
/// with the innermost pid.
///
/// # Errors
/// If there is no such process or the system does not report it.
pub fn key_of(pid: u32) -> Result<ProcessKey, ProcessError> {
    system::key_of(pid)
}

/// Returns the owner of this process as the process with pid `pid` sees it (a container may have its own user
/// ids).
///
/// # Errors
/// If the system does not report it.
pub fn own_owner_seen_by(pid: u32) -> Result<Owner, ProcessError> {
    let owner = owner_of(std::process::id())?;
    #[cfg(unix)]
    let owner = Owner { uid: inner_uid(pid, owner.uid) };
    #[cfg(windows)]
    let _ = pid;
    Ok(owner)
}

/// Returns the owner of the process with pid `pid`.
///
/// # Errors
/// If there is no such process or the system does not report it.
pub fn owner_of(pid: u32) -> Result<Owner, ProcessError> {
    system::owner_of(pid)
}

//! Who a process is: its key (pid and start time) and its owner, asked of the operating system.
//!
//! Must not know what runs in the process.

#[cfg(unix)]
mod linux;
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

/// Why a process cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It is not there, or no longer.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// The pid asked for.
        pid: u32,
    },
    /// It belongs to someone else.
    #[error("process {pid} cannot be looked at by this user: {source}")]
    NotAllowed {
        /// The pid asked for.
        pid: u32,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something else went wrong.
    #[error("process {pid} cannot be looked at: {source}")]
    Io {
        /// The pid asked for.
        pid: u32,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The user a process runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Unix: the effective uid as this process sees it.
    #[cfg(unix)]
    pub uid: u32,
    /// Windows: the user's SID, as `S-1-5-…`.
    #[cfg(windows)]
    pub sid: String,
}

impl Owner {
    /// As peers are told apart: a uid in decimal, or a SID.
    pub fn word(&self) -> String {
        #[cfg(unix)]
        return self.uid.to_string();
        #[cfg(windows)]
        return self.sid.clone();
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        #[cfg(unix)]
        return write!(f, "uid {}", self.uid);
        #[cfg(windows)]
        return f.write_str(&self.sid);
    }
}

/// The key of this process, as it sees itself.
///
/// # Errors
/// When the system does not tell the start time (on Linux, when /proc is not mounted).
pub fn own_key() -> Result<ProcessKey, ProcessError> {
    system::own_key()
}

/// The key by which the process with pid `pid` (as seen from here) knows *itself*: inside a container its
/// innermost pid.
///
/// # Errors
/// When there is no such process, or the system does not tell.
pub fn key_of(pid: u32) -> Result<ProcessKey, ProcessError> {
    system::key_of(pid)
}

/// Whom this process runs as, as the process with pid `pid` sees it (inside a container of its own users).
///
/// # Errors
/// When the system does not tell.
pub fn own_owner_seen_by(pid: u32) -> Result<Owner, ProcessError> {
    let owner = owner_of(std::process::id())?;
    #[cfg(unix)]
    let owner = Owner { uid: inner_uid(pid, owner.uid) };
    #[cfg(windows)]
    let _ = pid;
    Ok(owner)
}

/// Whom the process with pid `pid` runs as.
///
/// # Errors
/// When there is no such process, or the system does not tell.
pub fn owner_of(pid: u32) -> Result<Owner, ProcessError> {
    system::owner_of(pid)
}

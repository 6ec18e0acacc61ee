//! The user that a process runs as, and errors of looking at a process.

/// Reason why a process cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The process does not exist, or no longer exists.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// Requested pid.
        pid: u32,
    },
    /// The process belongs to another user.
    #[error("this user cannot inspect process {pid}: {source}")]
    NotAllowed {
        /// Requested pid.
        pid: u32,
        /// Error from the system.
        source: std::io::Error,
    },
    /// Another error.
    #[error("process {pid} cannot be inspected: {source}")]
    Io {
        /// Requested pid.
        pid: u32,
        /// Error from the system.
        source: std::io::Error,
    },
}

/// User that a process runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Unix: the effective uid, as this process sees it.
    #[cfg(unix)]
    pub uid: u32,
    /// Windows: the user's SID, as `S-1-5-…`.
    #[cfg(windows)]
    pub sid: String,
}

impl Owner {
    /// Returns the user id in the form that distinguishes peers: a uid in decimal, or a SID.
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

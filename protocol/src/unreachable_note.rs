//! The reason why the agent in a process cannot be reached, for controllers that find no endpoint.
//!
//! On Linux it is a file in memory, which the process keeps open: it needs no folder (perhaps no folder can be trusted),
//! only the process's user and root can read it, and it vanishes with the process. Elsewhere there is none.

/// Longest note, bytes.
#[cfg(target_os = "linux")]
const MAX_NOTE: u64 = 4 << 10;

/// Leaves a note for as long as this process lives, in one descriptor. Without one, controllers only know less.
pub fn leave(reason: &str) {
    #[cfg(target_os = "linux")]
    {
        use std::io::Write;
        use std::os::fd::{FromRawFd, IntoRawFd};
        // SAFETY: memfd_create(2) reads a NUL-terminated name.
        let descriptor = unsafe { libc::memfd_create(c"redial-note".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor >= 0 {
            // SAFETY: the descriptor is new, and nobody else has it.
            let mut file = unsafe { std::fs::File::from_raw_fd(descriptor) };
            let _ = file.write_all(reason.as_bytes());
            let _ = file.into_raw_fd();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = reason;
}

/// Returns the note that process `pid` keeps, if any. Its text comes from that process and may hold anything.
#[cfg(target_os = "linux")]
pub fn read(pid: u32) -> Option<String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.filter_map(Result::ok);
    let is_note = |path: &std::path::PathBuf| {
        std::fs::read_link(path).is_ok_and(|target| target.as_os_str() == "/memfd:redial-note (deleted)")
    };
    let path = descriptors.map(|entry| entry.path()).find(is_note)?;
    // Something else may have its name and would block.
    let file = std::fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_NOTE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns None: there are no notes on this system.
#[cfg(not(target_os = "linux"))]
pub fn read(_pid: u32) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn processes_keep_their_notes() {
        let me = std::process::id();
        assert_eq!(read(me), None);
        leave("no folder can hold the socket");
        assert_eq!(read(me).as_deref(), Some("no folder can hold the socket"));
        assert_eq!(read(u32::MAX), None);
    }
}

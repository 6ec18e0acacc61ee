//! Names of endpoints. Both sides compute them the same way, without access to any file.
//!
//! Unix: a socket file `PID-START.sock` in a folder of Redial; Windows: a pipe `\\.\pipe\redial-PID-START`.
//! This module must not decide whether a folder can be trusted; the transport does.

use crate::ids::ProcessKey;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Length of the longest socket path that every Unix accepts (`sun_path` on macOS, with its final NUL).
pub const MAX_SOCKET_PATH: usize = 103;

/// Returns the file name of a process's socket.
pub fn socket_name(process: ProcessKey) -> String {
    format!("{}-{}.sock", process.pid, process.start)
}

/// Returns the process that a socket's file name stands for, if it is such a name.
pub fn socket_owner(name: &str) -> Option<ProcessKey> {
    let (pid, start) = name.strip_suffix(".sock")?.split_once('-')?;
    let process = ProcessKey { pid: pid.parse().ok()?, start: start.parse().ok()? };
    (socket_name(process) == name).then_some(process)
}

/// Returns the full name of a process's pipe.
pub fn pipe_name(process: ProcessKey) -> String {
    format!(r"\\.\pipe\redial-{}-{}", process.pid, process.start)
}

/// A folder that may hold sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Existing folder of the system or the user.
    pub parent: PathBuf,
    /// Redial's folder in it, with mode 0700 and owned by the host's user.
    pub name: String,
}

impl Folder {
    fn new(parent: impl Into<PathBuf>, name: impl Into<String>) -> Folder {
        Folder { parent: parent.into(), name: name.into() }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> PathBuf {
        self.parent.join(&self.name)
    }

    /// Returns the same folder below another root (`/proc/PID/root`).
    pub fn below(&self, root: &Path) -> Folder {
        let inner = self.parent.strip_prefix("/").unwrap_or(&self.parent);
        Folder { parent: root.join(inner), name: self.name.clone() }
    }
}

/// Returns the folders that a host tries in turn for its socket. `uid` is the host's user as the host sees it,
/// `lookup` reads the environment that the host started with.
pub fn host_folders(uid: u32, lookup: impl Fn(&str) -> Option<OsString>) -> Vec<Folder> {
    let fallback = format!("redial-{uid}");
    let mut folders = Vec::new();
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(runtime) = absolute("XDG_RUNTIME_DIR") {
        folders.push(Folder::new(runtime, "redial"));
    }
    if let Some(temporary) = absolute("TMPDIR") {
        folders.push(Folder::new(temporary, fallback.as_str()));
    }
    folders.push(Folder::new("/tmp", fallback));
    without_repeats(folders)
}

/// Returns the folders in which a client looks for a host's socket: those that the host tries, then the
/// system's defaults in case the host's environment is not readable.
pub fn client_folders(uid: u32, lookup: impl Fn(&str) -> Option<OsString>) -> Vec<Folder> {
    let mut folders = host_folders(uid, lookup);
    folders.push(Folder::new(format!("/run/user/{uid}"), "redial"));
    without_repeats(folders)
}

fn without_repeats(folders: Vec<Folder>) -> Vec<Folder> {
    let mut kept: Vec<Folder> = Vec::with_capacity(folders.len());
    for folder in folders {
        if !kept.contains(&folder) {
            kept.push(folder);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ProcessKey = ProcessKey { pid: 4711, start: 123_456_789 };

    #[cfg(unix)]
    fn paths(folders: &[Folder]) -> Vec<String> {
        folders.iter().map(|folder| folder.path().display().to_string()).collect()
    }

    #[test]
    fn names_contain_pid_and_start_time() {
        assert_eq!(socket_name(KEY), "4711-123456789.sock");
        assert_eq!(pipe_name(KEY), r"\\.\pipe\redial-4711-123456789");
    }

    #[test]
    fn rejects_socket_names_of_others() {
        assert_eq!(socket_owner("4711-123456789.sock"), Some(KEY));
        for name in
            ["4711-123456789", "-1-2.sock", "04711-1.sock", "4711-+1.sock", "4711.sock", "4294967296-1.sock"]
        {
            assert_eq!(socket_owner(name), None, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn folders_come_from_the_environment_and_then_from_the_system() {
        let none = |_: &str| None;
        assert_eq!(paths(&host_folders(1000, none)), ["/tmp/redial-1000"]);
        assert_eq!(paths(&client_folders(1000, none)), ["/tmp/redial-1000", "/run/user/1000/redial"]);
        let both =
            |name: &str| Some(OsString::from(if name == "TMPDIR" { "/var/tmp/" } else { "/run/user/1000" }));
        let host = ["/run/user/1000/redial", "/var/tmp/redial-1000", "/tmp/redial-1000"];
        assert_eq!(paths(&host_folders(1000, both)), host);
        assert_eq!(paths(&client_folders(1000, both)), host);
        // Relative and empty paths would depend on the current folder.
        let relative = |name: &str| Some(OsString::from(if name == "TMPDIR" { "" } else { "run" }));
        assert_eq!(paths(&host_folders(1000, relative)), ["/tmp/redial-1000"]);
    }

    #[cfg(unix)]
    #[test]
    fn folder_below_another_root_keeps_its_path() {
        let folder = Folder { parent: "/tmp".into(), name: "redial-0".into() };
        assert_eq!(folder.below(Path::new("/proc/7/root")).path(), Path::new("/proc/7/root/tmp/redial-0"));
    }
}

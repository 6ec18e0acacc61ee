//! The controller's end: finds a process's socket and verifies its server.

use super::folder::{Folder, FolderError};
use super::own_uid;
use super::stream::{Credentials, Stream, try_connect};
use crate::endpoint;
use crate::process::{self, ProcessError};
use crate::transport::{ConnectError, Peer};
use interprocess::os::unix::uds_local_socket;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for which an agent's connection queue may be full.
const PATIENCE: Duration = Duration::from_secs(2);

/// Result of trying one folder.
enum Attempt {
    Connected(Stream, Peer),
    /// Nothing usable there; describes what was tried.
    Nothing(String),
    /// Another process serves the socket.
    Wrong(String),
    NotAllowed(String),
    Failed(io::Error),
}

pub(crate) fn connect(pid: u32) -> Result<(Stream, Peer), ConnectError> {
    let owner = process::owner_of(pid).map_err(|error| from_process(pid, error))?;
    let name = endpoint::socket_name(process::key_of(pid).map_err(|error| from_process(pid, error))?);
    if own_uid() != 0 && own_uid() != owner.uid {
        let why = format!(
            "it runs as uid {}, this program as uid {}; only that user and root may connect",
            owner.uid,
            own_uid()
        );
        return Err(ConnectError::NotAllowed { pid, why });
    }
    try_places(pid, owner.uid, &name, &places(pid, owner.uid))
}

/// Returns every folder in which the process may have created its socket.
fn places(pid: u32, uid: u32) -> Vec<endpoint::Folder> {
    let environment = process::environment_of(&pid.to_string());
    let lookup = |name: &str| environment.get(OsStr::new(name)).cloned();
    let inner = endpoint::client_folders(process::inner_uid(pid, uid), lookup);
    // Its own view of the file system comes first: in a container the same paths are other folders.
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let mut places = Vec::new();
    if has_other_root(&root) {
        places.extend(inner.iter().map(|folder| folder.below(&root)));
    }
    places.extend(inner);
    places
}

/// Returns whether a process has another root than this one (and it is accessible).
fn has_other_root(root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino()));
    // Another mount namespace can have the same root but another /tmp (systemd's PrivateTmp).
    let mounts = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt"));
    let process = root.parent().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default();
    match (identity(root), identity(Path::new("/")), mounts(process), mounts("self")) {
        (Ok(theirs), Ok(ours), Ok(their_mounts), Ok(our_mounts)) => {
            theirs != ours || their_mounts != our_mounts
        }
        (Ok(_), ..) => true,
        _ => false,
    }
}

/// Tries the folders in turn. Returns the most specific of the failures.
pub(super) fn try_places(
    pid: u32,
    uid: u32,
    name: &str,
    places: &[endpoint::Folder],
) -> Result<(Stream, Peer), ConnectError> {
    let mut looked_in = Vec::new();
    let mut most_specific: Option<ConnectError> = None;
    for place in places {
        let error = match try_place(pid, uid, name, place) {
            Attempt::Connected(stream, peer) => return Ok((stream, peer)),
            Attempt::Nothing(tried) => {
                looked_in.push(tried);
                continue;
            }
            Attempt::Wrong(why) => ConnectError::WrongServer { pid, why },
            Attempt::NotAllowed(why) => ConnectError::NotAllowed { pid, why },
            Attempt::Failed(source) => ConnectError::Io { pid, source },
        };
        if rank(&error) > most_specific.as_ref().map_or(0, rank) {
            most_specific = Some(error);
        }
    }
    Err(most_specific.unwrap_or(ConnectError::NoAgent { pid, looked_in }))
}

fn rank(error: &ConnectError) -> u8 {
    match error {
        ConnectError::WrongServer { .. } => 3,
        ConnectError::Io { .. } => 2,
        _ => 1,
    }
}

fn try_place(pid: u32, uid: u32, name: &str, place: &endpoint::Folder) -> Attempt {
    let path = place.path().join(name);
    let folder = match Folder::open(place, uid) {
        Ok(folder) => folder,
        Err(FolderError::Missing(_)) => return Attempt::Nothing(path.display().to_string()),
        Err(error @ FolderError::Untrusted { .. }) => return Attempt::Nothing(error.to_string()),
        Err(error @ FolderError::NotAllowed(_)) => return Attempt::NotAllowed(error.to_string()),
        Err(FolderError::Io { source, .. }) => return Attempt::Failed(source),
    };
    match folder.stat(name) {
        Ok(Some(_)) => {}
        Ok(None) => return Attempt::Nothing(path.display().to_string()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Attempt::NotAllowed(format!("{} cannot be read by this user", folder.path().display()));
        }
        Err(error) => return Attempt::Failed(error),
    }
    let stream = match connect_within(&folder.entry(name), PATIENCE) {
        Ok(stream) => stream,
        Err(error) => match error.kind() {
            // A killed process left the socket behind, and another has the same pid and start time.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                return Attempt::Nothing(format!("{}, where nobody listens", path.display()));
            }
            io::ErrorKind::PermissionDenied => {
                return Attempt::NotAllowed(format!("{} cannot be opened by this user", path.display()));
            }
            _ => return Attempt::Failed(error),
        },
    };
    let credentials = match Credentials::of(stream.inner()) {
        Ok(credentials) => credentials,
        Err(error) => return Attempt::Failed(error),
    };
    match check_server(credentials, pid, uid) {
        Ok(()) => Attempt::Connected(Stream::new(stream), credentials.peer()),
        Err(why) => Attempt::Wrong(format!("{} is served by {why}", path.display())),
    }
}

/// Checks that the server is the requested process and runs under its owner. Root is accepted too: a daemon
/// that drops its rights may have begun to listen as root.
fn check_server(server: Credentials, pid: u32, uid: u32) -> Result<(), String> {
    match server.pid {
        None => return Err("a process that cannot be seen from here".to_owned()),
        Some(other) if other != pid => return Err(format!("process {other}")),
        Some(_) => {}
    }
    if server.uid != uid && server.uid != 0 {
        return Err(format!("uid {}, but process {pid} belongs to uid {uid}", server.uid));
    }
    Ok(())
}

/// Connects to a server whose queue may be full for some time.
fn connect_within(path: &Path, patience: Duration) -> io::Result<uds_local_socket::Stream> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(stream) = try_connect(path)? {
            return Ok(stream);
        }
        if Instant::now() >= deadline {
            let message = "its agent does not accept connections (is the process stopped?)";
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn from_process(pid: u32, error: ProcessError) -> ConnectError {
    match error {
        ProcessError::NoSuchProcess { pid } => ConnectError::NoSuchProcess { pid },
        ProcessError::NotAllowed { source, .. } => ConnectError::NotAllowed { pid, why: source.to_string() },
        ProcessError::Io { source, .. } => ConnectError::Io { pid, source },
    }
}

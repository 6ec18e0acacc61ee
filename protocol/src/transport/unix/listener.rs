//! The agent's end: creates the socket file, admits peers, and removes the file.

use super::folder::{Folder, Inode};
use super::own_uid;
use super::stream::{Credentials, Stream, try_connect};
use crate::endpoint::{self, MAX_SOCKET_PATH};
use crate::ids::ProcessKey;
use crate::process;
use crate::transport::{AcceptError, BindError, Peer};
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName, traits::Listener as _};
use interprocess::os::unix::local_socket::ListenerOptionsExt;
use interprocess::os::unix::uds_local_socket;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of folder entries checked for sockets of dead processes.
const MAX_SWEEP: usize = 256;

#[derive(Debug)]
pub(crate) struct Listener {
    socket: uds_local_socket::Listener,
    folder: Folder,
    name: String,
    inode: Inode,
    /// Process that created the listener. A forked child has a copy and must not remove its parent's file.
    creator: u32,
    closed: AtomicBool,
}

impl Listener {
    pub(crate) fn bind(me: ProcessKey) -> Result<Listener, BindError> {
        // The environment at start-up, which a client can read too; std::env would race with the host's setenv.
        let environment = process::environment_of("self");
        let places = endpoint::host_folders(own_uid(), |name| environment.get(OsStr::new(name)).cloned());
        Listener::bind_in(&places, me)
    }

    pub(super) fn bind_in(places: &[endpoint::Folder], me: ProcessKey) -> Result<Listener, BindError> {
        let name = endpoint::socket_name(me);
        let mut refusals = Vec::new();
        for place in places {
            let path = place.path().join(&name);
            let length = path.as_os_str().as_bytes().len();
            if length > MAX_SOCKET_PATH {
                let path = path.display();
                refusals.push(format!(
                    "{path} is {length} bytes long; a socket's path has at most {MAX_SOCKET_PATH}"
                ));
                continue;
            }
            match Folder::open_or_create(place, own_uid()) {
                Ok(folder) => return Listener::bind_at(folder, name),
                Err(error) => refusals.push(error.to_string()),
            }
        }
        Err(BindError::NoFolder { refusals })
    }

    fn bind_at(folder: Folder, name: String) -> Result<Listener, BindError> {
        let path = folder.path().join(&name);
        let failed = |source| BindError::Io { name: path.display().to_string(), source };
        sweep(&folder, &name);
        clear_stale(&folder, &name)?;
        let socket = ListenerOptions::new()
            .name(path.as_path().to_fs_name::<GenericFilePath>().map_err(failed)?)
            .mode(0o600)
            .reclaim_name(false)
            .create_sync_as::<uds_local_socket::Listener>()
            .map_err(failed)?;
        // The socket was bound by path; the folder's descriptor shows whether it is in the right place.
        let metadata = folder.stat(&name).map_err(failed)?.ok_or_else(|| BindError::Squatted {
            name: path.display().to_string(),
            why: "its folder was exchanged while the socket was being created".to_owned(),
        })?;
        if !metadata.file_type().is_socket() || metadata.uid() != own_uid() {
            let why = "something else took its name while it was being created".to_owned();
            return Err(BindError::Squatted { name: path.display().to_string(), why });
        }
        let listener = Listener {
            socket,
            inode: Inode::of(&metadata),
            folder,
            name,
            creator: std::process::id(),
            closed: AtomicBool::new(false),
        };
        if metadata.mode() & 0o7777 != 0o600 {
            // The umask cleared bits.
            fs::set_permissions(listener.folder.entry(&listener.name), Permissions::from_mode(0o600))
                .map_err(|source| BindError::Io { name: listener.name(), source })?;
        }
        Ok(listener)
    }

    pub(crate) fn accept(&self) -> Result<(Stream, Peer), AcceptError> {
        let accepted = self.socket.accept();
        if self.closed.load(Ordering::Acquire) {
            return Err(AcceptError::Closed);
        }
        let stream = accepted.map_err(AcceptError::Io)?;
        let credentials = Credentials::of(stream.inner()).map_err(AcceptError::Io)?;
        if credentials.uid != 0 && credentials.uid != own_uid() {
            return Err(AcceptError::NotAdmitted { user: format!("uid {}", credentials.uid) });
        }
        Ok((Stream::new(stream), credentials.peer()))
    }

    pub(crate) fn unlink(&self) {
        if std::process::id() == self.creator {
            // A later agent of this user sweeps a file that cannot be removed.
            let _ = self.folder.remove(&self.name, self.inode);
        }
    }

    pub(crate) fn close(&self) {
        self.unlink();
        self.closed.store(true, Ordering::Release);
        // shutdown(2) wakes accept(2), which then fails with EINVAL. std offers it only for streams.
        if let Ok(copy) = self.socket.inner().try_clone() {
            let _ = UnixStream::from(OwnedFd::from(copy)).shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn name(&self) -> String {
        self.folder.path().join(&self.name).display().to_string()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.unlink();
    }
}

/// Frees the name, which contains pid and start time. An existing file belongs to this process, to one before
/// the last boot, or is a trap.
fn clear_stale(folder: &Folder, name: &str) -> Result<(), BindError> {
    let shown = folder.path().join(name).display().to_string();
    let failed = |source| BindError::Io { name: shown.clone(), source };
    let Some(metadata) = folder.stat(name).map_err(failed)? else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(BindError::Squatted { name: shown, why: "it is not a socket".to_owned() });
    }
    if metadata.uid() != own_uid() {
        let why = format!("it belongs to uid {}, not to uid {}", metadata.uid(), own_uid());
        return Err(BindError::Squatted { name: shown, why });
    }
    if !is_deserted(folder, name) {
        return Err(BindError::Served { name: shown });
    }
    folder.remove(name, Inode::of(&metadata)).map_err(failed)
}

/// Removes sockets of dead processes (a killed process cannot), within bounds.
fn sweep(folder: &Folder, own: &str) {
    for name in folder.names(MAX_SWEEP) {
        let Some(owner) = endpoint::socket_owner(&name).filter(|_| name != own) else { continue };
        // Alive or unknown. (A process in another pid namespace looks dead, so the socket is checked too.)
        if !matches!(process::key_of(owner.pid), Ok(key) if key != owner)
            && !matches!(process::key_of(owner.pid), Err(process::ProcessError::NoSuchProcess { .. }))
        {
            continue;
        }
        let Ok(Some(metadata)) = folder.stat(&name) else { continue };
        if metadata.file_type().is_socket() && metadata.uid() == own_uid() && is_deserted(folder, &name) {
            let _ = folder.remove(&name, Inode::of(&metadata));
        }
    }
}

/// Returns whether nobody listens on a socket file. A listener with a full queue is somebody.
fn is_deserted(folder: &Folder, name: &str) -> bool {
    matches!(try_connect(&folder.entry(name)), Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

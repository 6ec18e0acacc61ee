//! The agent's end of the pipe.

use super::stream::Stream;
use crate::endpoint;
use crate::ids::ProcessKey;
use crate::process;
use crate::transport::{AcceptError, BindError, Peer};
use interprocess::os::windows::named_pipe::{
    DuplexPipeStream, PipeListener, PipeListenerOptions, pipe_mode::Bytes,
};
use interprocess::os::windows::security_descriptor::SecurityDescriptor;
use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, TryLockError};
use widestring::U16CString;
use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_PIPE_BUSY};
use windows_sys::Win32::Storage::FileSystem::SECURITY_ANONYMOUS;
use windows_sys::Win32::System::Pipes::{GetNamedPipeClientProcessId, WaitNamedPipeW};

/// Requested buffer size in each direction, bytes.
const BUFFER: u32 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Listener {
    /// Read-locked while a thread accepts. `unlink` takes it out.
    pipe: RwLock<Option<PipeListener<Bytes, Bytes>>>,
    name: String,
    closed: AtomicBool,
}

impl Listener {
    pub(crate) fn bind(me: ProcessKey) -> Result<Listener, BindError> {
        let name = endpoint::pipe_name(me);
        let failed = |source| BindError::Io { name: name.clone(), source };
        let owner = process::owner_of(me.pid).map_err(|error| failed(io::Error::other(error)))?;
        let security = security(&owner.sid).map_err(failed)?;
        // The flag below refuses an existing name; Wine 8 ignores it and would share the name.
        if exists(&name).map_err(failed)? {
            return Err(taken(&name));
        }
        // By default, interprocess creates the first instance with FILE_FLAG_FIRST_PIPE_INSTANCE, and all of
        // them not inheritable and with PIPE_REJECT_REMOTE_CLIENTS. The latter two are explicit here all the
        // same.
        let pipe = PipeListenerOptions::new()
            .path(name.as_str())
            .accept_remote(false)
            .inheritable(false)
            .input_buffer_size_hint(BUFFER)
            .output_buffer_size_hint(BUFFER)
            .security_descriptor(Some(security))
            .create_duplex::<Bytes>()
            .map_err(|source| refused(&name, source))?;
        Ok(Listener { pipe: RwLock::new(Some(pipe)), name, closed: AtomicBool::new(false) })
    }

    pub(crate) fn accept(&self) -> Result<(Stream, Peer), AcceptError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(AcceptError::Closed);
        }
        let accepted = {
            let pipe = self.pipe.read().unwrap_or_else(PoisonError::into_inner);
            let Some(pipe) = pipe.as_ref() else { return Err(AcceptError::Closed) };
            pipe.accept()
        };
        if self.closed.load(Ordering::Acquire) {
            // Another thread may be waiting; each wakes the next, and the last one removes the name.
            self.wake();
            self.unlink();
            return Err(AcceptError::Closed);
        }
        let handle = into_handle(accepted.map_err(AcceptError::Io)?)?;
        let peer = peer_of(&handle);
        Ok((Stream::new(handle).map_err(AcceptError::Io)?, peer))
    }

    /// Removes the name, unless a thread accepts: then it lives until `close` has woken that thread. Never waits.
    pub(crate) fn unlink(&self) {
        match self.pipe.try_write() {
            Ok(mut pipe) => drop(pipe.take()),
            Err(TryLockError::Poisoned(poisoned)) => drop(poisoned.into_inner().take()),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.unlink();
        self.wake();
    }

    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// Connects once, so that a waiting accept returns. If the pipe is busy, there already is a connection to
    /// accept.
    fn wake(&self) {
        let _ =
            OpenOptions::new().read(true).write(true).security_qos_flags(SECURITY_ANONYMOUS).open(&self.name);
    }
}

fn into_handle(stream: DuplexPipeStream<Bytes>) -> Result<OwnedHandle, AcceptError> {
    OwnedHandle::try_from(stream)
        .map_err(|_| AcceptError::Io(io::Error::other("the pipe's handle is shared")))
}

/// Returns a descriptor owned by the host's user, which a client can check, and open to that user, SYSTEM and
/// Administrators. (A token that is not elevated has Administrators for denying only.)
fn security(user: &str) -> io::Result<SecurityDescriptor> {
    let text = format!("O:{user}D:P(A;;GA;;;{user})(A;;GA;;;SY)(A;;GA;;;BA)");
    SecurityDescriptor::deserialize(&U16CString::from_str(text).map_err(io::Error::other)?)
}

fn exists(name: &str) -> io::Result<bool> {
    let wide = U16CString::from_str(name).map_err(io::Error::other)?;
    // SAFETY: a NUL-terminated name. One millisecond, because 0 would mean the server's default.
    let free_instance = unsafe { WaitNamedPipeW(wide.as_ptr(), 1) != 0 };
    Ok(free_instance || io::Error::last_os_error().kind() != io::ErrorKind::NotFound)
}

/// Maps the error for a taken name: the first-instance flag fails with ERROR_ACCESS_DENIED (or as busy).
fn refused(name: &str, source: io::Error) -> BindError {
    match source.raw_os_error().map(|code| code as u32) {
        Some(ERROR_ACCESS_DENIED | ERROR_PIPE_BUSY) => taken(name),
        _ => BindError::Io { name: name.to_owned(), source },
    }
}

fn taken(name: &str) -> BindError {
    BindError::Squatted { name: name.to_owned(), why: "another pipe already has this name".to_owned() }
}

/// Returns the peer on a best-effort basis. It serves the audit; the pipe's access list decides on admission.
fn peer_of(handle: &OwnedHandle) -> Peer {
    let mut pid = 0;
    // SAFETY: the handle is the server end of a connected pipe; the out-parameter is ours.
    let known = unsafe { GetNamedPipeClientProcessId(handle.as_raw_handle(), &mut pid) != 0 };
    let pid = known.then_some(pid);
    let owner = pid.and_then(|pid| process::owner_of(pid).ok());
    Peer { pid, user: owner.map_or_else(|| "unknown".to_owned(), |owner| owner.sid) }
}

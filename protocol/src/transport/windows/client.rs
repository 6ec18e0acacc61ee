//! The controller's end: opens a process's pipe and verifies its server.

use super::stream::Stream;
use crate::endpoint;
use crate::ids::ProcessKey;
use crate::process::{self, Owner, ProcessError};
use crate::transport::{ConnectError, Peer};
use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::time::{Duration, Instant};
use widestring::U16CString;
use windows_sys::Win32::Foundation::{ERROR_PIPE_BUSY, LocalFree};
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_KERNEL_OBJECT};
use windows_sys::Win32::Security::OWNER_SECURITY_INFORMATION;
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_OVERLAPPED, SECURITY_IDENTIFICATION};
use windows_sys::Win32::System::Pipes::{GetNamedPipeServerProcessId, WaitNamedPipeW};

/// Time for which all instances of an agent's pipe may be taken.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn connect(pid: u32) -> Result<(Stream, Peer), ConnectError> {
    let (key, owner) = identify_process(pid).map_err(|error| from_process(pid, error))?;
    let name = endpoint::pipe_name(key);
    let handle = open(&name).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ConnectError::NoAgent { pid, looked_in: vec![name.clone()] },
        io::ErrorKind::PermissionDenied => ConnectError::NotAllowed {
            pid,
            why: format!("{name} is only open to {owner}, SYSTEM and elevated administrators"),
        },
        _ => ConnectError::Io { pid, source },
    })?;
    let failed = |source| ConnectError::Io { pid, source };
    let server = server_of(&handle).map_err(failed)?;
    if server != pid {
        return Err(ConnectError::WrongServer { pid, why: format!("{name} is served by process {server}") });
    }
    let pipe_owner = owner_of_pipe(&handle).map_err(failed)?;
    if pipe_owner != owner.sid {
        let why = format!("{name} belongs to {pipe_owner}, but process {pid} to {owner}");
        return Err(ConnectError::WrongServer { pid, why });
    }
    let peer = Peer { pid: Some(pid), user: owner.sid };
    Ok((Stream::new(handle).map_err(failed)?, peer))
}

/// Returns the identity of the process. An elevated administrator may inspect every process, but has to enable
/// the privilege first.
fn identify_process(pid: u32) -> Result<(ProcessKey, Owner), ProcessError> {
    let ask = || Ok((process::key_of(pid)?, process::owner_of(pid)?));
    match ask() {
        Err(ProcessError::NotAllowed { .. }) if process::enable_debug_privilege() => ask(),
        other => other,
    }
}

/// Opens the pipe so that its server can identify_process us but not act as us.
fn open(name: &str) -> io::Result<OwnedHandle> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(FILE_FLAG_OVERLAPPED)
            .security_qos_flags(SECURITY_IDENTIFICATION)
            .open(name);
        match opened {
            Ok(file) => return Ok(file.into()),
            Err(error) if error.raw_os_error().map(|code| code as u32) != Some(ERROR_PIPE_BUSY) => {
                return Err(error);
            }
            Err(_) if Instant::now() >= deadline => {
                let message = "its agent does not accept connections (is the process stopped?)";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(_) => {
                let wide = U16CString::from_str(name).map_err(io::Error::other)?;
                // SAFETY: a NUL-terminated name. The next open shows whether an instance became free.
                unsafe { WaitNamedPipeW(wide.as_ptr(), 100) };
            }
        }
    }
}

fn server_of(handle: &OwnedHandle) -> io::Result<u32> {
    let mut pid = 0;
    // SAFETY: the handle belongs to an open pipe; the out-parameter is ours.
    if unsafe { GetNamedPipeServerProcessId(handle.as_raw_handle(), &mut pid) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(pid)
}

/// Returns the SID of the pipe's owner. Its creator can only set it to itself (or, as an administrator, to that
/// group).
fn owner_of_pipe(handle: &OwnedHandle) -> io::Result<String> {
    let mut owner = std::ptr::null_mut();
    let mut descriptor = std::ptr::null_mut();
    // SAFETY: the handle was opened for reading, which includes READ_CONTROL; on success the owner points into
    // the descriptor, which is ours and is freed with LocalFree after the owner has been copied.
    unsafe {
        let code = GetSecurityInfo(
            handle.as_raw_handle(),
            SE_KERNEL_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &mut owner,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &mut descriptor,
        );
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code as i32));
        }
        let text = process::sid_text(owner);
        LocalFree(descriptor);
        text
    }
}

fn from_process(pid: u32, error: ProcessError) -> ConnectError {
    match error {
        ProcessError::NoSuchProcess { pid } => ConnectError::NoSuchProcess { pid },
        ProcessError::NotAllowed { source, .. } => ConnectError::NotAllowed { pid, why: source.to_string() },
        ProcessError::Io { source, .. } => ConnectError::Io { pid, source },
    }
}

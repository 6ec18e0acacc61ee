//! Jobs, ends and children of host processes on Windows.

use std::mem::size_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Child, Command};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, WaitForSingleObject};

/// Makes the process that `command` starts the leader of a console group, so that tests can interrupt it. A job
/// takes it after its start.
pub(super) fn own_group(command: &mut Command) {
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
}

/// The job of a child and of all processes that it starts.
#[derive(Debug)]
pub(super) struct Group(OwnedHandle);

impl Group {
    /// Puts the child into a new job.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn of(child: &Child) -> Result<Self> {
        // SAFETY: a job without a name and with default security; both pointers may be null.
        let job = owned(unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) })
            .context("cannot create a job")?;
        // SAFETY: both handles are open.
        let assigned = unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) };
        // A process that has ended already needs no job.
        if assigned == 0 && !wait(child, 0)? {
            return Err(std::io::Error::last_os_error()).context("cannot put a process into a job");
        }
        Ok(Self(job))
    }

    /// Kills every process of the job.
    pub(super) fn kill(&self) {
        // SAFETY: an open handle.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

/// Returns the ids of a process's children.
///
/// # Errors
/// When the system lists no processes.
pub(super) fn children(pid: u32) -> Result<Vec<u32>> {
    // SAFETY: two numbers.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) })
        .context("the system lists no processes")?;
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..Default::default() };
    let mut children = Vec::new();
    // SAFETY: an open snapshot, and an entry whose size is set.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &mut entry) };
    while more != 0 {
        if entry.th32ParentProcessID == pid {
            children.push(entry.th32ProcessID);
        }
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &mut entry) };
    }
    Ok(children)
}

/// Returns whether the child has ended. Its handle keeps its id from being used again.
///
/// # Errors
/// When the system does not report it.
pub(super) fn has_ended(child: &mut Child) -> Result<bool> {
    wait(child, 0)
}

/// Waits until the child has ended. Returns false if the deadline passes first.
///
/// # Errors
/// When the system does not report it.
pub(super) fn wait_for_end(child: &mut Child, deadline: Instant) -> Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    // The largest number would mean no limit.
    wait(child, u32::try_from(left).unwrap_or(u32::MAX - 1))
}

fn wait(child: &Child, milliseconds: u32) -> Result<bool> {
    // SAFETY: the child's handle is open.
    match unsafe { WaitForSingleObject(child.as_raw_handle(), milliseconds) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_TIMEOUT => Ok(false),
        _ => Err(std::io::Error::last_os_error()).context("cannot wait for a child"),
    }
}

/// Takes ownership of a handle that the system has just returned.
fn owned(handle: HANDLE) -> Result<OwnedHandle> {
    ensure!(!handle.is_null() && handle != INVALID_HANDLE_VALUE, std::io::Error::last_os_error());
    // SAFETY: an open handle that nothing else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

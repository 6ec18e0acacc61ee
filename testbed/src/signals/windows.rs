//! Console events, and processes whose threads are all suspended.

use std::ffi::c_void;
use std::io::Error;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use anyhow::{Context, Result, ensure};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_SUSPEND_RESUME};

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtSuspendProcess(process: *mut c_void) -> i32;
    fn NtResumeProcess(process: *mut c_void) -> i32;
}

/// A suspended process.
pub(super) type Target = OwnedHandle;

/// Sends Ctrl+Break to the group that the process leads.
///
/// # Errors
/// When this process shares no console with it.
pub(super) fn interrupt(pid: u32) -> Result<()> {
    // SAFETY: two numbers.
    let sent = unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, pid) };
    ensure!(sent != 0, "{pid} cannot be interrupted: {}", Error::last_os_error());
    Ok(())
}

/// Suspends every thread.
///
/// # Errors
/// When the process does not exist or cannot be suspended.
pub(super) fn stop(pid: u32) -> Result<Target> {
    // SAFETY: three numbers.
    let handle = unsafe { OpenProcess(PROCESS_SUSPEND_RESUME, 0, pid) };
    ensure!(!handle.is_null(), "{pid} cannot be opened: {}", Error::last_os_error());
    // SAFETY: an open handle that nothing else owns.
    let process = unsafe { OwnedHandle::from_raw_handle(handle) };
    // SAFETY: an open handle with the right to suspend.
    let status = unsafe { NtSuspendProcess(process.as_raw_handle()) };
    (status >= 0).then_some(process).with_context(|| format!("{pid} cannot be stopped: status {status:#x}"))
}

/// Resumes every thread. A process that has ended needs no resuming.
pub(super) fn go_on(process: &Target) {
    // SAFETY: an open handle with the right to resume.
    unsafe { NtResumeProcess(process.as_raw_handle()) };
}

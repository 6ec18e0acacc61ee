//! Processes on Windows: creation time and token user.

use super::owner::{Owner, ProcessError};
use crate::ids::ProcessKey;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_INVALID_PARAMETER, ERROR_SUCCESS, FILETIME, GetLastError, LUID, LocalFree,
    STILL_ACTIVE,
};
use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, GetTokenInformation, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW, PSID,
    SE_DEBUG_NAME, SE_PRIVILEGE_ENABLED, TOKEN_ADJUST_PRIVILEGES, TOKEN_PRIVILEGES, TOKEN_QUERY, TOKEN_USER,
    TokenUser,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetExitCodeProcess, GetProcessTimes, OpenProcess, OpenProcessToken,
    PROCESS_QUERY_LIMITED_INFORMATION,
};

/// Bytes of the largest TOKEN_USER: the structure and a SID of 15 sub-authorities (68 bytes), rounded up.
const MAX_TOKEN_USER: usize = 128;

pub(super) fn own_key() -> Result<ProcessKey, ProcessError> {
    key_of(std::process::id())
}

pub(super) fn key_of(pid: u32) -> Result<ProcessKey, ProcessError> {
    let process = open(pid)?;
    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut created, mut exited, mut kernel, mut user) = (zero, zero, zero, zero);
    // SAFETY: the handle is open with PROCESS_QUERY_LIMITED_INFORMATION; the four out-parameters are ours.
    let succeeded = unsafe {
        GetProcessTimes(process.as_raw_handle(), &mut created, &mut exited, &mut kernel, &mut user) != 0
    };
    if !succeeded {
        return Err(ProcessError::Io { pid, source: io::Error::last_os_error() });
    }
    let start = (u64::from(created.dwHighDateTime) << 32) | u64::from(created.dwLowDateTime);
    Ok(ProcessKey { pid, start })
}

pub(super) fn owner_of(pid: u32) -> Result<Owner, ProcessError> {
    let process = open(pid)?;
    token_user(&process).map(|sid| Owner { sid }).map_err(|source| failed(pid, source))
}

/// Opens a process that has not ended. (An ended process stays openable as long as somebody holds a handle.)
fn open(pid: u32) -> Result<OwnedHandle, ProcessError> {
    // SAFETY: OpenProcess takes any pid; we own and close a handle that is not null.
    let process = unsafe {
        let handle = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
        if handle.is_null() {
            return Err(failed(pid, io::Error::last_os_error()));
        }
        OwnedHandle::from_raw_handle(handle)
    };
    let mut code = 0;
    // SAFETY: the handle is open with PROCESS_QUERY_LIMITED_INFORMATION; the out-parameter is ours.
    let succeeded = unsafe { GetExitCodeProcess(process.as_raw_handle(), &mut code) != 0 };
    if succeeded && code != STILL_ACTIVE as u32 {
        return Err(ProcessError::NoSuchProcess { pid });
    }
    Ok(process)
}

fn failed(pid: u32, source: io::Error) -> ProcessError {
    match source.raw_os_error().map(|code| code as u32) {
        Some(ERROR_INVALID_PARAMETER) => ProcessError::NoSuchProcess { pid },
        Some(ERROR_ACCESS_DENIED) => ProcessError::NotAllowed { pid, source },
        _ => ProcessError::Io { pid, source },
    }
}

/// Returns the SID of the user in a process's token as text.
fn token_user(process: &OwnedHandle) -> io::Result<String> {
    // SAFETY: the process handle is open; we own and close the returned token handle.
    let token = unsafe {
        let mut token = std::ptr::null_mut();
        if OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &mut token) == 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(token)
    };
    // Aligned like TOKEN_USER, which begins with a pointer.
    let mut buffer = [0u64; MAX_TOKEN_USER / 8];
    let mut length = 0;
    // SAFETY: the buffer is writable for the given length and aligned; on success it holds a TOKEN_USER whose
    // SID points into it, and it lives until the SID has been copied.
    unsafe {
        let out = buffer.as_mut_ptr().cast();
        if GetTokenInformation(token.as_raw_handle(), TokenUser, out, MAX_TOKEN_USER as u32, &mut length) == 0
        {
            return Err(io::Error::last_os_error());
        }
        sid_text((*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid)
    }
}

/// Enables SeDebugPrivilege in this process's token, which lets an elevated administrator inspect the processes
/// of services and pools. Returns whether the token has the privilege. For controllers only: an agent must not
/// change the token of its host.
pub(crate) fn enable_debug_privilege() -> bool {
    // SAFETY: we own the returned token handle and its owner closes it; the structures are ours, hold the one
    // privilege that their count says, and live until the calls return. AdjustTokenPrivileges succeeds even if
    // the token lacks the privilege, which then shows in the last error.
    unsafe {
        let mut token = std::ptr::null_mut();
        if OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &mut token) == 0 {
            return false;
        }
        let token = OwnedHandle::from_raw_handle(token);
        let mut luid = LUID { LowPart: 0, HighPart: 0 };
        if LookupPrivilegeValueW(std::ptr::null(), SE_DEBUG_NAME, &mut luid) == 0 {
            return false;
        }
        let privileges = TOKEN_PRIVILEGES {
            PrivilegeCount: 1,
            Privileges: [LUID_AND_ATTRIBUTES { Luid: luid, Attributes: SE_PRIVILEGE_ENABLED }],
        };
        let (none, ignored) = (std::ptr::null_mut(), std::ptr::null_mut());
        AdjustTokenPrivileges(token.as_raw_handle(), 0, &privileges, 0, none, ignored) != 0
            && GetLastError() == ERROR_SUCCESS
    }
}

/// Formats a SID as `S-1-5-…`.
///
/// # Safety
/// `sid` must point to a valid SID.
pub(crate) unsafe fn sid_text(sid: PSID) -> io::Result<String> {
    let mut text = std::ptr::null_mut();
    // SAFETY: the SID is valid by our contract; the returned text is NUL-terminated, ours, and freed with
    // LocalFree as ConvertSidToStringSidW requires.
    unsafe {
        if ConvertSidToStringSidW(sid, &mut text) == 0 {
            return Err(io::Error::last_os_error());
        }
        let length = (0..).take_while(|index| *text.add(*index) != 0).count();
        let copied = String::from_utf16_lossy(std::slice::from_raw_parts(text, length));
        LocalFree(text.cast());
        Ok(copied)
    }
}

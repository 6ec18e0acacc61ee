//! Security descriptors of open handles, as Windows keeps them.

use std::fs::File;
use std::io::Error;
use std::os::windows::io::AsRawHandle;

use anyhow::{Result, ensure};
use windows_sys::Win32::Foundation::{GENERIC_ALL, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, GetSecurityInfo, SE_KERNEL_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, DACL_SECURITY_INFORMATION, GetAce, GetSecurityDescriptorControl,
    OWNER_SECURITY_INFORMATION, PSID, SE_DACL_PROTECTED,
};
use windows_sys::Win32::Storage::FileSystem::FILE_ALL_ACCESS;

/// `ACCESS_ALLOWED_ACE_TYPE` of winnt.h
const ALLOWED: u8 = 0;

/// One entry of an access list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The user or group.
    pub sid: String,
    /// Whether the entry allows.
    pub allows: bool,
    /// Whether it stands for every right.
    pub everything: bool,
    /// Whether it comes from, or goes to, another object.
    pub inherits: bool,
}

/// Owner and access list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The owner.
    pub owner: String,
    /// Whether the list takes no entries from elsewhere.
    pub is_protected: bool,
    /// The access list.
    pub access: Vec<Access>,
}

/// Returns the descriptor of an open file or pipe.
///
/// # Errors
/// When the system does not give it, or there is no access list, so that everyone may do everything.
pub fn of(file: &File) -> Result<Descriptor> {
    let (mut owner, mut list, mut descriptor) =
        (std::ptr::null_mut(), std::ptr::null_mut::<ACL>(), std::ptr::null_mut());
    // SAFETY: the handle is open; the out-parameters are ours.
    let code = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_KERNEL_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
            &mut owner,
            std::ptr::null_mut(),
            &mut list,
            std::ptr::null_mut(),
            &mut descriptor,
        )
    };
    ensure!(code == 0, Error::from_raw_os_error(code as i32));
    // SAFETY: the call succeeded, so owner and list are null or point into the descriptor, which lives until it is freed.
    let read = unsafe { read(owner, list, descriptor) };
    // SAFETY: the descriptor is ours, and nothing points into it any more.
    unsafe { LocalFree(descriptor) };
    read
}

/// # Safety
/// `owner` and `list` are null or point into the valid `descriptor`.
unsafe fn read(owner: PSID, list: *mut ACL, descriptor: *mut std::ffi::c_void) -> Result<Descriptor> {
    ensure!(!owner.is_null() && !list.is_null(), "no owner or no access list");
    let (mut control, mut revision) = (0, 0);
    // SAFETY: a valid descriptor by our contract; the out-parameters are ours.
    let known = unsafe { GetSecurityDescriptorControl(descriptor, &mut control, &mut revision) };
    ensure!(known != 0, Error::last_os_error());
    // SAFETY: a valid list by our contract.
    let count = unsafe { (*list).AceCount };
    let mut access = Vec::new();
    for index in 0..u32::from(count) {
        let mut entry = std::ptr::null_mut();
        // SAFETY: a valid list by our contract, and an index below its count; the out-parameter is ours.
        let found = unsafe { GetAce(list, index, &mut entry) };
        ensure!(found != 0, Error::last_os_error());
        // SAFETY: entries that allow and those that deny have this layout, with the SID in place of the last field.
        let (head, mask, sid) = unsafe {
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            ((*entry).Header, (*entry).Mask, (&raw mut (*entry).SidStart).cast())
        };
        access.push(Access {
            // SAFETY: the SID within a valid entry.
            sid: unsafe { text(sid) }?,
            allows: head.AceType == ALLOWED,
            everything: mask == GENERIC_ALL || mask == FILE_ALL_ACCESS,
            inherits: head.AceFlags != 0,
        });
    }
    let is_protected = control & SE_DACL_PROTECTED != 0;
    // SAFETY: a valid SID by our contract.
    Ok(Descriptor { owner: unsafe { text(owner) }?, is_protected, access })
}

/// # Safety
/// `sid` must point to a valid SID.
unsafe fn text(sid: PSID) -> Result<String> {
    let mut text = std::ptr::null_mut();
    // SAFETY: a valid SID by our contract; the out-parameter is ours.
    let converted = unsafe { ConvertSidToStringSidW(sid, &mut text) };
    ensure!(converted != 0, Error::last_os_error());
    // SAFETY: the call returned a NUL-terminated text, which is ours to free.
    unsafe {
        let length = (0..).take_while(|index| *text.add(*index) != 0).count();
        let copied = String::from_utf16_lossy(std::slice::from_raw_parts(text, length));
        LocalFree(text.cast());
        Ok(copied)
    }
}

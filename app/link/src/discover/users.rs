//! Looks up user names and caches them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The maximum number of cached names; each lookup reads files or asks a directory service.
const REMEMBERED: usize = 4096;

/// Returns the name of a user, or the id if it has no name.
pub fn name(uid: u32) -> String {
    static NAMES: Mutex<Option<HashMap<u32, String>>> = Mutex::new(None);
    if let Some(name) = NAMES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().get(&uid)
    {
        return name.clone();
    }
    let name = ask(uid).unwrap_or_else(|| uid.to_string());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if names.len() < REMEMBERED {
        names.insert(uid, name.clone());
    }
    name
}

fn ask(uid: u32) -> Option<String> {
    let mut buffer = vec![0u8; 4096];
    // SAFETY: all-zero is a valid `passwd`: integers, and pointers that are only read after success.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found: *mut libc::passwd = std::ptr::null_mut();
    // SAFETY: getpwuid_r(3): every pointer is to a live local, the length is the buffer's.
    let failed =
        unsafe { libc::getpwuid_r(uid, &mut entry, buffer.as_mut_ptr().cast(), buffer.len(), &mut found) };
    if failed != 0 || found.is_null() || entry.pw_name.is_null() {
        return None;
    }
    // SAFETY: on success pw_name is a NUL-terminated string inside `buffer`, which still lives.
    Some(unsafe { std::ffi::CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names_or_numbers() {
        for _ in 0..2 {
            assert_eq!(name(0), "root");
            assert_eq!(name(3_999_999_999), "3999999999");
        }
    }
}

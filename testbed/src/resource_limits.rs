//! Resource limits of child processes.

use std::io::Error;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Gives the process that `command` starts at most this much of a resource, such as `libc::RLIMIT_NOFILE`.
pub fn limit(command: &mut Command, resource: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    let set_limit = move || {
        // SAFETY: setrlimit(2) reads the live structure.
        match unsafe { libc::setrlimit(resource, &limit) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(set_limit) };
}

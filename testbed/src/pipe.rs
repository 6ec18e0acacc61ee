//! Opening named pipes as any program could.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redial_protocol::{endpoint, process};
use windows_sys::Win32::Foundation::ERROR_PIPE_BUSY;

use crate::host::DEADLINE;

/// Returns the name of the pipe of a process's agent.
///
/// # Errors
/// When there is no such process.
pub fn of(pid: u32) -> Result<String> {
    Ok(endpoint::pipe_name(process::key_of(pid)?))
}

/// Opens a pipe. While all its instances are taken, it waits until the server makes the next one.
///
/// # Errors
/// When there is no such pipe, or the deadline passes.
pub fn open(name: &str) -> Result<File> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match OpenOptions::new().read(true).write(true).open(name) {
            Err(error)
                if error.raw_os_error() == Some(ERROR_PIPE_BUSY as i32) && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.with_context(|| name.to_owned()),
        }
    }
}

/// Returns whether no pipe has this name.
pub fn is_free(name: &str) -> bool {
    File::open(name).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

//! Signals.

use anyhow::{Result, ensure};
use std::io::Error;

/// A stopped process.
pub(super) type Target = u32;

/// Sends `signal`, such as `libc::SIGINT`, to a process. An unreaped zombie accepts it too.
///
/// # Errors
/// When the process does not exist or belongs to another user.
pub fn send(pid: u32, signal: i32) -> Result<()> {
    let process = libc::pid_t::try_from(pid)?;
    // SAFETY: kill(2) takes two numbers and touches no memory.
    let answer = unsafe { libc::kill(process, signal) };
    ensure!(answer == 0, "{pid} cannot be sent signal {signal}: {}", Error::last_os_error());
    Ok(())
}

/// Sends SIGINT.
///
/// # Errors
/// Fails like [`send`].
pub(super) fn interrupt(pid: u32) -> Result<()> {
    send(pid, libc::SIGINT)
}

/// Sends SIGSTOP and waits until all threads are stopped.
///
/// # Errors
/// Fails like [`send`], and when the process ends meanwhile.
pub(super) fn stop(pid: u32) -> Result<Target> {
    send(pid, libc::SIGSTOP)?;
    // The signal takes effect thread by thread.
    loop {
        match is_stopped(pid) {
            Ok(false) => std::thread::yield_now(),
            Ok(true) => return Ok(pid),
            Err(error) => {
                go_on(&pid);
                return Err(error);
            }
        }
    }
}

/// Returns whether every thread is stopped (state `T` in `/proc/PID/task/TID/stat`, see proc(5)).
fn is_stopped(pid: u32) -> Result<bool> {
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end while they are listed.
        let Ok(stat) = std::fs::read_to_string(thread?.path().join("stat")) else { continue };
        let state = stat.rsplit_once(") ").map(|(_, fields)| fields.as_bytes().first().copied());
        if state != Some(Some(b'T')) {
            return Ok(false);
        }
        threads += 1;
    }
    ensure!(threads > 0, "process {pid} has ended");
    Ok(true)
}

/// Sends SIGCONT. A process that has ended needs none.
pub(super) fn go_on(pid: &Target) {
    drop(send(*pid, libc::SIGCONT));
}

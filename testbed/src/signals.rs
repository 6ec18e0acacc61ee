//! Signals to test processes.

use anyhow::{Result, ensure};
use std::io::Error;

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

/// A process that stays stopped (SIGSTOP) until this is dropped.
pub struct Stopped(u32);

impl Stopped {
    /// Stops the process and waits until all its threads are stopped.
    ///
    /// # Errors
    /// Fails like [`send`], and when the process ends meanwhile.
    pub fn stop(pid: u32) -> Result<Stopped> {
        send(pid, libc::SIGSTOP)?;
        let stopped = Stopped(pid);
        // The signal takes effect thread by thread.
        while !is_stopped(pid)? {
            std::thread::yield_now();
        }
        Ok(stopped)
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

impl Drop for Stopped {
    fn drop(&mut self) {
        // A process that has ended needs no SIGCONT.
        drop(send(self.0, libc::SIGCONT));
    }
}

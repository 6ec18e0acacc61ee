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
    /// Stops the process.
    ///
    /// # Errors
    /// Fails like [`send`].
    pub fn stop(pid: u32) -> Result<Stopped> {
        send(pid, libc::SIGSTOP).map(|()| Stopped(pid))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A process that has ended needs no SIGCONT.
        drop(send(self.0, libc::SIGCONT));
    }
}

//! Signals to processes of tests.

use anyhow::{Result, ensure};
use std::io::Error;

/// Sends `signal` (`libc::SIGINT`, say) to a process. One that has ended and was not waited for takes it, too.
///
/// # Errors
/// When there is no such process, or it is another user's.
pub fn send(pid: u32, signal: i32) -> Result<()> {
    let process = libc::pid_t::try_from(pid)?;
    // SAFETY: kill(2) takes two numbers and touches no memory.
    let answer = unsafe { libc::kill(process, signal) };
    ensure!(answer == 0, "{pid} cannot be sent signal {signal}: {}", Error::last_os_error());
    Ok(())
}

/// A process stopped by a signal until this is dropped.
pub struct Stopped(u32);

impl Stopped {
    /// Stops it.
    ///
    /// # Errors
    /// As [`send`].
    pub fn stop(pid: u32) -> Result<Stopped> {
        send(pid, libc::SIGSTOP).map(|()| Stopped(pid))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // One that is gone is not stopped either.
        drop(send(self.0, libc::SIGCONT));
    }
}

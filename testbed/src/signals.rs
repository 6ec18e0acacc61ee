//! Interrupts, stops and continues test processes.

use anyhow::Result;

#[cfg_attr(windows, path = "signals/windows.rs")]
#[cfg_attr(not(windows), path = "signals/unix.rs")]
mod os;

#[cfg(unix)]
pub use os::send;

/// Interrupts a host's process as Ctrl-C does: with SIGINT, or with Ctrl+Break to its process group on Windows, where
/// Ctrl+C reaches every process of a console.
///
/// # Errors
/// When the process does not exist, or the system refuses.
pub fn interrupt(pid: u32) -> Result<()> {
    os::interrupt(pid)
}

/// A process that stays stopped until this is dropped.
pub struct Stopped(os::Target);

impl Stopped {
    /// Stops the process and waits until all its threads are stopped.
    ///
    /// # Errors
    /// When the process does not exist, ends meanwhile, or belongs to another user.
    pub fn stop(pid: u32) -> Result<Stopped> {
        os::stop(pid).map(Stopped)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        os::go_on(&self.0);
    }
}

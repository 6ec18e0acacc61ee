//! Socket folders and what `/proc` says about a host.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::{endpoint, process};

use super::{RawClient, TargetHost};
use crate::host::DEADLINE;

/// The connection of a [`RawClient`].
pub type Stream = UnixStream;

/// The place at which an agent listens: the path of its socket.
#[derive(Clone, Debug)]
pub struct Endpoint(PathBuf);

/// Connects to a socket.
///
/// # Errors
/// When nobody listens.
pub(super) fn open(socket: &Endpoint) -> Result<Stream> {
    let stream = UnixStream::connect(&socket.0).with_context(|| socket.0.display().to_string())?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_write_timeout(Some(DEADLINE))?;
    Ok(stream)
}

/// The folder of a host's socket, removed on drop.
pub struct SocketFolder(PathBuf);

impl SocketFolder {
    /// Makes the folder and has `command` use it.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn of(command: &mut Command) -> Result<Self> {
        let name = format!("redial-faults-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        command.env("TMPDIR", &folder).env_remove("XDG_RUNTIME_DIR");
        Ok(Self(folder))
    }

    /// Returns the path of Redial's own folder, which the agent makes.
    pub fn own(&self) -> PathBuf {
        // SAFETY: geteuid takes nothing and cannot fail.
        self.0.join(format!("redial-{}", unsafe { libc::geteuid() }))
    }

    /// Returns the path of a process's socket.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn socket(&self, pid: u32) -> Result<PathBuf> {
        Ok(self.own().join(endpoint::socket_name(process::key_of(pid)?)))
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

impl TargetHost {
    /// Returns the place at which its agent listens.
    ///
    /// # Errors
    /// When it has ended.
    pub fn endpoint(&self) -> Result<Endpoint> {
        self.folder.socket(self.live.pid).map(Endpoint)
    }

    /// Returns the processor time of the thread of this name (proc(5), fields `utime` and `stime` of `stat`).
    ///
    /// # Errors
    /// When there is no such thread.
    pub fn processor_time(&self, thread: &str) -> Result<Duration> {
        const TICK: Duration = Duration::from_millis(10);
        for task in fs::read_dir(format!("/proc/{}/task", self.live.pid))? {
            let task = task?.path();
            if fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == thread) {
                let stat = fs::read_to_string(task.join("stat"))?;
                let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
                let times = fields.split_whitespace().skip(11).take(2);
                let ticks: u32 = times.map(|ticks| ticks.parse::<u32>().unwrap_or_default()).sum();
                return Ok(TICK * ticks);
            }
        }
        bail!("{} has no thread {thread}", self.live.pid)
    }
}

impl RawClient {
    /// Waits, without reading, until the agent has closed the connection.
    ///
    /// # Errors
    /// When the deadline passes first.
    pub fn wait_for_hang_up(&self) -> Result<()> {
        let mut wait = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
        // SAFETY: one live pollfd, and its count.
        let found = unsafe { libc::poll(&mut wait, 1, DEADLINE.as_millis() as libc::c_int) };
        ensure!(found == 1, "the agent did not close the connection");
        Ok(())
    }
}

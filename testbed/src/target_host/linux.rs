//! Socket folders and what `/proc` says about a host.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::{endpoint, process};

use super::{RawClient, TargetHost};
use crate::host::DEADLINE;
use crate::under_agent::LiveHost;

/// The connection of a [`RawClient`].
pub type Stream = UnixStream;

/// Connects to a host's socket in its own folder.
///
/// # Errors
/// When nobody listens.
pub(super) fn connect(host: &LiveHost, folder: &SocketFolder) -> Result<Stream> {
    open(&folder.socket(host.pid)?)
}

fn open(socket: &Path) -> Result<Stream> {
    let stream = UnixStream::connect(socket).with_context(|| socket.display().to_string())?;
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
    /// Returns the path of its socket.
    ///
    /// # Errors
    /// When it has ended.
    pub fn socket(&self) -> Result<PathBuf> {
        self.folder.socket(self.live.pid)
    }

    /// Returns a number from `/proc/PID/status`, such as kB or threads.
    ///
    /// # Errors
    /// When the process has ended, or there is no such line.
    pub fn fact(&self, name: &str) -> Result<u64> {
        process_fact(self.live.pid, name)
    }

    /// Waits until it has no more threads and sockets than these.
    ///
    /// # Errors
    /// When the deadline passes first.
    pub fn wait_for_no_more_than(&self, threads: u64, sockets: usize) -> Result<()> {
        // No event announces the end of the last thread.
        let deadline = Instant::now() + DEADLINE;
        while self.fact("Threads")? > threads || self.sockets()? > sockets {
            let (now, open) = (self.fact("Threads")?, self.sockets()?);
            ensure!(Instant::now() < deadline, "{threads} threads became {now}, {sockets} sockets {open}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
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

    /// Returns the number of open sockets. Other files do not count, because the runtime opens and closes some
    /// at any time.
    ///
    /// # Errors
    /// When its descriptors cannot be listed.
    pub fn sockets(&self) -> Result<usize> {
        let links = fs::read_dir(format!("/proc/{}/fd", self.live.pid))?
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        Ok(links.filter(|target| target.to_string_lossy().starts_with("socket:")).count())
    }
}

/// Returns a number from `/proc/PID/status`, such as kB or threads.
///
/// # Errors
/// When the process has ended, or there is no such line.
pub fn process_fact(pid: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()).context("no such line")?;
    Ok(number.parse()?)
}

impl RawClient {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn connect(path: &Path) -> Result<Self> {
        open(path).map(RawClient::over)
    }

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

//! Process groups, ends and children of host processes on Unix.

use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Puts the process that `command` starts into its own group.
pub(super) fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// The process group of an unreaped child.
#[derive(Debug)]
pub(super) struct Group(u32);

impl Group {
    /// Returns the group of a child that [`own_group`] prepared.
    ///
    /// # Errors
    /// Never here.
    pub(super) fn of(child: &Child) -> Result<Self> {
        Ok(Self(child.id()))
    }

    /// Kills every process of the group. The caller has not reaped the child yet.
    pub(super) fn kill(&self) {
        if let Ok(group) = i32::try_from(self.0) {
            // SAFETY: kill(2) takes no memory. The group id is the id of the unreaped child, so no other group
            // has it.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
}

/// Returns the ids of a process's children.
///
/// # Errors
/// When the process has ended, and everywhere except on Linux.
pub(super) fn children(pid: u32) -> Result<Vec<u32>> {
    if !cfg!(target_os = "linux") {
        bail!("only Linux lists a process's children in files");
    }
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let listed = std::fs::read_to_string(task?.path().join("children"))?;
        for child in listed.split_whitespace() {
            children.push(child.parse()?);
        }
    }
    Ok(children)
}

/// Returns whether the child has ended, without reaping it. Until it is reaped, nothing else can get its id or
/// its group's id.
///
/// # Errors
/// When the system does not report it.
pub(super) fn has_ended(child: &mut Child) -> Result<bool> {
    // SAFETY: all-zero bytes are a valid siginfo_t; waitid overwrites it.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is a live siginfo_t; the options leave the child waitable.
    let answer = unsafe {
        libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    if answer != 0 {
        return Err(std::io::Error::last_os_error()).context("cannot ask whether a child has ended");
    }
    // SAFETY: after a successful waitid, si_pid is the child's id, or 0 while it runs.
    Ok(unsafe { info.si_pid() } != 0)
}

/// Waits until the child has ended, without reaping it. Returns false if the deadline passes first.
///
/// # Errors
/// When the system does not report it.
pub(super) fn wait_for_end(child: &mut Child, deadline: Instant) -> Result<bool> {
    let pid = child.id();
    let (sender, ended) = channel();
    // The thread ends with the child, and a caller that gives up kills the child.
    std::thread::spawn(move || {
        loop {
            // SAFETY: all-zero bytes are a valid siginfo_t; waitid overwrites it.
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            // SAFETY: `info` is a live siginfo_t; the options leave the child waitable.
            let answer = unsafe { libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT) };
            let error = std::io::Error::last_os_error();
            if answer == 0 || error.kind() != std::io::ErrorKind::Interrupted {
                // After the deadline nobody receives this.
                let _ = sender.send(if answer == 0 { Ok(()) } else { Err(error) });
                return;
            }
        }
    });
    match ended.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(ended) => ended.context("cannot wait for a child").map(|()| true),
        Err(_) => Ok(false),
    }
}

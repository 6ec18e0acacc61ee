//! A program from start to end: elapsed time, processor time, peak memory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Resources used by a run.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Elapsed time, from start to end.
    pub milliseconds: f64,
    /// Processor time of all its threads, in milliseconds; 0 where unknown.
    pub processor: f64,
    /// Peak resident memory; 0 where unknown.
    pub peak_mib: f64,
}

/// Runs `command` to its end.
///
/// # Errors
/// When it cannot be started or does not end with code 0.
pub fn timed(command: Command) -> Result<Timed> {
    Running::start(command)?.wait()
}

/// A running program.
pub struct Running {
    child: Child,
    begin: Instant,
    errors: PathBuf,
}

impl Running {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command) -> Result<Running> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // A file, since nobody reads a pipe while the program runs.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed) % 2;
        let errors = crate::build::target_folder().join(format!("bench-errors-{number}.txt"));
        let file = File::create(&errors).with_context(|| format!("cannot write {}", errors.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let begin = Instant::now();
        let child = command.spawn().context("the program cannot be started")?;
        Ok(Running { child, begin, errors })
    }

    /// Its process id.
    #[cfg(unix)]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends and returns the resources it used.
    ///
    /// # Errors
    /// When it does not end with code 0.
    pub fn wait(mut self) -> Result<Timed> {
        let (success, peak_mib, processor) = wait(&mut self.child)?;
        let milliseconds = self.begin.elapsed().as_secs_f64() * 1000.0;
        if !success {
            bail!("the program failed: {}", fs::read_to_string(self.errors).unwrap_or_default());
        }
        Ok(Timed { milliseconds, processor, peak_mib })
    }
}

/// Waits for a child. Returns its success, peak memory in MiB, and processor time in milliseconds.
#[cfg(unix)]
fn wait(child: &mut Child) -> Result<(bool, f64, f64)> {
    let pid = i32::try_from(child.id()).context("a process id beyond its type")?;
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid rusage; wait4 overwrites it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and not waited for; both out pointers are live locals.
    while unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } < 0 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error).context("the program cannot be waited for");
        }
    }
    let success = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    // KiB on Linux.
    let milliseconds = |time: libc::timeval| time.tv_sec as f64 * 1000.0 + time.tv_usec as f64 / 1000.0;
    let processor = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
    Ok((success, usage.ru_maxrss as f64 / 1024.0, processor))
}

#[cfg(not(unix))]
fn wait(child: &mut Child) -> Result<(bool, f64, f64)> {
    Ok((child.wait()?.success(), 0.0, 0.0))
}

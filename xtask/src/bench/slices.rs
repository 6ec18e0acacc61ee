//! Two programs that alternate every tenth of a second, so that a slow phase of the machine affects both. Run one after
//! the other, the same compilation varies by a tenth and more.

use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::timed::{Running, Timed};

/// Length of one slice.
const SLICE: Duration = Duration::from_millis(100);
/// Time limit for both.
const TOO_LONG: Duration = Duration::from_secs(900);

/// Runs both to their ends, `first` first, each stopped while the other runs. Returns the time that each one ran.
///
/// # Errors
/// When one of them cannot be started, stopped or waited for, or does not end with code 0. Both are ended then.
pub fn in_slices(first: Command, second: Command) -> Result<[Timed; 2]> {
    let (tell, ended) = channel();
    let mut first = Program::start(first, tell.clone())?;
    let mut second = Program::start(second, tell)?;
    let began = Instant::now();
    loop {
        ensure!(began.elapsed() < TOO_LONG, "two programs do not end");
        first.run_for(SLICE, &mut second, &ended)?;
        second.run_for(SLICE, &mut first, &ended)?;
        if let (Some(first), Some(second)) = (first.timed, second.timed) {
            return Ok([first, second]);
        }
    }
}

/// One of the two.
struct Program {
    /// `None` after the wait.
    running: Option<Running>,
    pid: i32,
    /// Time it ran.
    ran: Duration,
    timed: Option<Timed>,
}

impl Program {
    /// Starts it, stopped. `tell` receives the process id when it has ended; the id stays its own until the wait.
    fn start(command: Command, tell: Sender<i32>) -> Result<Program> {
        let running = Running::start(command)?;
        let pid = i32::try_from(running.pid()).context("a process id beyond its type")?;
        let program = Program { running: Some(running), pid, ran: Duration::ZERO, timed: None };
        program.signal(libc::SIGSTOP)?;
        thread::spawn(move || {
            // SAFETY: all-zero bytes are a valid siginfo, which the call overwrites; the child is ours.
            let mut info = unsafe { std::mem::zeroed() };
            // SAFETY: `info` is a live local.
            while unsafe { libc::waitid(libc::P_PID, pid as u32, &mut info, libc::WEXITED | libc::WNOWAIT) }
                < 0
            {
                if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
                    break;
                }
            }
            // The receiver is gone after a failure.
            let _ = tell.send(pid);
        });
        Ok(program)
    }

    /// Lets it run for one slice, or until one of the two ends.
    fn run_for(&mut self, slice: Duration, other: &mut Program, ended: &Receiver<i32>) -> Result<()> {
        if self.running.is_none() {
            return Ok(());
        }
        let began = Instant::now();
        self.signal(libc::SIGCONT)?;
        let told = ended.recv_timeout(slice);
        self.ran += began.elapsed();
        match told {
            Ok(pid) if pid == self.pid => self.end(),
            told => {
                self.signal(libc::SIGSTOP)?;
                match told {
                    // It ended together with its own slice.
                    Ok(_) => other.end(),
                    Err(RecvTimeoutError::Timeout) => Ok(()),
                    Err(error) => Err(error).context("nobody waits for the programs"),
                }
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        let timed = self.running.take().context("a program ended twice")?.wait()?;
        self.timed = Some(Timed { milliseconds: self.ran.as_secs_f64() * 1000.0, ..timed });
        Ok(())
    }

    fn signal(&self, signal: i32) -> Result<()> {
        // SAFETY: kill takes any pid and signal; nobody has waited for this child yet, so the pid is still its own.
        match unsafe { libc::kill(self.pid, signal) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()).context("a program cannot be stopped or continued"),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            drop(self.signal(libc::SIGKILL));
            drop(running.wait());
        }
    }
}

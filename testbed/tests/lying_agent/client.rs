//! Runs `redial` against the lying server, and checks its end, its output and its memory.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_testbed::resource_limits;

use crate::captured::CapturedText;
use crate::server::{LyingServer, MakeScript};

/// The most memory that `redial` may use, KiB.
pub const MOST_MEMORY: i64 = 256 << 10;

/// Patience for one page of an answer is 40 s in `redial`. A liar here answers at once or closes the
/// connection, so this leaves a whole such pause to a busy machine.
pub const MOST_TIME: Duration = Duration::from_secs(80);

/// The documented exit codes.
pub const EXIT_CODES: [i32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Address space of a client, bytes. One that takes all memory must not take this machine's.
const ADDRESS_SPACE: u64 = 3 << 30;

/// A client that has ended.
pub struct ClientEnd {
    /// Its exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: CapturedText,
    /// Standard error.
    pub stderr: CapturedText,
    /// Its peak of resident memory, KiB.
    pub peak_kib: i64,
    /// How long it ran.
    pub took: Duration,
    /// The connections it made.
    pub connections: u64,
}

/// Runs a command against these scripts to its end, with empty standard input.
///
/// # Errors
/// When it cannot be started, or does not end within `most`; then it is killed.
pub fn run(mut command: Command, scripts: MakeScript, most: Duration) -> Result<ClientEnd> {
    let server = LyingServer::get()?;
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    resource_limits::limit(&mut command, libc::RLIMIT_AS, ADDRESS_SPACE);
    let mut child = command.spawn().context("redial cannot be started")?;
    let served = server.serve(child.id(), scripts);
    let stdout = read(child.stdout.take().context("no standard output")?);
    let stderr = read(child.stderr.take().context("no standard error")?);
    let (sender, ended) = channel();
    let pid = i32::try_from(child.id())?;
    let waiter = thread::spawn(move || {
        let end = wait(pid);
        // After the time-out nobody receives this.
        let _ = sender.send(());
        end
    });
    let in_time = ended.recv_timeout(most).is_ok();
    if !in_time {
        child.kill().context("it cannot be killed")?;
    }
    let (status, peak_kib) = waiter.join().map_err(|_| anyhow::anyhow!("the waiting thread panicked"))??;
    let text = |reader: JoinHandle<CapturedText>| reader.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    let connections = served.connections();
    let end = ClientEnd { status, stdout, stderr, peak_kib, took: begun.elapsed(), connections };
    ensure!(in_time, "it did not end within {most:?}; {}", end.output());
    Ok(end)
}

fn read(from: impl Read + Send + 'static) -> JoinHandle<CapturedText> {
    thread::spawn(move || CapturedText::read(from))
}

/// Reaps the child and returns its status and peak memory.
fn wait(pid: i32) -> Result<(ExitStatus, i64)> {
    loop {
        let mut status = 0;
        // SAFETY: all-zero bytes are a valid rusage; wait4 overwrites it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: status and usage are live, and only this thread reaps the child.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
            return Ok((ExitStatus::from_raw(status), usage.ru_maxrss));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            bail!("cannot wait for a child: {error}");
        }
    }
}

impl ClientEnd {
    /// Describes the end and the beginning of both outputs.
    pub fn output(&self) -> String {
        format!(
            "{} after {:?} with {} KiB\n--- standard output\n{}\n--- standard error\n{}",
            self.status, self.took, self.peak_kib, self.stdout, self.stderr
        )
    }

    /// Checks everything that no lie may change.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, codes: &[i32]) -> Result<()> {
        self.check_end(codes).and_then(|()| self.check_outputs()).with_context(|| self.output())
    }

    fn check_end(&self, codes: &[i32]) -> Result<()> {
        ensure!(self.connections > 0, "it never connected");
        let code = self.status.code().context("a signal ended it")?;
        ensure!(codes.contains(&code), "the exit code {code} is none of {codes:?}");
        ensure!(self.peak_kib <= MOST_MEMORY, "it took {} KiB", self.peak_kib);
        Ok(())
    }

    fn check_outputs(&self) -> Result<()> {
        self.stdout.check().context("standard output")?;
        let said = self.stderr.check().context("standard error")?;
        ensure!(!said.contains("panicked"), "it panicked");
        for line in said.lines() {
            ensure!(line.starts_with("redial: "), "not a sentence of redial's: {line:?}");
        }
        Ok(())
    }
}

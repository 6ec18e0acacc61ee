//! Host processes: started with or without the agent, driven by lines, and never left behind.
//!
//! A test host prints a line when it reaches a point and continues when it receives a line, so tests wait for
//! events and never for time. Every wait has one generous deadline. If it passes, the test fails with the
//! host's whole output.

use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use redial_protocol::AGENT_CLSID;

use crate::artefacts;
use os::Group;

#[cfg_attr(windows, path = "host/windows.rs")]
#[cfg_attr(not(windows), path = "host/unix.rs")]
mod os;

/// The limit of any single wait, far above the needs of a loaded machine.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// Time for a process to end after it closed its output, before it counts as still running.
const ENDING: Duration = Duration::from_secs(2);

/// Sets the variables that make the CLR load the agent into `command`'s process.
///
/// # Errors
/// When the agent library has not been built.
pub fn load_agent(command: &mut Command) -> Result<()> {
    load_agent_from(command, &artefacts::agent()?);
    Ok(())
}

/// Like [`load_agent`], with a given library.
pub fn load_agent_from(command: &mut Command, library: &Path) {
    command
        .env("CORECLR_ENABLE_PROFILING", "1")
        .env("CORECLR_PROFILER", AGENT_CLSID)
        .env("CORECLR_PROFILER_PATH", library);
}

/// Returns `redial run OPTIONS -- COMMAND`, with `command`'s program, arguments, environment and folder.
///
/// # Errors
/// When the program or the agent library has not been built.
pub fn redial_run(options: &[&str], command: &Command) -> Result<Command> {
    let mut run = redial(&["run"])?;
    run.args(options).arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => run.env(name, value),
            None if name == "REDIAL_AGENT" => &mut run, // for `redial` itself
            None => run.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        run.current_dir(folder);
    }
    Ok(run)
}

/// Returns `redial ARGUMENTS`, with the built agent library named in its environment.
///
/// # Errors
/// When the program or the agent library has not been built.
pub fn redial(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(artefacts::redial()?);
    command.env("REDIAL_AGENT", artefacts::agent()?).args(arguments);
    Ok(command)
}

/// The exit status and the output of a process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its exit status.
    pub status: ExitStatus,
    /// All of standard output, including lines already taken by [`Host::wait_for`].
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
}

impl Outcome {
    /// Returns the exit code.
    ///
    /// # Errors
    /// When a signal ended the process; the error names it.
    pub fn code(&self) -> Result<i32> {
        self.status.code().ok_or_else(|| anyhow!("ended by {}; it said:\n{}", self.status, self.output()))
    }

    /// Parses standard output as one JSON value.
    ///
    /// # Errors
    /// When it is not JSON; the error contains the output.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_str(&self.stdout)
            .with_context(|| format!("not JSON ({}):\n{}", self.status, self.output()))
    }

    /// Succeeds if the process ended with code 0.
    ///
    /// # Errors
    /// When it did not; the error contains the whole output.
    pub fn ok(self) -> Result<Self> {
        if self.status.success() {
            return Ok(self);
        }
        bail!("ended with {}:\n{}", self.status, self.output())
    }

    /// Returns both streams, for messages.
    pub fn output(&self) -> String {
        format!("--- standard output\n{}--- standard error\n{}", self.stdout, self.stderr)
    }
}

/// Runs a command to its end, with empty standard input.
///
/// # Errors
/// When it cannot be started, or does not end before the deadline (then it is killed).
pub fn run(command: Command) -> Result<Outcome> {
    let mut host = Host::start(command)?;
    host.close_input();
    host.finish()
}

/// A running process with piped streams. Dropping it kills it and its process group, or on Windows its job: all
/// that it started.
#[derive(Debug)]
pub struct Host {
    child: Child,
    group: Group,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    said: String,
    errors: Option<JoinHandle<String>>,
    what: String,
    ended: bool,
}

impl Host {
    /// Starts `command` in its own process group.
    ///
    /// # Errors
    /// When the program cannot be started; the error names it.
    pub fn start(mut command: Command) -> Result<Self> {
        let (output, to) = std::io::pipe()?;
        command.stdout(to).stderr(Stdio::piped());
        Self::spawn(command, output)
    }

    /// Like [`Host::start`], with standard error redirected to standard output, so tests can wait for its
    /// lines.
    ///
    /// # Errors
    /// Fails like [`Host::start`].
    pub fn start_with_merged_output(mut command: Command) -> Result<Self> {
        let (output, to) = std::io::pipe()?;
        command.stdout(to.try_clone()?).stderr(to);
        Self::spawn(command, output)
    }

    /// Starts `command`, whose standard output ends at `output`. Dropping the command closes the ends of its pipes
    /// here.
    fn spawn(mut command: Command, output: PipeReader) -> Result<Self> {
        let what = command.get_program().to_string_lossy().into_owned();
        os::own_group(&mut command);
        let mut child =
            command.stdin(Stdio::piped()).spawn().with_context(|| format!("{what} cannot be started"))?;
        let group = Group::of(&child)?;
        let input = child.stdin.take();
        let errors = child.stderr.take();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut bytes = Vec::new();
            while let Ok(1..) = output.read_until(b'\n', &mut bytes) {
                if sender.send(String::from_utf8_lossy(&bytes).into_owned()).is_err() {
                    break;
                }
                bytes.clear();
            }
        });
        let errors = errors.map(|mut errors| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                // Output read before a failure is still useful.
                let _ = errors.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self { child, group, input, lines, said: String::new(), errors, what, ended: false })
    }

    /// Returns the id of the started process. With `redial run` that is `redial`; see [`Host::only_child`].
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the process id of the only child of the started process, for hosts started through `redial run`.
    ///
    /// Call it after the host has printed a line; then the child exists.
    ///
    /// # Errors
    /// When there is not exactly one child, and on systems that do not list them.
    pub fn only_child(&self) -> Result<u32> {
        match os::children(self.pid())?.as_slice() {
            [child] => Ok(*child),
            children => bail!("{} (process {}) has the children {children:?}", self.what, self.pid()),
        }
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When the host no longer reads.
    pub fn say(&mut self, line: &str) -> Result<()> {
        let said = self.said.clone();
        let input = self.input.as_mut().context("standard input is closed")?;
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .with_context(|| format!("{} no longer reads; it said:\n{said}", self.what))
    }

    /// Closes the host's standard input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Returns the next line, without its end.
    ///
    /// # Errors
    /// When the output ends or the deadline passes; the error contains the host's whole output.
    pub fn next_line(&mut self) -> Result<String> {
        self.next_line_before(Instant::now() + DEADLINE, "another line")
    }

    /// Skips lines until one starts with `beginning`, and returns the rest of that line, trimmed.
    ///
    /// # Errors
    /// Fails like [`Host::next_line`].
    pub fn wait_for(&mut self, beginning: &str) -> Result<String> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let line = self.next_line_before(deadline, beginning)?;
            if let Some(rest) = line.strip_prefix(beginning) {
                return Ok(rest.trim().to_owned());
            }
        }
    }

    /// Sends `line` and waits for an answer that starts with `beginning`, as [`Host::wait_for`] does.
    ///
    /// # Errors
    /// Fails like [`Host::say`] and [`Host::next_line`].
    pub fn ask(&mut self, line: &str, beginning: &str) -> Result<String> {
        self.say(line)?;
        self.wait_for(beginning)
    }

    /// Returns whether the process is still running.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn is_running(&mut self) -> Result<bool> {
        os::has_ended(&mut self.child).map(|ended| !ended)
    }

    /// Waits for the process to end by itself.
    ///
    /// # Errors
    /// When the deadline passes first (then the process is killed); the error contains its whole output.
    pub fn finish(mut self) -> Result<Outcome> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err(self.failure("did not end")),
            }
        }
        if !os::wait_for_end(&mut self.child, deadline)? {
            return Err(self.failure("closed its output but did not end"));
        }
        self.group.kill();
        let status = self.child.wait()?;
        self.ended = true;
        let stderr = self.take_errors();
        Ok(Outcome { status, stdout: std::mem::take(&mut self.said), stderr })
    }

    /// Kills the process and its group at once (SIGKILL) and waits for it.
    pub fn kill(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.group.kill();
        // Both calls fail only if the process has already ended, which is the goal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn next_line_before(&mut self, deadline: Instant, awaited: &str) -> Result<String> {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                self.said.push_str(&line);
                Ok(line.trim_end_matches(['\r', '\n']).to_owned())
            }
            Err(RecvTimeoutError::Disconnected) => {
                // A process closes its output a moment before its end becomes visible. If it does not end, the
                // failure reports that.
                let _ = os::wait_for_end(&mut self.child, Instant::now() + ENDING);
                Err(self.failure(&format!("ended its output before printing {awaited:?}")))
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(self.failure(&format!("did not print {awaited:?} in time")))
            }
        }
    }

    /// Ends the host and adds its exit status and whole output to the error.
    pub fn failed_with(&mut self, error: anyhow::Error) -> anyhow::Error {
        let _ = os::wait_for_end(&mut self.child, Instant::now() + ENDING);
        self.failure(&format!("took part in a failure ({error:#})"))
    }

    /// Ends the host and returns an error with the end of its output.
    fn failure(&mut self, happened: &str) -> anyhow::Error {
        let was_running = self.is_running().unwrap_or(true);
        self.kill();
        let status = match self.child.try_wait() {
            Ok(Some(status)) if !was_running => format!("it ended with {status}"),
            _ => "it was still running and was killed".to_owned(),
        };
        let stderr = self.take_errors();
        anyhow!(
            "{} {happened}; {status}\n--- standard output\n{}--- standard error\n{}",
            self.what,
            last_lines(&self.said),
            last_lines(&stderr)
        )
    }

    fn take_errors(&mut self) -> String {
        self.errors.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
    }
}

/// Returns the last lines, and the number of those before.
fn last_lines(text: &str) -> String {
    const SHOWN: usize = 100;
    let skipped = text.lines().count().saturating_sub(SHOWN);
    let shown: String = text.split_inclusive('\n').skip(skipped).collect();
    if skipped == 0 { shown } else { format!("({skipped} earlier lines)\n{shown}") }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

//! The measuring host: a C# program that times its own hot method on request.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;

/// The measured method: a body of about a nanosecond, never inlined.
pub const PLAIN: &str = "Plain";

/// Calls a second that a process and a method may capture: the most that can be set.
pub const MAX_RATE: u32 = 1_000_000;

/// A running measuring host.
pub struct Meter<'b> {
    bench: &'b Bench,
    host: Host,
    pid: String,
}

impl<'b> Meter<'b> {
    /// Starts it under the agent, with nothing dialled.
    pub fn start(bench: &'b Bench, runtime: Runtime) -> Result<Self> {
        Self::start_with(bench, runtime, |command| host::load_agent_from(command, bench.built.agent()))
    }

    /// Starts it with a prepared command.
    pub fn start_with(
        bench: &'b Bench,
        runtime: Runtime,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self> {
        let mut command = programs::named("loops")?.command(runtime)?;
        prepare(&mut command);
        Self::of(bench, command)
    }

    /// Starts another program that understands the same commands.
    pub fn of(bench: &'b Bench, command: Command) -> Result<Self> {
        let mut host = Host::start(command)?;
        let pid = host.wait_for("ready ")?;
        Ok(Self { bench, host, pid })
    }

    /// Returns its process id.
    pub fn pid(&self) -> &str {
        &self.pid
    }

    /// Returns nanoseconds per call of `Loops.KIND`, from chunks of a million calls (fewer for slow calls). With one thread
    /// it is the best chunk; with several the median, since in the best one the others happened to wait.
    pub fn nanoseconds(&mut self, kind: &str, threads: u32, chunks: u32) -> Result<f64> {
        let answer = format!("bench {kind} {threads} ");
        self.number(&format!("bench {kind} {threads} {chunks}"), &answer, usize::from(threads > 1))
    }

    /// Returns nanoseconds per call of `Loops.KIND` in bursts of 500 calls, as [`Meter::nanoseconds`].
    pub fn burst(&mut self, kind: &str, threads: u32, bursts: u32) -> Result<f64> {
        let answer = format!("burst {kind} {threads} ");
        self.number(&format!("burst {kind} {threads} {bursts}"), &answer, usize::from(threads > 1))
    }

    /// Returns the nanoseconds of single calls of `Loops.KIND`, with two readings of the clock, while garbage is collected
    /// all the time.
    pub fn each(&mut self, kind: &str, calls: u32) -> Result<Vec<f64>> {
        let answered = self.host.ask(&format!("each {kind} {calls}"), &format!("each {kind} "))?;
        answered.split(' ').map(|number| Ok(number.parse()?)).collect()
    }

    /// Returns the median microseconds of `count` collections while two threads call the hot method.
    pub fn collection(&mut self, times: u32) -> Result<f64> {
        self.number(&format!("gc {times}"), "gc ", 0)
    }

    /// Reads a number of the answer.
    fn number(&mut self, command: &str, answer: &str, at: usize) -> Result<f64> {
        let answered = self.host.ask(command, answer)?;
        let number = answered.split(' ').nth(at).unwrap_or_default();
        number.parse().with_context(|| format!("{command}: answered {answered:?}, which has no number"))
    }

    /// Loads the agent into it.
    pub fn attach(&self) -> Result<()> {
        self.redial(&["attach", &self.pid])
    }

    /// Dials `Loops.KIND`.
    pub fn dial(&self, kind: &str, level: &str) -> Result<()> {
        self.redial(&["dial", &self.pid, &format!("loops!Loops.{kind}"), level])
    }

    /// Dials it at level time, with options of `redial dial`.
    pub fn dial_time_with(&self, kind: &str, options: &[&str]) -> Result<()> {
        let pattern = format!("loops!Loops.{kind}(int)");
        self.redial(&[&["dial", &self.pid, &pattern, "time"], options].concat())
    }

    /// Traces `Loops.KIND`, as many calls as the process may capture.
    pub fn trace(&self, kind: &str) -> Result<()> {
        self.redial(&["dial", &self.pid, &format!("loops!Loops.{kind}=trace rate={MAX_RATE}")])
    }

    /// Traces the calls of `Loops.KIND` for which a condition is true.
    pub fn trace_when(&self, kind: &str, condition: &str) -> Result<()> {
        self.redial(&["dial", &self.pid, &format!("loops!Loops.{kind}"), "trace", "--when", condition])
    }

    /// Checks that every call of `Loops.KIND` was captured while it was traced.
    ///
    /// # Errors
    /// When none was, or some were dropped.
    pub fn ensure_captured(&self, kind: &str) -> Result<()> {
        let pattern = format!("loops!Loops.{kind}");
        let listed = self.run_redial(&["events", &self.pid, &pattern, "--json"])?;
        let last = listed.lines().last().context("no call was captured")?;
        let dropped = serde_json::from_str::<serde_json::Value>(last)?["dropped"].clone();
        ensure!(dropped == 0, "{dropped} calls of {kind} were not captured");
        Ok(())
    }

    /// Turns every dial off.
    pub fn off(&self) -> Result<()> {
        self.redial(&["off", &self.pid])
    }

    fn redial(&self, arguments: &[&str]) -> Result<()> {
        self.run_redial(arguments).map(drop)
    }

    /// Runs a command and returns its standard output.
    fn run_redial(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(self.bench.built.program());
        command.args(arguments);
        self.bench.built.tell(&mut command);
        let outcome = host::run(command)?.ok();
        Ok(outcome.with_context(|| format!("redial {}", arguments.join(" ")))?.stdout)
    }

    /// Ends it and returns its standard error.
    pub fn end(mut self) -> Result<String> {
        self.host.close_input();
        Ok(self.host.finish()?.ok()?.stderr)
    }
}

//! The measuring host: a C# program that times its own hot method on command, with the agent or something else in it.

use std::process::Command;

use anyhow::{Context, Result};
use redial_testbed::host::{self, Host};
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;

/// The method measured: about a nanosecond of body, never inlined.
pub const PLAIN: &str = "Plain";

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

    /// Starts it in an environment of the caller's making.
    pub fn start_with(
        bench: &'b Bench,
        runtime: Runtime,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self> {
        let mut command = programs::named("loops")?.command(runtime)?;
        prepare(&mut command);
        let mut host = Host::start(command)?;
        let pid = host.wait_for("ready ")?;
        Ok(Self { bench, host, pid })
    }

    /// Its process id.
    pub fn pid(&self) -> &str {
        &self.pid
    }

    /// Nanoseconds a call of `Loops.KIND`, on so many threads, from so many chunks of a million calls (fewer where a call
    /// takes long): the best of one thread; the median of several, since the best is one during which the others happened
    /// to wait.
    pub fn nanoseconds(&mut self, kind: &str, threads: u32, chunks: u32) -> Result<f64> {
        let answer = format!("bench {kind} {threads} ");
        self.number(&format!("bench {kind} {threads} {chunks}"), &answer, usize::from(threads > 1))
    }

    /// Median microseconds of so many collections while two threads call the hot method.
    pub fn collection(&mut self, times: u32) -> Result<f64> {
        self.number(&format!("gc {times}"), "gc ", 0)
    }

    /// One of the answer's numbers.
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
        self.redial(&["dial", &self.pid, &format!("loops!Loops.{kind}(int)"), level])
    }

    /// Dials it at time, with options of `redial dial`.
    pub fn dial_time_with(&self, kind: &str, options: &[&str]) -> Result<()> {
        let pattern = format!("loops!Loops.{kind}(int)");
        self.redial(&[&["dial", &self.pid, &pattern, "time"], options].concat())
    }

    /// Turns every dial off.
    pub fn off(&self) -> Result<()> {
        self.redial(&["off", &self.pid])
    }

    fn redial(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(self.bench.built.program());
        command.args(arguments);
        self.bench.built.tell(&mut command);
        host::run(command)?.ok().map(drop).with_context(|| format!("redial {}", arguments.join(" ")))
    }

    /// Ends it; what it said on standard error.
    pub fn end(mut self) -> Result<String> {
        self.host.close_input();
        Ok(self.host.finish()?.ok()?.stderr)
    }
}

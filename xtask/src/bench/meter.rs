//! The measuring host: a C# program that times its own hot method on command, with the agent in it.

use std::process::Command;

use anyhow::{Context, Result};
use redial_testbed::host::{self, Host};
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::Bench;

const HOT: &str = "meter!Meter.Hot.Add";

/// A running measuring host.
pub struct Meter<'b> {
    bench: &'b Bench,
    host: Host,
    pid: String,
}

impl<'b> Meter<'b> {
    /// Starts it under the agent, with nothing dialled.
    pub fn start(bench: &'b Bench, runtime: Runtime) -> Result<Self> {
        let mut command = programs::named("meter")?.command(runtime)?;
        host::load_agent_from(&mut command, bench.built.agent());
        let mut host = Host::start(command)?;
        let pid = host.wait_for("ready ")?;
        Ok(Self { bench, host, pid })
    }

    /// Sends a measuring command and reads the number after `unit`.
    pub fn measure(&mut self, command: &str, unit: &str) -> Result<f64> {
        let answer = self.host.ask(command, unit)?;
        answer.parse().with_context(|| format!("the meter answered {answer:?}, which is not a number"))
    }

    /// Dials the hot method.
    pub fn dial(&self, level: &str) -> Result<()> {
        self.redial(&["dial", &self.pid, HOT, level])
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
}

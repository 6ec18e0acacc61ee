//! Hosts with the agent, and the `redial` program used on them.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::controller::{self, Controller};
use crate::host::{self, Host, Outcome};

/// Makes one test per runtime of each function. `on_each_runtime!(first, second);` for `fn first(runtime:
/// Runtime) -> anyhow::Result<()>` makes `first::net_2_1`, `first::net_3_1` and `first::net_8_0`.
#[macro_export]
macro_rules! on_each_runtime {
    ($($test:ident),+ $(,)?) => {$(
        mod $test {
            #[test]
            fn net_2_1() -> ::anyhow::Result<()> {
                super::$test($crate::runtimes::Runtime::V2_1)
            }
            #[test]
            fn net_3_1() -> ::anyhow::Result<()> {
                super::$test($crate::runtimes::Runtime::V3_1)
            }
            #[test]
            fn net_8_0() -> ::anyhow::Result<()> {
                super::$test($crate::runtimes::Runtime::V8_0)
            }
        }
    )+};
}

/// A host that printed `ready` and whose agent answers.
#[derive(Debug)]
pub struct LiveHost {
    /// The process, driven by lines.
    pub host: Host,
    /// Its pid.
    pub pid: u32,
}

/// Starts `command` with the agent and waits until it has printed `ready PID` and its agent listens. It does
/// not use `redial run`, so child processes load the agent too.
///
/// # Errors
/// When the host does not become ready; the error contains its output.
pub fn start(mut command: Command) -> Result<LiveHost> {
    host::load_agent(&mut command)?;
    start_prepared(command)
}

/// Like [`start`], and also connects a controller.
///
/// # Errors
/// Fails like [`start`].
pub fn start_controlled(command: Command) -> Result<(LiveHost, Controller)> {
    let live = start(command)?;
    let controller = live.controller()?;
    Ok((live, controller))
}

/// Enables (`1`) or disables (`0`) tiered compilation.
pub fn set_tiered(command: &mut Command, tiered: &str) {
    command.env("DOTNET_TieredCompilation", tiered).env("COMPlus_TieredCompilation", tiered);
}

/// Like [`start`], for a command that already loads the agent.
///
/// # Errors
/// Fails like [`start`].
pub fn start_prepared(command: Command) -> Result<LiveHost> {
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse().context("a host says `ready PID`")?;
    drop(controller::raw(pid)?);
    Ok(LiveHost { host, pid })
}

impl LiveHost {
    /// Runs `redial COMMAND PID ARGUMENTS` to its end.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    pub fn redial(&self, command: &str, arguments: &[&str]) -> Result<Outcome> {
        host::run(self.command(command, arguments)?)
    }

    /// Returns the command of [`LiveHost::redial`] for the caller to run.
    ///
    /// # Errors
    /// When the program has not been built.
    pub fn command(&self, command: &str, arguments: &[&str]) -> Result<Command> {
        let mut redial = host::redial(&[command, &self.pid.to_string()])?;
        redial.args(arguments);
        Ok(redial)
    }

    /// Starts `redial dial PID PATTERN count --hold` and waits until it holds its dials. Its standard error
    /// goes to its output.
    ///
    /// # Errors
    /// When it does not hold any dials; the error contains its output.
    pub fn hold(&self, pattern: &str) -> Result<Host> {
        let dial = self.command("dial", &[pattern, "count", "--hold"])?;
        let mut holder = Host::start_with_merged_output(dial)?;
        holder.wait_for("held while this command runs")?;
        Ok(holder)
    }

    /// Returns the rows of `redial status PID PATTERN --json`, or none if it reports no match.
    ///
    /// # Errors
    /// When it fails otherwise.
    pub fn rows(&self, pattern: &str) -> Result<Vec<Value>> {
        let outcome = self.redial("status", &[pattern, "--json"])?;
        ensure!(matches!(outcome.code()?, 0 | 6), "status failed:\n{}", outcome.output());
        Ok(outcome.json()?.as_array().context("status --json is an array")?.clone())
    }

    /// Opens another session with its agent.
    ///
    /// # Errors
    /// Fails like [`Controller::connect`].
    pub fn controller(&self) -> Result<Controller> {
        Controller::connect(self.pid)
    }
}

/// Checks the exit code, and that standard error consists of sentences of `redial`, contains each of `parts`
/// and no panic.
///
/// # Errors
/// When a check fails; the error contains the program's whole output.
pub fn ensure_messages(outcome: &Outcome, code: i32, parts: &[&str]) -> Result<()> {
    let said = outcome.output();
    ensure!(outcome.code()? == code, "ended with {}, not {code}:\n{said}", outcome.status);
    ensure!(!outcome.stderr.contains("panicked"), "it panicked:\n{said}");
    for line in outcome.stderr.lines() {
        ensure!(line.starts_with("redial: "), "not a sentence of redial's: {line:?}\n{said}");
    }
    for part in parts {
        ensure!(outcome.stderr.contains(part), "nothing of {part:?} in:\n{said}");
    }
    Ok(())
}

//! Hosts with the agent in them, and the `redial` program asked about them.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::controller::{self, Controller};
use crate::host::{self, Host, Outcome};

/// Makes one test a runtime of each function: `on_each_runtime!(first, second);` for
/// `fn first(runtime: Runtime) -> anyhow::Result<()>` gives `first::net_2_1`, `first::net_3_1`, `first::net_8_0`.
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

/// A host that said `ready` and whose agent answers.
#[derive(Debug)]
pub struct Live {
    /// The process, spoken to in lines.
    pub host: Host,
    /// Its pid.
    pub pid: u32,
}

/// Starts `command` with the agent (without `redial run`, so any process below it has it too), and waits until it
/// said `ready PID` and its agent listens.
///
/// # Errors
/// When it does not come up, with what it said.
pub fn start(mut command: Command) -> Result<Live> {
    host::load_agent(&mut command)?;
    start_as_it_is(command)
}

/// As [`start`], with a controller that is connected.
///
/// # Errors
/// As [`start`].
pub fn start_controlled(command: Command) -> Result<(Live, Controller)> {
    let live = start(command)?;
    let controller = live.controller()?;
    Ok((live, controller))
}

/// Whether the runtime compiles in tiers: `1` or `0`.
pub fn set_tiered(command: &mut Command, tiered: &str) {
    command.env("DOTNET_TieredCompilation", tiered).env("COMPlus_TieredCompilation", tiered);
}

/// As [`start`], for a command that loads the agent already.
///
/// # Errors
/// As [`start`].
pub fn start_as_it_is(command: Command) -> Result<Live> {
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse().context("a host says `ready PID`")?;
    drop(controller::raw(pid)?);
    Ok(Live { host, pid })
}

impl Live {
    /// Runs `redial COMMAND PID ARGUMENTS` to its end.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    pub fn redial(&self, command: &str, arguments: &[&str]) -> Result<Outcome> {
        host::run(self.command(command, arguments)?)
    }

    /// As [`Live::redial`], to be run by the caller.
    ///
    /// # Errors
    /// When the program has not been built.
    pub fn command(&self, command: &str, arguments: &[&str]) -> Result<Command> {
        let mut redial = host::redial(&[command, &self.pid.to_string()])?;
        redial.args(arguments);
        Ok(redial)
    }

    /// `redial dial PID PATTERN count --hold`, in the foreground and holding; its standard error is among its output.
    ///
    /// # Errors
    /// When it does not come to hold dials, with what it said.
    #[cfg(unix)]
    pub fn hold(&self, pattern: &str) -> Result<Host> {
        let dial = self.command("dial", &[pattern, "count", "--hold"])?;
        let mut holder = Host::start_heard(&dial)?;
        holder.wait_for("held while this command runs")?;
        Ok(holder)
    }

    /// The rows of `redial status PID PATTERN --json`, none when it says that none matches.
    ///
    /// # Errors
    /// When it fails otherwise.
    pub fn rows(&self, pattern: &str) -> Result<Vec<Value>> {
        let outcome = self.redial("status", &[pattern, "--json"])?;
        ensure!(matches!(outcome.code()?, 0 | 6), "status failed:\n{}", outcome.said());
        Ok(outcome.json()?.as_array().context("status --json is an array")?.clone())
    }

    /// A session of our own with its agent.
    ///
    /// # Errors
    /// As [`Controller::connect`].
    pub fn controller(&self) -> Result<Controller> {
        Controller::connect(self.pid)
    }
}

/// Checks an exit code and that standard error is sentences of `redial`, each part of `parts` in them, and no panic.
///
/// # Errors
/// With everything the program said.
pub fn ensure_said(outcome: &Outcome, code: i32, parts: &[&str]) -> Result<()> {
    let said = outcome.said();
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

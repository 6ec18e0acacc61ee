//! Programs of the continuous soak. Each does work whose results it checks, and knows how often methods were called.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_protocol::message::StatusRow;
use redial_protocol::state::CopyState;

use crate::controller::Controller;
use crate::host::{self, Host};
use crate::runtimes::Runtime;
use crate::shop::{self, MethodCount};
use crate::single_file::{self, CALLED_ONCE, Server, without_id};
use crate::{programs, truth};

/// Threads of each program's pool.
const POOL_THREADS: &str = "3";

/// A program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Shop, which counts its own calls on two threads.
    Shop(Runtime),
    /// `collectible`, whose modules come and go.
    Contexts(Runtime),
    /// The single-file server on .NET 10.
    Server,
}

impl Program {
    /// Returns its name, with its runtime.
    pub fn name(self) -> String {
        match self {
            Self::Shop(runtime) => format!("Shop on {}", runtime.name()),
            Self::Contexts(runtime) => format!("load contexts on {}", runtime.name()),
            Self::Server => "single-file server on 10.0".to_owned(),
        }
    }

    /// Returns a pattern for the program's own methods.
    pub(super) fn own_methods(self) -> &'static str {
        match self {
            Self::Shop(_) => "Shop!*",
            Self::Contexts(_) => "Gathered!*",
            Self::Server => single_file::DOCS,
        }
    }

    /// Starts it, with the agent or without.
    ///
    /// # Errors
    /// When it does not become ready.
    pub(super) fn start(self, with_agent: bool, variables: &[(String, String)]) -> Result<Subject> {
        let prepared = |mut command: Command| -> Result<Command> {
            // The agent has memory for each thread. Always the same ones, or their number would look like a leak: a busy
            // machine makes the pool add threads.
            for (prefix, limit) in
                [("DOTNET", "Min"), ("DOTNET", "Max"), ("COMPlus", "Min"), ("COMPlus", "Max")]
            {
                command.env(format!("{prefix}_ThreadPool_Force{limit}WorkerThreads"), POOL_THREADS);
            }
            command.envs(variables.iter().map(|(name, value)| (name, value)));
            if with_agent {
                host::load_agent(&mut command)?;
            }
            Ok(command)
        };
        match self {
            Self::Shop(runtime) => {
                let mut command = programs::shop()?.command(runtime)?;
                command.args(["--live", "--threads", "2"]);
                Ok(Subject::Shop(ready(prepared(command)?)?))
            }
            Self::Contexts(runtime) => {
                let mut host = ready(prepared(programs::named("collectible")?.command(runtime)?)?)?;
                host.ask("load plain", "loaded")?;
                Ok(Subject::Contexts(host))
            }
            Self::Server => {
                let mut server = Server::start(prepared(single_file::command()?)?)?;
                server.initialize()?;
                let expected = conversation(&mut server)?;
                ensure!(expected.iter().any(|answer| answer.contains("Success")), "{expected:?}");
                Ok(Subject::Server { server, expected })
            }
        }
    }
}

fn ready(command: Command) -> Result<Host> {
    let mut host = Host::start(command)?;
    host.wait_for("ready")?;
    Ok(host)
}

fn conversation(server: &mut Server) -> Result<Vec<String>> {
    Ok(server.conversation()?.iter().map(|answer| without_id(answer).to_owned()).collect())
}

/// A running program.
pub(super) enum Subject {
    Shop(Host),
    Contexts(Host),
    Server { server: Server, expected: Vec<String> },
}

impl Subject {
    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Shop(host) | Self::Contexts(host) => host.pid(),
            Self::Server { server, .. } => server.host.pid(),
        }
    }

    /// Does some work and checks its results.
    ///
    /// # Errors
    /// When a result is wrong or the program ended.
    pub fn work(&mut self) -> Result<()> {
        match self {
            Self::Shop(host) => host.ask("round 5", "done").map(drop),
            Self::Contexts(host) => host.ask("call plain 3", "called").map(drop),
            Self::Server { server, expected } => {
                let answers = conversation(server)?;
                ensure!(answers == *expected, "other answers: {answers:?}");
                Ok(())
            }
        }
    }

    /// Loads a module, calls it and unloads it, where the program can.
    ///
    /// # Errors
    /// Fails like [`Subject::work`].
    pub fn load_and_unload(&mut self) -> Result<()> {
        let Self::Contexts(host) = self else { return self.work() };
        host.ask("load collectible", "loaded")?;
        host.ask("call collectible 3", "called")?;
        host.ask("unload", "unloaded").map(drop)
    }

    /// Does some work, and compares the calls that Redial counted with the true ones. Methods that are off count none;
    /// a method whose row says that calls may be missing is passed over.
    ///
    /// # Errors
    /// When a count is wrong.
    pub fn check_counts(&mut self, controller: &mut Controller) -> Result<()> {
        match self {
            Self::Shop(host) => {
                host.ask("truth-reset", "reset")?;
                let before = shop::of_rows(&controller.status(Some("Shop!*"))?);
                host.ask("round 17", "done")?;
                let truth = truth::ask(host, "truth")?;
                let after = shop::of_rows(&controller.status(Some("Shop!*"))?);
                let is_exact = |_: &str, counted: &MethodCount| {
                    matches!(counted.state.as_str(), "asked" | "live") && counted.note.is_none()
                };
                let wrong = shop::differences(&truth, &before, &after, is_exact);
                ensure!(wrong.is_empty(), "wrong counts:\n  {}", wrong.join("\n  "));
                for (method, counted) in after.iter().filter(|(_, counted)| counted.state == "off") {
                    let earlier = before.get(method).map_or(0, |counted| counted.calls);
                    ensure!(counted.calls == earlier, "{method} is off, and counts");
                }
                Ok(())
            }
            Self::Contexts(host) => {
                const TWICE: &str = "Gathered!Gathered.Work.Twice(int)";
                let count = |controller: &mut Controller| controller.status(Some(TWICE));
                let before = count(controller)?;
                host.ask("call plain 5", "called")?;
                ensure_counted(&before, &count(controller)?, 5)
            }
            Self::Server { server, .. } => {
                for method in CALLED_ONCE {
                    let before = controller.status(Some(method))?;
                    for _ in 0..3 {
                        server.best_practices()?;
                    }
                    ensure_counted(&before, &controller.status(Some(method))?, 3)?;
                }
                Ok(())
            }
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it does not end with code 0.
    pub fn end(self) -> Result<()> {
        match self {
            Self::Shop(mut host) | Self::Contexts(mut host) => {
                host.close_input();
                host.finish()?.ok().map(drop)
            }
            Self::Server { server, .. } => server.finish().map(drop),
        }
    }

    /// Adds the end of the program, or its whole output, to an error.
    pub fn explain(&mut self, error: anyhow::Error) -> anyhow::Error {
        match self {
            Self::Shop(host) | Self::Contexts(host) => host.failed_with(error),
            Self::Server { server, .. } => server.host.failed_with(error),
        }
    }
}

/// Checks that every row that was on the whole time counted `calls`, and every one that was off none.
fn ensure_counted(before: &[StatusRow], after: &[StatusRow], calls: u64) -> Result<()> {
    for row in after {
        let Some(old) = before.iter().find(|old| old.row == row.row) else { continue };
        let counted = row.calls.checked_sub(old.calls).with_context(|| format!("{row:?} after {old:?}"))?;
        let expected = match row.state {
            CopyState::Asked | CopyState::Live if row.note.is_none() => calls,
            CopyState::Off => 0,
            _ => continue,
        };
        ensure!(counted == expected, "{counted} calls counted, not {expected}: {row:?} after {old:?}");
    }
    Ok(())
}

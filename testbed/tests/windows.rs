//! The Windows builds, on a Windows .NET 8, over a named pipe, under Wine. Started by `cargo xtask test wine`.
//!
//! It tests the use of the Windows API, not the Windows kernel.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;

use anyhow::{Context, Result};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{programs, wine};
use serde_json::Value;

const ADD: &str = "counter!Counter.Add(int)";

/// Runs `redial.exe ARGUMENTS`, which must succeed.
///
/// Wine's server sends SIGKILL to a process that still exists a second after its last thread ended
/// (`start_sigkill_timer` in its process.c), which happens on busy machines. Its work is done by then but its
/// exit code is lost, so the tests check the effects next.
fn redial(arguments: &[&str]) -> Result<Outcome> {
    let outcome = host::run(wine::redial(arguments)?)?;
    let was_done = outcome.status.signal() == Some(libc::SIGKILL) && outcome.stderr.is_empty();
    if was_done && !outcome.stdout.is_empty() { Ok(outcome) } else { outcome.ok() }
}

/// Returns the only row of `redial status PID PATTERN --json`.
fn status(pid: &str) -> Result<Value> {
    let rows = redial(&["status", pid, ADD, "--json"])?.json()?;
    let rows = rows.as_array().context("status --json is an array")?;
    assert_eq!(rows.len(), 1, "{rows:?}");
    Ok(rows[0].clone())
}

#[test]
fn hello_runs_on_windows_net_8() -> Result<()> {
    let hello = programs::named("hello")?;
    let mut command = wine::dotnet(Runtime::WINDOWS_8_0, hello.dll())?;
    command.args(["one", "two"]);
    let outcome = host::run(command)?;
    assert_eq!(outcome.code()?, 2, "{}", outcome.output());
    assert_eq!(outcome.stdout.trim_end(), "hello from 8.0.0.0");
    Ok(())
}

#[test]
fn counts_and_reverts_over_a_named_pipe() -> Result<()> {
    let mut command = wine::dotnet(Runtime::WINDOWS_8_0, programs::named("counter")?.dll())?;
    wine::load_agent(&mut command)?;
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?;

    redial(&["dial", &pid, ADD, "count"])?;
    host.ask("call 12345", "called 12345")?;
    let counted = status(&pid)?;
    assert_eq!(counted["calls"], 12345, "{counted}");
    assert_eq!(counted["state"], "live", "{counted}");

    redial(&["off", &pid])?;
    host.ask("call 5000", "called 17345")?;
    let after = status(&pid)?;
    assert_eq!(after["calls"], 12345, "counted on after the revert: {after}");
    assert_eq!(after["state"], "off", "{after}");

    host.say("exit")?;
    assert_eq!(host.finish()?.code()?, 0);
    Ok(())
}

//! Methods inlined in the framework's precompiled code. Dialled late, in a process that has run that code, they
//! count the same calls as when everything was dialled before the first instruction.

use redial_protocol::diagnostics::{Remainder, RowNote};
use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::{Controller, Lifetime, full_name};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

/// Types whose small methods are inlined all over the core library, without their callers.
const PATTERNS: [&str; 3] = ["System.DateTime.*", "System.__DTString.*", "System.TimeSpan.*"];
const ROUNDS: u32 = 50;

/// Calls by method.
type Calls = BTreeMap<String, u64>;

fn dates_command(runtime: Runtime) -> Result<Command> {
    programs::named("dates")?.command(runtime)
}

/// Starts the program by `redial run` with these options.
fn started(runtime: Runtime, options: &[&str]) -> Result<(Host, u32)> {
    let host = Host::start(host::redial_run(options, &dates_command(runtime)?)?)?;
    ready(host)
}

fn ready(mut host: Host) -> Result<(Host, u32)> {
    let pid = host.wait_for("ready")?.parse()?;
    Ok((host, pid))
}

fn parse(host: &mut Host) -> Result<()> {
    host.ask(&format!("parse {ROUNDS}"), "parsed").map(drop)
}

/// Returns the calls of the patterns' methods in [`ROUNDS`] rounds, once all dialled methods are live.
fn calls(host: &mut Host, controller: &mut Controller) -> Result<Calls> {
    parse(host)?;
    let mut before = counted(controller)?;
    parse(host)?;
    let mut calls = counted(controller)?;
    for (method, calls) in &mut calls {
        *calls -= before.remove(method).unwrap_or(0);
    }
    calls.retain(|_, calls| *calls > 0);
    Ok(calls)
}

fn counted(controller: &mut Controller) -> Result<Calls> {
    let mut calls = Calls::new();
    for pattern in PATTERNS {
        for row in controller.status(Some(pattern))? {
            calls.insert(full_name(&row), row.calls);
        }
    }
    Ok(calls)
}

/// Returns the truth: everything dialled before the first instruction.
fn truth(runtime: Runtime) -> Result<Calls> {
    let (mut host, pid) = started(runtime, &["--dial", "*=count"])?;
    let calls = calls(&mut host, &mut Controller::connect(pid)?)?;
    exit(host)?;
    ensure!(calls.len() > 20, "hardly anything is called: {calls:?}");
    Ok(calls)
}

/// Dials in a process that has worked for a while and checks for the same calls. With all dials off, no caller
/// stays recompiled.
fn dial_late(mut host: Host, pid: u32, truth: &Calls) -> Result<()> {
    let mut controller = Controller::connect(pid)?;
    for _ in 0..2 {
        controller.dial_all(&PATTERNS, Level::Count, Lifetime::Held)?;
        for pattern in PATTERNS {
            let rows = controller.status(Some(pattern))?;
            let noted = rows.iter().find(|row| row.note.is_some());
            ensure!(noted.is_none(), "{noted:?}");
        }
        let calls = calls(&mut host, &mut controller)?;
        ensure!(calls == *truth, "{}", differences(truth, &calls));
        let recompiled = |one: &Remainder| matches!(one, Remainder::RecompiledCallers { .. });
        let remains = controller.agent_status()?.remains;
        ensure!(remains.iter().any(recompiled), "no precompiled code held any of it: {remains:?}");
        controller.all_off()?;
        parse(&mut host)?;
        let remains = controller.agent_status()?.remains;
        ensure!(!remains.iter().any(recompiled), "{remains:?}");
    }
    exit(host)
}

fn exit(mut host: Host) -> Result<()> {
    host.say("exit")?;
    host.finish()?.ok().map(drop)
}

fn differences(truth: &Calls, calls: &Calls) -> String {
    let names = truth.keys().chain(calls.keys().filter(|name| !truth.contains_key(*name)));
    let wrong = names.filter(|name| truth.get(*name) != calls.get(*name));
    let lines = wrong.map(|name| format!("{name}: {:?}, truly {:?}", calls.get(name), truth.get(name)));
    lines.collect::<Vec<_>>().join("\n")
}

fn late_dials_count_every_call(runtime: Runtime) -> Result<()> {
    let (mut host, pid) = started(runtime, &[])?;
    parse(&mut host)?;
    dial_late(host, pid, &truth(runtime)?)
}

/// Attaches to a process that has worked for a while.
fn attached(runtime: Runtime) -> Result<(Host, u32)> {
    let (mut host, pid) = ready(Host::start(dates_command(runtime)?)?)?;
    parse(&mut host)?;
    host::run(host::redial(&["attach", &pid.to_string()])?)?.ok()?;
    Ok((host, pid))
}

on_each_runtime!(late_dials_count_every_call);

/// .NET 8 finds earlier inlining after an attach, precompiled or not.
#[test]
fn dials_after_an_attach_count_every_call() -> Result<()> {
    let (host, pid) = attached(Runtime::V8_0)?;
    dial_late(host, pid, &truth(Runtime::V8_0)?)
}

/// .NET Core 3.1 cannot be asked about inlining: incomplete counts have a note, the others are exact.
#[test]
fn notes_incomplete_counts_after_attach_to_3_1() -> Result<()> {
    let truth = truth(Runtime::V3_1)?;
    let (mut host, pid) = attached(Runtime::V3_1)?;
    let mut controller = Controller::connect(pid)?;
    controller.dial_all(&PATTERNS, Level::Count, Lifetime::Held)?;
    let rows = PATTERNS.iter().map(|pattern| controller.status(Some(pattern)));
    let rows: Vec<_> = rows.collect::<Result<Vec<_>>>()?.concat();
    let said: Vec<String> =
        rows.iter().filter(|row| row.note == Some(RowNote::PerhapsInlined)).map(full_name).collect();
    let calls = calls(&mut host, &mut controller)?;
    let sure =
        |calls: &Calls| calls.clone().into_iter().filter(|(name, _)| !said.contains(name)).collect::<Calls>();
    ensure!(sure(&calls) == sure(&truth), "{}", differences(&sure(&truth), &sure(&calls)));
    ensure!(!sure(&truth).is_empty() && calls != truth, "nothing was tested: {calls:?}");
    exit(host)
}

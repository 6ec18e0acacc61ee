//! A web server on ASP.NET Core 3.1 under load, on its own 3.1.2 and rolled forward to 8.0. The agent attaches
//! while it answers, counts its methods exactly from a pause of the load on, and turns everything off while it
//! answers.

mod server;
mod timed;
mod traced;

use std::time::Instant;

use anyhow::{Result, ensure};
use redial_protocol::{level::Level, state};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{process_facts, soak};

use server::{KEPT, Server};

#[test]
fn attached_under_load_on_3_1() -> Result<()> {
    attached_under_load(Runtime::ASP_NET_3_1)
}

#[test]
fn attached_under_load_on_8_0() -> Result<()> {
    attached_under_load(Runtime::V8_0)
}

#[test]
fn everything_dialled_under_load_on_3_1() -> Result<()> {
    everything_dialled_under_load(Runtime::ASP_NET_3_1, Level::Count)
}

#[test]
fn everything_dialled_under_load_on_8_0() -> Result<()> {
    everything_dialled_under_load(Runtime::V8_0, Level::Count)
}

#[test]
fn everything_timed_under_load_on_3_1() -> Result<()> {
    everything_dialled_under_load(Runtime::ASP_NET_3_1, Level::Time)
}

#[test]
fn everything_timed_under_load_on_8_0() -> Result<()> {
    everything_dialled_under_load(Runtime::V8_0, Level::Time)
}

/// On one runtime only: bodies and helpers are the same on all.
#[test]
fn everything_traced_under_load_on_8_0() -> Result<()> {
    everything_dialled_under_load(Runtime::V8_0, Level::Trace)
}

fn attached_under_load(runtime: Runtime) -> Result<()> {
    let mut server = Server::start(runtime, false)?;
    match go_through(runtime, &mut server) {
        Ok(()) => server.end(),
        // A client's error does not reveal whether the server ended.
        Err(error) => Err(server.host.failed_with(error)),
    }
}

fn go_through(runtime: Runtime, server: &mut Server) -> Result<()> {
    let rounds = soak::scaled(3, 20);
    let early = Server::start(runtime, true)?;
    early.load.go_on(500)?;
    early.load.pause()?;
    let expected = early.modules()?;
    early.end()?;

    server.load.go_on(500)?;
    let attached = server.redial(&["attach"])?.ok()?;
    ensure!(attached.stdout.contains("loaded the agent into process"), "{}", attached.output());
    // While requests are answered: the server's own methods, and those of the framework's request handling.
    for pattern in ["web!*", "Microsoft.AspNetCore.Server.Kestrel.Core!*", "Microsoft.AspNetCore.Http!*"] {
        let dialled = server.redial(&["dial", pattern, "count", "--json"])?;
        ensure!(matches!(dialled.code()?, 0 | 7), "{}", dialled.output());
        ensure!(dialled.json()?["accepted"].as_u64() > Some(20), "{}", dialled.output());
    }
    server.load.go_on(500)?;
    server.load.pause()?;
    // Each of them is a module now or a moment later.
    let mapped = process_facts::managed_libraries(server.pid)?;
    let began = Instant::now();
    let found = loop {
        let found = server.modules()?;
        if found.is_superset(&mapped) {
            break found;
        }
        let unknown: Vec<_> = mapped.difference(&found).collect();
        ensure!(began.elapsed() < DEADLINE, "mapped, and no module: {unknown:?}");
    };
    ensure!(mapped.len() > 20, "{mapped:?}");
    let lost: Vec<_> = expected.difference(&found).collect();
    ensure!(lost.is_empty() && found.len() > 30, "not in the catalogue: {lost:?}");

    for _ in 0..rounds {
        let counts = server.counted_exactly(1_000)?;
        ensure!(KEPT.iter().all(|method| counts.get(*method).is_some_and(|one| one.calls > 0)), "{counts:?}");
        server.load.go_on(200)?;
        let off = server.redial(&["off", "--json"])?.ok()?.json()?;
        ensure!(off["reverted"].as_u64() > Some(500) && off["remaining"] == 0, "{off}");
        server.load.go_on(200)?;
        server.load.pause()?;
        let last = server.status()?;
        server.load.go_on(500)?;
        server.load.pause()?;
        ensure!(server.status()? == last, "something counts after all was turned off");
        let dialled = server.redial(&["dial", "web!*", "count", "--json"])?;
        ensure!(matches!(dialled.code()?, 0 | 7), "{}", dialled.output());
        server.redial(&["dial", "Microsoft.AspNetCore.*!*", "count"])?;
        server.load.go_on(200)?;
    }
    server.redial(&["off"])?.ok()?;
    ensure!(Controller::connect(server.pid)?.agent_status()?.guard_trips == 0);
    server.load.go_on(2_000)
}

#[test]
fn serves_with_times_on_3_1() -> Result<()> {
    serves_timed(Runtime::ASP_NET_3_1)
}

#[test]
fn serves_with_times_on_8_0() -> Result<()> {
    serves_timed(Runtime::V8_0)
}

fn serves_timed(runtime: Runtime) -> Result<()> {
    let mut server = Server::start(runtime, true)?;
    match timed::ensure_all_exact(&mut server) {
        Ok(()) => server.end(),
        Err(error) => Err(server.host.failed_with(error)),
    }
}

/// Turns every method of every module on and off during requests, checking each answer.
fn everything_dialled_under_load(runtime: Runtime, level: Level) -> Result<()> {
    let mut server = Server::start(runtime, true)?;
    match turn_everything(runtime, level, &mut server) {
        Ok(()) => server.end(),
        Err(error) => Err(server.host.failed_with(error)),
    }
}

fn turn_everything(runtime: Runtime, level: Level, server: &mut Server) -> Result<()> {
    let answers = soak::scaled(2_000, 20);
    let pace = |server: &mut Server| -> Result<f64> {
        let began = Instant::now();
        server.load.go_on(answers)?;
        Ok(answers as f64 / began.elapsed().as_secs_f64())
    };
    server.load.go_on(2_000)?;
    let before = pace(server)?;
    let mut controller = Controller::connect(server.pid)?;
    // The program `redial` would give up when this takes long on a busy machine.
    let dialled = controller.dial("*", level, Lifetime::Kept)?;
    ensure!(dialled.accepted > 30_000, "{dialled:?}");
    // They are recompiled as they are called.
    server.load.go_on(2_000)?;
    let with = pace(server)?;
    if level == Level::Trace {
        traced::ensure_captured(server, &mut controller)?;
    }
    let rows = controller.status(None)?;
    let live = rows.iter().filter(|row| row.state == state::CopyState::Live).count();
    let failed: Vec<_> = rows.iter().filter(|row| row.state == state::CopyState::Failed).collect();
    ensure!(live > 800 && failed.is_empty(), "{live} live, {failed:?}");
    let off = server.redial(&["off", "--json"])?.ok()?.json()?;
    // Threads that wait for work are still in timed bodies.
    let waiting = if level == Level::Count { 0 } else { 500 };
    ensure!(
        off["reverted"].as_u64() > Some(30_000)
            && off["remaining"].as_u64().is_some_and(|left| left <= waiting),
        "{off}"
    );
    server.load.go_on(2_000)?;
    let after = pace(server)?;
    println!(
        "ASP.NET Core on {}, everything at {level}: {} accepted, {live} live, refused {:?}; {before:.0} answers a second \
         before, {with:.0} with, {after:.0} after",
        runtime.name(),
        dialled.accepted,
        dialled.refused_by_reason,
    );
    ensure!(controller.agent_status()?.guard_trips == 0);
    Ok(())
}

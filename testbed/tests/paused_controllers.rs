//! Controllers that stand still for a while, as on a sleeping laptop, lose no dial and no number.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redial_protocol::state::CopyState;
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::signals::{self, Stopped};
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs, soak, truth};
use serde_json::Value;

on_each_runtime!(stopped_controllers_lose_nothing);

const ADD: &str = "Shop.Cart.Add(int)";

/// Returns how long the controller holds dials before it stops, and how long it stands still. Here time itself
/// is under test. The soak uses the promised time, just below the controller's next ping.
fn times() -> (Duration, Duration) {
    if soak::is_on() {
        (Duration::from_millis(4800), Duration::from_secs(10))
    } else {
        (Duration::ZERO, Duration::from_millis(1500))
    }
}

/// Runs more rounds and returns the program's own number of calls.
fn called(live: &mut LiveHost, rounds: u32) -> Result<u64> {
    live.host.ask(&format!("round {rounds}"), "done")?;
    truth::ask(&mut live.host, "truth")?.get(ADD).copied().context("Shop counts the method")
}

/// Reads the lines of `watch --json` until one has this many calls. More calls are an error.
fn watch_until(watch: &mut Host, calls: u64) -> Result<()> {
    loop {
        let line = watch.next_line()?;
        let seen: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        match seen["dials"][0]["calls"].as_u64() {
            Some(number) if number == calls => return Ok(()),
            number => ensure!(number.is_none_or(|number| number < calls), "{calls} calls, {line}"),
        }
    }
}

fn stopped_controllers_lose_nothing(runtime: Runtime) -> Result<()> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    let mut live = under_agent::start(command)?;
    let pattern = format!("Shop!{ADD}");
    let (before, still) = times();
    let uncounted = called(&mut live, 1)?;
    let holder = live.hold(&pattern)?;
    let mut watch = Host::start(live.command("watch", &[&pattern, "--interval", "20", "--json"])?)?;
    let first = called(&mut live, 3)? - uncounted;
    watch_until(&mut watch, first)?;

    thread::sleep(before);
    let stopped = [Stopped::stop(holder.pid())?, Stopped::stop(watch.pid())?];
    thread::sleep(still / 2);
    let second = called(&mut live, 50)? - uncounted;
    thread::sleep(still / 2);
    drop(stopped);

    // The calls meanwhile are reported, and the dial stands.
    watch_until(&mut watch, second)?;
    let third = called(&mut live, 2)? - uncounted;
    watch_until(&mut watch, third)?;
    let mut observer = live.controller()?;
    let row = observer.row(&pattern)?;
    ensure!((row.state, row.calls) == (CopyState::Live, third), "{third} calls, {row:?}");
    let status = observer.agent_status()?;
    ensure!(status.control.as_ref().is_some_and(|control| control.pid == holder.pid()), "{status:?}");
    ensure!((status.held, status.guard_trips) == (1, 0), "{status:?}");
    // The session still holds the dial.
    observer.subscribe(Some(&pattern))?;
    signals::interrupt(holder.pid())?;
    let ended = holder.finish()?;
    ensure!(ended.code()? == 0, "{}", ended.output());
    observer
        .wait_until("the dial to be off", |dials| dials.values().all(|row| row.state == CopyState::Off))?;
    watch.kill();
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

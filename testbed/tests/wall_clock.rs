//! The wall clock jumps by days while dials are on. Durations stay right, and lifetimes last as long as they should, in
//! the agent and in the program.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{cache, native, on_each_runtime, programs, soak};
use serde_json::Value;

on_each_runtime!(times_and_lifetimes_ignore_the_wall_clock, watching_ignores_the_wall_clock);

const DAY_S: i64 = 86_400;
const HOUR_NS: u64 = 3_600_000_000_000;
const WORK: &str = "kept!Kept.Work(int)";
const FAILS: &str = "kept!Kept.Fails(string, int)";
const HOLDS: &str = "kept!Kept.Holds(bool)";
/// Time of a call, milliseconds.
const CALL_MS: u64 = 20;

/// The wall clock of a process, which a test moves.
struct WallClock {
    path: PathBuf,
    offset: File,
}

impl WallClock {
    fn new(name: &str) -> Result<WallClock> {
        let path = cache::folder().join(format!("clock-{name}-{}", std::process::id()));
        let offset = File::create(&path).with_context(|| path.display().to_string())?;
        let clock = WallClock { path, offset };
        clock.move_by(0)?;
        Ok(clock)
    }

    /// Makes a program see this clock.
    fn give_to(&self, command: &mut Command) -> Result<()> {
        command.env("LD_PRELOAD", native::library("clock")?).env("REDIAL_TEST_CLOCK", &self.path);
        Ok(())
    }

    /// Sets the distance from the true time.
    fn move_by(&self, seconds: i64) -> Result<()> {
        Ok(self.offset.write_all_at(&seconds.to_ne_bytes(), 0)?)
    }

    /// Moves the clock a day on, a day back and home, again and again.
    fn move_always(&self) -> Result<Moving> {
        let (stop, offset) = (Arc::new(AtomicBool::new(false)), self.offset.try_clone()?);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for seconds in [DAY_S, -DAY_S, 0].into_iter().cycle() {
                if stopped.load(Ordering::Relaxed) {
                    return Ok(());
                }
                offset.write_all_at(&seconds.to_ne_bytes(), 0)?;
                std::thread::sleep(Duration::from_millis(3));
            }
            Ok(())
        });
        Ok(Moving { stop, thread })
    }
}

impl Drop for WallClock {
    fn drop(&mut self) {
        // A leftover stays in the cache folder, under a unique name.
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Moving {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl Moving {
    fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.thread.join().map_err(|_| anyhow!("the thread that moves the clock panicked"))??)
    }
}

fn start(clock: &WallClock, runtime: Runtime) -> Result<(LiveHost, Controller)> {
    let mut command = programs::named("kept")?.command(runtime)?;
    clock.give_to(&mut command)?;
    under_agent::start_controlled(command)
}

/// Makes `number` calls of 20 ms each.
fn work(host: &mut Host, number: u64) -> Result<()> {
    let calls = format!(" {CALL_MS}").repeat(number as usize);
    host.ask(&format!("work{calls}"), "done").map(drop)
}

/// Returns the wall clock of the agent, in seconds, by the time that it gives its latest change.
fn agent_clock(controller: &mut Controller) -> Result<i64> {
    let audit = controller.agent_status()?.audit;
    Ok(audit.last().context("a change")?.t_unix_ms as i64 / 1000)
}

fn times_and_lifetimes_ignore_the_wall_clock(runtime: Runtime) -> Result<()> {
    const LONG_MS: u64 = 600_000;
    let clock = WallClock::new(runtime.name())?;
    let (mut live, mut controller) = start(&clock, runtime)?;
    controller.subscribe(None)?;
    controller.dial(WORK, Level::Time, Lifetime::Held)?;
    let before = agent_clock(&mut controller)?;
    let calls = soak::scaled(20, 50);

    // The agent does see the jumps.
    for offset in [DAY_S, -DAY_S] {
        clock.move_by(offset)?;
        controller.dial(FAILS, Level::Count, Lifetime::KeptFor { ms: LONG_MS })?;
        let moved = agent_clock(&mut controller)? - before;
        ensure!((moved - offset).abs() < DAY_S / 2, "the agent's clock moved by {moved} s, not {offset}");
        work(&mut live.host, calls)?;
    }
    let moving = clock.move_always()?;
    work(&mut live.host, calls)?;
    moving.stop()?;

    let (row, times) = controller.timed(WORK)?;
    let made = 3 * calls;
    ensure!((row.calls, times.exits, times.in_flight) == (made, made, 0), "{row:?} {times:?}");
    let shortest = CALL_MS * 1_000_000;
    let percentiles = times.percentiles.context("percentiles")?;
    ensure!((made * shortest..HOUR_NS).contains(&times.total_ns), "{times:?}");
    ensure!((shortest..HOUR_NS).contains(&times.max_ns), "{times:?}");
    ensure!(times.self_ns <= times.total_ns, "{times:?}");
    // Percentiles are the bounds of buckets.
    ensure!((shortest / 2..HOUR_NS).contains(&percentiles.p50_ns), "{times:?}");
    ensure!((percentiles.p50_ns..HOUR_NS).contains(&percentiles.p99_ns), "{times:?}");

    // The held dial and the long one are still on.
    ensure!(row.wanted == Level::Time && controller.agent_status()?.held == 1, "{row:?}");
    let Reply::Orders { orders, .. } = controller.ask(WireCommand::Orders)?.reply else {
        return Err(anyhow!("no orders"));
    };
    let long = orders.iter().find(|one| one.order.pattern == FAILS).context("the long order is gone")?;
    let Lifetime::KeptFor { ms } = long.lifetime else { return Err(anyhow!("{long:?}")) };
    ensure!((1..=LONG_MS).contains(&ms), "{ms} ms are left of {LONG_MS}");

    // A short one ends, although the clock stays behind or jumps.
    for offset in [Some(-DAY_S), None] {
        let moving = match offset {
            Some(offset) => {
                clock.move_by(offset)?;
                None
            }
            None => Some(clock.move_always()?),
        };
        controller.dial(HOLDS, Level::Count, Lifetime::KeptFor { ms: 500 })?;
        controller.wait_until("the short dial to be on", |dials| {
            dials.values().any(|row| row.method.ends_with("Holds") && row.wanted == Level::Count)
        })?;
        controller.wait_until("the short dial to be off", |dials| {
            dials.values().all(|row| !row.method.ends_with("Holds") || row.wanted == Level::Off)
        })?;
        moving.map(Moving::stop).transpose()?;
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}

/// `redial watch`, whose own clock jumps too, goes on, and no number falls.
fn watching_ignores_the_wall_clock(runtime: Runtime) -> Result<()> {
    let clock = WallClock::new(&format!("watch-{}", runtime.name()))?;
    let (mut live, mut controller) = start(&clock, runtime)?;
    let mut dial = live.command("dial", &[WORK, "time", "--for", "10m"])?;
    clock.give_to(&mut dial)?;
    redial_testbed::host::run(dial)?.ok()?;
    let moving = clock.move_always()?;
    let mut watch = live.command("watch", &["--json", "--interval", "20"])?;
    clock.give_to(&mut watch)?;
    let mut watch = Host::start(watch)?;
    let (mut last_time, mut last_calls, mut last_total) = (0, 0, 0);
    for line in 0..soak::scaled(10, 50) {
        work(&mut live.host, 3)?;
        let shown = next_with_calls(&mut watch, last_calls)?;
        let number = |value: &Value, field: &str| {
            value[field].as_u64().with_context(|| format!("{field} in line {line}: {shown}"))
        };
        let row = &shown["dials"][0];
        let (time, calls, total) = (number(&shown, "t_ms")?, number(row, "calls")?, number(row, "total_ns")?);
        ensure!(time >= last_time && time < HOUR_NS / 1_000_000, "{last_time} ms became {time}");
        ensure!(total >= last_total && total < HOUR_NS, "{last_total} ns became {total}: {shown}");
        // The first line has no rate yet. No call is shorter than 20 ms.
        let rate = row["rate"].as_f64().unwrap_or_default();
        ensure!((0.0..1000.0).contains(&rate), "{rate} calls a second: {shown}");
        (last_time, last_calls, last_total) = (time, calls, total);
    }
    moving.stop()?;
    watch.kill();
    ensure!(last_total > 0, "watch showed no time");
    ensure!(controller.row(WORK)?.wanted == Level::Time, "the dial ended");
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}

/// Returns the next line with more than `calls` calls.
fn next_with_calls(watch: &mut Host, calls: u64) -> Result<Value> {
    loop {
        let line: Value = serde_json::from_str(&watch.next_line()?)?;
        if line["dials"][0]["calls"].as_u64() > Some(calls) {
            return Ok(line);
        }
    }
}

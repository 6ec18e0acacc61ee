//! Times are the truth: whatever the agent tells of calls lies between what each call takes by its own clock, from its
//! first to its last statement, and what its caller takes around it (`programs/timed.cs`). So no bound depends on what
//! else runs on the machine.

use anyhow::{Context, Result, ensure};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, Live};
use redial_testbed::{on_each_runtime, programs};
use std::collections::BTreeMap;

/// How far the clocks of the agent and of the program may differ in speed, and what a bucket of the histogram is off.
const CLOCKS: f64 = 0.002;
const BUCKET: f64 = 0.02;
/// What a reading of the program's clock is off, nanoseconds.
const READING: f64 = 200.0;

/// What the program knows of a method: between the first and the second of each pair lies the truth.
#[derive(Debug)]
struct Known {
    calls: u64,
    exceptions: u64,
    total: (u64, u64),
    max: (u64, u64),
    percentiles: [(u64, u64); 3],
}

fn start(runtime: Runtime, tiered: &str) -> Result<(Live, Controller)> {
    let mut command = programs::named("timed")?.command(runtime)?;
    under_agent::set_tiered(&mut command, tiered);
    under_agent::start_controlled(command)
}

/// What the program knows the times of. Not its clock, which would be a dialled callee of all of them.
const KNOWN: [&str; 10] =
    ["Sleep", "Busy", "Recurse", "Outer", "Inner", "Throws", "Through", "Catches", "Stand", "Die"];

fn dial(controller: &mut Controller, level: Level) -> Result<()> {
    let patterns = KNOWN.map(|method| format!("timed!Timed.{method}"));
    let report = controller.dial_all(&patterns.each_ref().map(String::as_str), level, Stay::Kept)?;
    ensure!(report.accepted == KNOWN.len() as u64 && report.warnings.is_empty(), "{report:?}");
    Ok(())
}

/// Has the program do something, and what it then knows since its start.
fn ask(host: &mut Host, command: &str) -> Result<BTreeMap<String, Known>> {
    host.say(command)?;
    let mut all = BTreeMap::new();
    loop {
        let line = host.next_line()?;
        if line == "end" {
            return Ok(all);
        }
        let words: Vec<&str> =
            line.strip_prefix("known ").with_context(|| line.clone())?.split(' ').collect();
        let numbers = words.iter().skip(1).map(|word| word.parse()).collect::<Result<Vec<u64>, _>>()?;
        let [calls, exceptions, inner, outer, max_in, max_out, a, b, c, d, e, f] = numbers[..] else {
            anyhow::bail!("{line}");
        };
        let known = Known {
            calls,
            exceptions,
            total: (inner, outer),
            max: (max_in, max_out),
            percentiles: [(a, b), (c, d), (e, f)],
        };
        all.insert(words[0].to_owned(), known);
    }
}

#[track_caller]
fn ensure_between(what: &str, told: u64, (low, high): (u64, u64), calls: u64, off: f64) -> Result<()> {
    let slack = READING * calls as f64;
    let fits =
        told as f64 >= low as f64 * (1.0 - off) - slack && told as f64 <= high as f64 * (1.0 + off) + slack;
    ensure!(fits, "{what}: {told} is not between {low} and {high}");
    Ok(())
}

/// Checks everything that the program knows of a method.
fn ensure_true(controller: &mut Controller, method: &str, known: &Known) -> Result<Times> {
    let (row, times) = controller.timed(&format!("timed!{method}"))?;
    let what = format!("{method}: {row:?} {times:?} {known:?}");
    ensure!(row.state == CopyState::Live && row.note.is_none() && row.times_note.is_none(), "{what}");
    ensure!((row.calls, times.exits, times.in_flight) == (known.calls, known.calls, 0), "{what}");
    ensure!(times.exceptions == known.exceptions, "{what}");
    ensure!(times.self_ns <= times.total_ns && times.max_ns <= times.total_ns, "{what}");
    ensure_between(&what, times.total_ns, known.total, known.calls, CLOCKS)?;
    Ok(times)
}

fn ensure_percentiles(times: &Times, known: &Known) -> Result<()> {
    let told = times.percentiles.context("there are percentiles")?;
    ensure_between("the longest", times.max_ns, known.max, 1, CLOCKS)?;
    for (told, bounds) in [told.p50_ns, told.p90_ns, told.p99_ns].into_iter().zip(known.percentiles) {
        ensure_between("a percentile", told, bounds, 1, CLOCKS + BUCKET)?;
    }
    Ok(())
}

fn known_times_are_told(runtime: Runtime) -> Result<()> {
    for tiered in ["0", "1"] {
        let (mut live, mut controller) = start(runtime, tiered)?;
        dial(&mut controller, Level::Time)?;

        let known = ask(&mut live.host, "sleep 12 5")?;
        let sleep = &known["Timed.Sleep(int)"];
        let times = ensure_true(&mut controller, "Timed.Sleep(int)", sleep)?;
        ensure_percentiles(&times, sleep)?;
        ensure!(times.total_ns >= 12 * 4_900_000, "{times:?}");

        let known = ask(&mut live.host, "busy 4 400")?;
        let busy = &known["Timed.Busy(int)"];
        let times = ensure_true(&mut controller, "Timed.Busy(int)", busy)?;
        ensure_percentiles(&times, busy)?;

        // The outermost activation has all the time; of it, each has its own.
        let known = ask(&mut live.host, "recurse 300")?;
        let recursion = &known["Timed.Recurse(int)"];
        let times = ensure_true(&mut controller, "Timed.Recurse(int)", recursion)?;
        ensure!(times.exits == 301 && times.self_ns == times.total_ns, "{times:?}");

        let known = ask(&mut live.host, "nest 50")?;
        let outer = ensure_true(&mut controller, "Timed.Outer(int)", &known["Timed.Outer(int)"])?;
        ensure_percentiles(&outer, &known["Timed.Outer(int)"])?;
        let (_, inner) = controller.timed("timed!Timed.Inner(int)")?;
        // Each number is rounded to whole nanoseconds.
        ensure!((outer.self_ns + inner.total_ns).abs_diff(outer.total_ns) <= 2, "{outer:?} {inner:?}");
        ensure!(outer.self_ns >= 50 * 40_000 && inner.self_ns >= 50 * 20_000, "{outer:?} {inner:?}");

        let known = ask(&mut live.host, "throw 30")?;
        for (method, calls, exceptions) in
            [("Timed.Throws(int)", 90, 30), ("Timed.Through(int)", 30, 10), ("Timed.Catches(int)", 30, 0)]
        {
            let (_, times) = controller.timed(&format!("timed!{method}"))?;
            let told = (known[method].calls, known[method].exceptions, times.exits, times.exceptions);
            ensure!(told == (calls, exceptions, calls, exceptions), "{method}: {told:?}");
        }
        end(live, controller)?;
    }
    Ok(())
}

/// Calls under way are told; turned off meanwhile, the method is *reverting* until the last of them has ended.
fn calls_under_way_are_told(runtime: Runtime) -> Result<()> {
    const STAND: &str = "timed!Timed.Stand()";
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, Level::Time)?;
    for round in 1..=3 {
        live.host.ask("stand 7", "standing")?;
        let (row, times) = controller.timed(STAND)?;
        ensure!(
            (row.calls, times.exits, times.in_flight) == (7 * round, 7 * (round - 1), 7),
            "{row:?} {times:?}"
        );
        // Calls that began timed end so, whatever the dial is turned to meanwhile.
        match round {
            1 => dial(&mut controller, Level::Count)?,
            2 => {
                let report = controller.off(STAND)?;
                ensure!(report.accepted == 1, "{report:?}");
                let (row, times) = controller.timed(STAND)?;
                ensure!((row.state, times.in_flight) == (CopyState::Reverting, 7), "{row:?} {times:?}");
            }
            _ => {
                ensure!(controller.all_off()?.1 == 0);
                ensure!(controller.timed(STAND)?.0.state == CopyState::Reverting);
                // Up again while the old calls are under way.
                dial(&mut controller, Level::Time)?;
                ensure!(controller.timed(STAND)?.0.state == CopyState::Asked);
            }
        }
        live.host.ask("leave", "left")?;
        let (_, times) = controller.timed(STAND)?;
        ensure!((times.exits, times.in_flight) == (7 * round, 0), "{times:?}");
        if round == 2 {
            wait_for_off(&mut controller, STAND)?;
        }
        dial(&mut controller, Level::Time)?;
    }
    end(live, controller)
}

fn wait_for_off(controller: &mut Controller, pattern: &str) -> Result<()> {
    controller.subscribe(Some(pattern))?;
    controller
        .wait_until("the method to be off", |dials| dials.values().all(|row| row.state == CopyState::Off))
}

/// Down to count and up again: no call is lost, times stay, and only calls at time are timed.
fn count_and_time_in_place(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    let mut timed = 0;
    for round in 1..=8_u64 {
        let level = if round % 2 == 1 { Level::Count } else { Level::Time };
        dial(&mut controller, level)?;
        let known = ask(&mut live.host, "busy 2 50")?;
        timed += if level == Level::Time { 100 } else { 0 };
        let rows = controller.status(Some("timed!Timed.Busy(int)"))?;
        let [row] = &rows[..] else { anyhow::bail!("{rows:?}") };
        ensure!((row.calls, known["Timed.Busy(int)"].calls) == (100 * round, 100 * round), "{row:?}");
        ensure!(
            (row.wanted, row.state, row.version) == (level, CopyState::Live, Some(round as u32)),
            "{row:?}"
        );
        if timed > 0 {
            let (_, times) = controller.timed("timed!Timed.Busy(int)")?;
            ensure!((times.exits, times.in_flight) == (timed, 0), "{times:?}");
        }
    }
    end(live, controller)
}

/// A watcher is sent times as they change.
fn times_are_sent_as_they_change(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, Level::Time)?;
    controller.subscribe(Some("timed!Timed.Sleep(int)"))?;
    let known = ask(&mut live.host, "sleep 3 1")?;
    let mut row: Option<(RowId, StatusRow)> = None;
    let last = controller.wait_for("the times of three calls", |event| match event {
        Event::Rows { rows, .. } => {
            row = rows.first().map(|one| (one.row, one.clone()));
            None
        }
        Event::Times { id: None, times } => times.iter().find(|one| one.exits == 3).copied(),
        _ => None,
    })?;
    ensure!(row.is_some_and(|(id, _)| id == last.row), "{last:?}");
    let (_, asked) = controller.timed("timed!Timed.Sleep(int)")?;
    ensure!(asked.exits == last.exits && known["Timed.Sleep(int)"].calls == 3, "{asked:?}");
    ensure!(
        asked.total_ns.abs_diff(last.total_ns) as f64 <= last.total_ns as f64 * CLOCKS,
        "{asked:?} {last:?}"
    );
    end(live, controller)
}

/// Threads that end in the middle of a call leave none under way.
fn threads_that_die_in_a_call(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, Level::Time)?;
    let known = ask(&mut live.host, "die 5")?;
    let (row, times) = controller.timed("timed!Timed.Die()")?;
    ensure!((known["Timed.Die()"].calls, row.calls) == (5, 5), "{row:?}");
    ensure!((times.in_flight, times.exits, times.exceptions, times.total_ns) == (0, 0, 0, 0), "{times:?}");
    end(live, controller)
}

/// What cannot be timed is counted and says why, apart from what is said of its number of calls; and with the level it goes.
fn what_is_only_counted_says_why(runtime: Runtime) -> Result<()> {
    const LAST: &str = "timed!Timed.Last(int)";
    let (live, mut controller) = start(runtime, "1")?;
    let notes = |controller: &mut Controller| {
        let row = controller.row(LAST)?;
        ensure!(row.note.is_none(), "{row:?}");
        anyhow::Ok(row.times_note)
    };
    let report = controller.dial(LAST, Level::Time, Stay::Kept)?;
    ensure!(
        report.accepted == 1 && report.warnings.iter().any(|one| one.contains("only counted")),
        "{report:?}"
    );
    let said = notes(&mut controller)?.context("it says why")?;
    ensure!(said.contains("calls itself last") && said.contains("time its callers instead"), "{said}");
    controller.dial(LAST, Level::Count, Stay::Kept)?;
    ensure!(notes(&mut controller)?.is_none());
    end(live, controller)
}

/// Calls within calls by the thousand: the memory for them is in the agent's account.
fn deep_calls_are_timed_and_accounted_for(runtime: Runtime) -> Result<()> {
    const DEPTH: u64 = 5_000;
    const FRAME: u64 = 32;
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, Level::Time)?;
    let account = |controller: &mut Controller| {
        let status = controller.agent_status()?;
        let budget =
            status.budgets.into_iter().find(|one| one.name == "bytes of times").context("a budget")?;
        anyhow::Ok((status.memory_bytes, budget.used))
    };
    ask(&mut live.host, "recurse 10")?;
    let before = account(&mut controller)?;
    let known = ask(&mut live.host, &format!("recurse {DEPTH}"))?;
    let times = ensure_true(&mut controller, "Timed.Recurse(int)", &known["Timed.Recurse(int)"])?;
    ensure!(times.exits == DEPTH + 12, "{times:?}");
    let after = account(&mut controller)?;
    let least = (DEPTH - 127) * FRAME;
    ensure!(after.0 >= before.0 + least && after.1 >= before.1 + least, "{before:?} became {after:?}");
    end(live, controller)
}

/// Nothing went wrong in the agent, and the program ends as it should.
fn end(mut live: Live, mut controller: Controller) -> Result<()> {
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    let outcome = live.host.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.said());
    Ok(())
}

on_each_runtime!(
    known_times_are_told,
    calls_under_way_are_told,
    count_and_time_in_place,
    times_are_sent_as_they_change,
    threads_that_die_in_a_call,
    what_is_only_counted_says_why,
    deep_calls_are_timed_and_accounted_for,
);

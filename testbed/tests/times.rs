//! Times are true. Each time reported by the agent lies between the duration by the call's own clock, from its
//! first to its last statement, and the duration around the call in its caller (`programs/timed.cs`). So no
//! bound depends on the machine's load.

use anyhow::{Context, Result, ensure};
use redial_protocol::diagnostics::{ChangeWarning, MissingTimes, Resource, UntimedReason};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};
use redial_text::diagnostics::{Reader, row_notes};
use std::collections::BTreeMap;

/// Largest relative difference in speed between the clocks of agent and program, and relative error of a
/// histogram bucket.
const CLOCKS: f64 = 0.002;
const BUCKET: f64 = 0.02;
/// Error of one reading of the program's clock in nanoseconds.
const READING: f64 = 200.0;

/// The program's bounds for a method: the truth lies between the two values of each pair.
#[derive(Debug)]
struct Bounds {
    calls: u64,
    exceptions: u64,
    total: (u64, u64),
    max: (u64, u64),
    percentiles: [(u64, u64); 3],
}

fn start(runtime: Runtime, tiered: &str) -> Result<(LiveHost, Controller)> {
    let mut command = programs::named("timed")?.command(runtime)?;
    under_agent::set_tiered(&mut command, tiered);
    under_agent::start_controlled(command)
}

/// Methods whose times the program knows, without its clock, which would be a dialled callee of all of them.
const METHODS: [&str; 10] =
    ["Sleep", "Busy", "Recurse", "Outer", "Inner", "Throws", "Through", "Catches", "Stand", "Die"];

fn dial(controller: &mut Controller, level: Level) -> Result<()> {
    let patterns = METHODS.map(|method| format!("timed!Timed.{method}"));
    let report = controller.dial_all(&patterns.each_ref().map(String::as_str), level, Lifetime::Kept)?;
    ensure!(report.accepted == METHODS.len() as u64 && report.warnings.is_empty(), "{report:?}");
    Ok(())
}

/// Sends a command to the program and returns its bounds since its start.
fn ask(host: &mut Host, command: &str) -> Result<BTreeMap<String, Bounds>> {
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
        let known = Bounds {
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
fn ensure_between(what: &str, reported: u64, (low, high): (u64, u64), calls: u64, off: f64) -> Result<()> {
    let slack = READING * calls as f64;
    let fits = reported as f64 >= low as f64 * (1.0 - off) - slack
        && reported as f64 <= high as f64 * (1.0 + off) + slack;
    ensure!(fits, "{what}: {reported} is not between {low} and {high}");
    Ok(())
}

/// Checks all the program's bounds for a method.
fn ensure_within_bounds(controller: &mut Controller, method: &str, known: &Bounds) -> Result<Times> {
    let (row, times) = controller.timed(&format!("timed!{method}"))?;
    let what = format!("{method}: {row:?} {times:?} {known:?}");
    ensure!(row.state == CopyState::Live && row.note.is_none() && row.times_note.is_none(), "{what}");
    ensure!((row.calls, times.exits, times.in_flight) == (known.calls, known.calls, 0), "{what}");
    ensure!(times.exceptions == known.exceptions, "{what}");
    ensure!(times.self_ns <= times.total_ns && times.max_ns <= times.total_ns, "{what}");
    ensure_between(&what, times.total_ns, known.total, known.calls, CLOCKS)?;
    Ok(times)
}

fn ensure_percentiles(times: &Times, known: &Bounds) -> Result<()> {
    let reported = times.percentiles.context("there are percentiles")?;
    ensure_between("the longest", times.max_ns, known.max, 1, CLOCKS)?;
    for (reported, bounds) in
        [reported.p50_ns, reported.p90_ns, reported.p99_ns].into_iter().zip(known.percentiles)
    {
        ensure_between("a percentile", reported, bounds, 1, CLOCKS + BUCKET)?;
    }
    Ok(())
}

fn reports_times_within_bounds(runtime: Runtime) -> Result<()> {
    for tiered in ["0", "1"] {
        let (mut live, mut controller) = start(runtime, tiered)?;
        dial(&mut controller, Level::Time)?;

        let known = ask(&mut live.host, "sleep 12 5")?;
        let sleep = &known["Timed.Sleep(int)"];
        let times = ensure_within_bounds(&mut controller, "Timed.Sleep(int)", sleep)?;
        ensure_percentiles(&times, sleep)?;
        ensure!(times.total_ns >= 12 * 4_900_000, "{times:?}");

        let known = ask(&mut live.host, "busy 4 400")?;
        let busy = &known["Timed.Busy(int)"];
        let times = ensure_within_bounds(&mut controller, "Timed.Busy(int)", busy)?;
        ensure_percentiles(&times, busy)?;

        // The outermost activation has the whole time, and each activation has its own share.
        let known = ask(&mut live.host, "recurse 300")?;
        let recursion = &known["Timed.Recurse(int)"];
        let times = ensure_within_bounds(&mut controller, "Timed.Recurse(int)", recursion)?;
        ensure!(times.exits == 301 && times.self_ns == times.total_ns, "{times:?}");

        let known = ask(&mut live.host, "nest 50")?;
        let outer = ensure_within_bounds(&mut controller, "Timed.Outer(int)", &known["Timed.Outer(int)"])?;
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
            let reported = (known[method].calls, known[method].exceptions, times.exits, times.exceptions);
            ensure!(reported == (calls, exceptions, calls, exceptions), "{method}: {reported:?}");
        }
        end(live, controller)?;
    }
    Ok(())
}

/// Calls in flight are reported. Turned off meanwhile, the method is *reverting* until the last of them has
/// ended.
fn reports_calls_in_flight(runtime: Runtime) -> Result<()> {
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
        // Calls that started timed end timed, whatever the dial's level is meanwhile.
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
                // Up again while the old calls are in flight.
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

/// Down to count and up again: no call is lost, times stay, and only calls at level time are timed.
fn switches_between_count_and_time_in_place(runtime: Runtime) -> Result<()> {
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

/// A watcher receives times as they change.
fn sends_times_as_they_change(runtime: Runtime) -> Result<()> {
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

/// Threads that end in the middle of a call leave none in flight.
fn dying_threads_leave_no_call_in_flight(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, Level::Time)?;
    let known = ask(&mut live.host, "die 5")?;
    let (row, times) = controller.timed("timed!Timed.Die()")?;
    ensure!((known["Timed.Die()"].calls, row.calls) == (5, 5), "{row:?}");
    ensure!((times.in_flight, times.exits, times.exceptions, times.total_ns) == (0, 0, 0, 0), "{times:?}");
    end(live, controller)
}

/// A method that cannot be timed is counted and has a note, separate from the note about its calls. The note
/// disappears with the level.
fn notes_why_a_method_is_only_counted(runtime: Runtime) -> Result<()> {
    const LAST: &str = "timed!Timed.Last(int)";
    let (live, mut controller) = start(runtime, "1")?;
    let notes = |controller: &mut Controller| {
        let row = controller.row(LAST)?;
        ensure!(row.note.is_none(), "{row:?}");
        anyhow::Ok(row.times_note)
    };
    let report = controller.dial(LAST, Level::Time, Lifetime::Kept)?;
    ensure!(
        report.accepted == 1 && report.warnings.contains(&ChangeWarning::OnlyCounted { copies: 1 }),
        "{report:?}"
    );
    let said = notes(&mut controller)?.context("it says why")?;
    let missing = Some(MissingTimes::Untimed(UntimedReason::EndsInItself));
    ensure!(said.missing == missing, "{said:?}");
    let text = row_notes::times_note(&said, Reader::CommandLine);
    ensure!(text.contains("calls itself last") && text.contains("time its callers instead"), "{text}");
    controller.dial(LAST, Level::Count, Lifetime::Kept)?;
    ensure!(notes(&mut controller)?.is_none());
    end(live, controller)
}

/// Thousands of nested calls: the agent's status includes the memory for them.
fn times_deep_calls_and_reports_their_memory(runtime: Runtime) -> Result<()> {
    const DEPTH: u64 = 5_000;
    const FRAME: u64 = 32;
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, Level::Time)?;
    let account = |controller: &mut Controller| {
        let status = controller.agent_status()?;
        let budget = status
            .budgets
            .into_iter()
            .find(|one| one.resource == Resource::TimesBytes)
            .context("a budget")?;
        anyhow::Ok((status.memory_bytes, budget.used))
    };
    ask(&mut live.host, "recurse 10")?;
    let before = account(&mut controller)?;
    let known = ask(&mut live.host, &format!("recurse {DEPTH}"))?;
    let times = ensure_within_bounds(&mut controller, "Timed.Recurse(int)", &known["Timed.Recurse(int)"])?;
    ensure!(times.exits == DEPTH + 12, "{times:?}");
    let after = account(&mut controller)?;
    let least = (DEPTH - 127) * FRAME;
    ensure!(after.0 >= before.0 + least && after.1 >= before.1 + least, "{before:?} became {after:?}");
    end(live, controller)
}

/// Checks that no guard of the agent tripped, and ends the program.
fn end(mut live: LiveHost, mut controller: Controller) -> Result<()> {
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    let outcome = live.host.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

on_each_runtime!(
    reports_times_within_bounds,
    reports_calls_in_flight,
    switches_between_count_and_time_in_place,
    sends_times_as_they_change,
    dying_threads_leave_no_call_in_flight,
    notes_why_a_method_is_only_counted,
    times_deep_calls_and_reports_their_memory,
);

//! Conditions keep the slowest calls with their threads and exceptions (`programs/kept.cs`). Calls sleep far
//! above or far below a threshold, so that slow machines pass too.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_SLOWEST_CALLS;
use redial_protocol::message::{Reply, StatusRow, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::slowest_calls::RowSlowestCalls;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};
use serde_json::{Value, json};

const WORK: &str = "kept!Kept.Work(int)";
const FAILS: &str = "kept!Kept.Fails(string, int)";
const HOLDS: &str = "kept!Kept.Holds(bool)";
/// Calls that sleep less than this never take longer, unless the whole machine stalls.
const SLOW_MS: u64 = 200;
const SLOW_NS: u64 = SLOW_MS * 1_000_000;

const PLAIN: TimeOptions = TimeOptions {
    slower_than_ns: None,
    failed_only: false,
    callers: false,
    rate: None,
    depth: None,
    stack: false,
};
const SLOW: TimeOptions = TimeOptions { slower_than_ns: Some(SLOW_NS), ..PLAIN };
const FAILED: TimeOptions = TimeOptions { failed_only: true, ..PLAIN };
const SLOW_AND_FAILED: TimeOptions = TimeOptions { failed_only: true, ..SLOW };

fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(programs::named("kept")?.command(runtime)?)
}

fn order(pattern: &str, options: TimeOptions) -> Order {
    Order { options, ..Order::new(pattern, Level::Time) }
}

fn set(controller: &mut Controller, pattern: &str, options: TimeOptions) -> Result<()> {
    let report = controller.order(vec![order(pattern, options)], Lifetime::Kept)?;
    ensure!(report.accepted == 1 && report.warnings.is_empty(), "{report:?}");
    Ok(())
}

fn say(host: &mut Host, command: &str) -> Result<()> {
    host.ask(command, "done").map(drop)
}

/// Returns a method's row and its slowest calls, or no list without a condition.
fn kept(controller: &mut Controller, pattern: &str) -> Result<(StatusRow, Option<RowSlowestCalls>)> {
    let row = controller.row(pattern)?;
    match controller.ask(WireCommand::SlowestCalls { rows: vec![row.row] })?.reply {
        Reply::SlowestCalls(mut all) => {
            ensure!(all.len() <= 1 && all.iter().all(|one| one.row == row.row), "{all:?}");
            Ok((row, all.pop()))
        }
        other => anyhow::bail!("{other:?}"),
    }
}

fn list(controller: &mut Controller, pattern: &str) -> Result<RowSlowestCalls> {
    let (row, calls) = kept(controller, pattern)?;
    calls.ok_or_else(|| anyhow::anyhow!("no list of {row:?}"))
}

/// Returns the system's id of the program's main thread.
fn main_thread(live: &mut LiveHost) -> Result<u32> {
    let id = live.host.ask("thread", "thread")?.parse()?;
    live.host.wait_for("done")?;
    Ok(id)
}

/// Keeps only slow calls, the longest first. A changed condition clears the list without a new body.
fn keeps_only_slow_calls(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    set(&mut controller, WORK, PLAIN)?;
    // Longer than all that follow: the thread's longest call must not hide them.
    say(&mut live.host, "work 900 1")?;
    let (before, none) = kept(&mut controller, WORK)?;
    ensure!(before.state == CopyState::Live && none.is_none(), "{before:?} {none:?}");

    set(&mut controller, WORK, SLOW)?;
    let (row, calls) = kept(&mut controller, WORK)?;
    ensure!(row.options == SLOW && calls.is_some_and(|one| one.calls.is_empty() && one.met == 0));
    say(&mut live.host, "work 1 600 0 2 300 1 1 450 1")?;
    let RowSlowestCalls { calls, met, missed, .. } = list(&mut controller, WORK)?;
    let floor: Vec<u64> = calls.iter().map(|call| call.took_ns / 50_000_000 * 50).collect();
    ensure!((met, missed, calls.len()) == (3, 0, 3) && floor[0] >= 600 && floor[2] < 450, "{calls:?}");
    ensure!(calls.is_sorted_by(|one, next| one.took_ns >= next.took_ns), "{calls:?}");
    ensure!(calls.iter().all(|call| !call.failed && call.exception.is_none()), "{calls:?}");
    let main: u32 = main_thread(&mut live)?;
    ensure!(
        calls.iter().all(|call| call.thread == main && call.ended_unix_ms > 1_600_000_000_000),
        "{calls:?}"
    );

    // Another threshold, then none, all with the same body.
    set(&mut controller, WORK, TimeOptions { slower_than_ns: Some(2 * SLOW_NS), ..PLAIN })?;
    ensure!(list(&mut controller, WORK)?.calls.is_empty());
    say(&mut live.host, "work 300 500 1")?;
    ensure!(list(&mut controller, WORK)?.calls.len() == 1);
    set(&mut controller, WORK, PLAIN)?;
    say(&mut live.host, "work 300")?;
    let (after, none) = kept(&mut controller, WORK)?;
    ensure!(none.is_none() && after.options.is_none(), "{after:?} {none:?}");
    ensure!((after.version, after.instances.len()) == (before.version, before.instances.len()), "{after:?}");
    ensure!(controller.timed(WORK)?.1.exits == after.calls && after.calls == 15, "{after:?}");
    end(live, controller)
}

/// The list contains calls of every thread, with the system's thread id.
fn keeps_calls_of_all_threads(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    set(&mut controller, WORK, SLOW)?;
    live.host.say("threads 1 300 500 2")?;
    let mut threads = Vec::new();
    loop {
        let line = live.host.next_line()?;
        if line == "done" {
            break;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let ["thread", ms, id] = words[..] else { anyhow::bail!("{line}") };
        threads.push((ms.parse::<u64>()?, id.parse::<u32>()?));
    }
    threads.retain(|(ms, _)| *ms >= SLOW_MS);
    threads.sort_unstable_by_key(|(ms, _)| std::cmp::Reverse(*ms));
    let calls = list(&mut controller, WORK)?.calls;
    let reported: Vec<u32> = calls.iter().map(|call| call.thread).collect();
    ensure!(reported == threads.iter().map(|(_, id)| *id).collect::<Vec<_>>(), "{calls:?} {threads:?}");
    ensure!(calls.iter().zip(&threads).all(|(call, (ms, _))| call.took_ns >= ms * 1_000_000), "{calls:?}");
    end(live, controller)
}

/// The ends of a call, and the exception type of each.
const ENDS: [(&str, &str); 29] = [
    ("own", "OwnException"),
    ("system", "System.TimeoutException"),
    ("nested-type", "Outer+NestedException"),
    ("generic", "Oops<T>"),
    ("null", "System.NullReferenceException"),
    ("zero", "System.DivideByZeroException"),
    ("below", "OwnException"),
    ("rethrown", "OwnException"),
    ("replaced", "OtherException"),
    ("replaced-in-finally", "OtherException"),
    ("caught-in-finally", "OwnException"),
    ("caught-deep-in-finally", "OwnException"),
    ("rethrown-after-another", "OwnException"),
    ("filtered", "OwnException"),
    ("filter-throws", "OwnException"),
    ("initializer", "System.TypeInitializationException"),
    ("sorted", "System.InvalidOperationException"),
    ("same-type-inside", "OwnException"),
    ("twelve-inside", "OwnException"),
    ("below-rethrown", "OwnException"),
    ("below-replaced", "OtherException"),
    ("below-replaced-twice", "System.TimeoutException"),
    ("below-replaced-in-finally", "OtherException"),
    ("below-caught-in-finally", "OwnException"),
    ("below-escapes-in-finally", "OwnException"),
    ("below-rethrown-after-another", "OwnException"),
    ("below-filtered", "OwnException"),
    ("below-filter-throws", "OwnException"),
    ("below-filter-throws-in-finally", "OwnException"),
];

/// The list has the exception type of failed calls, whatever else was thrown and caught meanwhile.
fn keeps_failed_calls_with_exception_types(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let mut wrong = Vec::new();
    for options in [FAILED, TimeOptions { slower_than_ns: Some(1), ..PLAIN }] {
        for (how, exception) in ENDS {
            // Clears the list.
            set(&mut controller, FAILS, PLAIN)?;
            set(&mut controller, FAILS, options)?;
            say(&mut live.host, "fail returns")?;
            say(&mut live.host, &format!("fail {how}"))?;
            let mut calls = list(&mut controller, FAILS)?.calls;
            calls.retain(|call| call.failed || options.failed_only);
            match &calls[..] {
                [one] if one.failed && one.exception.as_deref() == Some(exception) => {}
                other => wrong.push(format!("{how}: {other:?}")),
            }
        }
    }
    ensure!(wrong.is_empty(), "{wrong:#?}");
    // With more nested exceptions than the agent tracks, the outermost call has no type.
    set(&mut controller, FAILS, PLAIN)?;
    set(&mut controller, FAILS, FAILED)?;
    say(&mut live.host, "fail twenty-inside")?;
    let calls = list(&mut controller, FAILS)?.calls;
    ensure!(calls.len() == 1 && calls[0].failed && calls[0].exception.is_none(), "{calls:?}");
    set(&mut controller, FAILS, SLOW_AND_FAILED)?;
    for command in ["fail own", "fail returns 300", "fail system 300"] {
        say(&mut live.host, command)?;
    }
    let calls = list(&mut controller, FAILS)?.calls;
    ensure!(calls.len() == 1 && calls[0].took_ns > SLOW_NS, "{calls:?}");
    ensure!(calls[0].exception.as_deref() == Some("System.TimeoutException"), "{calls:?}");
    end(live, controller)
}

/// Each method on the way out has its own exception; reflection wraps the inner one.
fn every_method_on_the_way_out_keeps_its_own_type(runtime: Runtime) -> Result<()> {
    const INVOKED: &str = "kept!Kept.Invoked()";
    let (mut live, mut controller) = start(runtime)?;
    set(&mut controller, FAILS, FAILED)?;
    set(&mut controller, INVOKED, FAILED)?;
    say(&mut live.host, "fail invoked")?;
    for (method, exception) in
        [(INVOKED, "OwnException"), (FAILS, "System.Reflection.TargetInvocationException")]
    {
        let calls = list(&mut controller, method)?.calls;
        ensure!(calls.len() == 1 && calls[0].exception.as_deref() == Some(exception), "{method}: {calls:?}");
    }
    end(live, controller)
}

/// The type of an exception thrown before the condition was set is unknown, and no other type replaces it.
fn earlier_exceptions_have_no_type(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    set(&mut controller, HOLDS, PLAIN)?;
    for others in ["others", "none"] {
        set(&mut controller, HOLDS, PLAIN)?;
        say(&mut live.host, &format!("hold {others}"))?;
        set(&mut controller, HOLDS, FAILED)?;
        say(&mut live.host, "leave")?;
        let calls = list(&mut controller, HOLDS)?.calls;
        ensure!(calls.len() == 1 && calls[0].failed && calls[0].exception.is_none(), "{others}: {calls:?}");
        // With the condition set throughout, the type is known.
        say(&mut live.host, &format!("hold {others}"))?;
        say(&mut live.host, "leave")?;
        let calls = list(&mut controller, HOLDS)?.calls;
        ensure!(calls.iter().any(|call| call.exception.as_deref() == Some("OwnException")), "{calls:?}");
    }
    end(live, controller)
}

/// A burst of failing calls leaves a short list, and all calls are counted.
fn burst_of_failures_leaves_a_short_list(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    set(&mut controller, FAILS, FAILED)?;
    say(&mut live.host, "storm 4 2000")?;
    let RowSlowestCalls { calls, met, missed, .. } = list(&mut controller, FAILS)?;
    ensure!((met, calls.len()) == (8_000, MAX_SLOWEST_CALLS) && missed <= 80, "{met} {missed} {calls:?}");
    ensure!(calls.iter().all(|call| call.exception.as_deref() == Some("OwnException")), "{calls:?}");
    ensure!(controller.timed(FAILS)?.1.exceptions == 8_000);
    end(live, controller)
}

/// On the command line: dial, plan, status, save, apply, undo.
fn sets_shows_saves_and_undoes_conditions(runtime: Runtime) -> Result<()> {
    let (mut live, controller) = start(runtime)?;
    let of = |rows: &[Value], field: &str| rows.first().map_or(Value::Null, |row| row[field].clone());
    live.redial("dial", &[WORK, "time"])?.ok()?;
    say(&mut live.host, "work 1")?;
    let plan =
        live.redial("dial", &[WORK, "time", "--slower-than", "200ms", "--plan", "--json"])?.ok()?.json()?;
    ensure!((&plan["to_recompile"], &plan["to_adjust"]) == (&json!(0), &json!(1)), "{plan}");
    live.redial("dial", &[WORK, "time", "--slower-than", "200ms"])?.ok()?;
    say(&mut live.host, "work 300 1")?;
    let rows = live.rows(WORK)?;
    ensure!(of(&rows, "slower_than_ns") == SLOW_NS && of(&rows, "version") == 1, "{rows:?}");
    let calls = &rows[0]["kept_calls"];
    ensure!((&calls["met"], &calls["missed"]) == (&json!(1), &json!(0)), "{rows:?}");
    let call = &calls["calls"][0];
    let main = main_thread(&mut live)?;
    ensure!(call["thread"] == main && call["failed"] == false && call["exception"].is_null(), "{rows:?}");
    ensure!(call["ns"].as_u64().is_some_and(|ns| ns > SLOW_NS), "{rows:?}");
    let shown = live.redial("status", &[WORK, "--calls"])?.ok()?.stdout;
    ensure!(shown.contains("calls that take longer than 200 ms: 1") && shown.contains("returned"), "{shown}");
    let hinted = live.redial("status", &[WORK])?.ok()?.stdout;
    ensure!(hinted.contains("(--calls lists them)") && !hinted.contains("returned"), "{hinted}");

    let saved = live.redial("save", &[])?.ok()?.stdout;
    ensure!(saved.contains(&format!("{WORK} = time slower-than=200ms\n")), "{saved}");
    let file = std::env::temp_dir().join(format!("redial-conditions-{}.dials", live.pid));
    std::fs::write(
        &file,
        format!("# redial dials 1\n{FAILS} = time failed-only\n{WORK} = time slower-than=1s\n"),
    )?;
    let path = file.display().to_string();
    live.redial("apply", &[&path])?.ok()?;
    std::fs::remove_file(&file)?;
    say(&mut live.host, "fail system")?;
    let rows = live.rows(FAILS)?;
    ensure!(of(&rows, "failed_only") == true, "{rows:?}");
    ensure!(rows[0]["kept_calls"]["calls"][0]["exception"] == "System.TimeoutException", "{rows:?}");
    ensure!(of(&live.rows(WORK)?, "slower_than_ns") == 1_000_000_000);
    live.redial("undo", &[])?.ok()?;
    let rows = live.rows(WORK)?;
    ensure!(of(&rows, "slower_than_ns") == SLOW_NS && rows[0]["kept_calls"]["met"] == 0, "{rows:?}");
    live.redial("undo", &[])?.ok()?;
    let rows = live.rows(WORK)?;
    ensure!(of(&rows, "slower_than_ns").is_null() && of(&rows, "kept_calls").is_null(), "{rows:?}");
    ensure!(of(&rows, "wanted") == "time" && of(&rows, "version") == 1, "{rows:?}");
    let refused = live.redial("dial", &[WORK, "count", "--slower-than", "200ms"])?;
    under_agent::ensure_messages(&refused, 2, &["needs level time"])?;
    end(live, controller)
}

/// The runtime also reports exceptions after an attach.
#[cfg(target_os = "linux")]
fn reports_types_after_an_attach(runtime: Runtime) -> Result<()> {
    let mut host = Host::start(programs::named("kept")?.command(runtime)?)?;
    let pid = host.wait_for("ready")?.parse()?;
    let mut live = LiveHost { host, pid };
    say(&mut live.host, "fail own")?;
    live.redial("attach", &[])?.ok()?;
    let mut controller = live.controller()?;
    set(&mut controller, FAILS, FAILED)?;
    say(&mut live.host, "fail caught-in-finally")?;
    let calls = list(&mut controller, FAILS)?.calls;
    ensure!(calls.len() == 1 && calls[0].exception.as_deref() == Some("OwnException"), "{calls:?}");
    end(live, controller)
}

#[cfg(target_os = "linux")]
mod after_an_attach {
    use super::{Runtime, reports_types_after_an_attach};

    #[test]
    fn net_3_1() -> anyhow::Result<()> {
        reports_types_after_an_attach(Runtime::V3_1)
    }

    #[test]
    fn net_8_0() -> anyhow::Result<()> {
        reports_types_after_an_attach(Runtime::V8_0)
    }
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
    keeps_only_slow_calls,
    keeps_calls_of_all_threads,
    keeps_failed_calls_with_exception_types,
    every_method_on_the_way_out_keeps_its_own_type,
    earlier_exceptions_have_no_type,
    burst_of_failures_leaves_a_short_list,
    sets_shows_saves_and_undoes_conditions,
);

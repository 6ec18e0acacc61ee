//! Async calls. A timed method counts its starts; with its `MoveNext` dialled too, Redial also reports
//! completions, calls in flight and mean latency. Each reported latency lies between the duration by the call's
//! own clock and the duration that its caller sees (`programs/awaits.cs`). Calls wait for a gate that the test
//! opens, never for time.

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::diagnostics::{ChangeWarning, MissingTimes, UnseenCompletions};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow, WireCommand};
use redial_protocol::state::CopyState;
use redial_protocol::times::{Completions, Times};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs::{self, Program};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use std::collections::BTreeMap;

/// Largest relative difference in speed between the clocks of agent and program.
const CLOCKS: f64 = 0.002;
/// Error of one clock reading in nanoseconds; the agent's clock has a resolution of 64 ticks.
const READING: f64 = 300.0;

/// The program's names for its methods, and the names of their state machines.
const KINDS: [(&str, &str); 9] = [
    ("Awaits.AtOnce(int)", "<AtOnce>d__"),
    ("Awaits.Throws(int)", "<Throws>d__"),
    ("Awaits.Plain(int)", "<Plain>d__"),
    ("Awaits.Value(int)", "<Value>d__"),
    ("Awaits.Void(int)", "<Void>d__"),
    ("Awaits.Outer(int)", "<Outer>d__"),
    ("Awaits.Inner(int)", "<Inner>d__"),
    ("Holder", "<Hold>d__"),
    ("Lambda", "b__"),
];

/// The program's own numbers for a method since its start. Times in nanoseconds, measured inside the calls
/// (from the first to the last statement) and around them.
#[derive(Clone, Copy, Debug)]
struct CallNumbers {
    starts: u64,
    completions: u64,
    inner: u64,
    outer: u64,
}

fn start(runtime: Runtime, program: &Program) -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(program.command(runtime)?)
}

/// Builds the program optimised and for debugging, since the compiler writes different state machines.
fn both_builds() -> Result<[Program; 2]> {
    Ok([programs::named("awaits")?, programs::unoptimised("awaits")?])
}

fn dial(controller: &mut Controller, pattern: &str, level: Level) -> Result<()> {
    let report = controller.dial(pattern, level, Lifetime::Kept)?;
    ensure!(report.accepted == report.matched && report.accepted > 0, "{pattern}: {report:?}");
    let expected = |warning: &ChangeWarning| matches!(warning, ChangeWarning::OnlyStarts { .. });
    ensure!(report.warnings.iter().all(expected), "{report:?}");
    Ok(())
}

fn ask(host: &mut Host, command: &str) -> Result<BTreeMap<String, CallNumbers>> {
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
        let [starts, completions, inner, outer] = numbers[..] else { anyhow::bail!("{line}") };
        all.insert(words[0].to_owned(), CallNumbers { starts, completions, inner, outer });
    }
}

/// Returns matching rows with their times.
fn rows(controller: &mut Controller, pattern: &str) -> Result<Vec<(StatusRow, Option<Times>)>> {
    let answer = controller.ask(WireCommand::Status { pattern: Some(pattern.to_owned()) })?;
    let times_of = |row: &StatusRow| answer.times.iter().find(|times| times.row == row.row).copied();
    Ok(answer.rows.iter().map(|row| (row.clone(), times_of(row))).collect())
}

/// Returns the row of a state machine's `MoveNext` and its completions.
fn machine(controller: &mut Controller, name: &str) -> Result<(StatusRow, Completions)> {
    let mut all = rows(controller, "awaits!*.MoveNext")?;
    all.retain(|(row, _)| row.method.contains(name));
    let [(row, times)] = &all[..] else { anyhow::bail!("{name}: {all:?}") };
    let completions = times.with_context(|| format!("{row:?}"))?.completions;
    Ok((row.clone(), completions.with_context(|| format!("{row:?} {times:?}"))?))
}

#[track_caller]
fn ensure_between(what: &str, reported: u64, (low, high): (u64, u64), calls: u64) -> Result<()> {
    let slack = READING * calls as f64;
    let fits = reported as f64 >= low as f64 * (1.0 - CLOCKS) - slack
        && reported as f64 <= high as f64 * (1.0 + CLOCKS) + slack;
    ensure!(fits, "{what}: {reported} is not between {low} and {high}");
    Ok(())
}

/// Returns whether both readings are equal within the clock's error. The estimated length of a tick improves
/// between readings.
fn same(one: Completions, other: Completions) -> bool {
    let difference = one.waited_ns.abs_diff(other.waited_ns) as f64;
    one == Completions { waited_ns: one.waited_ns, ..other } && difference <= one.waited_ns as f64 * CLOCKS
}

/// Returns whether the total time in flight has not decreased.
fn has_not_decreased(later: Completions, before: Completions) -> bool {
    later.waited_ns as f64 >= before.waited_ns as f64 * (1.0 - CLOCKS)
}

/// Checks that the agent reports everything that the program knows, and nothing else.
fn ensure_known(controller: &mut Controller, known: &BTreeMap<String, CallNumbers>) -> Result<()> {
    for (method, known) in known {
        let (_, name) = KINDS.iter().find(|(kind, _)| kind == method).context("a kind")?;
        let (row, completions) = machine(controller, name)?;
        let what = format!("{method}: {row:?} {completions:?} {known:?}");
        ensure!(row.state == CopyState::Live && row.note.is_none() && row.times_note.is_none(), "{what}");
        ensure!((completions.starts, completions.completions) == (known.starts, known.completions), "{what}");
        ensure!((completions.in_flight, completions.before) == (0, 0), "{what}");
        ensure_between(&what, completions.waited_ns, (known.inner, known.outer), known.completions)?;
        ensure!(completions.mean_ns() == Some(completions.waited_ns / known.completions), "{what}");
    }
    Ok(())
}

/// For every kind of awaited operation and every kind of end.
fn starts_and_completions_are_exact(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        let (mut live, mut controller) = start(runtime, &program)?;
        dial(&mut controller, "awaits!*.MoveNext", Level::Time)?;
        let known = ask(&mut live.host, "at-once 500")?;
        ensure_known(&mut controller, &known)?;
        let known = ask(&mut live.host, "throws 60")?;
        ensure_known(&mut controller, &known)?;
        for way in ["open", "fail", "cancel"] {
            let mut waiting = 0;
            for (kind, name) in [
                ("Plain", "<Plain>d__"),
                ("Value", "<Value>d__"),
                ("Void", "<Void>d__"),
                ("Outer", "<Outer>d__"),
                ("Generic", "<Hold>d__"),
                ("Lambda", "b__"),
            ] {
                live.host.ask(&format!("wait {kind} 30 4"), "waiting 120")?;
                waiting += 120;
                let (_, completions) = machine(&mut controller, name)?;
                ensure!(completions.in_flight == 120, "{kind}: {completions:?}");
            }
            let (_, inner) = machine(&mut controller, "<Inner>d__")?;
            ensure!(inner.in_flight == 120, "{inner:?}");
            let known = ask(&mut live.host, way)?;
            ensure!(known.values().map(|one| one.completions).sum::<u64>() > waiting, "{known:?}");
            ensure_known(&mut controller, &known)?;
        }
        end(live, controller)?;
    }
    Ok(())
}

/// A call that awaits several times starts once and completes once.
fn counts_a_call_of_several_steps_once(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        let (mut live, mut controller) = start(runtime, &program)?;
        dial(&mut controller, "awaits!*.MoveNext", Level::Time)?;
        live.host.ask("wait Long 20 2", "waiting 40")?;
        let known = ask(&mut live.host, "open")?["Awaits.Long(int)"];
        let (row, completions) = machine(&mut controller, "<Long>d__")?;
        ensure!(
            (completions.starts, completions.completions, completions.in_flight) == (40, 40, 0),
            "{completions:?}"
        );
        ensure!(row.calls >= 3 * 40, "each waits at two gates: {row:?}");
        ensure_between("Long", completions.waited_ns, (known.inner, known.outer), 40)?;
        end(live, controller)?;
    }
    Ok(())
}

/// The async method's note names the method to dial as well. Afterwards its own row has all numbers.
fn note_names_the_method_to_dial_too(runtime: Runtime) -> Result<()> {
    const PLAIN: &str = "awaits!Awaits.Plain(int)";
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    dial(&mut controller, PLAIN, Level::Count)?;
    ensure!(controller.row(PLAIN)?.times_note.is_none());
    let report = controller.dial(PLAIN, Level::Time, Lifetime::Kept)?;
    ensure!(report.warnings.contains(&ChangeWarning::OnlyStarts { copies: 1 }), "{report:?}");
    live.host.ask("wait Plain 3 1", "waiting 3")?;
    let (row, times) = controller.timed(PLAIN)?;
    let note = row.times_note.clone().with_context(|| format!("{row:?}"))?;
    ensure!((row.calls, times.exits, times.in_flight, times.completions) == (3, 3, 0, None), "{times:?}");
    let Some(MissingTimes::CompletionsNeedDial { pattern: other }) = note.missing.clone() else {
        bail!("no pattern: {note:?}");
    };
    ensure!(other.starts_with("awaits!") && other.contains("+<Plain>d__"), "{note:?}");
    ensure!(other.ends_with(".MoveNext()"), "{note:?}");
    // A watcher of this row also receives the completions counted in the other row.
    controller.subscribe(Some(PLAIN))?;
    dial(&mut controller, &other, Level::Time)?;
    live.host.ask("wait Plain 4 2", "waiting 8")?;
    let (row, times) = controller.timed(PLAIN)?;
    let completions = times.completions.context("no completions")?;
    ensure!(row.times_note.is_none(), "{row:?}");
    ensure!(
        (completions.starts, completions.completions, completions.in_flight) == (8, 0, 8),
        "{completions:?}"
    );
    ask(&mut live.host, "open")?;
    let last = controller.wait_for("all to complete", |event| match event {
        Event::Times { id: None, times } => {
            times.iter().filter_map(|one| one.completions).find(|completions| completions.completions == 11)
        }
        _ => None,
    })?;
    let (_, of_machine) = machine(&mut controller, "<Plain>d__")?;
    ensure!((last.starts, last.before, last.in_flight) == (8, 3, 0) && same(of_machine, last), "{last:?}");
    let (_, times) = controller.timed(PLAIN)?;
    ensure!(
        times.completions.is_some_and(|completions| same(completions, last)) && times.exits == 11,
        "{times:?}"
    );
    // Back to level count: the numbers stay, and so does the count of missing ones.
    dial(&mut controller, &other, Level::Count)?;
    let (row, times) = controller.timed(PLAIN)?;
    let stay = times.completions.is_some_and(|completions| same(completions, last));
    ensure!(stay && row.times_note == Some(note), "{row:?} {times:?}");
    end(live, controller)
}

/// Calls started before the dial, and calls that complete unseen.
fn calls_begun_before_the_dial_count_from_it(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    let pattern = "awaits!Awaits+*.MoveNext";
    live.host.ask("wait Plain 10 2", "waiting 20")?;
    dial(&mut controller, pattern, Level::Time)?;
    live.host.ask("wait Plain 5 2", "waiting 10")?;
    let (_, completions) = machine(&mut controller, "<Plain>d__")?;
    ensure!(
        (completions.starts, completions.completions, completions.in_flight, completions.before)
            == (10, 0, 10, 0),
        "{completions:?}"
    );
    let known = ask(&mut live.host, "open")?["Awaits.Plain(int)"];
    let (_, first) = machine(&mut controller, "<Plain>d__")?;
    let numbers = |completions: Completions| {
        (completions.starts, completions.completions, completions.in_flight, completions.before)
    };
    ensure!(numbers(first) == (10, 30, 0, 20), "{first:?}");
    ensure!(
        first.waited_ns > 0 && first.waited_ns as f64 <= known.outer as f64 * 1.01,
        "{first:?} {known:?}"
    );

    // Six calls start seen and complete unseen, because the dial is off by then. Six others start unseen and
    // complete seen.
    live.host.ask("wait Plain 6 1", "waiting 6")?;
    ensure!(controller.off(pattern)?.accepted > 0);
    let (_, off) = machine(&mut controller, "<Plain>d__")?;
    ensure!(numbers(off) == (16, 30, 6, 20) && has_not_decreased(off, first), "{off:?}");
    ask(&mut live.host, "open")?;
    let (_, still) = machine(&mut controller, "<Plain>d__")?;
    ensure!(same(still, off), "its numbers are lost: {still:?}");
    live.host.ask("wait Plain 6 1", "waiting 6")?;
    dial(&mut controller, pattern, Level::Time)?;
    let (_, later) = machine(&mut controller, "<Plain>d__")?;
    ensure!(numbers(later) == (16, 30, 0, 20), "{later:?}");
    ask(&mut live.host, "open")?;
    let (_, last) = machine(&mut controller, "<Plain>d__")?;
    ensure!(numbers(last) == (16, 36, 0, 26) && has_not_decreased(last, off), "{last:?}");
    end(live, controller)
}

/// Thousands of calls on many threads, twice, while the dial is set again to the same level.
fn counts_many_calls_on_many_threads(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    dial(&mut controller, "awaits!Awaits+*.MoveNext", Level::Time)?;
    for round in 1..=2 {
        live.host.ask("wait Plain 500 8", "waiting 4000")?;
        dial(&mut controller, "awaits!Awaits+<Plain>*.MoveNext", Level::Time)?;
        let (_, completions) = machine(&mut controller, "<Plain>d__")?;
        ensure!((completions.starts, completions.in_flight) == (4000 * round, 4000), "{completions:?}");
        let known = ask(&mut live.host, "open")?;
        ensure_known(&mut controller, &known)?;
    }
    end(live, controller)
}

/// Exception traces through async methods look the same as without the agent.
fn exception_traces_stay_the_same(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        let (mut live, mut controller) = start(runtime, &program)?;
        let mut trace = || anyhow::Ok(with_lines_that_hold(runtime, &live.host.ask("trace", "trace ")?));
        let before = trace()?;
        ensure!(before.contains("traced") && before.contains("Inner"), "{before}");
        dial(&mut controller, "awaits!*", Level::Time)?;
        let dialled = trace()?;
        ensure!(dialled == before, "{dialled} is not {before}");
        controller.all_off()?;
        ensure!(trace()? == before);
        end(live, controller)?;
    }
    Ok(())
}

/// Before .NET 5 the runtime reports wrong lines for recompiled methods, with any profiler (see `shapes.rs`).
fn with_lines_that_hold(runtime: Runtime, trace: &str) -> String {
    if runtime == Runtime::V8_0 {
        return trace.to_owned();
    }
    let mut parts = trace.split(":line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// One command dials everything that an async method needs, and reports the result.
fn one_command_dials_completions(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    let pid = live.pid.to_string();
    let redial = |arguments: &[&str]| host::run(host::redial(arguments)?)?.ok();
    let alone = redial(&["dial", &pid, "awaits!Awaits.Plain", "time"])?;
    ensure!(
        alone.stderr.contains("--completions") || alone.stdout.contains("--completions"),
        "{}",
        alone.output()
    );
    let along = redial(&["dial", &pid, "awaits!Awaits.Plain", "time", "--completions"])?;
    ensure!(!along.output().contains("--completions"), "{}", along.output());
    let generic = redial(&["dial", &pid, "awaits!Holder<T>.*", "time", "--completions"])?;
    ensure!(!generic.output().contains("nothing"), "{}", generic.output());
    live.host.ask("wait Plain 5 2", "waiting 10")?;
    live.host.ask("wait Generic 6 1", "waiting 6")?;
    let known = ask(&mut live.host, "open")?;
    live.host.ask("wait Plain 3 1", "waiting 3")?;
    let rows = redial(&["status", &pid, "awaits!Awaits.Plain", "--json"])?.json()?;
    let row = &rows[0];
    ensure!(rows.as_array().is_some_and(|rows| rows.len() == 1), "{rows}");
    let numbers = ["async_starts", "async_completions", "async_in_flight"].map(|name| row[name].as_u64());
    ensure!(numbers == [Some(13), Some(10), Some(3)] && row["times_reason"].is_null(), "{row}");
    let mean = row["async_mean_ns"].as_f64().context("a mean")?;
    ensure!(
        mean * 10.0 >= known["Awaits.Plain(int)"].inner as f64 * (1.0 - CLOCKS) - READING * 10.0,
        "{row}"
    );
    let holder = redial(&["status", &pid, "awaits!Holder<T>.*", "--json"])?.json()?;
    let held = holder.as_array().into_iter().flatten().find(|row| row["async_completions"] == 6);
    ensure!(held.is_some_and(|row| row["async_in_flight"] == 0), "{holder}");
    let table = redial(&["status", &pid, "awaits!Awaits.Plain"])?;
    ensure!(table.stdout.contains("COMPLETED") && table.stdout.contains("NOT COMPL"), "{}", table.output());
    ensure!(controller.all_off()?.1 == 0);
    ask(&mut live.host, "open")?;
    end(live, controller)
}

/// Recognizes the state machines of newer and older C# compilers: those of the frameworks, each built with the
/// compiler of its time.
fn recognizes_state_machines_of_every_compiler(runtime: Runtime) -> Result<()> {
    for module in ["System.Net.Http", "System.Private.CoreLib"] {
        let file = runtime.ensure()?.framework_dir().join(format!("{module}.dll"));
        let file =
            if module.ends_with("CoreLib") { "corelib".to_owned() } else { file.display().to_string() };
        let mut command = programs::named("reflect")?.command(runtime)?;
        command.args([file.as_str(), "0"]);
        let mut live = under_agent::start(command)?;
        let mut controller = live.controller()?;
        let report = controller.dial(&format!("{module}!*.MoveNext"), Level::Time, Lifetime::Kept)?;
        ensure!(report.accepted > 15 && report.refused.is_empty(), "{report:?}");
        let (mut known, mut unknown) = (0, Vec::new());
        for (row, times) in rows(&mut controller, &format!("{module}!*.MoveNext"))? {
            let missing = row.times_note.and_then(|note| note.missing);
            known += usize::from(times.is_some_and(|times| times.completions.is_some()));
            unknown.extend(
                (missing == Some(MissingTimes::Completions(UnseenCompletions::UnknownForm)))
                    .then_some(row.method),
            );
        }
        println!("{}: {module}: {known} machines", runtime.name());
        ensure!(known >= 15 && unknown.is_empty(), "{known} are known, {unknown:#?} are not");
        ensure!(controller.all_off()?.1 == 0 && controller.agent_status()?.guard_trips == 0);
        live.host.close_input();
        ensure!(live.host.finish()?.code()? == 0);
    }
    Ok(())
}

/// An async iterator has only starts, and its note says so. The core library of 8.0 contains one.
#[test]
fn notes_that_iterators_have_only_starts() -> Result<()> {
    let (live, mut controller) = start(Runtime::V8_0, &programs::named("awaits")?)?;
    let pattern = "System.Private.CoreLib!System.IO.File.IterateFileLinesAsync";
    controller.dial(pattern, Level::Time, Lifetime::Kept)?;
    let note = controller.row(pattern)?.times_note.context("it says so")?;
    let iterator = Some(MissingTimes::Completions(UnseenCompletions::Iterator));
    ensure!(note.missing == iterator, "{note:?}");
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
    starts_and_completions_are_exact,
    counts_a_call_of_several_steps_once,
    note_names_the_method_to_dial_too,
    calls_begun_before_the_dial_count_from_it,
    counts_many_calls_on_many_threads,
    exception_traces_stay_the_same,
    one_command_dials_completions,
    recognizes_state_machines_of_every_compiler,
);

//! Async calls: a timed method counts its starts, and with its `MoveNext` dialled along its completions, calls in flight and
//! mean latency are told. Whatever is told of latency lies between what the calls take by their own clock and what whoever
//! called them sees (`programs/awaits.cs`); and they wait for a gate that the test opens, never for time.

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow, WireCommand};
use redial_protocol::state::CopyState;
use redial_protocol::times::{Completions, Times};
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs::{self, Program};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, Live};
use std::collections::BTreeMap;

/// How far the clocks of the agent and of the program may differ in speed.
const CLOCKS: f64 = 0.002;
/// What a reading of the program's clock is off, nanoseconds, and the agent's, which is kept to 64 ticks.
const READING: f64 = 300.0;

/// What the program calls its methods, and what their state machines are called.
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

/// What the program knows of a method since its start; nanoseconds from the first to the last statement, and around the calls.
#[derive(Clone, Copy, Debug)]
struct Known {
    starts: u64,
    completions: u64,
    inner: u64,
    outer: u64,
}

fn start(runtime: Runtime, program: &Program) -> Result<(Live, Controller)> {
    under_agent::start_controlled(program.command(runtime)?)
}

/// As the compiler writes state machines when it optimises, and as it does for debugging.
fn both() -> Result<[Program; 2]> {
    Ok([programs::named("awaits")?, programs::unoptimised("awaits")?])
}

fn dial(controller: &mut Controller, pattern: &str, level: Level) -> Result<()> {
    let report = controller.dial(pattern, level, Stay::Kept)?;
    ensure!(report.accepted == report.matched && report.accepted > 0, "{pattern}: {report:?}");
    let expected = |warning: &String| warning.contains("--completions");
    ensure!(report.warnings.iter().all(expected), "{report:?}");
    Ok(())
}

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
        let [starts, completions, inner, outer] = numbers[..] else { anyhow::bail!("{line}") };
        all.insert(words[0].to_owned(), Known { starts, completions, inner, outer });
    }
}

/// Rows that match with their times.
fn rows(controller: &mut Controller, pattern: &str) -> Result<Vec<(StatusRow, Option<Times>)>> {
    let answer = controller.ask(WireCommand::Status { pattern: Some(pattern.to_owned()) })?;
    let times_of = |row: &StatusRow| answer.times.iter().find(|times| times.row == row.row).copied();
    Ok(answer.rows.iter().map(|row| (row.clone(), times_of(row))).collect())
}

/// The row of a state machine's `MoveNext`, and its completions.
fn machine(controller: &mut Controller, name: &str) -> Result<(StatusRow, Completions)> {
    let mut all = rows(controller, "awaits!*.MoveNext")?;
    all.retain(|(row, _)| row.method.contains(name));
    let [(row, times)] = &all[..] else { anyhow::bail!("{name}: {all:?}") };
    let completions = times.with_context(|| format!("{row:?}"))?.completions;
    Ok((row.clone(), completions.with_context(|| format!("{row:?} {times:?}"))?))
}

#[track_caller]
fn ensure_between(what: &str, told: u64, (low, high): (u64, u64), calls: u64) -> Result<()> {
    let slack = READING * calls as f64;
    let fits = told as f64 >= low as f64 * (1.0 - CLOCKS) - slack
        && told as f64 <= high as f64 * (1.0 + CLOCKS) + slack;
    ensure!(fits, "{what}: {told} is not between {low} and {high}");
    Ok(())
}

/// Whether these are the same; how long a tick is becomes known better from one reading to the next.
fn same(one: Completions, other: Completions) -> bool {
    let apart = one.waited_ns.abs_diff(other.waited_ns) as f64;
    one == Completions { waited_ns: one.waited_ns, ..other } && apart <= one.waited_ns as f64 * CLOCKS
}

/// Whether calls have been in flight for as long as before, or longer.
fn at_least(later: Completions, before: Completions) -> bool {
    later.waited_ns as f64 >= before.waited_ns as f64 * (1.0 - CLOCKS)
}

/// Everything that the program knows is told, and nothing else.
fn ensure_known(controller: &mut Controller, known: &BTreeMap<String, Known>) -> Result<()> {
    for (method, known) in known {
        let (_, name) = KINDS.iter().find(|(kind, _)| kind == method).context("a kind")?;
        let (row, told) = machine(controller, name)?;
        let what = format!("{method}: {row:?} {told:?} {known:?}");
        ensure!(row.state == CopyState::Live && row.note.is_none() && row.times_note.is_none(), "{what}");
        ensure!((told.starts, told.completions) == (known.starts, known.completions), "{what}");
        ensure!((told.in_flight, told.before) == (0, 0), "{what}");
        ensure_between(&what, told.waited_ns, (known.inner, known.outer), known.completions)?;
        ensure!(told.mean_ns() == Some(told.waited_ns / known.completions), "{what}");
    }
    Ok(())
}

/// Whatever is awaited, and however it ends.
fn starts_and_completions_are_exact(runtime: Runtime) -> Result<()> {
    for program in both()? {
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
                let (_, told) = machine(&mut controller, name)?;
                ensure!(told.in_flight == 120, "{kind}: {told:?}");
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

/// One that waits several times begins once and completes once.
fn a_call_of_several_steps_is_one(runtime: Runtime) -> Result<()> {
    for program in both()? {
        let (mut live, mut controller) = start(runtime, &program)?;
        dial(&mut controller, "awaits!*.MoveNext", Level::Time)?;
        live.host.ask("wait Long 20 2", "waiting 40")?;
        let known = ask(&mut live.host, "open")?["Awaits.Long(int)"];
        let (row, told) = machine(&mut controller, "<Long>d__")?;
        ensure!((told.starts, told.completions, told.in_flight) == (40, 40, 0), "{told:?}");
        ensure!(row.calls >= 3 * 40, "each waits at two gates: {row:?}");
        ensure_between("Long", told.waited_ns, (known.inner, known.outer), 40)?;
        end(live, controller)?;
    }
    Ok(())
}

/// The async method says what to dial along; then its own row has it all.
fn a_start_says_what_else_to_dial(runtime: Runtime) -> Result<()> {
    const PLAIN: &str = "awaits!Awaits.Plain(int)";
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    dial(&mut controller, PLAIN, Level::Count)?;
    ensure!(controller.row(PLAIN)?.times_note.is_none());
    let report = controller.dial(PLAIN, Level::Time, Stay::Kept)?;
    ensure!(report.warnings.iter().any(|warning| warning.starts_with("1 copy is async")), "{report:?}");
    live.host.ask("wait Plain 3 1", "waiting 3")?;
    let (row, times) = controller.timed(PLAIN)?;
    let note = row.times_note.clone().with_context(|| format!("{row:?}"))?;
    ensure!((row.calls, times.exits, times.in_flight, times.completions) == (3, 3, 0, None), "{times:?}");
    let other = note.split(' ').find(|word| word.starts_with("awaits!")).context("a pattern")?.to_owned();
    ensure!(other.contains("+<Plain>d__") && other.ends_with(".MoveNext()"), "{note}");
    // A watcher of the one row hears of what completes in the other.
    controller.subscribe(Some(PLAIN))?;
    dial(&mut controller, &other, Level::Time)?;
    live.host.ask("wait Plain 4 2", "waiting 8")?;
    let (row, times) = controller.timed(PLAIN)?;
    let told = times.completions.context("they are told")?;
    ensure!(row.times_note.is_none(), "{row:?}");
    ensure!((told.starts, told.completions, told.in_flight) == (8, 0, 8), "{told:?}");
    ask(&mut live.host, "open")?;
    let last = controller.wait_for("all to complete", |event| match event {
        Event::Times { id: None, times } => {
            times.iter().filter_map(|one| one.completions).find(|told| told.completions == 11)
        }
        _ => None,
    })?;
    let (_, of_machine) = machine(&mut controller, "<Plain>d__")?;
    ensure!((last.starts, last.before, last.in_flight) == (8, 3, 0) && same(of_machine, last), "{last:?}");
    let (_, times) = controller.timed(PLAIN)?;
    ensure!(times.completions.is_some_and(|told| same(told, last)) && times.exits == 11, "{times:?}");
    // Down again: the numbers stay, and so does what is missing.
    dial(&mut controller, &other, Level::Count)?;
    let (row, times) = controller.timed(PLAIN)?;
    let stay = times.completions.is_some_and(|told| same(told, last));
    ensure!(stay && row.times_note == Some(note), "{row:?} {times:?}");
    end(live, controller)
}

/// Calls that had begun before the dial, and such that complete where nobody sees it.
fn calls_begun_before_the_dial_count_from_it(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    let pattern = "awaits!Awaits+*.MoveNext";
    live.host.ask("wait Plain 10 2", "waiting 20")?;
    dial(&mut controller, pattern, Level::Time)?;
    live.host.ask("wait Plain 5 2", "waiting 10")?;
    let (_, told) = machine(&mut controller, "<Plain>d__")?;
    ensure!((told.starts, told.completions, told.in_flight, told.before) == (10, 0, 10, 0), "{told:?}");
    let known = ask(&mut live.host, "open")?["Awaits.Plain(int)"];
    let (_, first) = machine(&mut controller, "<Plain>d__")?;
    let numbers = |told: Completions| (told.starts, told.completions, told.in_flight, told.before);
    ensure!(numbers(first) == (10, 30, 0, 20), "{first:?}");
    ensure!(
        first.waited_ns > 0 && first.waited_ns as f64 <= known.outer as f64 * 1.01,
        "{first:?} {known:?}"
    );

    // Of six that begin seen, turned off meanwhile, none is seen to complete; of six that begin unseen all are.
    live.host.ask("wait Plain 6 1", "waiting 6")?;
    ensure!(controller.off(pattern)?.accepted > 0);
    let (_, off) = machine(&mut controller, "<Plain>d__")?;
    ensure!(numbers(off) == (16, 30, 6, 20) && at_least(off, first), "{off:?}");
    ask(&mut live.host, "open")?;
    let (_, still) = machine(&mut controller, "<Plain>d__")?;
    ensure!(same(still, off), "nothing is told of it any more: {still:?}");
    live.host.ask("wait Plain 6 1", "waiting 6")?;
    dial(&mut controller, pattern, Level::Time)?;
    let (_, anew) = machine(&mut controller, "<Plain>d__")?;
    ensure!(numbers(anew) == (16, 30, 0, 20), "{anew:?}");
    ask(&mut live.host, "open")?;
    let (_, last) = machine(&mut controller, "<Plain>d__")?;
    ensure!(numbers(last) == (16, 36, 0, 26) && at_least(last, off), "{last:?}");
    end(live, controller)
}

/// Thousands on many threads, twice, with turns of the dial to where it is meanwhile.
fn many_calls_on_many_threads(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    dial(&mut controller, "awaits!Awaits+*.MoveNext", Level::Time)?;
    for round in 1..=2 {
        live.host.ask("wait Plain 500 8", "waiting 4000")?;
        dial(&mut controller, "awaits!Awaits+<Plain>*.MoveNext", Level::Time)?;
        let (_, told) = machine(&mut controller, "<Plain>d__")?;
        ensure!((told.starts, told.in_flight) == (4000 * round, 4000), "{told:?}");
        let known = ask(&mut live.host, "open")?;
        ensure_known(&mut controller, &known)?;
    }
    end(live, controller)
}

/// Exceptions that go through async methods look as they do without.
fn traces_stay_as_they_are(runtime: Runtime) -> Result<()> {
    for program in both()? {
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

/// Before .NET 5 the runtime gets the lines of recompiled methods wrong, whoever recompiles (see `shapes.rs`).
fn with_lines_that_hold(runtime: Runtime, trace: &str) -> String {
    if runtime == Runtime::V8_0 {
        return trace.to_owned();
    }
    let mut parts = trace.split(":line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| told + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The program brings along what an async method needs in one gesture, and tells what comes of it.
fn one_gesture_brings_it_all(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, &programs::named("awaits")?)?;
    let pid = live.pid.to_string();
    let redial = |arguments: &[&str]| host::run(host::redial(arguments)?)?.ok();
    let alone = redial(&["dial", &pid, "awaits!Awaits.Plain", "time"])?;
    ensure!(
        alone.stderr.contains("--completions") || alone.stdout.contains("--completions"),
        "{}",
        alone.said()
    );
    let along = redial(&["dial", &pid, "awaits!Awaits.Plain", "time", "--completions"])?;
    ensure!(!along.said().contains("--completions"), "{}", along.said());
    let generic = redial(&["dial", &pid, "awaits!Holder<T>.*", "time", "--completions"])?;
    ensure!(!generic.said().contains("nothing"), "{}", generic.said());
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
    ensure!(table.stdout.contains("COMPLETED") && table.stdout.contains("PENDING"), "{}", table.said());
    ensure!(controller.all_off()?.1 == 0);
    ask(&mut live.host, "open")?;
    end(live, controller)
}

/// State machines as newer and older compilers of C# wrote them: those of the frameworks, each built with the compiler of its
/// time.
fn every_compiler_s_machines_are_known(runtime: Runtime) -> Result<()> {
    for module in ["System.Net.Http", "System.Private.CoreLib"] {
        let file = runtime.ensure()?.framework_dir().join(format!("{module}.dll"));
        let file =
            if module.ends_with("CoreLib") { "corelib".to_owned() } else { file.display().to_string() };
        let mut command = programs::named("reflect")?.command(runtime)?;
        command.args([file.as_str(), "0"]);
        let mut live = under_agent::start(command)?;
        let mut controller = live.controller()?;
        let report = controller.dial(&format!("{module}!*.MoveNext"), Level::Time, Stay::Kept)?;
        ensure!(report.accepted > 15 && report.refused.is_empty(), "{report:?}");
        let (mut known, mut unknown) = (0, Vec::new());
        for (row, times) in rows(&mut controller, &format!("{module}!*.MoveNext"))? {
            let note = row.times_note.as_deref().unwrap_or_default();
            known += usize::from(times.is_some_and(|times| times.completions.is_some()));
            unknown.extend(note.contains("state machines of an unknown form").then_some(row.method));
        }
        println!("{}: {module}: {known} machines", runtime.name());
        ensure!(known >= 15 && unknown.is_empty(), "{known} are known, {unknown:#?} are not");
        ensure!(controller.all_off()?.1 == 0 && controller.agent_status()?.guard_trips == 0);
        live.host.close_input();
        ensure!(live.host.finish()?.code()? == 0);
    }
    Ok(())
}

/// An async iterator has starts, and says so. The core library of 8.0 has one.
#[test]
fn iterators_say_that_they_have_only_starts() -> Result<()> {
    let (live, mut controller) = start(Runtime::V8_0, &programs::named("awaits")?)?;
    let pattern = "System.Private.CoreLib!System.IO.File.IterateFileLinesAsync";
    controller.dial(pattern, Level::Time, Stay::Kept)?;
    let note = controller.row(pattern)?.times_note.context("it says so")?;
    ensure!(note.contains("async iterator"), "{note}");
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
    starts_and_completions_are_exact,
    a_call_of_several_steps_is_one,
    a_start_says_what_else_to_dial,
    calls_begun_before_the_dial_count_from_it,
    many_calls_on_many_threads,
    traces_stay_as_they_are,
    one_gesture_brings_it_all,
    every_compiler_s_machines_are_known,
);

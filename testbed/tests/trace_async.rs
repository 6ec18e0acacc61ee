//! Traced calls of async methods, from their start to their completion (`programs/awaits.cs`). Calls wait for a gate that
//! the test opens, never for time.

use anyhow::{Context, Result, ensure};
use redial_protocol::diagnostics::ChangeWarning;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::trace::{OmittedReason, Outcome, TracedCall, Value};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::Host;
use redial_testbed::on_each_runtime;
use redial_testbed::programs::{self, Program};
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, end, list, returned, text};
use redial_testbed::under_agent::{self, LiveHost};
use std::collections::BTreeMap;

/// Threads that begin calls, and the calls that each begins.
const THREADS: usize = 8;
const CALLS: usize = 6;
/// Largest relative difference in speed between the clocks of agent and program.
const CLOCKS: f64 = 0.002;
/// Error of one clock reading in nanoseconds.
const READING: f64 = 300.0;

fn start(runtime: Runtime, program: &Program) -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(program.command(runtime)?)
}

/// Builds the program optimised and for debugging: there the state machines are classes.
fn both_builds() -> Result<[Program; 2]> {
    Ok([programs::named("awaits")?, programs::unoptimised("awaits")?])
}

fn orders(patterns: &[&str], level: Level, options: TimeOptions) -> Vec<Order> {
    patterns.iter().map(|pattern| Order { options, ..Order::new(*pattern, level) }).collect()
}

/// Traces methods, and by that the state machines that do their work.
fn trace(controller: &mut Controller, patterns: &[&str], options: TimeOptions) -> Result<()> {
    let report = controller.order(orders(patterns, Level::Trace, options), Lifetime::Kept)?;
    let expected = |warning: &ChangeWarning| matches!(warning, ChangeWarning::OnlyStarts { .. });
    ensure!(report.accepted == report.matched && report.accepted as usize >= patterns.len(), "{report:?}");
    ensure!(report.warnings.iter().all(expected), "{report:?}");
    Ok(())
}

fn off(controller: &mut Controller, patterns: &[&str]) -> Result<()> {
    controller.order(orders(patterns, Level::Off, TimeOptions::default()), Lifetime::Kept).map(drop)
}

/// Executes a command; returns the program's sums of durations inside the calls and around them, by method.
fn ask(host: &mut Host, command: &str) -> Result<BTreeMap<String, [f64; 2]>> {
    host.say(command)?;
    let mut all = BTreeMap::new();
    loop {
        let line = host.next_line()?;
        if line == "end" {
            return Ok(all);
        }
        let words: Vec<&str> =
            line.strip_prefix("known ").with_context(|| line.clone())?.split(' ').collect();
        let [name, _, _, inner, outer] = words[..] else { anyhow::bail!("{line}") };
        all.insert(name.to_owned(), [inner.parse()?, outer.parse()?]);
    }
}

fn wait(host: &mut Host, name: &str) -> Result<()> {
    host.ask(&format!("wait {name} {CALLS} {THREADS}"), &format!("waiting {}", THREADS * CALLS)).map(drop)
}

/// Returns the only argument besides `this`.
fn number(call: &TracedCall) -> Result<i64> {
    match call.arguments.last() {
        Some(Value::Int(number)) => Ok(*number),
        _ => anyhow::bail!("{call:?}"),
    }
}

/// A method that waits for the gate, and what it returns.
struct Case {
    /// The program's name for it.
    name: &'static str,
    pattern: &'static str,
    method: &'static str,
    /// The program's name of its sums.
    sums: &'static str,
    result: fn(i64) -> Outcome,
}

const CASES: [Case; 5] = [
    Case {
        name: "Plain",
        pattern: "awaits!Awaits.Plain",
        method: "Awaits.Plain",
        sums: "Awaits.Plain(int)",
        result: |n| returned(Value::Int(n + 1)),
    },
    Case {
        name: "Value",
        pattern: "awaits!Awaits.Value",
        method: "Awaits.Value",
        sums: "Awaits.Value(int)",
        result: |n| returned(text(&n.to_string())),
    },
    Case {
        name: "Long",
        pattern: "awaits!Awaits.Long",
        method: "Awaits.Long",
        sums: "Awaits.Long(int)",
        result: |n| returned(Value::Int(n + 2)),
    },
    Case {
        name: "Void",
        pattern: "awaits!Awaits.Void",
        method: "Awaits.Void",
        sums: "Awaits.Void(int)",
        result: |_| Outcome::Returned(None),
    },
    Case {
        name: "Outer",
        pattern: "awaits!Awaits.Outer",
        method: "Awaits.Outer",
        sums: "Awaits.Outer(int)",
        result: |n| returned(Value::Int(n + 2)),
    },
];

/// The arguments of all calls of a round, sorted.
fn expected_numbers() -> Vec<i64> {
    let mut all: Vec<i64> = (0..CALLS as i64).cycle().take(THREADS * CALLS).collect();
    all.sort_unstable();
    all
}

/// Returns the calls of a round, after checking that they are all of it.
fn round<'a>(calls: &'a Calls, method: &str, after: u64) -> Result<Vec<&'a TracedCall>> {
    let found: Vec<&TracedCall> = calls.of(method).into_iter().filter(|call| call.number > after).collect();
    let mut numbers = found.iter().map(|call| number(call)).collect::<Result<Vec<i64>>>()?;
    numbers.sort_unstable();
    ensure!(numbers == expected_numbers(), "{method}: {numbers:?} {found:?}");
    Ok(found)
}

fn latest(calls: &Calls) -> u64 {
    calls.calls.iter().map(|call| call.number).max().unwrap_or_default()
}

/// Calls that wait are in flight with their arguments; then they have their results, and durations that lie between what
/// the program measures inside and around them.
fn followed_to_the_end(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        for case in CASES {
            let (mut live, mut controller) = start(runtime, &program)?;
            trace(&mut controller, &[case.pattern], TimeOptions::default())?;
            for (command, outcome) in
                [("open", None), ("fail", Some("System.InvalidOperationException: failed"))]
            {
                let before = latest(&list(&mut controller, false)?);
                let sums_before = ask(&mut live.host, "at-once 1")?;
                wait(&mut live.host, case.name)?;
                // All objects that carry the calls move.
                live.host.ask("collect", "collected")?;
                let waiting = list(&mut controller, true)?;
                for call in round_in_flight(&waiting, case.method)? {
                    let course = call.course.with_context(|| format!("{} {call:?}", case.name))?;
                    ensure!(call.outcome == Outcome::InFlight && call.duration_ns.is_none(), "{call:?}");
                    ensure!(course.began && course.steps == 1 && course.completed_on == 0, "{call:?}");
                }
                let sums = ask(&mut live.host, command)?;
                let calls = list(&mut controller, false)?;
                let round = round(&calls, case.method, before)?;
                for call in &round {
                    check(&case, call, outcome)?;
                }
                let sum: u64 = round.iter().filter_map(|call| call.duration_ns).sum();
                let [inner, outer] = sums[case.sums];
                let [inner_before, outer_before] = sums_before.get(case.sums).copied().unwrap_or_default();
                let slack = READING * round.len() as f64;
                let (inner, outer) = (inner - inner_before, outer - outer_before);
                let is_between = sum as f64 >= inner * (1.0 - CLOCKS) - slack
                    && sum as f64 <= outer * (1.0 + CLOCKS) + slack;
                ensure!(is_between, "{}: {inner} <= {sum} <= {outer}", case.name);
                ensure!(list(&mut controller, true)?.calls.is_empty(), "none is in flight");
            }
            end(live, controller)?;
        }
    }
    Ok(())
}

fn round_in_flight<'a>(calls: &'a Calls, method: &str) -> Result<Vec<&'a TracedCall>> {
    let found = calls.of(method);
    let mut numbers = found.iter().map(|call| number(call)).collect::<Result<Vec<i64>>>()?;
    numbers.sort_unstable();
    ensure!(numbers == expected_numbers(), "{method}: {numbers:?} {found:?}");
    Ok(found)
}

fn check(case: &Case, call: &TracedCall, thrown: Option<&str>) -> Result<()> {
    let course = call.course.with_context(|| format!("{call:?}"))?;
    let duration = call.duration_ns.with_context(|| format!("{call:?}"))?;
    // The second gate of `Long` may be open already.
    let steps = match case.name {
        "Long" if thrown.is_none() => 3..=4,
        _ => 2..=2,
    };
    ensure!(course.began && steps.contains(&course.steps), "{call:?}");
    ensure!(course.running_ns <= duration && course.running_ns > 0 && course.completed_on != 0, "{call:?}");
    match (thrown, &call.outcome) {
        (None, outcome) => ensure!(*outcome == (case.result)(number(call)?), "{call:?}"),
        (Some(expected), Outcome::Thrown { type_name: Some(name), message: Some(message), inner }) => {
            let (type_name, words) = expected.split_once(": ").context("a message")?;
            ensure!(name == type_name && *message == text(words) && inner.is_empty(), "{call:?}");
        }
        (Some(_), _) => anyhow::bail!("{call:?}"),
    }
    Ok(())
}

/// Calls that complete without waiting.
fn at_once(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        let (mut live, mut controller) = start(runtime, &program)?;
        let patterns = ["awaits!Awaits.AtOnce", "awaits!Awaits.Throws"];
        trace(&mut controller, &patterns, TimeOptions::default())?;
        ask(&mut live.host, "at-once 20")?;
        ask(&mut live.host, "throws 20")?;
        let calls = list(&mut controller, false)?;
        let at_once = calls.of("Awaits.AtOnce");
        ensure!(at_once.len() == 20 && calls.of("Awaits.Throws").len() == 20, "{calls:?}");
        for call in at_once {
            let course = call.course.with_context(|| format!("{call:?}"))?;
            ensure!(call.outcome == returned(Value::Int(number(call)?)), "{call:?}");
            ensure!(course.steps == 1 && course.completed_on == call.thread && course.began, "{call:?}");
        }
        for call in calls.of("Awaits.Throws") {
            ensure!(call.course.is_some_and(|course| course.steps == 1), "{call:?}");
            let is_thrown = match &call.outcome {
                Outcome::Thrown { type_name, message, .. } => {
                    let expected = Some("System.InvalidOperationException");
                    ensure!(type_name.as_deref() == expected, "{call:?}");
                    ensure!(*message == Some(text("thrown")), "{call:?}");
                    true
                }
                outcome => {
                    ensure!(*outcome == Outcome::Returned(None), "{call:?}");
                    false
                }
            };
            ensure!(is_thrown == (number(call)? % 2 == 0), "{call:?}");
        }
        end(live, controller)?;
    }
    Ok(())
}

/// Calls that continue on other threads before the threads that began them have left them.
fn at_once_elsewhere(runtime: Runtime) -> Result<()> {
    const ROUNDS: usize = 12;
    const EACH: usize = 40;
    for program in both_builds()? {
        // Each thread takes some of the rate in advance.
        let mut command = program.command(runtime)?;
        command.env("REDIAL_MAX_EVENTS", "1000000");
        let (mut live, mut controller) = under_agent::start_controlled(command)?;
        let options = TimeOptions { rate: Some(20_000), ..TimeOptions::default() };
        trace(&mut controller, &["awaits!Awaits.Yields"], options)?;
        controller.execute(WireCommand::StreamCalls { pattern: None })?;
        let mut calls = Calls::default();
        for round in 1..=ROUNDS {
            live.host.ask(&format!("yields {EACH} {THREADS}"), "yielded")?;
            while calls.calls.len() < round * EACH * THREADS {
                let page = controller.wait_for("calls", |event| {
                    matches!(event, Event::Calls { id: None, .. }).then(|| event.clone())
                })?;
                if let Event::Calls { dropped, unread, .. } = &page {
                    ensure!(dropped.is_empty() && *unread == 0, "{page:?}");
                }
                calls.take(&page)?;
            }
        }
        let mut numbers: BTreeMap<i64, usize> = BTreeMap::new();
        for call in &calls.calls {
            let (n, course) = (number(call)?, call.course.with_context(|| format!("{call:?}"))?);
            ensure!(call.outcome == returned(Value::Int(2 * n)), "{call:?}");
            ensure!(course.began && course.steps == 3 && call.duration_ns.is_some(), "{call:?}");
            *numbers.entry(n).or_default() += 1;
        }
        let all = (0..(EACH * THREADS) as i64).map(|n| (n, ROUNDS)).collect();
        ensure!(numbers == all, "{numbers:?}");
        ensure!(list(&mut controller, true)?.calls.is_empty(), "none is in flight");
        end(live, controller)?;
    }
    Ok(())
}

/// Generic methods of generic classes, in shared code and not.
fn generics(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        let (mut live, mut controller) = start(runtime, &program)?;
        trace(&mut controller, &["awaits!Holder<*>.Hold"], TimeOptions::default())?;
        wait(&mut live.host, "Generic")?;
        ask(&mut live.host, "open")?;
        let calls = list(&mut controller, false)?;
        let mut results: BTreeMap<String, usize> = BTreeMap::new();
        for call in calls.calls.iter().filter(|call| call.course.is_some_and(|course| course.began)) {
            let Outcome::Returned(Some(Value::String { units, .. })) = &call.outcome else {
                anyhow::bail!("{call:?}")
            };
            *results.entry(String::from_utf16_lossy(units)).or_default() += 1;
        }
        let expected: BTreeMap<String, usize> =
            ["a01.51", "1x11", "byz1", "a31.51", "4x41"].map(|result| (result.to_owned(), THREADS)).into();
        let expected_sum = THREADS * CALLS;
        ensure!(results.values().sum::<usize>() == expected_sum, "{results:?} {calls:?}");
        ensure!(expected.keys().all(|result| results.contains_key(result)), "{results:?}");
        end(live, controller)?;
    }
    Ok(())
}

/// Calls that began before they were traced complete without a beginning. Those that are left out do not.
fn unseen_beginnings(runtime: Runtime) -> Result<()> {
    for program in both_builds()? {
        let patterns = [CASES[0].pattern];
        let (mut live, mut controller) = start(runtime, &program)?;
        wait(&mut live.host, "Plain")?;
        trace(&mut controller, &patterns, TimeOptions::default())?;
        ask(&mut live.host, "open")?;
        let calls = list(&mut controller, false)?;
        let unseen = calls.of("Awaits.Plain");
        ensure!(unseen.len() == THREADS * CALLS, "{calls:?}");
        for call in unseen {
            let course = call.course.context("a course")?;
            ensure!(!course.began && call.duration_ns.is_none() && course.steps == 1, "{call:?}");
            ensure!(call.arguments == [Value::Omitted(OmittedReason::Unseen)], "{call:?}");
            let Outcome::Returned(Some(Value::Int(result))) = call.outcome else { anyhow::bail!("{call:?}") };
            ensure!((1..=CALLS as i64).contains(&result), "{call:?}");
        }
        off(&mut controller, &patterns)?;

        // All but one are left out, and so are their completions.
        trace(&mut controller, &patterns, TimeOptions { rate: Some(1), ..TimeOptions::default() })?;
        let before = latest(&list(&mut controller, false)?);
        wait(&mut live.host, "Plain")?;
        let in_flight = list(&mut controller, true)?;
        let followed = in_flight.of("Awaits.Plain").len();
        ensure!((1..THREADS * CALLS).contains(&followed), "{in_flight:?}");
        ask(&mut live.host, "open")?;
        let calls = list(&mut controller, false)?;
        let calls: Vec<&TracedCall> = calls.calls.iter().filter(|call| call.number > before).collect();
        ensure!(calls.len() == followed, "{calls:?}");
        ensure!(calls.iter().all(|call| call.course.is_some_and(|course| course.began)), "{calls:?}");

        // Calls whose method is turned off while they wait are forgotten.
        wait(&mut live.host, "Plain")?;
        off(&mut controller, &patterns)?;
        let rows = controller.ask(WireCommand::Status { pattern: None })?.rows;
        ensure!(rows.len() == 2 && rows.iter().all(|row| row.wanted == Level::Off), "{rows:?}");
        trace(&mut controller, &patterns, TimeOptions::default())?;
        ask(&mut live.host, "cancel")?;
        let in_flight = list(&mut controller, true)?;
        let calls = list(&mut controller, false)?;
        ensure!(in_flight.calls.is_empty(), "{} {}", in_flight.calls.len(), calls.calls.len());
        end(live, controller)?;
    }
    Ok(())
}

/// Conditions on arguments are decided at the start of a call; those on its result, its duration and its exception once it
/// completes.
fn conditions(runtime: Runtime) -> Result<()> {
    let program = programs::named("awaits")?;
    let (mut live, mut controller) = start(runtime, &program)?;
    let mut before = 0;
    for (name, when, expected) in [
        ("Plain", "n == 3", THREADS),
        ("Plain", "result > 4", 2 * THREADS),
        ("Plain", "n > 0 && result < 4 && exception == null", 2 * THREADS),
        ("Plain", "duration > duration('1h')", 0),
        ("Value", "result == '2' || n == 5", 2 * THREADS),
        ("Outer", "result % 2 == 1", THREADS * CALLS / 2),
    ] {
        let order = |level| Order {
            when: (level == Level::Trace).then(|| when.to_owned()),
            ..Order::new(format!("awaits!Awaits.{name}"), level)
        };
        let report = controller.order(vec![order(Level::Trace)], Lifetime::Kept)?;
        ensure!(report.accepted > 0, "{report:?}");
        wait(&mut live.host, name)?;
        ask(&mut live.host, "open")?;
        let calls = list(&mut controller, false)?;
        let found = calls.of(&format!("Awaits.{name}")).into_iter().filter(|call| call.number > before);
        let found: Vec<&TracedCall> = found.collect();
        ensure!(found.len() == expected, "{when}: {found:?}");
        ensure!(found.iter().all(|call| call.course.is_some_and(|course| course.began)), "{found:?}");
        before = before.max(latest(&calls));
        controller.order(vec![order(Level::Off)], Lifetime::Kept)?;
    }
    end(live, controller)
}

/// A `MoveNext` has the level of its own dial again once its async method is no longer traced.
fn own_dials_of_bodies_return(runtime: Runtime) -> Result<()> {
    const START: &str = "awaits!Awaits.Plain";
    const BODY: &str = "awaits!Awaits+<Plain>*.MoveNext";
    let program = programs::named("awaits")?;
    let (mut live, mut controller) = start(runtime, &program)?;
    wait(&mut live.host, "Plain")?;
    ask(&mut live.host, "open")?;
    let has = |controller: &mut Controller, level: Level, after: &str| -> Result<()> {
        let row = controller.row(BODY)?;
        ensure!(row.wanted == level, "{level} after {after}: {row:?}");
        Ok(())
    };
    let undo = |controller: &mut Controller| -> Result<()> {
        let answer = controller.ask(WireCommand::Undo { take: false })?;
        ensure!(matches!(answer.reply, Reply::Undone { .. }), "{:?}", answer.reply);
        Ok(())
    };
    controller.dial(BODY, Level::Time, Lifetime::Kept)?;
    trace(&mut controller, &[START], TimeOptions::default())?;
    has(&mut controller, Level::Trace, "its method was traced")?;
    undo(&mut controller)?;
    has(&mut controller, Level::Time, "the trace was undone")?;

    for when in ["n == 1", "n == 2"] {
        let order = Order { when: Some(when.to_owned()), ..Order::new(START, Level::Trace) };
        controller.order(vec![order], Lifetime::Kept)?;
    }
    undo(&mut controller)?;
    has(&mut controller, Level::Trace, "the second condition was undone")?;
    controller.dial(START, Level::Time, Lifetime::Kept)?;
    has(&mut controller, Level::Time, "its method was timed")?;

    trace(&mut controller, &[START], TimeOptions::default())?;
    off(&mut controller, &[START])?;
    has(&mut controller, Level::Time, "its method was off")?;
    trace(&mut controller, &[START], TimeOptions::default())?;
    off(&mut controller, &[BODY])?;
    has(&mut controller, Level::Off, "it was turned off itself")?;
    undo(&mut controller)?;
    has(&mut controller, Level::Trace, "that was undone")?;
    end(live, controller)
}

on_each_runtime! {
    at_once_elsewhere, conditions, followed_to_the_end, at_once, generics, own_dials_of_bodies_return, unseen_beginnings
}

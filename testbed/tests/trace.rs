//! Traced calls have the arguments and results that the program knows (`programs/traced.cs`).

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::trace::{InnerException, OmittedReason, Outcome, Value};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, end, list, returned, say, start, start_with_wrong_plans, text, trace};
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};

/// The arguments and result of call number `i` of `Traced.Primitives`.
fn primitives(i: i64) -> (Vec<Value>, Outcome) {
    let arguments = vec![
        Value::Bool(i % 2 == 0),
        Value::Char(65 + (i % 26) as u16),
        Value::Int(i64::from(-i as i8)),
        Value::UInt(u64::from(i as u8)),
        Value::Int(i64::from((-3 * i) as i16)),
        Value::UInt(u64::from((3 * i) as u16)),
        Value::Int(-7 * i),
        Value::UInt(7 * i as u64),
        Value::Int(-1_000_003 * i),
        Value::UInt(1_000_003 * i as u64),
        Value::Float((i as f32 * 0.5).to_bits()),
        Value::Double((i as f64 * 0.25).to_bits()),
        Value::Int(-i),
    ];
    (arguments, returned(Value::Int(-1_000_003 * i + 7 * i)))
}

/// Primitives of every kind, each call of them, with names and types of the parameters.
fn captures_primitives(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.*")?;
    say(&mut live.host, "primitives 40")?;
    let calls = list(&mut controller, false)?;
    let of = calls.of(".Primitives");
    // The method of the same name with one parameter is traced, too.
    let of: Vec<_> = of.into_iter().filter(|call| call.arguments.len() == 13).collect();
    ensure!(of.len() == 40, "{of:?}");
    for (i, call) in of.iter().enumerate() {
        let (arguments, outcome) = primitives(i as i64);
        ensure!((&call.arguments, &call.outcome) == (&arguments, &outcome), "{call:?} is not {arguments:?}");
        ensure!(call.duration_ns.is_some_and(|ns| ns < 1_000_000_000) && call.thread > 0, "{call:?}");
    }
    ensure!(of.is_sorted_by_key(|call| call.start_unix_ns), "{of:?}");
    let method = &calls.methods[&of[0].plan];
    let parameters: Vec<(&str, &str)> =
        method.parameters.iter().map(|one| (one.name.as_str(), one.type_name.as_str())).collect();
    ensure!(parameters[..4] == [("flag", "bool"), ("letter", "char"), ("i1", "sbyte"), ("u1", "byte")]);
    ensure!((method.result.as_deref(), method.module.as_str()) == (Some("long"), "traced"), "{method:?}");

    say(&mut live.host, "numbers")?;
    let calls = list(&mut controller, false)?;
    let doubles = calls.of(".Doubles")[0];
    ensure!(doubles.arguments == [Value::Float(1.5_f32.to_bits()), Value::Double((-2.25_f64).to_bits())]);
    ensure!(doubles.outcome == returned(Value::Double((-3.375_f64).to_bits())), "{doubles:?}");
    let is_nan = |value: &Value| matches!(value, Value::Float(bits) if f32::from_bits(*bits).is_nan());
    ensure!(is_nan(&calls.of(".Floats")[0].arguments[0]));
    ensure!(calls.of(".Bytes")[0].outcome == returned(Value::UInt(200)));
    let nothing = calls.of(".Nothing")[0];
    ensure!((nothing.arguments.len(), &nothing.outcome) == (0, &Outcome::Returned(None)), "{nothing:?}");
    say(&mut live.host, "instance")?;
    let calls = list(&mut controller, false)?;
    ensure!(calls.of(".Join").is_empty(), "its type is not dialled");
    end(live, controller)
}

/// Enums with their names, wherever they are defined.
fn captures_enums(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.Enums")?;
    trace(&mut controller, "traced!Traced.Days")?;
    say(&mut live.host, "enums")?;
    let calls = list(&mut controller, false)?;
    let of = |type_name: &str, name: Option<&str>, value| Value::Enum {
        type_name: type_name.into(),
        name: name.map(str::to_owned),
        value,
    };
    let enums = calls.of(".Enums")[0];
    let small = of("Traced+Size", Some("Small"), -1);
    let day = |name, value| of("System.DayOfWeek", name, value);
    let expected = [small.clone(), of("Flat", Some("Most"), -1), day(Some("Friday"), 5), day(None, 42)];
    ensure!((&enums.arguments[..], &enums.outcome) == (&expected[..], &returned(small)), "{enums:?}");
    let days = calls.of(".Days")[0];
    ensure!(matches!(&days.arguments[..], [Value::Omitted(_) | Value::Object { .. }]), "{days:?}");
    ensure!(days.outcome == returned(day(Some("Wednesday"), 3)), "{days:?}");
    end(live, controller)
}

/// Compares the strings of fifty calls.
fn compare_strings(live: &mut LiveHost, controller: &mut Controller) -> Result<()> {
    trace(controller, "traced!Traced.Strings")?;
    say(&mut live.host, "strings 50")?;
    let hidden = Value::Omitted(OmittedReason::RedactedName);
    let calls = list(controller, false)?;
    let of = calls.of(".Strings");
    ensure!(of.len() == 50, "{of:?}");
    for (i, call) in of.iter().enumerate() {
        let (first, last) = (format!("first {i}"), char::from(b'a' + (i % 26) as u8).to_string().repeat(i));
        let expected = [text(&first), hidden.clone(), text(&last)];
        ensure!(call.arguments == expected, "call {i} is not {expected:?}: {call:?}");
        ensure!(call.outcome == returned(text(&format!("{first}{last}"))), "{call:?}");
    }
    Ok(())
}

/// The comparison finds a plan that is wrong, so that the other tests can fail.
fn notices_wrong_plans(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start_with_wrong_plans(runtime)?;
    let Err(error) = compare_strings(&mut live, &mut controller) else { bail!("nothing was noticed") };
    ensure!(error.to_string().starts_with("call 0 is not "), "{error:#}");
    end(live, controller)
}

/// Strings as they were when the call began, cut, empty, null and with lone surrogates; a hidden one is not captured.
fn captures_strings(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    compare_strings(&mut live, &mut controller)?;
    trace(&mut controller, "traced!Traced+Instance.*")?;
    say(&mut live.host, "odd-strings")?;
    let calls = list(&mut controller, false)?;
    let of = calls.of(".Strings");
    let [null, empty, odd] = &of[of.len() - 3..] else { bail!("{of:?}") };
    ensure!((&null.arguments[0], &null.outcome) == (&Value::Null, &returned(Value::Null)), "{null:?}");
    ensure!((&empty.arguments[0], &empty.outcome) == (&text(""), &returned(text(""))), "{empty:?}");
    let mut units = vec![0, 0x1b];
    units.extend("[31m".encode_utf16());
    units.push(0xd800);
    units.extend("é名".encode_utf16());
    ensure!(odd.arguments[0] == Value::String { length: units.len() as u32, units }, "{odd:?}");
    let Value::String { units, length: 5_000 } = &odd.arguments[2] else { bail!("{odd:?}") };
    ensure!(units.len() == 255 && units.iter().all(|unit| *unit == u16::from(b'z')), "{odd:?}");

    say(&mut live.host, "instance")?;
    let calls = list(&mut controller, false)?;
    let join = calls.of(".Join")[0];
    ensure!(
        (&join.arguments[1..], &join.outcome)
            == (&[Value::Int(7), text("seven")][..], &returned(text("seven7")))
    );
    end(live, controller)
}

/// Nested calls have their depth, and exceptions their type and message.
fn captures_how_calls_end(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.Outer")?;
    trace(&mut controller, "traced!Traced.Fails")?;
    say(&mut live.host, "nested")?;
    let calls = list(&mut controller, false)?;
    let ended: Vec<(&Value, u32)> =
        calls.of(".Outer").iter().map(|call| (&call.arguments[0], call.depth)).collect();
    let expected = [0, 1, 2, 3].map(|depth| (Value::Int(depth), 3 - depth as u32));
    ensure!(ended == expected.iter().map(|(value, depth)| (value, *depth)).collect::<Vec<_>>(), "{ended:?}");
    say(&mut live.host, "fails 10")?;
    let calls = list(&mut controller, false)?;
    for (i, call) in calls.of(".Fails").iter().enumerate() {
        let thrown = Outcome::Thrown {
            type_name: Some("System.InvalidOperationException".into()),
            message: Some(text(&format!("number {i}"))),
            inner: vec![],
        };
        let expected = if i % 2 == 0 { thrown } else { returned(Value::Int(i as i64)) };
        ensure!(call.outcome == expected, "{i}: {call:?}");
    }
    end(live, controller)
}

/// An exception has its inner ones, up to three, with their types and messages.
fn captures_inner_exceptions(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.Chains")?;
    say(&mut live.host, "chains 6")?;
    let calls = list(&mut controller, false)?;
    for (links, call) in calls.of(".Chains").iter().enumerate() {
        let inner = (1..=links).take(3).map(|link| {
            let innermost = link == links;
            InnerException {
                type_name: Some(if innermost { "Traced+Cause" } else { "System.ArgumentException" }.into()),
                message: Some(if innermost { Value::Null } else { text(&format!("inner {link}")) }),
            }
        });
        let thrown = Outcome::Thrown {
            type_name: Some("System.InvalidOperationException".into()),
            message: Some(text("outer")),
            inner: inner.collect(),
        };
        ensure!(call.outcome == thrown, "{links}: {call:?}");
    }
    ensure!(calls.of(".Chains").len() == 6, "{calls:?}");
    end(live, controller)
}

/// A call in flight is listed with its arguments, and comes to the stream when it ends.
fn lists_calls_in_flight(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.Waits")?;
    controller.execute(WireCommand::StreamCalls { pattern: Some("traced!Traced.Waits".into()) })?;
    say(&mut live.host, "wait")?;
    let calls = list(&mut controller, true)?;
    let [call] = &calls.of(".Waits")[..] else { bail!("{calls:?}") };
    ensure!(call.arguments == [Value::Int(60_000), text("in flight")], "{call:?}");
    ensure!((&call.outcome, call.duration_ns) == (&Outcome::InFlight, None), "{call:?}");
    ensure!(list(&mut controller, false)?.calls.is_empty());
    say(&mut live.host, "leave")?;
    let ended = controller.wait_for("the call", |event| match event {
        Event::Calls { id: None, calls, .. } => calls.first().cloned(),
        _ => None,
    })?;
    ensure!((ended.arguments, ended.outcome) == (call.arguments.clone(), Outcome::Returned(None)));
    ensure!(list(&mut controller, true)?.calls.is_empty());
    controller.execute(WireCommand::StopCalls)?;
    end(live, controller)
}

/// Strings stay whole while the collector moves them and eight threads call.
fn captures_beside_the_collector(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.Strings")?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    say(&mut live.host, "threads 100")?;
    let (mut calls, mut missing) = (Calls::default(), 0);
    // A thread's ring may be full when both cores are busy: such calls are reported as dropped.
    while calls.calls.len() as u64 + missing < 800 {
        let page = controller.wait_for("calls", |event| {
            matches!(event, Event::Calls { id: None, .. }).then(|| event.clone())
        })?;
        calls.take(&page)?;
        if let Event::Calls { dropped, unread, .. } = &page {
            ensure!(*unread == 0, "{unread} calls were not read in time");
            missing = dropped.iter().map(|one| one.over_rate + one.no_room).next().unwrap_or(missing);
        }
    }
    let mut seen: HashMap<(u64, u64), u32> = HashMap::new();
    for call in calls.of(".Strings") {
        let Value::String { units, .. } = &call.arguments[0] else { bail!("{call:?}") };
        let first = String::from_utf16(units)?;
        let words: Vec<&str> = first.split(' ').collect();
        let ["thread", thread, "call", i] = words[..] else { bail!("{call:?}") };
        let (thread, i): (u64, u64) = (thread.parse()?, i.parse()?);
        let last = "x".repeat(i as usize % 40);
        ensure!(call.arguments[2] == text(&last), "{call:?}");
        ensure!(call.outcome == returned(text(&format!("{first}{last}"))), "{call:?}");
        *seen.entry((thread, i)).or_default() += 1;
    }
    ensure!(seen.len() as u64 + missing == 800, "{} calls, and {missing} dropped", seen.len());
    ensure!(seen.len() >= 200 && seen.values().all(|times| *times == 1), "{} calls", seen.len());
    end(live, controller)
}

/// One call of a thread has ended before the next begins, also if the agent collects calls in between.
fn calls_of_a_thread_do_not_overlap(runtime: Runtime) -> Result<()> {
    let mut command = programs::named("traced")?.command(runtime)?;
    command.env("REDIAL_MAX_EVENTS", "1000000");
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    let options = TimeOptions { rate: Some(1_000_000), ..TimeOptions::default() };
    let order = Order { options, ..Order::new("traced!Traced.Strings", Level::Trace) };
    controller.order(vec![order], Lifetime::Kept)?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    live.host.say("strings 10000")?;
    // Each answer takes the calls from the thread's ring; the last leaves room for the call that ends the test.
    for _ in 0..100 {
        list(&mut controller, false)?;
    }
    live.host.wait_for("done")?;
    list(&mut controller, false)?;
    trace(&mut controller, "traced!Traced.Outer")?;
    say(&mut live.host, "nested")?;
    let mut calls = Calls::default();
    while calls.of(".Outer").is_empty() {
        calls.take(&controller.wait_for("calls", |event| {
            matches!(event, Event::Calls { id: None, .. }).then(|| event.clone())
        })?)?;
    }
    let calls = calls.of(".Strings");
    for pair in calls.windows(2) {
        let end_ns = pair[0].start_unix_ns + pair[0].duration_ns.context("an ended call")?;
        ensure!(end_ns <= pair[1].start_unix_ns, "{pair:?}");
    }
    ensure!(calls.len() > 100, "{} calls", calls.len());
    end(live, controller)
}

/// A captured argument dies as early as without the dial.
fn arguments_live_no_longer(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let alive = live.host.ask("weak", "alive")?;
    live.host.wait_for("done")?;
    trace(&mut controller, "traced!Traced.Outlives")?;
    let traced = live.host.ask("weak", "alive")?;
    live.host.wait_for("done")?;
    ensure!(traced == alive, "alive while traced: {traced}, without a dial: {alive}");
    let calls = list(&mut controller, false)?;
    let call = calls.of(".Outlives").first().copied().context("the call")?;
    let Value::String { units, length: 1_000 } = &call.arguments[0] else { bail!("{call:?}") };
    ensure!(units.len() == 255, "{call:?}");
    end(live, controller)
}

on_each_runtime!(
    captures_primitives,
    captures_enums,
    captures_strings,
    notices_wrong_plans,
    captures_how_calls_end,
    captures_inner_exceptions,
    lists_calls_in_flight,
    captures_beside_the_collector,
    calls_of_a_thread_do_not_overlap,
    arguments_live_no_longer,
);

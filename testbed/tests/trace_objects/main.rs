//! Traced objects, structs and collections have the fields and items that the program knows (`programs/traced.cs`).

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::trace::{OmittedReason, Outcome, TracedCall, Value};
use redial_testbed::controller::Controller;
use redial_testbed::host::{DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, end, list, say, start, start_with_wrong_plans, text, trace, warm_up};
use redial_testbed::under_agent::LiveHost;
use redial_testbed::{on_each_runtime, soak};

mod expected;

use expected::{
    DEPTH, check, collection, dictionary, double, guid, ints, is_cut, object, order, order_with_next, point,
    shown,
};

fn result(call: &TracedCall) -> Result<&Value> {
    match &call.outcome {
        Outcome::Returned(Some(value)) => Ok(value),
        other => bail!("{other:?}"),
    }
}

/// The calls of one round of `Traced.Shapes(i)`, in order.
fn check_round(i: i64, calls: &Calls, round: &[&TracedCall]) -> Result<()> {
    let mut of_generic = Vec::new();
    for call in round {
        let method = calls.methods[&call.plan].method.as_str();
        let arguments = &call.arguments;
        match method {
            "Traced.Objects" => {
                let is_order = |value| is_cut(value, &order_with_next(i));
                ensure!(arguments[..2].iter().all(is_order), "{:?}", &arguments[..2]);
                let boxed = if i % 2 == 0 { Value::Int(i) } else { point(i, 2.0) };
                check(&arguments[2..], &[boxed, Value::Null])?;
                ensure!(is_order(result(call)?), "{:?}", call.outcome);
            }
            "Traced.Structs" => {
                let named = object(
                    "Named",
                    vec![
                        ("Name", text(&format!("named {i}"))),
                        ("At", point(i, 0.5)),
                        ("Size", Value::Int(i)),
                    ],
                );
                let pair = object(
                    "System.ValueTuple<int, string>",
                    vec![("Item1", Value::Int(i)), ("Item2", text("pair"))],
                );
                let entry = object(
                    "System.Collections.Generic.KeyValuePair<string, Point>",
                    vec![("key", text("key")), ("value", point(i, 0.5))],
                );
                let friday = Value::Enum {
                    type_name: "System.DayOfWeek".into(),
                    name: Some("Friday".into()),
                    value: 5,
                };
                let expected =
                    [point(i, 0.5), named.clone(), Value::Int(i), Value::Null, pair, entry, friday];
                check(arguments, &expected)?;
                check(&[result(call)?.clone()], &[named])?;
            }
            "Traced.Texts" => {
                let date = |zone: &str| shown("System.DateTime", format!("2024-12-31T23:59:59{zone}"));
                let expected = [
                    guid(i),
                    date("Z"),
                    date(".0000001"),
                    shown("System.DateTimeOffset", "2024-12-31T23:59:59-01:30".into()),
                    shown("System.TimeSpan", "1.02:03:04".into()),
                    shown("decimal", "-0.05".into()),
                ];
                check(arguments, &expected)?;
                check(&[result(call)?.clone()], &[guid(i)])?;
            }
            "Traced.Collections" => {
                let first: Vec<i64> = (0..16).map(|n| n * i).collect();
                let numbers = collection("int[]", 20, ints(&first));
                let expected = [
                    numbers.clone(),
                    collection("string[]", 2, vec![text("x"), Value::Null]),
                    collection("Point[]", 2, vec![point(i, 0.5), point(0, 0.0)]),
                    collection("System.Collections.Generic.List<int>", 3, ints(&[i, 2, 3])),
                ];
                check(&arguments[..4], &expected)?;
                let orders =
                    collection("System.Collections.Generic.List<Order>", 1, vec![order(i, DEPTH, true)]);
                let stock = dictionary(
                    "System.Collections.Generic.Dictionary<string, int>",
                    vec![(text("a"), Value::Int(i)), (text("b"), Value::Int(2))],
                );
                let places = dictionary(
                    "System.Collections.Generic.Dictionary<int, Point>",
                    vec![(Value::Int(i), point(i, 0.5))],
                );
                check(&arguments[4..5], &[orders])?;
                // The entry that was removed is used again by one of the others.
                let Value::Dictionary { entries, length: 2, .. } = &arguments[5] else {
                    bail!("{:?}", arguments[5])
                };
                let Value::Dictionary { entries: wanted, .. } = &stock else { bail!("a dictionary") };
                ensure!(
                    entries.len() == 2 && wanted.iter().all(|entry| entries.contains(entry)),
                    "{entries:?}"
                );
                check(
                    &arguments[6..],
                    &[places, collection("int[,]", 6, ints(&[0; 6])), collection("string[]", 0, vec![])],
                )?;
                ensure!(is_cut(result(call)?, &numbers), "{:?}", call.outcome);
            }
            "Traced.Spans" => {
                let expected = [
                    collection("System.Span<int>", 3, ints(&[i, 2 * i, 3 * i])),
                    text("text"),
                    collection("System.Span<Point>", 0, vec![]),
                ];
                check(arguments, &expected)?;
            }
            "Traced.ByRefs" => {
                let out = Value::Omitted(OmittedReason::Pending);
                check(&arguments[..4], &[Value::Int(i), out.clone(), point(i, 0.5), guid(i)])?;
                check(&arguments[4..], &[order_with_next(i), out])?;
                let after: Vec<(u16, Value)> = vec![
                    (0, Value::Int(i + 1)),
                    (1, text(&format!("out {}", i + 1))),
                    (2, point(-1, 0.5)),
                    (3, guid(i)),
                    (4, Value::Null),
                    (5, Value::Int(5)),
                ];
                ensure!(call.arguments_after == after, "{:?} is not {after:?}", call.arguments_after);
            }
            "Traced.Finds" => {
                let out = Value::Omitted(OmittedReason::Pending);
                let texts = |first| collection("string[]", 2, vec![first, text("y")]);
                let expected = [Value::Int(i), texts(text("x")), out.clone(), out, Value::Int(i)];
                check(arguments, &expected)?;
                let list = collection("System.Collections.Generic.List<int>", 2, ints(&[i, 2]));
                let map = dictionary(
                    "System.Collections.Generic.Dictionary<string, int>",
                    vec![(text("a"), Value::Int(i))],
                );
                let boxed = text(&format!("was {i}"));
                let after = vec![(1, texts(Value::Null)), (2, list), (3, map), (4, boxed)];
                ensure!(call.arguments_after == after, "{:?} is not {after:?}", call.arguments_after);
            }
            "Traced.Generic<T>" => {
                ensure!(is_cut(result(call)?, &arguments[0]), "{call:?}");
                of_generic.push(arguments[0].clone());
            }
            "Traced.Tasks" => {
                let task = |result: i64, status: &str, value| {
                    let status = Value::Enum {
                        type_name: "System.Threading.Tasks.TaskStatus".into(),
                        name: Some(status.into()),
                        value,
                    };
                    object(
                        "System.Threading.Tasks.Task<int>",
                        vec![("m_result", Value::Int(result)), ("Status", status)],
                    )
                };
                let expected = [task(i, "RanToCompletion", 5), task(0, "WaitingForActivation", 1)];
                check(&arguments[..2], &expected)?;
                let Value::Object { type_name, fields } = &arguments[2] else { bail!("{:?}", arguments[2]) };
                let [(target, Value::Object { fields: captured, .. })] = &fields[..] else {
                    bail!("{fields:?}")
                };
                ensure!((type_name.as_str(), target.as_str()) == ("System.Func<int, int>", "_target"));
                ensure!(captured[..] == [("i".to_owned(), Value::Int(i))], "{captured:?}");
            }
            "Box<T>.Exchange" => {
                let of_int = object("Box<int>", vec![("value", Value::Int(i))]);
                let of_string = object("Box<string>", vec![("value", text("boxed"))]);
                let (this, other, result_) = match &arguments[1] {
                    Value::Int(_) => (of_int, Value::Int(-i), Value::Int(i)),
                    _ => (of_string, text("other"), text("boxed")),
                };
                check(arguments, &[this, other])?;
                check(&[result(call)?.clone()], &[result_])?;
            }
            "Point.Scaled" => {
                check(&arguments[..1], &[point(i, 1.0)])?;
                ensure!(arguments[1] == double(2.0) || arguments[1] == double(3.0), "{arguments:?}");
            }
            "Traced.Shapes" | "Box<T>..ctor" => {}
            other => bail!("{other} is not part of a round"),
        }
    }
    let pair = object(
        "System.Collections.Generic.KeyValuePair<string, int>",
        vec![("key", text("k")), ("value", Value::Int(i))],
    );
    check(&of_generic, &[Value::Int(i), text(&format!("text {i}")), order_with_next(i), pair])
}

const PATTERNS: [&str; 3] = ["traced!Traced.*", "traced!Box`1.*", "traced!Point.Scaled"];
/// Traced calls of one round.
const ROUND: usize = 19;

/// Every shape, each field of it, in forty rounds.
fn captures_every_shape(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    PATTERNS.iter().try_for_each(|pattern| trace(&mut controller, pattern))?;
    say(&mut live.host, "shapes 1")?;
    let unknown = object("Order", vec![("", Value::Omitted(OmittedReason::Pending))]);
    // Its class was not seen before; it has a name once it was looked up.
    loop {
        let first = list(&mut controller, false)?;
        match &first.of(".Objects")[0].arguments[0] {
            Value::Omitted(OmittedReason::Pending) => std::thread::sleep(std::time::Duration::from_millis(1)),
            argument => {
                ensure!(*argument == unknown, "{argument:?}");
                break;
            }
        }
    }
    compare_rounds(&mut live, &mut controller, 40)?;
    end(live, controller)
}

/// Compares every call of rounds with what the program knows.
fn compare_rounds(live: &mut LiveHost, controller: &mut Controller, rounds: i64) -> Result<()> {
    let mut methods = HashMap::new();
    warm_up(&mut live.host, controller, "shapes 1")?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    for i in 0..rounds {
        say(&mut live.host, &format!("shape {i}"))?;
        let mut calls = Calls::default();
        while calls.calls.len() < ROUND {
            calls.take(&next_page(controller)?)?;
        }
        methods.extend(calls.methods);
        calls.methods = methods.clone();
        let round: Vec<&TracedCall> = calls.calls.iter().collect();
        check_round(i, &calls, &round).with_context(|| format!("round {i}"))?;
    }
    Ok(())
}

/// The comparison finds parameters and fields at wrong places, so that the other tests can fail.
fn notices_wrong_plans(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start_with_wrong_plans(runtime)?;
    PATTERNS.iter().try_for_each(|pattern| trace(&mut controller, pattern))?;
    let Err(error) = compare_rounds(&mut live, &mut controller, 1) else { bail!("nothing was noticed") };
    ensure!(error.to_string() == "round 0", "{error:#}");
    // The only parameter of this method is at its place, but the fields are not.
    let calls = list(&mut controller, false)?;
    let mut of_generic = calls.of(".Generic<T>").into_iter().map(|call| &call.arguments[0]);
    let is_order = |value: &&Value| matches!(value, Value::Object { type_name, .. } if type_name == "Order");
    let wrong = of_generic.rfind(is_order).context("an order")?;
    ensure!(!is_cut(wrong, &order_with_next(0)), "{wrong:?}");
    end(live, controller)
}

fn next_page(controller: &mut Controller) -> Result<Event> {
    controller
        .wait_for("calls", |event| matches!(event, Event::Calls { id: None, .. }).then(|| event.clone()))
}

/// Takes calls from the stream until all are there or reported as dropped.
fn take_all(controller: &mut Controller, expected: u64) -> Result<Calls> {
    let (mut calls, mut missing) = (Calls::default(), HashMap::new());
    while calls.calls.len() as u64 + missing.values().sum::<u64>() < expected {
        let page = next_page(controller)?;
        calls.take(&page)?;
        if let Event::Calls { dropped, unread, .. } = &page {
            ensure!(*unread == 0, "{unread} calls were not read in time");
            missing.extend(dropped.iter().map(|one| (one.row, one.over_rate + one.no_room)));
        }
    }
    Ok(calls)
}

/// Eight threads, and a collector that moves everything meanwhile.
fn captures_every_shape_beside_the_collector(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    PATTERNS.iter().try_for_each(|pattern| trace(&mut controller, pattern))?;
    warm_up(&mut live.host, &mut controller, "shapes 1")?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    for _ in 0..soak::scaled(1, 100) {
        say(&mut live.host, "shape-threads 30")?;
        let calls = take_all(&mut controller, (8 * 30 * ROUND + 1) as u64)?;
        let mut threads: HashMap<u32, Vec<&TracedCall>> = Default::default();
        for call in &calls.calls {
            threads.entry(call.thread).or_default().push(call);
        }
        let mut whole = 0;
        for of_thread in threads.values() {
            // Rounds of which no call was dropped.
            let ends = |call: &&TracedCall| calls.methods[&call.plan].method == "Traced.Shapes";
            for round in of_thread.split_inclusive(ends).filter(|round| round.len() == ROUND) {
                let Some(Value::Int(i)) = round.last().and_then(|call| call.arguments.first()) else {
                    bail!("{round:?}")
                };
                check_round(*i, &calls, round).with_context(|| format!("round {i}"))?;
                whole += 1;
            }
        }
        ensure!(whole >= 20, "{whole} rounds are whole");
    }
    end(live, controller)
}

/// Calls `Shared` until both classes that another thread boxes are known. A busy machine may not run that thread at
/// first, and then the calls see neither.
fn know_boxed_classes(host: &mut Host, controller: &mut Controller) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    let (mut number, mut string) = (false, false);
    while !(number && string) {
        ensure!(Instant::now() < deadline, "number: {number}, string: {string}");
        warm_up(host, controller, "shared 20")?;
        let calls = list(controller, false)?;
        for call in calls.of("Traced.Shared") {
            let Some(Value::Object { fields, .. }) = call.arguments.get(2) else { bail!("{call:?}") };
            let boxed = fields.iter().find(|(name, _)| name == "Boxed").map(|(_, value)| value);
            number |= matches!(boxed, Some(Value::Int(_)));
            string |= matches!(boxed, Some(Value::String { .. }));
        }
    }
    Ok(())
}

/// Collections that another thread changes have only items that were in them.
fn captures_what_other_threads_change(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.Shared")?;
    know_boxed_classes(&mut live.host, &mut controller)?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    let calls_of_each = soak::scaled(100, 20);
    let is_ours = |value: &Value| matches!(value, Value::Int(value) if *value == 0 || value % 10 == 7);
    let is_text = |value: &Value, prefix: &str| match value {
        Value::Null => true,
        Value::String { units, .. } => {
            let text = String::from_utf16_lossy(units);
            text.strip_prefix(prefix)
                .is_some_and(|rest| rest.parse::<i64>().is_ok_and(|value| value % 10 == 7))
        }
        _ => false,
    };
    let (mut items, mut entries_seen) = (0, 0);
    let deadline = Instant::now() + DEADLINE;
    // A busy machine may stop the writing thread for a whole round, with an empty collection.
    while items == 0 || entries_seen == 0 {
        ensure!(Instant::now() < deadline, "{items} items, {entries_seen} entries");
        say(&mut live.host, &format!("shared {calls_of_each}"))?;
        let calls = take_all(&mut controller, 8 * calls_of_each)?;
        ensure!(calls.calls.len() >= 100, "{} calls", calls.calls.len());
        for call in &calls.calls {
            let [list, map, moving, numbers] = &call.arguments[..] else { bail!("{call:?}") };
            match list {
                Value::Collection { items: captured, .. } if captured.iter().all(is_ours) => {
                    items += captured.len()
                }
                other => bail!("{other:?}"),
            }
            match map {
                // Until its first entry there are none.
                Value::Dictionary { entries, .. } => {
                    let is_entry = |(key, value): &(Value, Value)| is_ours(key) && is_text(value, "value ");
                    ensure!(entries.iter().all(is_entry), "{entries:?}");
                    entries_seen += entries.len();
                }
                Value::Collection { length: 0, .. } => {}
                other => bail!("{other:?}"),
            }
            let Value::Object { fields, .. } = moving else { bail!("{moving:?}") };
            let field = |name: &str| fields.iter().find(|(of, _)| of == name).map(|(_, value)| value);
            ensure!(field("Name").is_some_and(|name| is_text(name, "order ")), "{moving:?}");
            ensure!(
                field("Boxed").is_some_and(|boxed| is_ours(boxed) || is_text(boxed, "boxed ")),
                "{moving:?}"
            );
            let is_whole = |items: &[Value]| items.iter().all(is_ours);
            ensure!(
                matches!(numbers, Value::Collection { length: 10, items, .. } if is_whole(items)),
                "{numbers:?}"
            );
        }
    }
    end(live, controller)
}

/// Captured objects die as early as without the dial.
fn objects_live_no_longer(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let ask = |live: &mut LiveHost| -> Result<Vec<String>> {
        live.host.say("weak-objects")?;
        let alive = (0..4).map(|_| live.host.wait_for("alive")).collect::<Result<_>>()?;
        live.host.wait_for("done")?;
        Ok(alive)
    };
    let alive = ask(&mut live)?;
    trace(&mut controller, "traced!Traced.OutlivesObjects")?;
    for round in 0..3 {
        let traced = ask(&mut live)?;
        ensure!(traced == alive, "round {round}: alive while traced: {traced:?}, without a dial: {alive:?}");
    }
    let calls = list(&mut controller, false)?;
    ensure!(calls.of(".OutlivesObjects").len() == 12, "{calls:?}");
    end(live, controller)
}

/// An object with many fields takes no bytes from the arguments of its methods.
fn arguments_have_room_beside_a_large_object(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced+Crowded.Greet")?;
    warm_up(&mut live.host, &mut controller, "crowded 1")?;
    say(&mut live.host, "crowded 7")?;
    let calls = list(&mut controller, false)?;
    let call = calls.of("Crowded.Greet").pop().context("a call")?;
    ensure!(call.arguments[1..] == [text(&"n".repeat(150)), point(7, 0.5)], "{:?}", call.arguments);
    let Value::Object { fields, .. } = &call.arguments[0] else { bail!("{:?}", call.arguments[0]) };
    let is_left_out = |value: &Value| *value == Value::Omitted(OmittedReason::Bytes);
    ensure!(fields[0].1 == text(&"a".repeat(200)), "{fields:?}");
    ensure!(fields.iter().any(|(_, value)| is_left_out(value) || is_shortened(value)), "{fields:?}");
    end(live, controller)
}

/// Returns whether a string lacks its end.
fn is_shortened(value: &Value) -> bool {
    matches!(value, Value::String { units, length } if units.len() < *length as usize)
}

on_each_runtime!(
    arguments_have_room_beside_a_large_object,
    captures_every_shape,
    notices_wrong_plans,
    captures_every_shape_beside_the_collector,
    captures_what_other_threads_change,
    objects_live_no_longer,
);

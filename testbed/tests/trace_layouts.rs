//! Generic structs as fields of traced objects have the values that the program gave them (`programs/layouts.cs`). Where
//! versions of .NET place fields differently, they are unreadable instead.

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::trace::{OmittedReason, TracedCall, Value};
use redial_testbed::controller::Controller;
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, end, say, text, trace};
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};
use std::time::Instant;

/// Types whose pairs are compared.
const TYPES: i64 = 17;
/// Generic structs in an object of the program.
const STRUCTS: usize = 4;

const UNREADABLE: Value = Value::Omitted(OmittedReason::Unreadable);

fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    let (live, mut controller) =
        under_agent::start_controlled(programs::named("layouts")?.command(runtime)?)?;
    trace(&mut controller, "layouts!Layouts.Any")?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    Ok((live, controller))
}

fn object(type_name: &str, fields: Vec<(&str, Value)>) -> Value {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Value::Object { type_name: type_name.into(), fields }
}

fn shown(type_name: &str, shown: String) -> Value {
    Value::Text { type_name: type_name.into(), text: shown }
}

fn double(value: f64) -> Value {
    Value::Double(value.to_bits())
}

fn point(n: i64, y: f64) -> Value {
    object("Point", vec![("X", Value::Int(n)), ("Y", double(y))])
}

fn kind(value: i64) -> Value {
    let name = if value == 0 { "Plain" } else { "Fancy" };
    Value::Enum { type_name: "Kind".into(), name: Some(name.into()), value }
}

/// `ValueOf` of the program, with the type's name.
fn value_of(ty: i64, n: i64) -> (&'static str, Value) {
    match ty {
        0 => ("byte", Value::UInt(n as u8 as u64)),
        1 => ("short", Value::Int(-n)),
        2 => ("int", Value::Int(n * 1_000_003)),
        3 => ("long", Value::Int(n << 33)),
        4 => ("double", double(n as f64 * 0.5)),
        5 => ("char", Value::Char(u16::from(b'A') + (n % 26) as u16)),
        6 => ("string", text(&format!("text {n}"))),
        7 => ("System.Guid", shown("System.Guid", format!("{n:08x}-0001-0002-0304-05060708090a"))),
        8 => ("System.DateTime", shown("System.DateTime", format!("2020-02-29T12:00:{:02}Z", n % 60))),
        9 => ("System.TimeSpan", shown("System.TimeSpan", format!("00:00:{:02}", n % 60))),
        10 => ("Point", point(n, n as f64 * 0.5)),
        11 => ("Kind", kind(n % 2)),
        12 => ("decimal", shown("decimal", format!("{}.{:02}", n / 4, n % 4 * 25))),
        13 => {
            let name = "System.ValueTuple<int, string>";
            (name, object(name, vec![("Item1", Value::Int(n)), ("Item2", text(&format!("pair {n}")))]))
        }
        14 => {
            let name = "System.Collections.Generic.KeyValuePair<byte, long>";
            (name, object(name, vec![("key", Value::UInt(n as u8 as u64)), ("value", Value::Int(n))]))
        }
        15 => {
            let fields = vec![
                ("Name", text(&format!("named {n}"))),
                ("At", point(n, n as f64 * 0.5)),
                ("Size", Value::Int(n)),
            ];
            ("Named", object("Named", fields))
        }
        _ => {
            let small = Value::Float((n as f32 * 0.5).to_bits());
            let name = "Two<float, short>";
            (name, object(name, vec![("First", small), ("Second", Value::Int(n))]))
        }
    }
}

/// The fields of `Held<A, B>` in order of declaration.
fn held(n: i64) -> [Value; STRUCTS] {
    let (a, first) = value_of(n / TYPES, 2 * n + 1);
    let (b, second) = value_of(n % TYPES, 2 * n + 2);
    let of = |type_name: String, fields: Vec<(&str, &Value)>| {
        object(&type_name, fields.into_iter().map(|(name, value)| (name, value.clone())).collect())
    };
    [
        of(format!("Two<{a}, {b}>"), vec![("First", &first), ("Second", &second)]),
        of(format!("System.ValueTuple<{a}, {b}>"), vec![("Item1", &first), ("Item2", &second)]),
        of(
            format!("System.Collections.Generic.KeyValuePair<{b}, {a}>"),
            vec![("key", &second), ("value", &first)],
        ),
        of(format!("Three<{a}, {b}>"), vec![("First", &first), ("Second", &second), ("Third", &first)]),
    ]
}

/// Says a command until the classes of all its calls are known, and returns the calls.
fn calls(
    live: &mut LiveHost,
    controller: &mut Controller,
    command: &str,
    count: usize,
) -> Result<Vec<TracedCall>> {
    let end = Instant::now() + DEADLINE;
    while Instant::now() < end {
        say(&mut live.host, command)?;
        let mut calls = Calls::default();
        let mut dropped = 0;
        while calls.calls.len() + dropped < count {
            let page = controller.wait_for("calls", |event| {
                matches!(event, Event::Calls { id: None, .. }).then(|| event.clone())
            })?;
            calls.take(&page)?;
            if let Event::Calls { dropped: more, .. } = &page {
                dropped += more.iter().map(|one| (one.over_rate + one.no_room) as usize).sum::<usize>();
            }
        }
        let is_pending = |call: &TracedCall| format!("{:?}", call.arguments).contains("Pending");
        if dropped == 0 && !calls.calls.iter().any(is_pending) {
            return Ok(calls.calls);
        }
    }
    bail!("classes stay unknown")
}

fn fields_of(call: &TracedCall) -> Result<(i64, &[(String, Value)])> {
    match &call.arguments[..] {
        [Value::Int(n), Value::Object { fields, .. }] => Ok((*n, fields)),
        other => bail!("{other:?}"),
    }
}

/// Each pair of types, in four generic structs each.
fn every_pair_is_true_or_unreadable(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let calls = calls(&mut live, &mut controller, "pairs", (TYPES * TYPES) as usize)?;
    let (mut read, mut unreadable) = (0, Vec::new());
    for call in &calls {
        let (n, fields) = fields_of(call)?;
        let expected = held(n);
        ensure!(
            fields.len() == STRUCTS || fields.last().is_some_and(|(name, _)| name.is_empty()),
            "{fields:?}"
        );
        for ((name, actual), expected) in fields.iter().filter(|(name, _)| !name.is_empty()).zip(expected) {
            match actual {
                Value::Omitted(OmittedReason::Unreadable) => unreadable.push(expected),
                _ => {
                    ensure!(*actual == expected, "{n} {name}: {actual:?}\nis not\n{expected:?}");
                    read += 1;
                }
            }
        }
    }
    let names: Vec<String> = unreadable
        .iter()
        .filter_map(|value| match value {
            Value::Object { type_name, .. } => Some(type_name.to_string()),
            _ => None,
        })
        .collect();
    println!("{read} generic structs are read, {} are not: {names:?}", unreadable.len());
    ensure!(read >= 1_090, "{read} are read, {names:?} are not");
    end(live, controller)
}

fn plain(n: i64) -> Value {
    let pair = |type_name: &str, names: [&str; 2], values: [Value; 2]| {
        object(type_name, names.into_iter().zip(values).collect())
    };
    let list = Value::Collection {
        type_name: "System.Collections.Generic.List<int>".into(),
        length: 1,
        items: vec![Value::Int(n)],
    };
    object(
        "Plain",
        vec![
            ("Small", Value::UInt(7)),
            (
                "Tuple",
                pair(
                    "System.ValueTuple<int, string>",
                    ["Item1", "Item2"],
                    [Value::Int(n), text(&format!("text {n}"))],
                ),
            ),
            (
                "Entry",
                pair(
                    "System.Collections.Generic.KeyValuePair<string, Point>",
                    ["key", "value"],
                    [text("key"), point(n, 0.5)],
                ),
            ),
            (
                "Nested",
                pair(
                    "Two<byte, Two<string, long>>",
                    ["First", "Second"],
                    [
                        Value::UInt(1),
                        pair("Two<string, long>", ["First", "Second"], [text("inner"), Value::Int(n)]),
                    ],
                ),
            ),
            (
                "Some",
                pair("System.ValueTuple<int, int>", ["Item1", "Item2"], [Value::Int(n), Value::Int(-n)]),
            ),
            ("None", Value::Null),
            (
                "List",
                pair("Two<System.Collections.Generic.List<int>, Kind>", ["First", "Second"], [list, kind(1)]),
            ),
            ("Offset", shown("System.DateTimeOffset", "2024-12-31T23:59:59-01:30".into())),
            ("Password", Value::Omitted(OmittedReason::RedactedName)),
        ],
    )
}

/// Fields of a class that is not generic.
fn plain_classes_have_them_too(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let calls = calls(&mut live, &mut controller, "plain", 1)?;
    let call = calls.first().context("a call")?;
    let expected = plain(5);
    ensure!(call.arguments[1] == expected, "{:?}\nis not\n{expected:?}", call.arguments[1]);
    end(live, controller)
}

/// Four threads, and a collector that moves everything meanwhile.
fn they_are_true_beside_the_collector(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let calls = calls(&mut live, &mut controller, "threads", 4 * 40)?;
    for call in &calls {
        let (n, fields) = fields_of(call)?;
        ensure!(!fields.iter().any(|(_, value)| *value == UNREADABLE), "{fields:?}");
        ensure!(call.arguments[1] == plain(n), "{:?}\nis not\n{:?}", call.arguments[1], plain(n));
    }
    end(live, controller)
}

on_each_runtime!(
    every_pair_is_true_or_unreadable,
    plain_classes_have_them_too,
    they_are_true_beside_the_collector,
);

//! Traced calls are exactly those that meet a dial's condition (`programs/traced.cs`).

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::trace::{TracedCall, Value};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, end, list, say, start, warm_up};
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};

const PRIMITIVES: &str = "traced!Traced.Primitives(bool, char, sbyte, byte, short, ushort, int, uint, long, ulong, float, double, nint)";

/// Whether call number `i` meets a condition.
type Truth = fn(i64) -> bool;

fn order(pattern: &str, when: &str) -> Order {
    Order { when: Some(when.to_owned()), ..Order::new(pattern, Level::Trace) }
}

/// Traces a method under a condition, executes a command, and returns the calls with the number of undecided ones.
fn calls_when(
    (live, controller): (&mut LiveHost, &mut Controller),
    order: Order,
    command: &str,
) -> Result<(Vec<TracedCall>, u64)> {
    let pattern = order.pattern.clone();
    let before = undecided(controller, &pattern)?;
    let latest = list(controller, false)?.calls.iter().map(|call| call.number).max().unwrap_or_default();
    let report = controller.order(vec![order], Lifetime::Kept)?;
    ensure!(report.accepted == 1, "{report:?}");
    say(&mut live.host, command)?;
    let Calls { mut calls, .. } = list(controller, false)?;
    // Those of an earlier condition may still be kept.
    calls.retain(|call| call.number > latest);
    let undecided = undecided(controller, &pattern)? - before;
    controller.order(vec![Order::new(pattern, Level::Off)], Lifetime::Kept)?;
    Ok((calls, undecided))
}

fn undecided(controller: &mut Controller, pattern: &str) -> Result<u64> {
    let answer =
        controller.ask(WireCommand::Calls { pattern: Some(pattern.to_owned()), in_flight: false })?;
    let Reply::Calls { .. } = answer.reply else { anyhow::bail!("{:?}", answer.reply) };
    let of_page = |page: &Event| match page {
        Event::Calls { dropped, .. } => dropped.clone(),
        _ => Vec::new(),
    };
    Ok(answer.calls.iter().flat_map(of_page).map(|dropped| dropped.undecided).sum())
}

/// Conditions on numbers, characters and truth values, in IL and in the helper, over sixty calls each.
fn numbers(runtime: Runtime) -> Result<()> {
    const CASES: [(&str, Truth); 22] = [
        ("flag", |i| i % 2 == 0),
        ("!flag && i4 <= -70", |i| i % 2 == 1 && i >= 10),
        ("letter == 'C' || letter == 'D'", |i| matches!(i % 26, 2 | 3)),
        ("i1 < -55", |i| i > 55),
        ("u1 == 7", |i| i == 7),
        ("i2 >= -9 && u2 > 3u", |i| (2..=3).contains(&i)),
        ("u2 != 30", |i| i != 10),
        ("u4 > 406", |i| i > 58),
        ("i8 == -5000015", |i| i == 5),
        ("u8 > 58000174u", |i| i > 58),
        ("u8 < 2", |i| i == 0),
        ("r4 > 29.0 || r4 == 0.5", |i| i == 59 || i == 1),
        ("r8 <= 0.25", |i| i <= 1),
        ("native == -3", |i| i == 3),
        ("i4 in [-7, -14, 5]", |i| i == 1 || i == 2),
        // The helper decides these.
        ("i4 + 7 == 0", |i| i == 1),
        ("u8 % 1000003u == 0u && i4 * 2 < -800", |i| i > 57),
        ("result == -4999980 || result == 0", |i| i == 5 || i == 0),
        ("flag ? i4 < -400 : i4 > -15", |i| if i % 2 == 0 { i > 57 } else { i < 3 }),
        ("double(i4) < r8 && i4 > -20 && exception == null", |i| (1..3).contains(&i)),
        ("duration < duration(\"1m\") && u1 > 57", |i| i > 57),
        ("duration > duration(\"1m\")", |_| false),
    ];
    let (mut live, mut controller) = start(runtime)?;
    for (when, truth) in CASES {
        let expected: Vec<i64> = (0..60).filter(|i| truth(*i)).collect();
        let (calls, undecided) =
            calls_when((&mut live, &mut controller), order(PRIMITIVES, when), "primitives 60")?;
        let found: Vec<i64> = calls.iter().map(number).collect::<Result<_>>()?;
        ensure!(found == expected && undecided == 0, "{when}: {found:?}, {undecided} undecided");
    }
    end(live, controller)
}

/// Returns the number of a call of `Primitives`.
fn number(call: &TracedCall) -> Result<i64> {
    match call.arguments.get(6) {
        Some(Value::Int(value)) => Ok(value / -7),
        other => anyhow::bail!("{other:?}"),
    }
}

/// Conditions on strings, enums and exceptions.
fn strings_enums_and_exceptions(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let mut count = |pattern: &str, when: &str, command: &str| -> Result<(usize, u64)> {
        let (calls, undecided) = calls_when((&mut live, &mut controller), order(pattern, when), command)?;
        Ok((calls.len(), undecided))
    };
    let strings = "traced!Traced.Strings";
    for (when, expected) in [
        ("first == 'first 7'", 1),
        ("first.startsWith('first 1')", 11),
        ("first.endsWith('9') && size(last) > 20", 3),
        ("last.contains('bb') || first in ['first 0']", 2),
        ("first < 'first 2'", 12),
        ("result.size() >= 55", 3),
        ("first == null", 0),
    ] {
        let found = count(strings, when, "strings 50")?;
        ensure!(found == (expected, 0), "{when}: {found:?}");
    }
    ensure!(count(strings, "first == null", "odd-strings")? == (1, 0));
    ensure!(count(strings, "last == 'z' || size(last) == 5000", "odd-strings")? == (1, 0));
    // Null has no size, and only the beginning of a long string is known.
    ensure!(count(strings, "size(first) > 3", "odd-strings")? == (1, 1));
    ensure!(count(strings, "last.endsWith('z')", "odd-strings")? == (0, 1));
    let enums = "traced!Traced.Enums";
    ensure!(count(enums, "own == 'Small' && day == 'Friday' && unnamed == 42", "enums")? == (1, 0));
    ensure!(count(enums, "day in ['Monday', 'Sunday']", "enums")? == (0, 0));
    let fails = "traced!Traced.Fails";
    ensure!(count(fails, "exception != null", "fails 10")? == (5, 0));
    ensure!(count(fails, "exception.message == 'number 4' || number == 3", "fails 10")? == (2, 4));
    ensure!(count(fails, "exception == null && result > 5", "fails 10")? == (2, 0));
    let is_invalid = "exception != null && exception.type == 'System.InvalidOperationException'";
    ensure!(count(fails, is_invalid, "fails 10")? == (5, 0));
    ensure!(count(fails, &format!("{is_invalid} && number > 4"), "fails 10")? == (2, 0));
    let other = "exception != null && exception.type in ['System.Exception', 'InvalidOperationException']";
    ensure!(count(fails, other, "fails 10")? == (0, 0));
    end(live, controller)
}

/// Conditions on fields of objects and structs, by the objects' own classes.
fn fields(runtime: Runtime) -> Result<()> {
    const CASES: [(&str, &str, Truth); 9] = [
        ("Objects", "order.Id == 7 && declared.Name == 'order 7'", |i| i == 7),
        ("Objects", "order.Next.Name == 'order 5' && nothing == null", |i| i == 4),
        ("Objects", "order.At.Y > 8.6", |i| i > 17),
        ("Objects", "order.Price >= 4.5", |i| i >= 18),
        ("Objects", "order.Took < duration('1s') && order.Count == 2", |i| i == 2),
        ("Objects", "has(order.Next) && order.Kind == 1 && order.Boxed < 4", |i| i % 2 == 1 && i < 4),
        ("Structs", "named.At.X == 3 && some == 3 && none == null", |i| i == 3),
        ("Collections", "size(numbers) == 20 && list.size() == 3 && stock.size() == 2", |_| true),
        ("Collections", "size(orders) > 1", |_| false),
    ];
    let (mut live, mut controller) = start(runtime)?;
    // Once without a condition, until all classes are known.
    controller.order(vec![Order::new("traced!Traced.*", Level::Trace)], Lifetime::Kept)?;
    warm_up(&mut live.host, &mut controller, "shapes 1")?;
    controller.order(vec![Order::new("traced!Traced.*", Level::Off)], Lifetime::Kept)?;
    for (method, when, truth) in CASES {
        let pattern = format!("traced!Traced.{method}");
        let expected = (0..20).filter(|i| truth(*i)).count();
        let (calls, undecided) =
            calls_when((&mut live, &mut controller), order(&pattern, when), "shapes 20")?;
        ensure!(
            (calls.len(), undecided) == (expected, 0),
            "{when}: {undecided} undecided, {} calls",
            calls.len()
        );
    }
    // A field that no object has.
    let wrong = order("traced!Traced.Objects", "order.Nothing == 1");
    let (calls, undecided) = calls_when((&mut live, &mut controller), wrong, "shapes 20")?;
    ensure!((calls.len(), undecided) == (0, 20), "{undecided} undecided, {} calls", calls.len());
    end(live, controller)
}

/// A condition sorts calls out before the rate limits them.
fn rates_count_only_wanted_calls(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    for when in ["i4 == -350", "i4 + 0 == -350", "result == 7 * 50 - 50000150"] {
        let options = TimeOptions { rate: Some(1), ..TimeOptions::default() };
        let rare = Order { options, ..order(PRIMITIVES, when) };
        let (calls, undecided) = calls_when((&mut live, &mut controller), rare, "primitives 60")?;
        let numbers: BTreeSet<i64> = calls.iter().map(number).collect::<Result<_>>()?;
        ensure!((numbers, undecided) == (BTreeSet::from([50]), 0), "{when}: {calls:?}");
    }
    end(live, controller)
}

/// The command line: calls of a condition, a condition that fits some methods, and wrong ones.
fn command_line(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("traced")?.command(runtime)?)?;
    let dial = |live: &LiveHost, arguments: &[&str]| live.redial("dial", arguments);
    let wrong = dial(&live, &["traced!Traced.Fails", "trace", "--when", "number = 3"])?;
    ensure_messages(&wrong, 2, &["the condition needs '==' here", "  number = 3\n", "redial:          ^"])?;
    let misfit = dial(&live, &["traced!Traced.Fails", "trace", "--when", "amount > 3"])?;
    let offers = "no value 'amount'; it has number (int), how (string), result (int), exception, duration";
    ensure!(misfit.code()? == 1, "{}", misfit.output());
    for part in [offers, "amount > 3\n", "^\n", "traced!Traced.Fails(int, string)"] {
        ensure!(misfit.stdout.contains(part), "nothing of {part} in {}", misfit.output());
    }
    for (when, part) in [
        ("exception.type == 3", "string and int"),
        ("exception.Type == 'x'", "exception.type (string), exception.message (string)"),
    ] {
        let wrong = dial(&live, &["traced!Traced.Fails", "trace", "--when", when])?;
        ensure!(wrong.code()? == 1 && wrong.stdout.contains(part), "{when}: {}", wrong.output());
    }
    let planned = dial(&live, &["traced!Traced.Fails", "trace", "--when", "amount > 3", "--plan"])?;
    ensure!(planned.code()? == 1 && planned.stdout.contains(offers), "{}", planned.output());
    let planned = dial(&live, &["traced!Traced.*", "trace", "--when", "number > 3", "--plan"])?;
    ensure!(planned.stdout.contains("the condition does not fit"), "{}", planned.output());
    let some = dial(&live, &["traced!Traced.*", "trace", "--when", "number > 3"])?;
    ensure!(some.code()? == 7 && some.stdout.contains("the condition does not fit"), "{}", some.output());
    dial(&live, &["traced!Traced.*", "off"])?.ok()?;
    let below = dial(&live, &["traced!Traced.Fails", "time", "--when", "number > 3"])?;
    ensure_messages(&below, 2, &["--when needs level trace"])?;

    dial(&live, &["traced!Traced.Fails", "trace", "--when", "number > 3"])?.ok()?;
    live.host.ask("fails 6", "done")?;
    let listed = live.redial("events", &["--json"])?.ok()?.stdout;
    ensure!(listed.lines().count() == 2 && listed.contains("\"value\":5"), "{listed}");
    // Another condition takes effect at once.
    dial(&live, &["traced!Traced.Fails", "trace", "--when", "number == 0"])?.ok()?;
    live.host.ask("fails 6", "done")?;
    let listed = live.redial("events", &["--json", "--count", "1"])?.ok()?.stdout;
    ensure!(listed.contains("\"args\":[{\"name\":\"number\",\"type\":\"int\",\"value\":0}"), "{listed}");
    let saved = live.redial("save", &[])?.ok()?.stdout;
    ensure!(
        saved.starts_with("# redial dials 2\n") && saved.contains("= trace when=\"number == 0\""),
        "{saved}"
    );
    dial(&live, &["traced!Traced.*", "off"])?.ok()?;
    let file = std::env::temp_dir().join(format!("redial-conditions-{}.redial", live.pid));
    std::fs::write(&file, saved)?;
    live.redial("apply", &[file.to_str().context("a path")?])?.ok()?;
    std::fs::remove_file(&file)?;
    // Those of the dial before may still be kept.
    let kept = |live: &LiveHost| anyhow::Ok(live.redial("events", &["--json"])?.ok()?.stdout.lines().count());
    let before = kept(&live)?;
    live.host.ask("fails 6", "done")?;
    let after = kept(&live)?;
    ensure!(after == before + 1, "{before}, {after}");
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

on_each_runtime!(numbers, strings_enums_and_exceptions, fields, rates_count_only_wanted_calls, command_line,);

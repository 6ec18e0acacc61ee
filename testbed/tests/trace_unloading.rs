//! Traced calls with objects and exceptions of modules that unload: they keep the names and values that were captured, or say
//! that these are not known; nothing else ever takes their place.
//!
//! Two modules with other classes take turns, so that a class may get the address of one that is gone.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::trace::{InnerException, OmittedReason, Outcome, TracedCall, Value};
use redial_testbed::controller::Controller;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, list, text, trace};
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{programs, soak};

#[test]
fn calls_keep_unloaded_names_net_3_1() -> Result<()> {
    calls_keep_unloaded_names(Runtime::V3_1)
}

#[test]
fn calls_keep_unloaded_names_net_8_0() -> Result<()> {
    calls_keep_unloaded_names(Runtime::V8_0)
}

const PENDING: Value = Value::Omitted(OmittedReason::Pending);
/// Calls after which the classes of a module must be known.
const MAX_CALLS: usize = 1_000;
/// Calls of a round after which its module unloads.
const KNOWN_CALLS: usize = 4;
const PAUSE: Duration = Duration::from_millis(5);

/// The module of a round.
fn plugin(round: i64) -> &'static str {
    if round % 2 == 0 { "Parcels" } else { "Letters" }
}

fn object(type_name: &str, fields: Vec<(&str, Value)>) -> Value {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Value::Object { type_name: type_name.into(), fields }
}

fn collection(type_name: &str, items: Vec<Value>) -> Value {
    Value::Collection { type_name: type_name.into(), length: items.len() as u64, items }
}

fn parcel(number: i64, shown: Value, weight: f64, inner: Value) -> Value {
    let weight = Value::Double(weight.to_bits());
    object(
        "Parcels.Parcel",
        vec![("Number", Value::Int(number)), ("Text", shown), ("Weight", weight), ("Inner", inner)],
    )
}

/// The arguments of `Passing.Pass` in a round. The first one is also its result.
fn passed(round: i64) -> Vec<Value> {
    if plugin(round) == "Parcels" {
        let whole = |inner| parcel(round, text(&format!("parcel {round}")), round as f64 * 0.5, inner);
        let inner = parcel(-round, Value::Null, 0.0, Value::Null);
        let item = || whole(Value::Omitted(OmittedReason::Depth));
        return vec![
            Value::Int(round),
            whole(inner),
            collection("Parcels.Parcel[]", vec![item()]),
            collection("System.Collections.Generic.List<Parcels.Parcel>", vec![item()]),
        ];
    }
    let stamp = object(
        "Letters.Stamp",
        vec![("Code", Value::Int(1_000_000_007 * round)), ("Country", text(&format!("country {round}")))],
    );
    let letter = object(
        "Letters.Letter",
        vec![("To", text(&format!("to {round}"))), ("Stamp", stamp.clone()), ("From", Value::Null)],
    );
    let letters = Value::Dictionary {
        type_name: "System.Collections.Generic.Dictionary<int, Letters.Letter>".into(),
        length: 1,
        entries: vec![(Value::Int(round), letter.clone())],
    };
    vec![Value::Int(round), letter, collection("Letters.Stamp[]", vec![stamp]), letters]
}

/// How a captured value compares with the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Wrong,
    /// Some of it was not known yet, and says so.
    Pending,
    Whole,
}

fn compare(actual: &Value, expected: &Value) -> Match {
    if *actual == PENDING {
        return Match::Pending;
    }
    let all = |pairs: Vec<(&Value, &Value)>| {
        pairs.into_iter().map(|(actual, expected)| compare(actual, expected)).min().unwrap_or(Match::Whole)
    };
    match (actual, expected) {
        // An object whose class has a name only.
        (
            Value::Object { type_name, fields },
            Value::Object { type_name: wanted, .. }
            | Value::Collection { type_name: wanted, .. }
            | Value::Dictionary { type_name: wanted, .. },
        ) if type_name == wanted && matches!(&fields[..], [(name, PENDING)] if name.is_empty()) => {
            Match::Pending
        }
        (Value::Object { type_name, fields }, Value::Object { type_name: wanted, fields: expected })
            if type_name == wanted
                && fields.len() == expected.len()
                && fields.iter().zip(expected).all(|(field, wanted)| field.0 == wanted.0) =>
        {
            all(fields.iter().map(|(_, value)| value).zip(expected.iter().map(|(_, value)| value)).collect())
        }
        (
            Value::Collection { type_name, length, items },
            Value::Collection { type_name: wanted, length: wanted_length, items: expected },
        ) if (type_name, length, items.len()) == (wanted, wanted_length, expected.len()) => {
            all(items.iter().zip(expected).collect())
        }
        (
            Value::Dictionary { type_name, length, entries },
            Value::Dictionary { type_name: wanted, length: wanted_length, entries: expected },
        ) if (type_name, length, entries.len()) == (wanted, wanted_length, expected.len()) => all(entries
            .iter()
            .flat_map(|(key, value)| [key, value])
            .zip(expected.iter().flat_map(|(key, value)| [key, value]))
            .collect()),
        _ if actual == expected => Match::Whole,
        _ => Match::Wrong,
    }
}

/// Compares a call with what the program passed in its round.
fn check(call: &TracedCall) -> Result<Match> {
    let Some(Value::Int(round)) = call.arguments.first() else { bail!("{call:?}") };
    let matched = match &call.outcome {
        Outcome::Returned(Some(result)) => {
            let expected = passed(*round);
            ensure!(call.arguments.len() == expected.len(), "{call:?}");
            let arguments =
                call.arguments.iter().zip(&expected).map(|(actual, wanted)| compare(actual, wanted));
            arguments.min().into_iter().chain([compare(result, &expected[1])]).min().context("a value")?
        }
        Outcome::Thrown { type_name, message, inner } => {
            let class = if plugin(*round) == "Parcels" { "Parcels.Failure" } else { "Letters.Lost" };
            let [InnerException { type_name: inner_type, message: inner_message }] = &inner[..] else {
                bail!("{call:?}")
            };
            let expected =
                [format!("outer {round}"), format!("inner {round}")].map(|shown| Some(text(&shown)));
            ensure!([message, inner_message] == [&expected[0], &expected[1]], "{call:?}");
            match [type_name.as_deref(), inner_type.as_deref()] {
                [Some(outer), Some(inner)] if (outer, inner) == (class, class) => Match::Whole,
                // The module is gone.
                [None, None] => Match::Pending,
                _ => Match::Wrong,
            }
        }
        Outcome::Returned(None) | Outcome::InFlight => Match::Wrong,
    };
    ensure!(matched != Match::Wrong, "{call:?}\nis not\n{:?}", passed(*round));
    Ok(matched)
}

/// Whole calls of `Passing.Pass` by their numbers, for comparison with later lists.
type Whole = HashMap<u64, TracedCall>;

/// Checks each call of a list, and that those that were whole are as before. Returns how the latest calls match.
fn check_list(calls: &Calls, whole: &mut Whole) -> Result<[Match; 2]> {
    let mut latest = Vec::new();
    for name in [".Pass", ".Fail"] {
        let mut matched = None;
        for call in calls.of(name) {
            let found = check(call)?;
            matched = Some(found);
            if name == ".Pass" {
                let before = whole.get(&call.number);
                ensure!(before.is_none_or(|before| before == call), "{call:?}\nwas\n{before:?}");
                if found == Match::Whole {
                    whole.entry(call.number).or_insert_with(|| call.clone());
                }
            }
        }
        latest.push(matched.with_context(|| format!("no call of {name}"))?);
    }
    latest.try_into().map_err(|_| anyhow::anyhow!("two methods"))
}

/// Calls the methods of a round once, or until all classes are known and some times more.
fn call(live: &mut LiveHost, controller: &mut Controller, round: i64, whole: &mut Whole) -> Result<()> {
    let plugin = plugin(round);
    live.host.ask(&format!("load-plugin {plugin}"), "loaded")?;
    // In each third round the module unloads while its classes may still be looked up.
    let calls = if round % 3 == 2 { 1 } else { MAX_CALLS };
    let mut known = 0;
    for _ in 0..calls {
        live.host.ask(&format!("pass {plugin} {round}"), "passed")?;
        let found = check_list(&list(controller, false)?, whole)?;
        // The module of an exception is loaded.
        ensure!(found[1] == Match::Whole, "the exception of round {round} has no type");
        // Once known, a class stays known.
        ensure!(found[0] == Match::Whole || known == 0, "a class of round {round} was forgotten");
        known += usize::from(found[0] == Match::Whole);
        if known == KNOWN_CALLS {
            return Ok(());
        }
        if calls > 1 && known == 0 {
            std::thread::sleep(PAUSE);
        }
    }
    ensure!(calls == 1, "the classes of round {round} stay unknown");
    Ok(())
}

/// Takes the streamed calls up to a number, and checks each.
fn check_stream(controller: &mut Controller, until: u64) -> Result<()> {
    let mut latest = 0;
    while latest < until {
        let page = controller.wait_for("calls", |event| match event {
            Event::Calls { id: None, calls, unread, .. } => Some((calls.clone(), *unread)),
            _ => None,
        })?;
        ensure!(page.1 == 0, "{} calls were not read in time", page.1);
        for call in &page.0 {
            check(call)?;
            latest = latest.max(call.number);
        }
    }
    Ok(())
}

fn calls_keep_unloaded_names(runtime: Runtime) -> Result<()> {
    let command = programs::named("collectible")?.command(runtime)?;
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    trace(&mut controller, "collectible!Passing.Pass")?;
    trace(&mut controller, "collectible!Passing.Fail")?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    let rounds = soak::scaled(25, 20) as i64; // the last one is no third round
    let mut whole = Whole::new();
    for round in 0..rounds {
        call(&mut live, &mut controller, round, &mut whole).with_context(|| format!("round {round}"))?;
        live.host.ask("unload", "unloaded")?;
        let calls = list(&mut controller, false)?;
        check_list(&calls, &mut whole).with_context(|| format!("after round {round}"))?;
        let until = calls.calls.iter().map(|call| call.number).max().context("a call")?;
        check_stream(&mut controller, until).with_context(|| format!("the stream of round {round}"))?;
    }
    // The latest calls of many rounds are kept, all of modules that are gone.
    let calls = list(&mut controller, false)?;
    let kept = calls.of(".Pass").iter().filter(|call| whole.contains_key(&call.number)).count();
    println!("{}: {rounds} modules came and went; {kept} kept calls are whole", runtime.name());
    // The last round does not unload at once.
    ensure!(kept >= KNOWN_CALLS, "{kept} of {} calls are whole", calls.of(".Pass").len());
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

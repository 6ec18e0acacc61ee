//! Values of many shapes, captured in a real single-file program on .NET 10: they follow from the text of its requests.
#![cfg(target_os = "linux")]

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::trace::{Outcome, TracedCall, Value};
use redial_testbed::controller::Controller;
use redial_testbed::host::{DEADLINE, redial_run};
use redial_testbed::single_file::{Server, command};
use redial_testbed::traced::{self, Calls, returned, text};
use serde_json::json;

/// Methods that one search and one request for a document call.
const METHODS: [&str; 12] = [
    "*!*.CatalogSearchOptions.set_PageSize",
    "*!*.CatalogSearchCommand.ValidateOptions",
    "Microsoft.Mcp.Core!*.ValidationResult.get_Errors",
    "Microsoft.Mcp.Core!*.BaseCommand`2.SetValidationError",
    "Microsoft.Mcp.Core!<>z__ReadOnlyArray`1..ctor",
    "Microsoft.Mcp.Core!*.CommandExtensions.ConvertJsonElementToString",
    "Microsoft.Mcp.Core!*.RegexHelper.CreateRegex",
    "ModelContextProtocol.Core!*.JsonRpcMessageWithId.set_Id",
    "ModelContextProtocol.Core!*.CallToolRequestParams.set_Arguments",
    "ModelContextProtocol.Core!*.CallToolResult.set_IsError",
    "System.Private.CoreLib!System.Buffers.Text.Utf8Parser.TryParseInt64D",
    "System.Private.CoreLib!System.TimeSpan.get_Ticks",
];

const PROBLEM: &str = "Page size must be between 1 and 1000.";

/// What one round of requests said.
struct Round {
    search: String,
    page_size: i64,
    topic: String,
    /// Number of the search.
    id: i64,
}

impl Round {
    /// Sends a search that the program refuses without asking anybody, and asks for a document that does not exist.
    fn send(server: &mut Server, number: i64) -> Result<Round> {
        let (search, topic) = (format!("words {number} é"), format!("topic {number}"));
        let page_size = 5_000 + number;
        server.call("docs_best-practices", &json!({ "topic": topic }))?;
        let answer =
            server.call("core_search-catalog", &json!({ "search": search, "page-size": page_size }))?;
        ensure!(answer.contains(PROBLEM), "{answer}");
        let id = serde_json::from_str::<serde_json::Value>(&answer)?["id"].as_i64().context("an id")?;
        Ok(Round { search, page_size, topic, id })
    }
}

/// Returns a captured argument.
fn argument<'a>(calls: &Calls, call: &'a TracedCall, name: &str) -> Result<&'a Value> {
    let planned = &calls.methods[&call.plan].parameters;
    let index = planned.iter().position(|one| one.name == name).with_context(|| format!("no {name}"))?;
    call.arguments.get(index).context("an argument")
}

/// Returns a field of an object.
fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value> {
    let Value::Object { fields, .. } = value else { bail!("{value:?} has no {name}") };
    let found = fields.iter().find(|(field, _)| field == name);
    found.map(|(_, value)| value).with_context(|| format!("no {name} in {value:?}"))
}

fn bytes(type_name: &str, text: &str) -> Value {
    let items = text.bytes().map(|byte| Value::UInt(byte.into())).collect();
    Value::Collection { type_name: type_name.into(), length: text.len() as u64, items }
}

fn enum_value(type_name: &str, name: &str, value: i64) -> Value {
    Value::Enum { type_name: type_name.into(), name: Some(name.into()), value }
}

/// Checks the latest call of a method for which a check succeeds; fails with the result for the latest one.
fn one_of(calls: &Calls, method: &str, check: impl Fn(&TracedCall) -> Result<()>) -> Result<()> {
    let mut of_method = calls.of(method);
    of_method.sort_by_key(|call| call.number);
    let latest = of_method.last().with_context(|| format!("no call of {method}"))?;
    if of_method.iter().any(|call| check(call).is_ok()) {
        return Ok(());
    }
    check(latest).with_context(|| format!("{method}: {latest:?}"))
}

fn ensure_equal(actual: &Value, expected: &Value) -> Result<()> {
    ensure!(actual == expected, "{actual:?}\nis not\n{expected:?}");
    Ok(())
}

fn ensure_round(calls: &Calls, round: &Round) -> Result<()> {
    let digits = round.page_size.to_string();
    let is = |call: &TracedCall, name: &str, expected: Value| {
        ensure_equal(argument(calls, call, name)?, &expected)
    };
    // `int?`, and an object with one.
    one_of(calls, "CatalogSearchOptions.set_PageSize", |call| {
        is(call, "value", Value::Int(round.page_size))
    })?;
    one_of(calls, "CatalogSearchCommand.ValidateOptions", |call| {
        let options = argument(calls, call, "options")?;
        ensure_equal(field(options, "Search")?, &text(&round.search))?;
        ensure_equal(field(options, "Filter")?, &Value::Null)?;
        ensure_equal(field(options, "PageSize")?, &Value::Int(round.page_size))
    })?;
    // A list, of one more call with the same result each time.
    one_of(calls, "ValidationResult.get_Errors", |call| {
        let errors = Value::Collection {
            type_name: "System.Collections.Generic.List<string>".into(),
            length: 1,
            items: vec![text(PROBLEM)],
        };
        ensure!(call.outcome == returned(errors), "{:?}", call.outcome);
        Ok(())
    })?;
    one_of(calls, "SetValidationError", |call| {
        is(call, "errorMessage", text(PROBLEM))?;
        is(call, "statusCode", enum_value("System.Net.HttpStatusCode", "BadRequest", 400))
    })?;
    // An array.
    one_of(calls, "ReadOnlyArray<T>..ctor", |call| {
        let Value::Collection { type_name, length: 4, items } = argument(calls, call, "items")? else {
            bail!("{call:?}")
        };
        ensure!(type_name == "string[]", "{type_name}");
        let expected = ["--search", &*round.search, "--page-size", &*digits].map(text);
        ensure!(expected.iter().all(|word| items.contains(word)), "{items:?}");
        Ok(())
    })?;
    // A struct with an object that has a generic struct: the digits of the number.
    one_of(calls, "ConvertJsonElementToString", |call| {
        let document = field(argument(calls, call, "element")?, "_parent")?;
        let memory = Value::Object {
            type_name: "System.ReadOnlyMemory<byte>".into(),
            fields: vec![
                ("_object".into(), bytes("byte[]", &digits)),
                ("_index".into(), Value::Int(0)),
                ("_length".into(), Value::Int(digits.len() as i64)),
            ],
        };
        ensure_equal(field(document, "_utf8Json")?, &memory)?;
        ensure!(call.outcome == returned(text(&digits)), "{:?}", call.outcome);
        Ok(())
    })?;
    one_of(calls, "RegexHelper.CreateRegex", |call| {
        is(call, "pattern", text(&round.topic))?;
        is(call, "options", enum_value("System.Text.RegularExpressions.RegexOptions", "None", 0))
    })?;
    // A struct with a boxed number.
    one_of(calls, "JsonRpcMessageWithId.set_Id", |call| {
        ensure_equal(field(argument(calls, call, "value")?, "Id")?, &Value::Int(round.id))
    })?;
    // A dictionary.
    one_of(calls, "CallToolRequestParams.set_Arguments", |call| {
        let Value::Dictionary { type_name, length: 2, entries } = argument(calls, call, "value")? else {
            bail!("{call:?}")
        };
        ensure!(type_name.ends_with("Dictionary<string, System.Text.Json.JsonElement>"), "{type_name}");
        let mut keys: Vec<&Value> = entries.iter().map(|(key, _)| key).collect();
        keys.sort_by_key(|key| format!("{key:?}").len());
        ensure!(keys == [&text("search"), &text("page-size")], "{keys:?}");
        Ok(())
    })?;
    // `bool?`.
    one_of(calls, "CallToolResult.set_IsError", |call| is(call, "value", Value::Bool(true)))?;
    // A span, `out` parameters, and a truth value.
    one_of(calls, "TryParseInt64D", |call| {
        let id = round.id.to_string();
        is(call, "source", bytes("System.ReadOnlySpan<byte>", &id))?;
        let after: Vec<&Value> = call.arguments_after.iter().map(|(_, value)| value).collect();
        ensure!(after == [&Value::Int(round.id), &Value::Int(id.len() as i64)], "{after:?}");
        ensure!(call.outcome == returned(Value::Bool(true)), "{:?}", call.outcome);
        Ok(())
    })?;
    // A duration, as the struct that the method belongs to.
    one_of(calls, "TimeSpan.get_Ticks", |call| {
        let three_seconds = Value::Text { type_name: "System.TimeSpan".into(), text: "00:00:03".into() };
        is(call, "this", three_seconds)?;
        ensure!(call.outcome == Outcome::Returned(Some(Value::Int(30_000_000))), "{:?}", call.outcome);
        Ok(())
    })
}

#[test]
fn traces_known_shapes() -> Result<()> {
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    // Otherwise some methods run once before they are traced.
    Round::send(&mut server, 0)?;
    let mut controller = Controller::connect(server.host.only_child()?)?;
    for method in METHODS {
        traced::trace(&mut controller, method).with_context(|| method.to_owned())?;
    }
    let deadline = Instant::now() + DEADLINE;
    let mut number = 1;
    loop {
        let round = Round::send(&mut server, number)?;
        let compared = ensure_round(&traced::list(&mut controller, false)?, &round);
        number += 1;
        // Until the classes are known.
        if compared.is_ok() || Instant::now() > deadline {
            compared?;
            break;
        }
    }
    for number in number..number + 10 {
        let round = Round::send(&mut server, number)?;
        ensure_round(&traced::list(&mut controller, false)?, &round)
            .with_context(|| format!("round {number}"))?;
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    ensure!(controller.all_off()?.1 == 0);
    server.finish().map(drop)
}

//! A real single-file program on .NET 10: a server that speaks JSON-RPC in lines. With dials on its answers
//! stay the same, its calls are counted exactly, and at the end every method runs its original code.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::callers::CallOrigin;
use redial_protocol::diagnostics::RowNote;
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::state::CopyState;
use redial_protocol::trace::{Outcome, TracedCall, Value};
use redial_testbed::controller::{Controller, Lifetime, full_name};
use redial_testbed::host::{self, DEADLINE, redial_run};
use redial_testbed::shop::{ReportFile, has_last_numbers};
use redial_testbed::single_file::{CALLED_ONCE, DOCS, Server, command, without_id};
use redial_testbed::state_counts::StateCounts;
use redial_testbed::thrown;
use redial_testbed::traced::{self, Calls};
use serde_json::json;

/// Number of timed conversations.
const CONVERSATIONS: u32 = 20;

/// Holds enough conversations to time them, and returns the answers and the duration.
fn conversations(server: &mut Server) -> Result<(Vec<String>, Duration)> {
    let began = Instant::now();
    let answers = (0..CONVERSATIONS).map(|_| server.conversation()).collect::<Result<Vec<_>>>()?;
    Ok((answers.concat(), began.elapsed()))
}

#[test]
fn dialling_everything_changes_no_answer() -> Result<()> {
    everything_changes_no_answer(Level::Count)
}

#[test]
fn tracing_everything_changes_no_answer() -> Result<()> {
    everything_changes_no_answer(Level::Trace)
}

fn everything_changes_no_answer(level: Level) -> Result<()> {
    let began = Instant::now();
    let mut plain = Server::start(command()?)?;
    let mut expected = vec![plain.initialize()?];
    expected.extend(plain.conversation()?);
    let first_alone = began.elapsed();
    let (answers, then_alone) = conversations(&mut plain)?;
    expected.extend(answers);
    expected.extend(plain.conversation()?);
    assert!(
        expected[1].len() > 10_000 && expected[2].contains("Success"),
        "it hardly does anything: {expected:?}"
    );
    let errors = plain.finish()?;

    let report = ReportFile::new(&format!("single-file-{level}"))?;
    let order = format!("*={level}");
    let options = ["--report", report.path(), "--dial", &order];
    let began = Instant::now();
    let mut server = Server::start(redial_run(&options, &command()?)?)?;
    let mut answers = vec![server.initialize()?];
    let mut controller = Controller::connect(server.host.only_child()?)?;
    assert!(controller.facts().runtime_version.starts_with("10."), "{:?}", controller.facts());
    controller.subscribe(Some(DOCS))?;
    controller.wait_until("all of a module dialled", |dials| {
        dials.len() > 100 && dials.values().all(|row| row.wanted == level)
    })?;
    answers.extend(server.conversation()?);
    let first = began.elapsed();
    for method in CALLED_ONCE {
        let row = controller.row(method)?;
        assert!(row.state == CopyState::Live && row.calls > 0, "{row:?}");
    }
    let (more, then) = conversations(&mut server)?;
    answers.extend(more);

    let dialled = StateCounts::of_rows(&controller.status(None)?);
    println!(
        "a single-file server on .NET 10, everything at {level}: {dialled}; {first:.1?} beside {first_alone:.1?} to its \
         first answers, {then:.1?} beside {then_alone:.1?} for {CONVERSATIONS} times as many"
    );
    dialled.ensure_sound()?;
    if level == Level::Trace {
        traced::ensure_bounded(&mut controller)?;
    }
    let status = controller.agent_status()?;
    assert!(status.kept > 50_000 && status.guard_trips == 0, "{status:?}");
    let (reverted, remaining) = controller.all_off()?;
    // Threads that wait for work are still in timed bodies.
    let waiting = if level == Level::Count { 0 } else { 500 };
    assert!(
        reverted + remaining >= status.kept && remaining <= waiting,
        "{reverted} of {} off, {remaining} not",
        status.kept
    );
    let before = controller.status(Some(DOCS))?;
    answers.extend(server.conversation()?);
    let after = controller.status(Some(DOCS))?;
    assert_eq!(calls(&after), calls(&before), "counted on when off");
    assert!(after.iter().all(|row| row.state == CopyState::Off), "{after:?}");
    assert_eq!(answers, expected);
    assert_eq!(server.finish()?, errors);
    let report = report.read()?;
    assert_eq!(report["exit_code"], 0);
    assert!(has_last_numbers(&report), "{}", report["note"]);
    assert!(report["status"].as_array().is_some_and(|rows| rows.len() > 50_000));
    Ok(())
}

/// The commands of one assembly derive from a generic class of another, and carry an attribute.
#[test]
fn finds_commands_by_base_class_and_attribute() -> Result<()> {
    const BY_NAME: &str = "Fabric.Mcp.Tools.Docs!*Command.ExecuteAsync";
    const BY_METADATA: [&str; 3] = [
        "Fabric.Mcp.Tools.Docs!implements:Microsoft.Mcp.Core.Commands.BaseCommand.ExecuteAsync",
        "Fabric.Mcp.Tools.Docs![CommandMetadata]*.ExecuteAsync",
        "[CommandMetadata]implements:Microsoft.Mcp.Core.Commands.BaseCommand<,>.ExecuteAsync",
    ];
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    let mut controller = Controller::connect(server.host.only_child()?)?;
    let mut copies = |pattern: &str, controller: &mut Controller| -> Result<BTreeMap<String, u64>> {
        controller.dial(pattern, Level::Count, Lifetime::Kept)?;
        server.best_practices()?;
        let rows = controller.status(None)?.into_iter().filter(|row| row.wanted == Level::Count);
        let ours = rows.filter(|row| row.module == "Fabric.Mcp.Tools.Docs");
        let calls = ours.map(|row| (full_name(&row), row.calls)).collect();
        controller.all_off()?;
        Ok(calls)
    };
    let mut called = copies(BY_NAME, &mut controller)?;
    ensure!(called.len() == 6 && called.values().sum::<u64>() == 1, "{called:?}");
    for pattern in BY_METADATA {
        // Rows keep their counts.
        called.values_mut().filter(|calls| **calls > 0).for_each(|calls| *calls += 1);
        let found = copies(pattern, &mut controller)?;
        ensure!(found == called, "{pattern}: {found:?}, not {called:?}");
    }
    server.finish()?;
    Ok(())
}

#[test]
fn counts_calls_exactly() -> Result<()> {
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    let expected = server.best_practices()?;
    let mut controller = Controller::connect(server.host.only_child()?)?;
    let report = controller.dial(DOCS, Level::Count, Lifetime::Kept)?;
    assert!(report.accepted > 100 && report.accepted + report.bodyless == report.matched, "{report:?}");
    let mut total = 0;
    for (version, round) in [(1, 5), (2, 3)] {
        for _ in 0..round {
            assert_eq!(without_id(&server.best_practices()?), without_id(&expected));
        }
        total += round;
        for method in CALLED_ONCE {
            let row = controller.row(method)?;
            assert_eq!(
                (row.state, row.version, row.calls),
                (CopyState::Live, Some(version), total),
                "{row:?}"
            );
        }
        controller.off(DOCS)?;
        server.best_practices()?;
        for method in CALLED_ONCE {
            let row = controller.row(method)?;
            assert_eq!((row.state, row.version, row.calls), (CopyState::Off, None, total), "{row:?}");
        }
        controller.dial(DOCS, Level::Count, Lifetime::Kept)?;
    }
    assert_eq!(controller.all_off()?, (report.accepted, 0));
    server.finish().map(drop)
}

/// Methods of one request for a document, by the ends of their names.
const REQUEST: [&str; 4] = [
    "GetBestPracticesOptions.set_Topic",
    "GetBestPracticesCommand.ExecuteAsync",
    "FabricPublicApiService.GetTopicBestPractices",
    "EmbeddedResourceProviderService.GetEmbeddedResource",
];

/// Arguments, fields, results and exceptions that follow from the text of requests and answers.
#[test]
fn traces_known_values() -> Result<()> {
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    let document = document(&server.best_practices()?)?;
    ensure!(document.len() > 1_000, "{document}");
    let mut controller = Controller::connect(server.host.only_child()?)?;
    for method in REQUEST {
        traced::trace(&mut controller, &format!("Fabric.Mcp.Tools.Docs!*.{method}"))?;
    }
    let deadline = Instant::now() + DEADLINE;
    loop {
        server.best_practices()?;
        let calls = traced::list(&mut controller, false)?;
        let latest = calls.calls.iter().map(|call| call.number).max().context("a call")?;
        let compared = ensure_request(&calls, latest, "pagination", Some(&document));
        // Until the classes are known.
        if compared.is_ok() || Instant::now() > deadline {
            compared?;
            break;
        }
    }
    for number in 0..10 {
        let unknown = format!("topic {number} é");
        for (topic, document) in [(&*unknown, None), ("pagination", Some(&*document))] {
            server.call("docs_best-practices", &json!({ "topic": topic }))?;
            let calls = traced::list(&mut controller, false)?;
            let latest = calls.calls.iter().map(|call| call.number).max().context("a call")?;
            ensure_request(&calls, latest, topic, document)?;
        }
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    ensure!(controller.all_off()?.1 == 0);
    server.finish().map(drop)
}

/// Conditions choose exactly the requests that the test means, with the way that led to each; async calls are followed.
#[test]
fn conditions_stacks_and_async_calls_are_as_known() -> Result<()> {
    const HANDLER: &str = "CommandFactoryToolLoader.CallToolHandler";
    let [_, execute, _, get_resource] = REQUEST;
    let options = TimeOptions { stack: true, ..TimeOptions::default() };
    let order = |pattern: String, when: &str| Order {
        options,
        when: Some(when.to_owned()),
        ..Order::new(pattern, Level::Trace)
    };
    let of_type = "exception != null && exception.type == 'System.ArgumentException'";
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    server.best_practices()?;
    let mut controller = Controller::connect(server.host.only_child()?)?;
    let orders = vec![
        order(format!("Fabric.Mcp.Tools.Docs!*.{execute}"), "options.Topic.endsWith('7')"),
        order(
            format!("Fabric.Mcp.Tools.Docs!*.{get_resource}"),
            &format!("{of_type} && resourceName > 'topic 7'"),
        ),
        order(format!("Microsoft.Mcp.Core!*.{HANDLER}"), "duration > duration('1us') && exception == null"),
    ];
    let report = controller.order(orders, Lifetime::Kept)?;
    ensure!(report.accepted >= 3 && report.refused.is_empty(), "{report:?}");
    let deadline = Instant::now() + DEADLINE;
    // Until the class of the options is known.
    while traced::list(&mut controller, false)?.of(execute).is_empty() {
        ensure!(Instant::now() < deadline, "no call");
        server.call("docs_best-practices", &json!({ "topic": "topic 7" }))?;
    }
    let before = traced::list(&mut controller, false)?.calls.iter().map(|call| call.number).max();
    for number in 0..10 {
        server.call("docs_best-practices", &json!({ "topic": format!("topic {number}") }))?;
    }
    let all = traced::list(&mut controller, false)?;
    let new = |method: &str| -> Vec<_> {
        all.of(method).into_iter().filter(|call| Some(call.number) > before).collect()
    };
    let leads_over = |call: &TracedCall, method: &str| {
        let is_it =
            |one: &CallOrigin| matches!(one, CallOrigin::Method { method: of, .. } if of.contains(method));
        call.stack.iter().any(is_it)
    };

    let executed = new(execute);
    ensure!(executed.len() == 1 && format!("{:?}", executed[0].arguments).contains("Topic"), "{executed:?}");
    ensure!(leads_over(executed[0], "CallToolHandler"), "{:?}", executed[0].stack);
    let failed = new(get_resource);
    for (call, number) in failed.iter().zip([8, 9]) {
        let text = traced::text(&format!("No resources match pattern 'topic {number}'."));
        ensure!(
            matches!(&call.outcome, Outcome::Thrown { message: Some(message), .. } if *message == text),
            "{call:?}"
        );
        ensure!(leads_over(call, "GetBestPracticesCommand"), "{:?}", call.stack);
    }
    ensure!(failed.len() == 2, "{failed:?}");
    let handled = new(HANDLER);
    ensure!(handled.len() == 10, "{handled:?}");
    for call in handled {
        ensure!(matches!(call.outcome, Outcome::Returned(Some(_))) && call.duration_ns.is_some(), "{call:?}");
        ensure!(call.course.is_some_and(|course| course.began && course.steps >= 1), "{call:?}");
        ensure!(!call.stack.is_empty(), "{call:?}");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    ensure!(controller.all_off()?.1 == 0);
    server.finish().map(drop)
}

/// Exceptions are counted with type, method and message, and reported only meanwhile.
#[test]
fn counts_thrown_exceptions() -> Result<()> {
    const TOPICS: u64 = 5;
    const THROWS: &str =
        "Microsoft.Mcp.Core!Microsoft.Mcp.Core.Helpers.EmbeddedResourceHelper.FindEmbeddedResource";
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    let mut controller = Controller::connect(server.host.only_child()?)?;
    for round in 1..=2 {
        thrown::stream(&mut controller, Some("*.ArgumentException"), Some(1_000))?;
        ensure!(controller.agent_status()?.exceptions_reported);
        for number in 0..TOPICS {
            server.call("docs_best-practices", &json!({ "topic": format!("topic {number}") }))?;
        }
        let all = thrown::stop(&mut controller)?;
        ensure!(!controller.agent_status()?.exceptions_reported);
        let row = ("System.ArgumentException", THROWS, TOPICS, 0);
        ensure!(all.counts() == thrown::expected(&[row]), "round {round}: {:?}", all.counts());
        let messages: Vec<_> =
            all.of("ArgumentException", THROWS).iter().map(|one| one.message.clone()).collect();
        let expected =
            (0..TOPICS).map(|number| traced::text(&format!("No resources match pattern 'topic {number}'.")));
        ensure!(messages == expected.collect::<Vec<_>>(), "{messages:?}");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    server.finish().map(drop)
}

/// Returns the document in an answer.
fn document(answer: &str) -> Result<String> {
    let answer: serde_json::Value = serde_json::from_str(answer)?;
    let content = answer["result"]["content"][0]["text"].as_str().context("a text")?;
    let content: serde_json::Value = serde_json::from_str(content)?;
    Ok(content["results"][0].as_str().context("a document")?.to_owned())
}

/// Checks the latest four calls, those of a request. Without a document there is none with that topic.
fn ensure_request(calls: &Calls, latest: u64, topic: &str, document: Option<&str>) -> Result<()> {
    let topic_value = traced::text(topic);
    let options = |topic: Value| Value::Object {
        type_name: "Fabric.Mcp.Tools.Docs.Options.BestPractices.GetBestPracticesOptions".into(),
        fields: vec![("Topic".to_owned(), topic)],
    };
    let found = document.map(|document| {
        let units: Vec<u16> = document.encode_utf16().collect();
        Value::String { length: units.len() as u32, units: units[..255].to_vec() }
    });
    let list = found.clone().map(|found| Value::Object {
        type_name: "<>z__ReadOnlySingleElementList<string>".into(),
        fields: vec![("_item".to_owned(), found)],
    });
    let failed = || Outcome::Thrown {
        type_name: Some("System.ArgumentException".into()),
        message: Some(traced::text(&format!("No resources match pattern '{topic}'."))),
        inner: vec![],
    };
    let outcome = |result: Option<Value>| result.map_or_else(failed, traced::returned);
    let [set_topic, execute, get_topic, get_resource] = REQUEST;
    for (method, parameters, expected) in [
        (
            set_topic,
            vec![("value", topic_value.clone()), ("this", options(Value::Null))],
            Some(Outcome::Returned(None)),
        ),
        (execute, vec![("options", options(topic_value.clone()))], None),
        (get_topic, vec![("topic", topic_value.clone())], Some(outcome(list))),
        (get_resource, vec![("resourceName", topic_value.clone())], Some(outcome(found))),
    ] {
        let of_method = calls.of(method);
        let call = of_method.last().with_context(|| format!("no call of {method}"))?;
        ensure!(latest - call.number < REQUEST.len() as u64, "{call:?} is not the latest");
        for (name, value) in parameters {
            let planned = &calls.methods[&call.plan].parameters;
            let index = planned.iter().position(|one| one.name == name).context(name)?;
            ensure!(call.arguments.get(index) == Some(&value), "{name} of {method}: {call:?}");
        }
        ensure!(expected.is_none_or(|expected| expected == call.outcome), "{method}: {call:?}");
    }
    Ok(())
}

/// The runtime is linked into the program. Its port loads the agent anyway, and counts are exact from then on.
#[test]
fn accepts_an_attach() -> Result<()> {
    let mut plain = Server::start(command()?)?;
    let mut expected = vec![plain.initialize()?];
    for _ in 0..3 {
        expected.extend(plain.conversation()?);
    }
    let errors = plain.finish()?;

    let mut server = Server::start(command()?)?;
    let pid = server.host.pid();
    let mut answers = vec![server.initialize()?];
    answers.extend(server.conversation()?);
    let attached = host::run(host::redial(&["attach", &pid.to_string()])?)?.ok()?;
    ensure!(attached.stdout.contains("loaded the agent into process"), "{}", attached.output());
    let mut controller = Controller::connect(pid)?;
    assert!(controller.facts().runtime_version.starts_with("10."), "{:?}", controller.facts());
    let report = controller.dial(DOCS, Level::Count, Lifetime::Kept)?;
    assert!(report.accepted > 100 && report.refused.is_empty(), "{report:?}");
    answers.extend(server.conversation()?);
    let row = controller.row(CALLED_ONCE[0])?;
    let called = row.calls;
    assert!(called > 0 && row.state == CopyState::Live, "{row:?}");
    for method in CALLED_ONCE {
        let before = controller.row(method)?.calls;
        for _ in 0..5 {
            server.best_practices()?;
            // Keep request numbers in the range of the other server.
            server.reuse_last_id();
        }
        let row = controller.row(method)?;
        let may_be_inlined = matches!(row.note, Some(RowNote::Inlined | RowNote::PerhapsInlined));
        assert!(row.calls - before == 5 || may_be_inlined, "{row:?}");
    }
    assert_eq!(controller.all_off()?.1, 0);
    let before = controller.status(Some(DOCS))?;
    answers.extend(server.conversation()?);
    assert_eq!(calls(&controller.status(Some(DOCS))?), calls(&before), "counted on when off");
    assert_eq!(answers, expected);
    assert_eq!(server.finish()?, errors);
    Ok(())
}

fn calls(rows: &[StatusRow]) -> Vec<(String, u64)> {
    rows.iter().map(|row| (full_name(row), row.calls)).collect()
}

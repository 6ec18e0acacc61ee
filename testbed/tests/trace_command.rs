//! `redial trace` and `redial events` on a program whose calls are known (`programs/traced.cs`).

use anyhow::{Context, Result, ensure};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};
use serde_json::{Value, json};

const STRINGS: &str = "traced!Traced.Strings";

fn start(runtime: Runtime) -> Result<LiveHost> {
    under_agent::start(programs::named("traced")?.command(runtime)?)
}

fn end(mut live: LiveHost) -> Result<()> {
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

/// Starts `redial trace` and waits until it traces.
fn trace(live: &LiveHost, arguments: &[&str]) -> Result<Host> {
    let mut tracing = Host::start_with_merged_output(live.command("trace", arguments)?)?;
    tracing.wait_for("redial: tracing")?;
    Ok(tracing)
}

/// Each line of text as JSON; drops the sentences of `redial`.
fn values(text: &str) -> Result<Vec<Value>> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))).collect()
}

/// Prints the calls that end while it runs, and leaves no dial behind.
fn traces_until_there_are_enough_calls(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let tracing = trace(&live, &[STRINGS, "-n", "3", "--json"])?;
    live.host.ask("strings 10", "done")?;
    let traced = tracing.finish()?;
    ensure!(traced.code()? == 0, "{}", traced.output());
    let calls = values(&traced.stdout)?;
    ensure!(calls.len() == 3, "{}", traced.output());
    for (i, call) in calls.iter().enumerate() {
        let expected = json!([
            { "name": "first", "type": "string", "value": format!("first {i}") },
            { "name": "password", "type": "string", "value": { "$omitted": "redacted-name" } },
            { "name": "last", "type": "string", "value": char::from(b'a' + i as u8).to_string().repeat(i) },
        ]);
        ensure!(call["args"] == expected, "{call}");
        ensure!(call["method"] == "Traced.Strings" && call["pid"] == live.pid, "{call}");
        ensure!(call["duration_ns"].is_u64() && call["dropped"] == 0 && call["thrown"].is_null(), "{call}");
    }
    ensure!(live.rows(STRINGS)?.iter().all(|row| row["wanted"] == "off"), "its dial stays");
    end(live)
}

/// Calls whose condition cannot be decided are in the sentence at the end of a trace, and in JSON. Of three calls, the
/// first is undecided (null has no size), and the last meets the condition.
fn reports_undecided_calls(runtime: Runtime) -> Result<()> {
    let when = ["--when", "size(first) > 3"];
    let mut live = start(runtime)?;
    let tracing = trace(&live, &[&[STRINGS, "-n", "1"], &when[..]].concat())?;
    live.host.ask("odd-strings", "done")?;
    let traced = tracing.finish()?;
    let sentence = "Traced.Strings: 1 call whose condition could not be decided not captured;";
    ensure!(traced.code()? == 0 && traced.stdout.contains(sentence), "{}", traced.output());
    ensure!(traced.stdout.matches("Traced.Strings(").count() == 1, "{}", traced.output());
    end(live)?;

    let mut live = start(runtime)?;
    live.redial("dial", &[&[STRINGS, "trace"], &when[..]].concat())?.ok()?;
    for _ in 0..2 {
        live.host.ask("odd-strings", "done")?;
    }
    let calls = values(&live.redial("events", &[STRINGS, "--json"])?.ok()?.stdout)?;
    ensure!(calls.len() == 2 && calls.iter().all(|call| call["dropped"] == 2), "{calls:?}");
    let text = live.redial("events", &[STRINGS])?.ok()?.output();
    let sentence = "Traced.Strings: 2 calls whose condition could not be decided not captured;";
    ensure!(text.contains(sentence), "{text}");
    end(live)
}

/// Output that a terminal would act on is escaped in both forms.
fn odd_strings_are_escaped(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    live.redial("dial", &[STRINGS, "trace"])?.ok()?;
    live.host.ask("odd-strings", "done")?;
    let text = live.redial("events", &[STRINGS])?.ok()?.stdout;
    ensure!(text.contains(r#"first: "\0\u001b[31m\ud800é名", password: ‹redacted-name›"#), "{text}");
    ensure!(text.contains(r#"Strings(first: null, "#) && text.contains(") = null\n"), "{text}");
    ensure!(text.contains("z\"… (5,000)) = "), "{text}");
    ensure!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
    let json = live.redial("events", &[STRINGS, "--count", "1", "--json"])?.ok()?.stdout;
    let calls = values(&json)?;
    let odd = json!({ "$string": "\0\u{1b}[31m\u{fffd}é名", "$length": 9, "$lossy": true });
    ensure!(calls.len() == 1 && calls[0]["args"][0]["value"] == odd, "{json}");
    ensure!(calls[0]["args"][2]["value"]["$length"] == 5_000, "{json}");
    end(live)
}

/// A call in flight is listed with its arguments and its age.
fn lists_calls_in_flight(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let none = live.redial("events", &[])?.ok()?.stdout;
    ensure!(none.starts_with("no method is at level trace"), "{none}");
    ensure_messages(&live.redial("events", &["traced!Traced.Waits"])?, 6, &["no method has been dialled"])?;
    live.redial("dial", &["traced!Traced.Waits", "trace"])?.ok()?;
    live.host.ask("wait", "done")?;
    let listed = live.redial("events", &["--in-flight", "--json"])?.ok()?.stdout;
    let [call] = &values(&listed)?[..] else { anyhow::bail!("{listed}") };
    ensure!(call["args"][0]["value"] == 60_000 && call["args"][1]["value"] == "in flight", "{call}");
    ensure!(call["age_ns"].as_u64().is_some_and(|age| age < 60_000_000_000), "{call}");
    ensure!(call["duration_ns"].is_null() && call["result"].is_null(), "{call}");
    let text = live.redial("events", &["--in-flight"])?.ok()?.stdout;
    ensure!(text.contains("Traced.Waits(ms: 60000, text: \"in flight\")\n"), "{text}");
    live.host.ask("leave", "done")?;
    let text = live.redial("events", &["--in-flight"])?.ok()?.stdout;
    ensure!(text.starts_with("no call of a traced method is in flight"), "{text}");
    let text = live.redial("events", &[])?.ok()?.stdout;
    ensure!(text.lines().count() == 2 && text.contains("Traced.Waits("), "{text}");
    end(live)
}

/// The end of the process ends a trace, after its last calls.
fn ends_with_the_process(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let tracing = trace(&live, &["traced!Traced.Fails"])?;
    live.host.ask("fails 2", "done")?;
    end(live)?;
    let traced = tracing.finish()?;
    ensure!(traced.code()? == 3 && traced.stdout.contains("has ended"), "{}", traced.output());
    ensure!(
        traced.stdout.contains("Traced.Fails(number: 0, how: \"throw\") threw InvalidOperationException"),
        "{}",
        traced.output()
    );
    ensure!(traced.stdout.contains("Traced.Fails(number: 1, how: \"return\") = 1"), "{}", traced.output());
    Ok(())
}

on_each_runtime!(
    traces_until_there_are_enough_calls,
    reports_undecided_calls,
    odd_strings_are_escaped,
    lists_calls_in_flight,
    ends_with_the_process,
);

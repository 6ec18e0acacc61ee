//! `redial trace --perfetto` on a program whose calls are known (`programs/traced.cs`), read back with Perfetto's own
//! classes.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::perfetto::{self, PerfettoTrace, TraceSlice};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs, signals};
use serde_json::{Map, Value, json};

/// The methods of the program.
const ALL: &str = "traced!*";
const OUTER: &str = "traced!Traced.Outer";

fn start(runtime: Runtime) -> Result<LiveHost> {
    under_agent::start(programs::named("traced")?.command(runtime)?)
}

fn end(mut live: LiveHost) -> Result<()> {
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

/// A path for a trace, removed on drop.
struct TracePath(PathBuf);

impl TracePath {
    fn new(live: &LiveHost) -> TracePath {
        TracePath(std::env::temp_dir().join(format!("redial-{}.pftrace", live.pid)))
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    fn read(&self) -> Result<PerfettoTrace> {
        let mode = std::fs::metadata(&self.0)?.permissions().mode() & 0o777;
        ensure!(mode == 0o600, "{mode:o}");
        perfetto::read(&self.0)
    }
}

impl Drop for TracePath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Starts `redial trace` and waits until it traces.
fn trace(live: &LiveHost, arguments: &[&str]) -> Result<Host> {
    let mut tracing = Host::start_with_merged_output(live.command("trace", arguments)?)?;
    tracing.wait_for("redial: tracing")?;
    Ok(tracing)
}

/// Ends a trace by Ctrl-C and checks its last words.
fn interrupt(tracing: Host, calls: usize, path: &Path) -> Result<()> {
    signals::interrupt(tracing.pid())?;
    let traced = tracing.finish()?;
    ensure!(traced.code()? == 0, "{}", traced.output());
    let last = format!("redial: wrote {calls} calls to {}; open it in ui.perfetto.dev", path.display());
    ensure!(
        traced.stdout.lines().last().is_some_and(|line| line.starts_with(&last)),
        "no {last:?}:\n{}",
        traced.output()
    );
    Ok(())
}

/// Returns the latest calls as `redial events` lists them.
fn events(live: &LiveHost, pattern: &str) -> Result<Vec<Value>> {
    let text = live.redial("events", &[pattern, "--json"])?.ok()?.stdout;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))).collect()
}

/// Returns the annotation that stands for a value of the JSON form.
fn annotation(value: &Value) -> Value {
    let Value::Object(parts) = value else {
        return if value.is_null() { json!("null") } else { value.clone() };
    };
    let part = |name: &str| parts.get(name);
    if let Some(number) = part("$int").and_then(Value::as_str) {
        return number
            .parse::<i64>()
            .map_or_else(|_| json!(number.parse::<u64>().ok()), |number| json!(number));
    }
    if let Some(word) = part("$float").and_then(Value::as_str) {
        let word = match word {
            "Infinity" => "inf",
            "-Infinity" => "-inf",
            _ => "nan",
        };
        return json!({ "$float": word });
    }
    match (part("$enum"), part("value"), part("$type"), part("text")) {
        (Some(Value::Null), Some(value), ..) => return annotation(value),
        (Some(name), ..) => return name.clone(),
        (None, _, Some(name), Some(text)) if name == "System.IntPtr" => return json!({ "$pointer": text }),
        (None, _, Some(_), Some(text)) if parts.len() == 2 => return text.clone(),
        _ => {}
    }
    let mut all = Map::new();
    for (name, value) in parts {
        let value = match (name.as_str(), value) {
            ("items" | "entries", Value::Array(none)) if none.is_empty() => continue,
            ("items", Value::Array(items)) => items.iter().map(annotation).collect(),
            ("entries", Value::Array(entries)) => entries.iter().map(entry).collect::<Map<_, _>>().into(),
            (_, value) => annotation(value),
        };
        all.insert(name.clone(), value);
    }
    all.into()
}

fn entry(entry: &Value) -> (String, Value) {
    let key = annotation(&entry[0]);
    (key.as_str().map_or_else(|| key.to_string(), str::to_owned), annotation(&entry[1]))
}

/// Returns the annotations of a call.
fn annotations(call: &Value) -> Value {
    let mut all = Map::new();
    let named = |field: &str| -> Map<String, Value> {
        let arguments = call["args"].as_array().into_iter().flatten();
        let with = arguments.filter(|argument| argument.get(field).is_some());
        with.map(|one| (one["name"].as_str().unwrap_or_default().to_owned(), annotation(&one[field])))
            .collect()
    };
    for (name, values) in [("args", named("value")), ("after", named("after"))] {
        if !values.is_empty() {
            all.insert(name.to_owned(), values.into());
        }
    }
    if !call["result"].is_null() {
        all.insert("result".to_owned(), annotation(&call["result"]["value"]));
    }
    if let Value::Object(thrown) = &call["thrown"] {
        let mut thrown = thrown.clone();
        let inner = thrown.remove("inner").unwrap_or_default();
        let inner: Vec<Value> = inner.as_array().into_iter().flatten().map(annotation).collect();
        let mut thrown = annotation(&thrown.into());
        if !inner.is_empty() {
            thrown["inner"] = inner.into();
        }
        all.insert("thrown".to_owned(), thrown);
    }
    for name in ["method", "signature", "module", "domain"] {
        all.insert(name.to_owned(), call[name].clone());
    }
    all.into()
}

/// Traces a command until all classes of its objects are known.
fn warm_up(live: &mut LiveHost, command: &str) -> Result<()> {
    live.redial("dial", &[ALL, "trace"])?.ok()?;
    for _ in 0..200 {
        live.host.ask(command, "done")?;
        let latest = live.redial("events", &["traced!Traced.Collections", "--count", "1", "--json"])?.ok()?;
        if !latest.stdout.contains("pending") {
            live.redial("off", &[])?.ok()?;
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    anyhow::bail!("classes stay unknown")
}

/// Returns whether annotations are as expected. The class of an object may have become known after the file was written.
fn agree(annotations: &Value, expected: &Value) -> bool {
    match (annotations, expected) {
        (Value::Object(parts), _) if parts.get("$omitted").is_some_and(|reason| reason == "pending") => true,
        (Value::Object(parts), Value::Object(expected)) => {
            let agrees =
                |(name, part): (&String, &Value)| expected.get(name).is_some_and(|one| agree(part, one));
            parts.len() == expected.len() && parts.iter().all(agrees)
        }
        (Value::Array(items), Value::Array(expected)) => {
            items.len() == expected.len() && items.iter().zip(expected).all(|(item, one)| agree(item, one))
        }
        (one, expected) => one == expected,
    }
}

/// Returns the nanoseconds of the second in which a call began.
fn nanoseconds(call: &Value) -> Result<u64> {
    let start = call["start"].as_str().context("a call has a start")?;
    let (_, fraction) = start.trim_end_matches('Z').rsplit_once('.').context("nanoseconds")?;
    Ok(fraction.parse()?)
}

/// Checks that the slices are the listed calls: names, threads, times, nesting and values.
fn ensure_same(trace: &PerfettoTrace, calls: &[Value]) -> Result<()> {
    ensure!(trace.slices.len() == calls.len(), "{} slices, {} calls", trace.slices.len(), calls.len());
    for slice in &trace.slices {
        let duration = slice.end.context("a slice has an end")? - slice.start;
        // A callee may begin in the same nanosecond.
        let is_it = |call: &&Value| {
            call["thread"] == slice.thread
                && call["duration_ns"] == duration
                && call["method"] == slice.annotations["method"]
                && nanoseconds(call).is_ok_and(|fraction| fraction == slice.start % 1_000_000_000)
        };
        let call = calls.iter().find(is_it).with_context(|| format!("not called: {slice:?}"))?;
        ensure!(call["depth"] == slice.depth, "{slice:?}\n{call}");
        let expected = annotations(call);
        ensure!(agree(&slice.annotations, &expected), "{:#}\n{expected:#}", slice.annotations);
        let method = call["method"].as_str().unwrap_or_default();
        ensure!(method == slice.name || method.ends_with(&format!(".{}", slice.name)), "{slice:?}");
        ensure!(slice.categories == ["traced"], "{slice:?}");
        if let Some(around) = slice.around.map(|around| &trace.slices[around]) {
            ensure!(around.start <= slice.start && slice.end <= around.end, "{slice:?} in {around:?}");
        }
    }
    Ok(())
}

fn named<'a>(trace: &'a PerfettoTrace, name: &str) -> Vec<&'a TraceSlice> {
    trace.slices.iter().filter(|slice| slice.name == name).collect()
}

/// Every kind of value, exceptions, recursion and threads, compared with what `redial events` lists.
fn slices_are_the_traced_calls(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let path = TracePath::new(&live);
    warm_up(&mut live, "shape 7")?;
    let tracing = trace(&live, &[ALL, "--perfetto", path.text()])?;
    let before = events(&live, ALL)?;
    for command in ["shape 7", "primitives 3", "nested", "fails 2", "chains 3", "strings 3", "odd-strings"] {
        live.host.ask(command, "done")?;
    }
    for command in ["enums", "numbers", "instance", "threads 5"] {
        live.host.ask(command, "done")?;
    }
    let mut calls = events(&live, ALL)?;
    let is_earlier = |call: &Value| {
        before.iter().any(|one| one["start"] == call["start"] && one["method"] == call["method"])
    };
    calls.retain(|call| !is_earlier(call));
    interrupt(tracing, calls.len(), &path.0)?;
    let trace = path.read()?;
    ensure_same(&trace, &calls)?;
    let [process] = &trace.processes[..] else { anyhow::bail!("{:?}", trace.processes) };
    ensure!(process.pid == live.pid && process.name == "traced.dll", "{process:?}");

    // Against the program itself.
    let recursive = named(&trace, "Traced.Outer");
    for (depth, slice) in (0..).zip(&recursive) {
        let (args, result) = (&slice.annotations["args"], &slice.annotations["result"]);
        ensure!(
            slice.depth == depth && *args == json!({ "depth": 3 - depth }) && *result == 3 - depth,
            "{slice:?}"
        );
        ensure!(slice.thread == live.pid, "the main thread: {slice:?}");
    }
    ensure!(recursive.len() == 4, "{recursive:?}");
    let shapes = named(&trace, "Traced.Shapes");
    let inside = trace
        .slices
        .iter()
        .filter(|slice| slice.around.is_some_and(|around| trace.slices[around].name == "Traced.Shapes"));
    ensure!(shapes.len() == 1 && inside.count() > 15, "{shapes:?}");
    let order = &named(&trace, "Traced.Objects")[0].annotations["args"]["order"];
    let tags = json!({ "$type": "System.Collections.Generic.List<string>", "$length": 2, "items": ["tag 7", "null"] });
    ensure!(order["Id"] == 7 && order["Name"] == "order 7" && order["Tags"] == tags, "{order:#}");
    let stock = json!({ "a": 7, "b": -7 });
    ensure!(order["Stock"]["entries"] == stock && order["Next"]["Id"] == 8, "{order:#}");
    let failed = &named(&trace, "Traced.Fails")[0].annotations;
    let thrown = json!({ "type": "System.InvalidOperationException", "message": "number 0" });
    ensure!(failed["thrown"] == thrown && failed["args"]["how"] == "throw", "{failed}");
    let strings = named(&trace, "Traced.Strings");
    let mut threads: Vec<u32> = strings.iter().map(|slice| slice.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    ensure!(strings.len() == 46 && threads.len() == 9, "{} on {threads:?}", strings.len());
    let hidden = json!({ "$omitted": "redacted-name" });
    ensure!(strings[0].annotations["args"]["password"] == hidden, "{:?}", strings[0]);
    end(live)
}

/// One file for two processes, with `-n` calls of both together.
fn several_processes_share_a_file(runtime: Runtime) -> Result<()> {
    let (mut one, mut other) = (start(runtime)?, start(runtime)?);
    let path = TracePath::new(&one);
    let pids = format!("{},{}", one.pid, other.pid);
    let arguments = ["trace", &pids, OUTER, "-n", "6", "--perfetto", path.text()];
    let mut tracing = Host::start_with_merged_output(host::redial(&arguments)?)?;
    for _ in 0..2 {
        tracing.wait_for("redial: process")?;
    }
    one.host.ask("nested", "done")?;
    other.host.ask("nested", "done")?;
    let traced = tracing.finish()?;
    ensure!(
        traced.code()? == 0 && traced.stdout.contains("redial: wrote 6 calls to "),
        "{}",
        traced.output()
    );
    let trace = path.read()?;
    let mut pids: Vec<u32> = trace.processes.iter().map(|process| process.pid).collect();
    pids.sort_unstable();
    ensure!(pids == [one.pid.min(other.pid), one.pid.max(other.pid)], "{:?}", trace.processes);
    for (live, least) in [(&one, 2), (&other, 2)] {
        let slices: Vec<_> = trace.slices.iter().filter(|slice| slice.pid == live.pid).collect();
        ensure!(slices.len() >= least && slices.iter().all(|slice| slice.thread == live.pid), "{slices:?}");
        // The innermost calls ended first.
        ensure!(slices.iter().any(|slice| slice.annotations["args"]["depth"] == 0), "{slices:?}");
    }
    ensure!(trace.slices.len() == 6, "{:?}", trace.slices);
    end(one)?;
    end(other)
}

/// A wrong path dials nothing, and a failed trace leaves no file.
fn refuses_before_it_dials(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    let path = TracePath::new(&live);
    let nowhere = format!("{}/none.pftrace", path.text());
    let refused = live.redial("trace", &[OUTER, "--perfetto", &nowhere])?;
    ensure_messages(&refused, 1, &["cannot create ", "none.pftrace: No such file or directory"])?;
    ensure!(live.rows(OUTER)?.is_empty(), "nothing was dialled");
    let both = live.redial("trace", &[OUTER, "--json", "--perfetto", path.text()])?;
    ensure!(
        both.code()? == 2 && both.stderr.contains("--json") && both.stderr.contains("--perfetto"),
        "{both:?}"
    );
    let unmatched = live.redial("trace", &["traced!No.Such", "--perfetto", path.text()])?;
    ensure!(unmatched.code()? == 6 && !path.0.exists(), "{}", unmatched.output());
    end(live)
}

/// The end of the process ends a trace with its last calls in the file; nothing goes to stdout.
fn ends_with_the_process(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let path = TracePath::new(&live);
    std::fs::write(&path.0, "an earlier trace")?;
    let tracing = Host::start(live.command("trace", &[OUTER, "--perfetto", path.text()])?)?;
    let until = std::time::Instant::now() + host::DEADLINE;
    while !live.rows(OUTER)?.iter().any(|row| row["actual"] == "trace" || row["wanted"] == "trace") {
        ensure!(std::time::Instant::now() < until, "it is not dialled");
    }
    live.host.ask("nested", "done")?;
    end(live)?;
    let traced = tracing.finish()?;
    ensure_messages(&traced, 3, &["has ended", "redial: wrote 4 calls to "])?;
    ensure!(traced.stdout.is_empty(), "{}", traced.output());
    let depths: Vec<u32> = path.read()?.slices.iter().map(|slice| slice.depth).collect();
    ensure!(depths == [0, 1, 2, 3], "{depths:?}");
    Ok(())
}

/// Async calls that waited have tracks of their own; those that did not are on their threads.
fn async_calls(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("awaits")?.command(runtime)?)?;
    let path = TracePath::new(&live);
    let patterns = "awaits!Awaits.Outer";
    let tracing = trace(&live, &[patterns, "--perfetto", path.text()])?;
    live.host.ask("wait Outer 3 2", "waiting 6")?;
    live.host.say("open")?;
    live.host.wait_for("end")?;
    interrupt(tracing, 6, &path.0)?;
    let trace = path.read()?;
    let mut arguments = Vec::new();
    for slice in &trace.slices {
        let end = slice.end.with_context(|| format!("{slice:?}"))?;
        ensure!(slice.name == "Awaits.Outer" && slice.thread == 0 && slice.around.is_none(), "{slice:?}");
        ensure!(end > slice.start && slice.pid == live.pid, "{slice:?}");
        let n = slice.annotations["args"]["n"].as_i64().with_context(|| format!("{slice:?}"))?;
        ensure!(slice.annotations["result"] == json!(n + 2), "{slice:?}");
        ensure!(slice.annotations["async"]["steps"] == json!(2), "{slice:?}");
        arguments.push(n);
    }
    arguments.sort_unstable();
    ensure!(arguments == [0, 0, 1, 1, 2, 2], "{arguments:?}");
    end(live)
}

on_each_runtime!(
    async_calls,
    slices_are_the_traced_calls,
    several_processes_share_a_file,
    refuses_before_it_dials,
    ends_with_the_process,
);

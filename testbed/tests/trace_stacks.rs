//! Stacks of traced calls, and of the slowest timed ones, are the ways that the program took (`programs/paths.cs`).
#![cfg(target_os = "linux")]

use anyhow::{Result, ensure};
use redial_protocol::callers::CallOrigin;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STACK_FRAMES;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::slowest_calls::SlowCall;
use redial_protocol::trace::TracedCall;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{end, list, say};
use redial_testbed::under_agent::{self, LiveHost, set_tiered};
use redial_testbed::{on_each_runtime, programs};

const LEAF: &str = "paths!Paths.Leaf";

fn order(when: Option<&str>) -> Order {
    let options = TimeOptions { stack: true, ..TimeOptions::default() };
    Order { options, when: when.map(str::to_owned), ..Order::new(LEAF, Level::Trace) }
}

/// Traces `Leaf` with stacks, and returns the calls of a command.
fn calls(live: &mut LiveHost, controller: &mut Controller, command: &str) -> Result<Vec<TracedCall>> {
    let latest = list(controller, false)?.calls.iter().map(|call| call.number).max().unwrap_or_default();
    say(&mut live.host, command)?;
    let mut calls = list(controller, false)?.calls;
    calls.retain(|call| call.number > latest);
    Ok(calls)
}

/// Returns the names of callers within the program, and of other methods only whether there are some.
fn way(stack: &[CallOrigin]) -> Vec<String> {
    let name = |origin: &CallOrigin| match origin {
        CallOrigin::Method { module, method, .. } if module == "paths" => {
            method.trim_start_matches("Paths").trim_start_matches(['.', '+']).to_owned()
        }
        CallOrigin::Method { .. } => "library".to_owned(),
        other => format!("{other:?}"),
    };
    let mut names: Vec<String> = stack.iter().map(name).collect();
    names.dedup_by(|one, before| one == before && one == "library");
    names
}

/// Ways over Middle, with the methods that come after it.
const KINDS: [(&str, &[&str]); 4] = [
    ("plain", &["Ways", "Main"]),
    ("throw", &["Ways", "Main"]),
    ("delegate", &["Ways", "Main"]),
    ("interface", &["Steps<T>.Step", "Ways", "Main"]),
];

/// Checks that a stack is that of a kind.
fn is_way(stack: &[CallOrigin], tiered: &str, kind: &str, after: &[&str]) -> Result<()> {
    // Small is inlined into Middle once that is optimized: then the frame is Middle's.
    let small = if tiered == "0" { &["Middle"][..] } else { &["Small", "Middle"][..] };
    let (way, without) = (way(stack), [small, after].concat());
    let with_inlined = [&["Small", "Middle"][..], after].concat();
    ensure!(way == without || way == with_inlined, "tiered {tiered}, {kind}: {way:?}");
    Ok(())
}

/// Every way: plain, recursive, through a delegate, an interface with generics, and on another thread; compiled without
/// and with optimization, with recompiled callers, and as exceptions leave.
fn stacks_are_the_ways_taken(runtime: Runtime) -> Result<()> {
    for tiered in ["0", "1"] {
        let mut command = programs::named("paths")?.command(runtime)?;
        set_tiered(&mut command, tiered);
        let (mut live, mut controller) = under_agent::start_controlled(command)?;
        let report = controller.order(vec![order(None)], Lifetime::Kept)?;
        ensure!(report.accepted == 1, "{report:?}");
        for (kind, after) in KINDS {
            let calls = calls(&mut live, &mut controller, &format!("ways 3 {kind}"))?;
            ensure!(calls.len() == 3, "{kind}: {calls:?}");
            for call in calls {
                is_way(&call.stack, tiered, kind, after)?;
            }
        }
        let deep = calls(&mut live, &mut controller, "ways 1 deep")?;
        ensure!(deep.len() == 1 && deep[0].stack.len() == MAX_STACK_FRAMES, "{deep:?}");
        ensure!(way(&deep[0].stack).iter().all(|name| name == "Deep"), "{deep:?}");
        let reflected = calls(&mut live, &mut controller, "ways 2 reflection")?;
        ensure!(reflected.len() == 2, "{reflected:?}");
        for call in reflected {
            let way = way(&call.stack);
            ensure!(way.ends_with(&["library".into(), "Ways".into(), "Main".into()]), "{way:?}");
        }
        let on_thread = calls(&mut live, &mut controller, "ways 2 thread")?;
        ensure!(on_thread.len() == 2, "{on_thread:?}");
        for call in on_thread {
            let way = way(&call.stack);
            let first = way.iter().take_while(|name| *name != "library").count();
            ensure!(
                way[..first].contains(&"Middle".to_owned()) && !way.contains(&"Ways".to_owned()),
                "{way:?}"
            );
        }
        end(live, controller)?;
    }
    Ok(())
}

/// The text names the async method and folds the frames that carried it; JSON has them all.
fn text_folds_what_carries_async_methods(runtime: Runtime) -> Result<()> {
    let command = programs::named("paths")?.command(runtime)?;
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    controller.order(vec![order(None)], Lifetime::Kept)?;
    let calls = calls(&mut live, &mut controller, "ways 2 async")?;
    ensure!(calls.len() == 2, "{calls:?}");
    let text = live.redial("events", &[LEAF])?.ok()?.stdout;
    let blocks: Vec<Vec<&str>> = text.lines().fold(Vec::new(), |mut blocks, line| {
        match (line.trim(), blocks.last_mut()) {
            (line, Some(block)) if line.starts_with("at ") || line.starts_with('…') => block.push(line),
            _ => blocks.push(vec![]),
        }
        blocks
    });
    let blocks: Vec<_> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    ensure!(blocks.len() == 2, "{text}");
    for block in blocks {
        let [callers @ .., last] = block.as_slice() else { unreachable!("not empty") };
        ensure!(callers.last() == Some(&"at paths!Paths.Fetch (async)"), "{text}");
        ensure!(callers.iter().all(|line| line.starts_with("at paths!Paths.")), "{text}");
        ensure!(last.starts_with("… ") && last.ends_with(" of the runtime"), "{text}");
    }
    let json = live.redial("events", &[LEAF, "--json"])?.ok()?.stdout;
    for line in json.lines() {
        let event: serde_json::Value = serde_json::from_str(line)?;
        let frames = event["stack"].as_array().map_or(0, Vec::len);
        ensure!(calls.iter().any(|call| call.stack.len() == frames), "{event}");
        ensure!(event["stack"].to_string().contains("ExecutionContext"), "{event}");
        ensure!(event["stack"].to_string().contains("d__"), "{event}");
    }
    end(live, controller)
}

/// With a condition that the end of a call decides, the stack is captured there.
fn stacks_of_calls_chosen_at_their_end(runtime: Runtime) -> Result<()> {
    let command = programs::named("paths")?.command(runtime)?;
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    for (when, kind, expected) in [
        ("result == 1", "plain", 1),
        ("exception != null && number > 0", "throw", 2),
        ("number == 2", "plain", 1),
    ] {
        let report = controller.order(vec![order(Some(when))], Lifetime::Kept)?;
        ensure!(report.accepted == 1, "{report:?}");
        let calls = calls(&mut live, &mut controller, &format!("ways 3 {kind}"))?;
        ensure!(calls.len() == expected, "{when}: {calls:?}");
        for call in &calls {
            let way = way(&call.stack);
            ensure!(way.ends_with(&["Middle".into(), "Ways".into(), "Main".into()]), "{when}: {way:?}");
        }
    }
    // Without the option there are none.
    controller.order(vec![Order::new(LEAF, Level::Trace)], Lifetime::Kept)?;
    let calls = calls(&mut live, &mut controller, "ways 2 plain")?;
    ensure!(calls.len() == 2 && calls.iter().all(|call| call.stack.is_empty()), "{calls:?}");
    end(live, controller)
}

/// Keeps the slowest calls of `Leaf` with these options.
fn keep(controller: &mut Controller, options: TimeOptions) -> Result<()> {
    let report =
        controller.order(vec![Order { options, ..Order::new(LEAF, Level::Time) }], Lifetime::Kept)?;
    ensure!(report.accepted == 1 && report.warnings.is_empty(), "{report:?}");
    Ok(())
}

/// Returns the slowest calls of `Leaf`.
fn slowest(controller: &mut Controller) -> Result<Vec<SlowCall>> {
    let row = controller.row(LEAF)?.row;
    match controller.ask(WireCommand::SlowestCalls { rows: vec![row] })?.reply {
        Reply::SlowestCalls(all) => Ok(all.into_iter().flat_map(|of_row| of_row.calls).collect()),
        other => anyhow::bail!("{other:?}"),
    }
}

/// Timed calls: the slowest ones have stacks, those that return and those that an exception leaves.
fn stacks_of_the_slowest_calls_are_the_ways_taken(runtime: Runtime) -> Result<()> {
    for tiered in ["0", "1"] {
        let mut command = programs::named("paths")?.command(runtime)?;
        set_tiered(&mut command, tiered);
        let (mut live, mut controller) = under_agent::start_controlled(command)?;
        // Every call takes longer than that.
        let every = TimeOptions { slower_than_ns: Some(0), stack: true, ..TimeOptions::default() };
        let mut new_list = {
            let mut callers = false;
            move |controller: &mut Controller, options: TimeOptions| {
                // A condition begins a list.
                keep(controller, TimeOptions { slower_than_ns: None, stack: false, ..options })?;
                callers = !callers;
                keep(controller, TimeOptions { callers, ..options })
            }
        };
        for (kind, after) in KINDS {
            new_list(&mut controller, every)?;
            say(&mut live.host, &format!("ways 3 {kind}"))?;
            let calls = slowest(&mut controller)?;
            ensure!(calls.len() == 3, "{kind}: {calls:?}");
            for call in calls {
                ensure!(call.failed == (kind == "throw"), "{kind}: {call:?}");
                is_way(&call.stack, tiered, kind, after)?;
            }
        }
        new_list(&mut controller, every)?;
        say(&mut live.host, "ways 1 deep")?;
        let deep = slowest(&mut controller)?;
        ensure!(deep.len() == 1 && deep[0].stack.len() == MAX_STACK_FRAMES, "{deep:?}");
        ensure!(way(&deep[0].stack).iter().all(|name| name == "Deep"), "{deep:?}");
        // The list keeps the stacks of its calls when others take their places.
        new_list(&mut controller, every)?;
        for kind in ["plain", "interface", "plain", "interface"] {
            say(&mut live.host, &format!("ways 500 {kind}"))?;
        }
        let many = slowest(&mut controller)?;
        ensure!(many.len() == 16, "{many:?}");
        for call in many {
            let by_step = way(&call.stack).contains(&"Steps<T>.Step".to_owned());
            let after = if by_step { KINDS[3].1 } else { KINDS[0].1 };
            is_way(&call.stack, tiered, "of many", after)?;
        }
        // Without the option there are none, and the option alone has no calls to belong to.
        new_list(&mut controller, TimeOptions { stack: false, ..every })?;
        say(&mut live.host, "ways 2 plain")?;
        let calls = slowest(&mut controller)?;
        ensure!(calls.len() == 2 && calls.iter().all(|call| call.stack.is_empty()), "{calls:?}");
        let alone = TimeOptions { stack: true, ..TimeOptions::default() };
        let order = Order { options: alone, ..Order::new(LEAF, Level::Time) };
        ensure!(controller.order(vec![order], Lifetime::Kept).is_err(), "accepted");
        end(live, controller)?;
    }
    Ok(())
}

/// The command line lists the callers of the slowest calls below them.
fn prints_stacks_of_the_slowest_calls(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("paths")?.command(runtime)?)?;
    let refused = live.redial("dial", &[LEAF, "time", "--stack"])?;
    ensure!(refused.code()? != 0 && refused.stderr.contains("--slower-than"), "{refused:?}");
    live.redial("dial", &[LEAF, "time", "--failed-only", "--stack"])?.ok()?;
    live.host.ask("ways 1 throw", "done")?;
    let text = live.redial("status", &["--calls"])?.ok()?.stdout;
    for line in ["at paths!Paths.Middle(int, string)\n", "at paths!Paths.Main()\n"] {
        ensure!(text.contains(line), "{text}");
    }
    let json = live.redial("status", &["--json"])?.ok()?.stdout;
    ensure!(json.contains("\"paths!Paths.Ways(string, int)\",\"paths!Paths.Main()\"]"), "{json}");
    let saved = live.redial("save", &[])?.ok()?.stdout;
    ensure!(saved.contains("# redial dials 2") && saved.contains("= time failed-only stack"), "{saved}");
    live.host.say("exit")?;
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// The command line prints a line for each caller.
fn prints_stacks(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("paths")?.command(runtime)?)?;
    live.redial("dial", &[LEAF, "trace", "--stack"])?.ok()?;
    live.host.ask("ways 1 plain", "done")?;
    let text = live.redial("events", &[])?.ok()?.stdout;
    for line in [
        "at paths!Paths.Middle(int, string)\n",
        "at paths!Paths.Ways(string, int)\n",
        "at paths!Paths.Main()\n",
    ] {
        ensure!(text.contains(line), "{text}");
    }
    let json = live.redial("events", &["--json"])?.ok()?.stdout;
    ensure!(json.contains("\"paths!Paths.Ways(string, int)\",\"paths!Paths.Main()\"]"), "{json}");
    live.host.say("exit")?;
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

on_each_runtime!(
    stacks_are_the_ways_taken,
    stacks_of_calls_chosen_at_their_end,
    prints_stacks,
    text_folds_what_carries_async_methods,
    stacks_of_the_slowest_calls_are_the_ways_taken,
    prints_stacks_of_the_slowest_calls,
);

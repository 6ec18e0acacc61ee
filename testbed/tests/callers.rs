//! Callers of methods. Known callers make a known number of calls (`programs/callers.cs`). Each call is
//! attributed to one caller or to none, so the sums are exact, even while code is replaced.
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::callers::{CallOrigin, RowCallers};
use redial_protocol::diagnostics::Unsupported;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_CALL_SITES;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};
use std::collections::BTreeMap;
use std::time::Instant;

/// The dialled methods.
const TARGETS: [&str; 3] = ["callers!Target.*", "callers!Implementation.*", "callers!Derived.*"];

/// Calls by caller name.
type CallsByCaller = BTreeMap<String, u64>;

fn start(runtime: Runtime, tiered: &str) -> Result<(LiveHost, Controller)> {
    let mut command = programs::named("callers")?.command(runtime)?;
    under_agent::set_tiered(&mut command, tiered);
    under_agent::start_controlled(command)
}

fn dial(controller: &mut Controller, patterns: &[&str], callers: bool) -> Result<()> {
    let options = TimeOptions { callers, ..TimeOptions::default() };
    let order = |pattern: &&str| Order { options, ..Order::new(*pattern, Level::Time) };
    let report = controller.order(patterns.iter().map(order).collect(), Lifetime::Kept)?;
    ensure!(report.accepted > 0, "{report:?}");
    Ok(())
}

fn ask(controller: &mut Controller, method: &str) -> Result<Result<RowCallers, Refusal>> {
    let row = controller.row(&format!("callers!{method}"))?;
    match controller.ask(WireCommand::Callers { row: row.row })?.reply {
        Reply::Callers(listed) if listed.row == row.row => Ok(Ok(listed)),
        Reply::Refused(refusal) => Ok(Err(refusal)),
        other => bail!("{other:?}"),
    }
}

/// Returns the callers of a method, and checks that they account for all its calls.
fn callers_of(controller: &mut Controller, method: &str) -> Result<RowCallers> {
    let listed = ask(controller, method)?.map_err(|refusal| anyhow::anyhow!("{method}: {refusal:?}"))?;
    let calls = controller.row(&format!("callers!{method}"))?.calls;
    ensure!(
        listed.calls() == calls,
        "{method}: {} of {calls} calls have a caller: {listed:?}",
        listed.calls()
    );
    let sorted = listed.callers.is_sorted_by(|one, next| one.calls >= next.calls);
    ensure!(sorted && listed.callers.iter().all(|caller| caller.sites > 0), "{listed:?}");
    Ok(listed)
}

fn name(origin: &CallOrigin) -> String {
    match origin {
        CallOrigin::Method { method, .. } => method.strip_prefix("Callers.").unwrap_or(method).to_owned(),
        CallOrigin::Dynamic { name } => format!("dynamic {name}"),
        CallOrigin::Native => "native".to_owned(),
        CallOrigin::Gone => "gone".to_owned(),
    }
}

fn calls_by_caller(listed: &RowCallers) -> CallsByCaller {
    listed.callers.iter().map(|caller| (name(&caller.origin), caller.calls)).collect()
}

fn ensure_callers(controller: &mut Controller, method: &str, expected: &[(&str, u64)]) -> Result<RowCallers> {
    let listed = callers_of(controller, method)?;
    let expected: CallsByCaller = expected.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect();
    ensure!(
        calls_by_caller(&listed) == expected && listed.others == 0,
        "{method}: {listed:?}, not {expected:?}"
    );
    Ok(listed)
}

fn lists_callers_with_their_calls(runtime: Runtime) -> Result<()> {
    for tiered in ["0", "1"] {
        let (mut live, mut controller) = start(runtime, tiered)?;
        dial(&mut controller, &TARGETS, true)?;
        live.host.ask("plain 10", "done")?;
        let plain = ensure_callers(&mut controller, "Target.Plain", &[("One", 10), ("Two", 20)])?;
        let [two, one] = &plain.callers[..] else { bail!("{plain:?}") };
        ensure!((two.sites, one.sites) == (2, 1), "{plain:?}");
        let CallOrigin::Method { module, signature, copy, .. } = &two.origin else { bail!("{plain:?}") };
        ensure!((module.as_str(), signature.as_str()) == ("callers", "(int)"), "{plain:?}");
        let module = copy.module;
        ensure!(controller.modules()?.1.iter().any(|one| one.key == module && one.name == "callers"));

        live.host.ask("interface 8", "done")?;
        ensure_callers(&mut controller, "Implementation.Through", &[("ByInterface", 8)])?;
        live.host.ask("virtual 5", "done")?;
        let expected = [("ByGenericVirtual", 5), ("OverReferences", 5)];
        ensure_callers(&mut controller, "Derived.Virtual<T>", &expected)?;
        live.host.ask("delegate 7", "done")?;
        ensure_callers(&mut controller, "Target.Delegated", &[("ByDelegate", 7)])?;
        live.host.ask("multicast 6", "done")?;
        let stub = "dynamic IL_STUB_MulticastDelegate_Invoke";
        ensure_callers(&mut controller, "Target.Delegated", &[("ByDelegate", 7), (stub, 12)])?;
        live.host.ask("recurse 40", "done")?;
        ensure_callers(&mut controller, "Target.Recurse", &[("Target.Recurse", 40), ("Recursion", 1)])?;
        live.host.ask("throw 9", "done")?;
        ensure_callers(&mut controller, "Target.Throws", &[("Catching", 9)])?;
        ensure!(controller.timed("callers!Target.Throws")?.1.exceptions == 9);
        live.host.ask("odd 10", "done")?;
        ensure_callers(&mut controller, "Target.Odd", &[("Odd", 10)])?;
        end(live, controller)?;
    }
    Ok(())
}

/// Reflection calls from runtime code and, on .NET 8, from a method generated at the second call.
fn reflection_calls_come_from_the_runtime(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("reflection 12", "done")?;
    let made = "dynamic InvokeStub_Target.Reflected";
    let expected: &[_] = match runtime {
        Runtime::V8_0 => &[(made, 11), ("native", 1)],
        _ => &[("native", 12)],
    };
    ensure_callers(&mut controller, "Target.Reflected", expected)?;
    end(live, controller)
}

/// An inlined method becomes part of the method it was inlined into, which is then the caller once its code is
/// optimised.
fn attributes_inlined_calls_to_the_outer_method(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("inlined 30", "done")?;
    ensure_callers(&mut controller, "Target.Small", &[("Physical", 30)])?;
    // Dialled itself, it is not inlined and appears as the caller.
    dial(&mut controller, &["callers!Callers.Inlined"], false)?;
    live.host.ask("inlined 4", "done")?;
    ensure_callers(&mut controller, "Target.Small", &[("Inlined", 4), ("Physical", 30)])?;
    ensure!(controller.row("callers!Callers.Inlined")?.calls == 4);
    end(live, controller)
}

/// The JIT may turn a call at the end of a method into a jump. Then the caller's caller appears as the caller.
fn attributes_jumps_to_the_previous_caller(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("last 20", "done")?;
    ensure_callers(&mut controller, "Target.Ended", &[("Last", 20)])?;
    // When counted, Ends has a variable with its address taken, or a frame, so it makes a real call.
    controller.dial("callers!Callers.Ends", Level::Count, Lifetime::Kept)?;
    live.host.ask("last 3", "done")?;
    ensure_callers(&mut controller, "Target.Ended", &[("Ends", 3), ("Last", 20)])?;
    end(live, controller)
}

/// The caller is dialled too, at any level, and all its bodies count as one caller.
fn caller_can_be_dialled_too(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    for (round, level) in (1..).zip([Level::Off, Level::Count, Level::Time, Level::Count, Level::Off]) {
        controller.dial("callers!Callers.Two", level, Lifetime::Kept)?;
        live.host.ask("plain 10", "done")?;
        let expected = [("One", 10 * round), ("Two", 20 * round)];
        let listed = ensure_callers(&mut controller, "Target.Plain", &expected)?;
        ensure!(round < 3 || listed.callers[0].sites >= 4, "it has several bodies: {listed:?}");
    }
    end(live, controller)
}

/// Tiering replaces the code of a hot caller, which stays the same caller.
fn caller_stays_the_same_when_its_code_is_replaced(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    let (mut calls, mut places) = (0, 0);
    // With tiers, wait until Warm has new code, which the runtime makes in its own time.
    let deadline = Instant::now() + DEADLINE;
    while runtime == Runtime::V8_0 && places < 2 || calls == 0 {
        ensure!(Instant::now() < deadline, "its code was never replaced");
        live.host.ask("hot 100 100", "done")?;
        calls += 10_000;
        let listed = ensure_callers(&mut controller, "Target.Hot", &[("Warm", calls)])?;
        places = listed.callers[0].sites;
    }
    end(live, controller)
}

fn adds_up_threads(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("threads 5 2000", "done")?;
    ensure_callers(&mut controller, "Target.Plain", &[("Here", 10_000), ("There", 10_000)])?;
    live.host.ask("threads 2 500", "done")?;
    ensure_callers(&mut controller, "Target.Plain", &[("Here", 11_000), ("There", 11_000)])?;
    end(live, controller)
}

/// Beyond the number of call sites that a thread distinguishes, the rest is counted together.
fn counts_surplus_call_sites_together(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("many 50", "done")?;
    let listed = callers_of(&mut controller, "Target.Many")?;
    let distinct = MAX_CALL_SITES as u64;
    ensure!(
        calls_by_caller(&listed) == CallsByCaller::from([("Hundred".to_owned(), 50 * distinct)]),
        "{listed:?}"
    );
    ensure!(
        (listed.callers[0].sites as usize, listed.others) == (MAX_CALL_SITES, 50 * (100 - distinct)),
        "{listed:?}"
    );
    end(live, controller)
}

/// A collected dynamic method keeps its name, because the agent looked it up earlier.
fn collected_caller_keeps_its_name(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("emitted 11", "emitted")?;
    ensure_callers(&mut controller, "Target.Emitted", &[("dynamic Made", 11)])?;
    live.host.ask("go", "done")?;
    ensure_callers(&mut controller, "Target.Emitted", &[("dynamic Made", 11)])?;
    end(live, controller)
}

/// Each change makes a new body and keeps the counts; so does undo.
fn turns_caller_counting_off_and_on(runtime: Runtime) -> Result<()> {
    const PLAIN: &str = "callers!Target.Plain";
    let (mut live, mut controller) = start(runtime, "1")?;
    let version = |controller: &mut Controller| {
        let row = controller.row(PLAIN)?;
        ensure!(row.state == CopyState::Live, "{row:?}");
        Ok((row.version.context("it is live")?, row.options.callers))
    };
    dial(&mut controller, &[PLAIN], false)?;
    live.host.ask("plain 1", "done")?;
    ensure!(version(&mut controller)? == (1, false));
    match ask(&mut controller, "Target.Plain")? {
        Err(Refusal::Unsupported(why)) => ensure!(why == Unsupported::CallersNeverCounted, "{why:?}"),
        other => bail!("{other:?}"),
    }
    dial(&mut controller, &[PLAIN], true)?;
    live.host.ask("plain 2", "done")?;
    ensure!(version(&mut controller)? == (2, true));
    let since = |controller: &mut Controller| {
        let listed = ask(controller, "Target.Plain")?.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        ensure!(listed.others == 0, "{listed:?}");
        Ok(calls_by_caller(&listed))
    };
    let expected =
        |rounds: u64| CallsByCaller::from([("One".to_owned(), rounds), ("Two".to_owned(), 2 * rounds)]);
    ensure!(since(&mut controller)? == expected(2));
    // Repeating the order changes nothing.
    dial(&mut controller, &[PLAIN], true)?;
    live.host.ask("plain 2", "done")?;
    ensure!(version(&mut controller)? == (2, true) && since(&mut controller)? == expected(4));
    dial(&mut controller, &[PLAIN], false)?;
    live.host.ask("plain 100", "done")?;
    ensure!(version(&mut controller)? == (3, false) && since(&mut controller)? == expected(4));
    match controller.ask(WireCommand::Undo { take: false })?.reply {
        Reply::Undone { .. } => {}
        other => bail!("{other:?}"),
    }
    live.host.ask("plain 3", "done")?;
    ensure!(version(&mut controller)? == (4, true) && since(&mut controller)? == expected(7));
    let (row, times) = controller.timed(PLAIN)?;
    ensure!((row.calls, times.exits, times.in_flight) == (3 * 108, 3 * 108, 0), "{row:?} {times:?}");
    controller.off(PLAIN)?;
    live.host.ask("plain 5", "done")?;
    ensure!(controller.row(PLAIN)?.state == CopyState::Off && since(&mut controller)? == expected(7));
    end(live, controller)
}

/// The cost of counting callers is reported separately.
fn reports_cost_of_counting_callers(runtime: Runtime) -> Result<()> {
    let (live, mut controller) = start(runtime, "1")?;
    let status = controller.agent_status()?;
    let callers = status.callers_picoseconds.context("callers have a cost here")?;
    ensure!(callers < 100_000_000, "{status:?}");
    let again = controller.agent_status()?;
    ensure!(again.callers_picoseconds == Some(callers) && again.costs == status.costs, "{again:?}");
    end(live, controller)
}

/// With the whole core library dialled: for any kind of frame each call has a caller, or its method has more
/// call sites than a thread distinguishes.
fn every_method_has_callers(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &["callers!*", "System.Private.CoreLib!*"], true)?;
    for command in [
        "plain",
        "inlined",
        "delegate",
        "multicast",
        "interface",
        "virtual",
        "reflection",
        "recurse",
        "throw",
    ] {
        live.host.ask(&format!("{command} 50"), "done")?;
    }
    for command in ["many 3", "hot 100 100", "threads 3 100", "odd 20", "last 10"] {
        live.host.ask(command, "done")?;
    }
    let before = controller.status(None)?;
    let (mut methods, mut natives, mut targets) = (0, 0, 0);
    for row in before.iter().filter(|row| row.calls > 0) {
        let listed = match controller.ask(WireCommand::Callers { row: row.row })?.reply {
            Reply::Callers(listed) => listed,
            // Methods that can only be counted have no callers.
            Reply::Refused(Refusal::Unsupported(_)) if row.times_note.is_some() => continue,
            other => bail!("{row:?}: {other:?}"),
        };
        let sites: u32 = listed.callers.iter().map(|caller| caller.sites).sum();
        ensure!(listed.calls() >= row.calls, "{row:?}: {listed:?}");
        ensure!(listed.others == 0 || sites as usize >= MAX_CALL_SITES, "{row:?}: {listed:?}");
        let natively = listed.callers.iter().filter(|caller| caller.origin == CallOrigin::Native).count();
        ensure!(
            !listed.callers.iter().any(|caller| caller.origin == CallOrigin::Gone),
            "{row:?}: {listed:?}"
        );
        methods += listed.callers.len() - natively;
        natives += natively;
        targets += 1;
    }
    println!("{targets} methods, called by {methods} methods and {natives} times from native code");
    ensure!(targets > 100 && methods > targets, "{targets} methods are called by {methods}");
    let after = controller.status(None)?;
    ensure!(after.iter().filter(|row| row.wanted == Level::Time).all(|row| row.options.callers));
    end(live, controller)
}

/// The output of the command line, as text and as JSON.
fn command_line_lists_callers(runtime: Runtime) -> Result<()> {
    let (mut live, controller) = start(runtime, "1")?;
    let dialled = live.redial("dial", &["callers!Target.Plain", "time", "--callers"])?;
    under_agent::ensure_messages(&dialled, 0, &[])?;
    let words = live.redial("status", &["callers!Target.*", "--callers"])?.ok()?.stdout;
    ensure!(words.contains("callers!Target.Plain(int): no calls since callers are counted"), "{words}");
    live.host.ask("plain 10", "done")?;
    let words = live.redial("status", &["callers!Target.*", "--callers"])?.ok()?.stdout;
    let lines: Vec<&str> = words.lines().map(str::trim).collect();
    ensure!(lines[0] == "callers!Target.Plain(int): 30 calls", "{words}");
    ensure!(lines[2].starts_with("20   67 %      2  callers!Callers.Two(int)"), "{words}");
    let json = live.redial("status", &["callers!Target.*", "--callers", "--json"])?.ok()?.json()?;
    let [listed] = json.as_array().map(Vec::as_slice).unwrap_or_default() else { bail!("{json}") };
    ensure!(listed["calls"] == 30 && listed["others"] == 0, "{json}");
    let by = &listed["called_by"];
    ensure!(by[0]["method"] == "Callers.Two" && by[0]["kind"] == "method", "{json}");
    ensure!(by[0]["calls"] == 20 && by[0]["sites"] == 2 && by[1]["calls"] == 10, "{json}");
    let account = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(account["callers_ns"].is_number(), "{account}");
    live.redial("dial", &["callers!Target.Plain", "time"])?.ok()?;
    live.host.ask("plain 1", "done")?;
    let words = live.redial("status", &["--callers"])?.ok()?.stdout;
    ensure!(words.contains("callers!Target.Plain(int): 30 calls while callers were counted"), "{words}");
    end(live, controller)
}

/// Checks that no guard of the agent tripped, and ends the program.
fn end(mut live: LiveHost, mut controller: Controller) -> Result<()> {
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    let outcome = live.host.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

on_each_runtime!(
    lists_callers_with_their_calls,
    reflection_calls_come_from_the_runtime,
    attributes_inlined_calls_to_the_outer_method,
    attributes_jumps_to_the_previous_caller,
    caller_can_be_dialled_too,
    caller_stays_the_same_when_its_code_is_replaced,
    adds_up_threads,
    counts_surplus_call_sites_together,
    collected_caller_keeps_its_name,
    turns_caller_counting_off_and_on,
    reports_cost_of_counting_callers,
    every_method_has_callers,
    command_line_lists_callers,
);

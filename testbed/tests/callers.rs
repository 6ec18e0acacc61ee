//! Who calls: callers that are known call a known number of times (`programs/callers.cs`). Every call is told of one caller, or
//! of none; so the sums are exact, however often code is replaced meanwhile.

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::callers::{CallOrigin, RowCallers};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_CALL_SITES;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, Live};
use redial_testbed::{on_each_runtime, programs};
use std::collections::BTreeMap;
use std::time::Instant;

/// What is dialled.
const TARGETS: [&str; 3] = ["callers!Target.*", "callers!Implementation.*", "callers!Derived.*"];

/// Callers by name, with their calls.
type Known = BTreeMap<String, u64>;

fn start(runtime: Runtime, tiered: &str) -> Result<(Live, Controller)> {
    let mut command = programs::named("callers")?.command(runtime)?;
    under_agent::set_tiered(&mut command, tiered);
    under_agent::start_controlled(command)
}

fn dial(controller: &mut Controller, patterns: &[&str], callers: bool) -> Result<()> {
    let options = TimeOptions { callers, ..TimeOptions::default() };
    let order = |pattern: &&str| Order { options, ..Order::new(*pattern, Level::Time) };
    let report = controller.order(patterns.iter().map(order).collect(), Stay::Kept)?;
    ensure!(report.accepted > 0, "{report:?}");
    Ok(())
}

fn ask(controller: &mut Controller, method: &str) -> Result<Result<RowCallers, Refusal>> {
    let row = controller.row(&format!("callers!{method}"))?;
    match controller.ask(WireCommand::Callers { row: row.row })?.reply {
        Reply::Callers(told) if told.row == row.row => Ok(Ok(told)),
        Reply::Refused(refusal) => Ok(Err(refusal)),
        other => bail!("{other:?}"),
    }
}

/// Who called a method: all its calls, where they were told of all the time.
fn told(controller: &mut Controller, method: &str) -> Result<RowCallers> {
    let told = ask(controller, method)?.map_err(|refusal| anyhow::anyhow!("{method}: {refusal:?}"))?;
    let calls = controller.row(&format!("callers!{method}"))?.calls;
    ensure!(told.calls() == calls, "{method}: {} of {calls} calls are told of: {told:?}", told.calls());
    let sorted = told.callers.is_sorted_by(|one, next| one.calls >= next.calls);
    ensure!(sorted && told.callers.iter().all(|caller| caller.sites > 0), "{told:?}");
    Ok(told)
}

fn name(who: &CallOrigin) -> String {
    match who {
        CallOrigin::Method { method, .. } => method.strip_prefix("Callers.").unwrap_or(method).to_owned(),
        CallOrigin::Dynamic { name } => format!("dynamic {name}"),
        CallOrigin::Native => "native".to_owned(),
        CallOrigin::Gone => "gone".to_owned(),
    }
}

fn known(told: &RowCallers) -> Known {
    told.callers.iter().map(|caller| (name(&caller.origin), caller.calls)).collect()
}

fn ensure_callers(controller: &mut Controller, method: &str, expected: &[(&str, u64)]) -> Result<RowCallers> {
    let told = told(controller, method)?;
    let expected: Known = expected.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect();
    ensure!(known(&told) == expected && told.others == 0, "{method}: {told:?}, not {expected:?}");
    Ok(told)
}

fn callers_and_their_calls_are_told(runtime: Runtime) -> Result<()> {
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

/// Reflection calls from the runtime's own code, and on .NET 8 from a method that it makes at the second call.
fn reflection_calls_from_the_runtime(runtime: Runtime) -> Result<()> {
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

/// What is inlined is a part of whoever it was inlined into: that is the caller, once its code is optimised.
fn an_inlined_caller_is_told_as_who_it_was_inlined_into(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("inlined 30", "done")?;
    ensure_callers(&mut controller, "Target.Small", &[("Physical", 30)])?;
    // Dialled itself it is inlined nowhere, and calls.
    dial(&mut controller, &["callers!Callers.Inlined"], false)?;
    live.host.ask("inlined 4", "done")?;
    ensure_callers(&mut controller, "Target.Small", &[("Inlined", 4), ("Physical", 30)])?;
    ensure!(controller.row("callers!Callers.Inlined")?.calls == 4);
    end(live, controller)
}

/// A call that is its method's last instruction may be made a jump: then its caller's caller is who calls.
fn a_jump_is_told_of_who_called_before(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("last 20", "done")?;
    ensure_callers(&mut controller, "Target.Ended", &[("Last", 20)])?;
    // Counted, Ends has a variable whose address is taken, or a frame: it calls.
    controller.dial("callers!Callers.Ends", Level::Count, Stay::Kept)?;
    live.host.ask("last 3", "done")?;
    ensure_callers(&mut controller, "Target.Ended", &[("Ends", 3), ("Last", 20)])?;
    end(live, controller)
}

/// Who calls is dialled, too, at any level; and its bodies of all times are one caller.
fn a_caller_may_be_dialled_itself(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    for (round, level) in (1..).zip([Level::Off, Level::Count, Level::Time, Level::Count, Level::Off]) {
        controller.dial("callers!Callers.Two", level, Stay::Kept)?;
        live.host.ask("plain 10", "done")?;
        let expected = [("One", 10 * round), ("Two", 20 * round)];
        let told = ensure_callers(&mut controller, "Target.Plain", &expected)?;
        ensure!(round < 3 || told.callers[0].sites >= 4, "it has several bodies: {told:?}");
    }
    end(live, controller)
}

/// Code of a caller that is called much is replaced by better code: the same caller.
fn callers_stay_the_same_while_their_code_is_replaced(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    let (mut calls, mut places) = (0, 0);
    // Where there are tiers, until Warm has other code than at first, which the runtime makes in its own time.
    let deadline = Instant::now() + DEADLINE;
    while runtime == Runtime::V8_0 && places < 2 || calls == 0 {
        ensure!(Instant::now() < deadline, "its code was never replaced");
        live.host.ask("hot 100 100", "done")?;
        calls += 10_000;
        let told = ensure_callers(&mut controller, "Target.Hot", &[("Warm", calls)])?;
        places = told.callers[0].sites;
    }
    end(live, controller)
}

fn threads_add_up(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("threads 5 2000", "done")?;
    ensure_callers(&mut controller, "Target.Plain", &[("Here", 10_000), ("There", 10_000)])?;
    live.host.ask("threads 2 500", "done")?;
    ensure_callers(&mut controller, "Target.Plain", &[("Here", 11_000), ("There", 11_000)])?;
    end(live, controller)
}

/// Of more places than are told apart on a thread the rest is counted together.
fn calls_from_too_many_places_are_counted_together(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "0")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("many 50", "done")?;
    let told = told(&mut controller, "Target.Many")?;
    let apart = MAX_CALL_SITES as u64;
    ensure!(known(&told) == Known::from([("Hundred".to_owned(), 50 * apart)]), "{told:?}");
    ensure!(
        (told.callers[0].sites as usize, told.others) == (MAX_CALL_SITES, 50 * (100 - apart)),
        "{told:?}"
    );
    end(live, controller)
}

/// A dynamic method that is gone keeps its name, since it was looked up while it was there.
fn who_is_gone_is_still_told(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, "1")?;
    dial(&mut controller, &TARGETS, true)?;
    live.host.ask("emitted 11", "emitted")?;
    ensure_callers(&mut controller, "Target.Emitted", &[("dynamic Made", 11)])?;
    live.host.ask("go", "done")?;
    ensure_callers(&mut controller, "Target.Emitted", &[("dynamic Made", 11)])?;
    end(live, controller)
}

/// Off and on again is a new body each time, and what was counted stays; so does undo.
fn callers_are_turned_off_and_on(runtime: Runtime) -> Result<()> {
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
        Err(Refusal::Unsupported(why)) => ensure!(why.contains("--callers"), "{why}"),
        other => bail!("{other:?}"),
    }
    dial(&mut controller, &[PLAIN], true)?;
    live.host.ask("plain 2", "done")?;
    ensure!(version(&mut controller)? == (2, true));
    let since = |controller: &mut Controller| {
        let told = ask(controller, "Target.Plain")?.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        ensure!(told.others == 0, "{told:?}");
        Ok(known(&told))
    };
    let expected = |rounds: u64| Known::from([("One".to_owned(), rounds), ("Two".to_owned(), 2 * rounds)]);
    ensure!(since(&mut controller)? == expected(2));
    // The same once more changes nothing.
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

/// What counting callers costs is told by itself.
fn the_cost_is_told_apart(runtime: Runtime) -> Result<()> {
    let (live, mut controller) = start(runtime, "1")?;
    let status = controller.agent_status()?;
    let callers = status.callers_picoseconds.context("callers are told here")?;
    ensure!(callers < 100_000_000, "{status:?}");
    let again = controller.agent_status()?;
    ensure!(again.callers_picoseconds == Some(callers) && again.costs == status.costs, "{again:?}");
    end(live, controller)
}

/// With the whole core library dialled: whatever frames its methods have, each call is told of a caller, or its method has more
/// places that it is called from than are told apart.
fn everything_tells_its_callers(runtime: Runtime) -> Result<()> {
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
    let (mut methods, mut natives, mut apart) = (0, 0, 0);
    for row in before.iter().filter(|row| row.calls > 0) {
        let told = match controller.ask(WireCommand::Callers { row: row.row })?.reply {
            Reply::Callers(told) => told,
            // What can only be counted has no callers.
            Reply::Refused(Refusal::Unsupported(_)) if row.times_note.is_some() => continue,
            other => bail!("{row:?}: {other:?}"),
        };
        let sites: u32 = told.callers.iter().map(|caller| caller.sites).sum();
        ensure!(told.calls() >= row.calls, "{row:?}: {told:?}");
        ensure!(told.others == 0 || sites as usize >= MAX_CALL_SITES, "{row:?}: {told:?}");
        let natively = told.callers.iter().filter(|caller| caller.origin == CallOrigin::Native).count();
        ensure!(!told.callers.iter().any(|caller| caller.origin == CallOrigin::Gone), "{row:?}: {told:?}");
        methods += told.callers.len() - natively;
        natives += natively;
        apart += 1;
    }
    println!("{apart} methods, called by {methods} and {natives} times from native code");
    ensure!(apart > 100 && methods > apart, "{apart} methods are called by {methods}");
    let after = controller.status(None)?;
    ensure!(after.iter().filter(|row| row.wanted == Level::Time).all(|row| row.options.callers));
    end(live, controller)
}

/// What the program says, in words and as JSON.
fn the_command_line_tells_callers(runtime: Runtime) -> Result<()> {
    let (mut live, controller) = start(runtime, "1")?;
    let dialled = live.redial("dial", &["callers!Target.Plain", "time", "--callers"])?;
    under_agent::ensure_said(&dialled, 0, &[])?;
    let words = live.redial("status", &["callers!Target.*", "--callers"])?.ok()?.stdout;
    ensure!(words.contains("callers!Target.Plain(int): no calls since callers are counted"), "{words}");
    live.host.ask("plain 10", "done")?;
    let words = live.redial("status", &["callers!Target.*", "--callers"])?.ok()?.stdout;
    let lines: Vec<&str> = words.lines().map(str::trim).collect();
    ensure!(lines[0] == "callers!Target.Plain(int): 30 calls", "{words}");
    ensure!(lines[2].starts_with("20   67 %      2  callers!Callers.Two(int)"), "{words}");
    let json = live.redial("status", &["callers!Target.*", "--callers", "--json"])?.ok()?.json()?;
    let [told] = json.as_array().map(Vec::as_slice).unwrap_or_default() else { bail!("{json}") };
    ensure!(told["calls"] == 30 && told["others"] == 0, "{json}");
    let by = &told["called_by"];
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

/// Nothing went wrong in the agent, and the program ends as it should.
fn end(mut live: Live, mut controller: Controller) -> Result<()> {
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    let outcome = live.host.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.said());
    Ok(())
}

on_each_runtime!(
    callers_and_their_calls_are_told,
    reflection_calls_from_the_runtime,
    an_inlined_caller_is_told_as_who_it_was_inlined_into,
    a_jump_is_told_of_who_called_before,
    a_caller_may_be_dialled_itself,
    callers_stay_the_same_while_their_code_is_replaced,
    threads_add_up,
    calls_from_too_many_places_are_counted_together,
    who_is_gone_is_still_told,
    callers_are_turned_off_and_on,
    the_cost_is_told_apart,
    everything_tells_its_callers,
    the_command_line_tells_callers,
);

//! Thrown exceptions of a program that counts its own (`programs/throws`), and when the runtime reports them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::exceptions::ThrownTotals;
use redial_protocol::level::Level;
use redial_protocol::limits::{EXCEPTIONS_PER_SECOND, MAX_THROWN_ROWS};
use redial_protocol::message::{Event, Refusal, Reply, WireCommand};
use redial_protocol::trace::{InnerException, OmittedReason, Value};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::thrown::{Exceptions, expected, stop, stream};
use redial_testbed::traced::text;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs, signals};

const STOCK: &str = "Shop.OutOfStockException";
const RETHROW: &str = "System.Private.CoreLib!System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw";

/// Has the program throw, and checks that it caught as many as it should.
fn throw(host: &mut Host, command: &str, caught: u64) -> Result<()> {
    let answer = host.ask(command, "done")?;
    ensure!(answer.parse() == Ok(caught), "{command}: caught {answer}");
    Ok(())
}

fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(programs::named("throws")?.command(runtime)?)
}

fn end(mut live: LiveHost, mut controller: Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!(status.guard_trips == 0 && !status.exceptions_reported, "{status:?}");
    drop(controller);
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

/// Has the program throw while a new stream counts, and returns what it got.
fn count(live: &mut LiveHost, controller: &mut Controller, commands: &[(&str, u64)]) -> Result<Exceptions> {
    stream(controller, None, Some(1_000))?;
    for (command, caught) in commands {
        throw(&mut live.host, command, *caught)?;
    }
    stop(controller)
}

/// Every kind of throw, with its type and method as the program's source says.
fn check_every_kind(live: &mut LiveHost, controller: &mut Controller) -> Result<()> {
    let commands = [("plain 7", 7), ("rethrow 4", 4), ("anew 3", 3), ("generic 6", 6), ("own 2", 2)];
    let all = count(live, controller, &commands)?;
    let rows = [
        (STOCK, "throws!Throws.Plain", 14, 0),
        (STOCK, "throws!Throws.Rethrow", 4, 4),
        (STOCK, "throws!Throws.Anew", 3, 0),
        ("System.ArgumentException", "throws!Box<T>.Put<U>", 6, 0),
        ("Box<T>+Full", "throws!Box<T>.Fill", 2, 0),
    ];
    ensure!(all.counts() == expected(&rows), "{:?}", all.counts());
    ensure!(all.totals == ThrownTotals { thrown: 29, rethrown: 4, others: 0, unsent: 0 }, "{:?}", all.totals);
    let plain = all.of(STOCK, ".Plain");
    for (i, exception) in plain.iter().take(7).enumerate() {
        ensure!(exception.message == text(&format!("item {i}")), "{exception:?}");
        ensure!(!exception.rethrown && exception.thread > 0 && exception.inner.is_empty(), "{exception:?}");
    }
    ensure!(plain.is_sorted_by_key(|exception| exception.unix_ns), "{plain:?}");
    ensure!(all.of(STOCK, ".Rethrow").iter().all(|exception| exception.rethrown));
    ensure!(all.of("Full", ".Fill").iter().all(|exception| exception.message == Value::Null));

    let commands = [("dynamic 3", 3), ("null 4", 4), ("async 2", 2), ("handler 5", 5), ("inner 1", 1)];
    let all = count(live, controller, &commands)?;
    let rows = [
        // The runtime names no method without metadata; its nearest caller stands for it.
        ("System.NotSupportedException", "throws!Throws.CallDynamic", 3, 0),
        ("System.NullReferenceException", "throws!Throws.Dereference", 4, 0),
        ("System.TimeoutException", "throws!Throws+<Late>d__10.MoveNext", 2, 0),
        // At each of two awaits.
        ("System.TimeoutException", RETHROW, 4, 4),
        (STOCK, "throws!Throws.Plain", 5, 0),
        ("System.FormatException", "throws!Throws.InHandler", 5, 0),
        ("System.InvalidOperationException", "throws!Throws.Inner", 1, 0),
    ];
    ensure!(all.counts() == expected(&rows), "{:?}", all.counts());
    let [inner] = &all.of("InvalidOperationException", ".Inner")[..] else { bail!("{all:?}") };
    ensure!(inner.message == text("outer 0"), "{inner:?}");
    let cause =
        InnerException { type_name: Some("System.ArgumentException".into()), message: Some(text("inner 0")) };
    ensure!(inner.inner == [cause], "{inner:?}");
    Ok(())
}

/// Every throw by type and method, on an agent that was there from the start.
fn counts_every_throw(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    check_every_kind(&mut live, &mut controller)?;
    end(live, controller)
}

/// The same after an attach.
#[cfg(target_os = "linux")]
fn counts_every_throw_after_an_attach(runtime: Runtime) -> Result<()> {
    let mut host = Host::start(programs::named("throws")?.command(runtime)?)?;
    let pid = host.wait_for("ready")?.parse()?;
    let mut live = LiveHost { host, pid };
    throw(&mut live.host, "plain 3", 3)?;
    live.redial("attach", &[])?.ok()?;
    let mut controller = live.controller()?;
    ensure!(!controller.agent_status()?.exceptions_reported);
    check_every_kind(&mut live, &mut controller)?;
    end(live, controller)
}

/// Eight threads that throw at once: every throw is counted, few are sent.
fn counts_exactly_on_many_threads(runtime: Runtime) -> Result<()> {
    const THREADS: u64 = 8;
    const EACH: u64 = 2_000;
    let (mut live, mut controller) = start(runtime)?;
    for rate in [None, Some(20), Some(0)] {
        let began = Instant::now();
        stream(&mut controller, None, rate)?;
        throw(&mut live.host, &format!("threads {THREADS} {EACH}"), THREADS * EACH)?;
        let all = stop(&mut controller)?;
        let half = THREADS * EACH / 2;
        let rows = [
            (STOCK, "throws!Throws.Plain", half, 0),
            ("System.ArgumentException", "throws!Throws.Argument", half, 0),
        ];
        ensure!(all.counts() == expected(&rows), "{:?}", all.counts());
        // The first exception of each row comes in any case.
        let seconds = began.elapsed().as_secs() + 2;
        let most = seconds * u64::from(rate.unwrap_or(EXCEPTIONS_PER_SECOND)) + 2;
        let sent = all.exceptions.len() as u64;
        ensure!((2..=most).contains(&sent), "{sent} exceptions were sent, of at most {most}");
        ensure!(all.totals.unsent == THREADS * EACH - sent, "{:?}", all.totals);
        for (type_name, method) in [(STOCK, ".Plain"), ("ArgumentException", ".Argument")] {
            ensure!(!all.of(type_name, method).is_empty(), "{method} has no message");
        }
    }
    end(live, controller)
}

/// Only exceptions whose types match, for each session by its own pattern.
fn counts_only_types_that_match(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let mut other = live.controller()?;
    for (types, thrown) in [
        ("Shop.*", 3),
        ("Shop.*Exception", 3),
        ("throws!*", 5),
        ("Box<T>+Full", 2),
        ("*.ArgumentException", 4),
        ("Shop", 0),
        ("System.Private.CoreLib!*", 4),
    ] {
        stream(&mut controller, Some(types), None)?;
        stream(&mut other, None, None)?;
        for (command, caught) in [("plain 3", 3), ("own 2", 2), ("generic 4", 4)] {
            throw(&mut live.host, command, caught)?;
        }
        let matched = stop(&mut controller)?;
        ensure!(matched.totals.thrown == thrown, "{types}: {:?}", matched.counts());
        throw(&mut live.host, "plain 1", 1)?;
        ensure!(stop(&mut other)?.totals.thrown == 10, "{types}");
    }
    let bad = WireCommand::StreamExceptions { types: Some("Shop.Cart(int".into()), rate: None };
    let reply = controller.ask(bad)?.reply;
    ensure!(matches!(reply, Reply::Refused(Refusal::BadPattern(_))), "{reply:?}");
    drop(other);
    end(live, controller)
}

/// Waits until the runtime reports exceptions, or does not.
fn wait_until_reported(controller: &mut Controller, reported: bool) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    while controller.agent_status()?.exceptions_reported != reported {
        ensure!(Instant::now() < deadline, "the event mask stays");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The runtime reports exceptions from the first session that asks until the last leaves, and for traced methods.
fn runtime_reports_only_while_asked(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let reported =
        |controller: &mut Controller| Ok::<_, anyhow::Error>(controller.agent_status()?.exceptions_reported);
    ensure!(!reported(&mut controller)?, "nobody asks");
    throw(&mut live.host, "plain 2", 2)?;
    stream(&mut controller, None, None)?;
    ensure!(reported(&mut controller)?, "one session asks");
    let mut other = live.controller()?;
    stream(&mut other, None, None)?;
    // Instead of the earlier stream.
    stream(&mut other, Some("Shop.*"), None)?;
    ensure!(stop(&mut controller)?.totals == ThrownTotals::default(), "thrown before");
    ensure!(reported(&mut controller)?, "the other session asks");
    throw(&mut live.host, "plain 2", 2)?;
    ensure!(stop(&mut other)?.totals.thrown == 2);
    ensure!(!reported(&mut controller)?, "none asks any more");

    stream(&mut other, None, None)?;
    ensure!(reported(&mut controller)?);
    drop(other);
    wait_until_reported(&mut controller, false)?;

    stream(&mut controller, None, None)?;
    controller.dial("throws!Throws.Plain", Level::Trace, Lifetime::Kept)?;
    throw(&mut live.host, "plain 3", 3)?;
    ensure!(stop(&mut controller)?.totals.thrown == 3);
    ensure!(reported(&mut controller)?, "a method is traced");
    controller.off("throws!Throws.Plain")?;
    wait_until_reported(&mut controller, false)?;
    // A controller that is killed leaves nothing behind, either.
    let mut killed = Host::start_with_merged_output(live.command("exceptions", &[])?)?;
    killed.wait_for("redial: counting exceptions")?;
    ensure!(reported(&mut controller)?);
    killed.kill();
    wait_until_reported(&mut controller, false)?;
    end(live, controller)
}

/// Types and methods of modules that unload have their names, or none; never those of others.
fn unloaded_modules_keep_their_names(runtime: Runtime) -> Result<()> {
    const ROUNDS: u64 = 8;
    let (mut live, mut controller) = start(runtime)?;
    let plugin = |round: u64| match round % 2 {
        0 => ("Failing", "Failing.Failure", "Failing!Failing.Work.Fail"),
        _ => ("Breaking", "Breaking.Broken", "Breaking!Breaking.Work.Break"),
    };
    for round in 0..ROUNDS {
        let (name, type_name, method) = plugin(round);
        let times = round + 1;
        let all = count(&mut live, &mut controller, &[(&format!("plugin {name} {times}"), times)])?;
        ensure!(all.counts() == expected(&[(type_name, method, times, 0)]), "{round}: {:?}", all.counts());
        live.host.ask("unload", "unloaded")?;
    }
    // One stream for all of them.
    stream(&mut controller, None, Some(1_000))?;
    for round in 0..ROUNDS {
        throw(&mut live.host, &format!("plugin {} 5", plugin(round).0), 5)?;
        live.host.ask("unload", "unloaded")?;
    }
    let all = stop(&mut controller)?;
    ensure!(all.totals.thrown == 5 * ROUNDS && all.totals.others == 0, "{:?}", all.totals);
    for ((type_name, method), (thrown, _)) in all.counts() {
        let is_known = |round| {
            let (_, known_type, known_method) = plugin(round);
            (type_name == known_type || type_name.is_empty()) && (method == known_method || method.is_empty())
        };
        ensure!((0..2).any(is_known) && thrown <= 5 * ROUNDS, "{type_name} {method}: {:?}", all.counts());
    }
    end(live, controller)
}

/// A stream has a limited number of rows; the others are counted.
fn rows_are_limited(runtime: Runtime) -> Result<()> {
    const METHODS: u64 = 1_500;
    let (mut live, mut controller) = start(runtime)?;
    let all = count(&mut live, &mut controller, &[(&format!("many {METHODS}"), METHODS)])?;
    let rows = MAX_THROWN_ROWS as u64;
    ensure!((all.totals.thrown, all.totals.others) == (METHODS, METHODS - rows), "{:?}", all.totals);
    ensure!(all.counts().len() as u64 == rows && all.counts().values().all(|count| *count == (1, 0)));
    end(live, controller)
}

/// An exception that ends the process is counted before its end.
fn counts_what_nothing_catches(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    stream(&mut controller, None, None)?;
    live.host.ask("crash", "crashing")?;
    let mut all = Exceptions::default();
    while all.exceptions.is_empty() {
        all.take(&controller.wait_for("an exception", |event| {
            matches!(event, Event::Exceptions { .. }).then(|| event.clone())
        })?)?;
    }
    ensure!(all.message(STOCK, "throws!Throws.Plain")? == text("item -1"), "{all:?}");
    live.host.say("end")?;
    let outcome = live.host.finish()?;
    ensure!(
        outcome.code().is_err() && outcome.stderr.contains("OutOfStockException"),
        "{}",
        outcome.output()
    );
    Ok(())
}

/// Where the host allows no strings or no trace, exceptions are counted without messages.
fn messages_obey_the_hosts_limits(runtime: Runtime) -> Result<()> {
    for (name, value) in
        [("REDIAL_MAX_CAPTURE", "primitives"), ("REDIAL_MAX_LEVEL", "time"), ("REDIAL_MAX_EVENTS", "1")]
    {
        let mut command = programs::named("throws")?.command(runtime)?;
        command.env(name, value);
        let (mut live, mut controller) = under_agent::start_controlled(command)?;
        let began = Instant::now();
        let all = count(&mut live, &mut controller, &[("plain 30", 30), ("rethrow 2", 2)])?;
        ensure!(all.totals.thrown == 34 && all.totals.rethrown == 2, "{name}: {:?}", all.totals);
        let hides = name != "REDIAL_MAX_EVENTS";
        let capped = Value::Omitted(OmittedReason::Capped);
        ensure!(all.exceptions.iter().all(|one| (one.message == capped) == hides), "{all:?}");
        let seconds = began.elapsed().as_secs() as usize + 2;
        ensure!(hides || all.exceptions.len() <= seconds + 2, "{name}: {}", all.exceptions.len());
        end(live, controller)?;
    }
    Ok(())
}

/// `redial exceptions` prints exceptions as they come, and counts at the end.
fn prints_exceptions_and_counts(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("throws")?.command(runtime)?)?;
    let begin = |live: &LiveHost, arguments: &[&str]| -> Result<Host> {
        let mut watching = Host::start_with_merged_output(live.command("exceptions", arguments)?)?;
        watching.wait_for("redial: counting exceptions")?;
        Ok(watching)
    };
    let watching = begin(&live, &["Shop.*Exception", "-n", "3"])?;
    throw(&mut live.host, "inner 2", 2)?;
    throw(&mut live.host, "plain 3", 3)?;
    let text = watching.finish()?.ok()?.stdout;
    let line = "throws!Throws.Plain threw Shop.OutOfStockException: item 2\n";
    ensure!(text.contains("TIME            THREAD  EXCEPTION\n") && text.contains(line), "{text}");
    let table = "    3         0  Shop.OutOfStockException  throws!Throws.Plain  item 2\n";
    ensure!(text.contains("COUNT  RETHROWN  TYPE") && text.contains(table), "{text}");
    ensure!(!text.contains("InvalidOperation"), "{text}");

    let watching = begin(&live, &["--rate", "0", "--json"])?;
    throw(&mut live.host, "rethrow 5", 5)?;
    signals::interrupt(watching.pid())?;
    let text = watching.finish()?.ok()?.stdout;
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<serde_json::Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    ensure!(of("exception").len() == 2, "the first of each row: {text}");
    let first = of("exception").first().copied().context("an exception")?;
    ensure!(first["type"] == STOCK && first["message"] == "item 0" && first["pid"] == live.pid, "{text}");
    ensure!(first["method"] == "Throws.Plain" && first["module"] == "throws" && first["rethrown"] == false);
    let numbers = |line: &serde_json::Value| (line["thrown"].as_u64(), line["rethrown"].as_u64());
    let counts: Vec<_> = of("count").into_iter().map(numbers).collect();
    ensure!(counts == [(Some(5), Some(0)), (Some(5), Some(5))], "{text}");
    ensure!(of("total")[0]["thrown"] == 10 && of("total")[0]["dropped"] == 8, "{text}");

    let nothing = live.redial("exceptions", &["--for", "1ms"])?.ok()?.stdout;
    ensure!(nothing == "no exception was thrown\n", "{nothing}");
    let wrong = live.redial("exceptions", &["Shop.Cart(int"])?;
    under_agent::ensure_messages(&wrong, 2, &["Shop.Cart(int"])?;
    let watching = begin(&live, &[])?;
    throw(&mut live.host, "plain 1", 1)?;
    live.host.say("exit")?;
    ensure!(live.host.finish()?.code()? == 0);
    let outcome = watching.finish()?;
    ensure!(outcome.code()? == 3 && outcome.stdout.contains("has ended"), "{}", outcome.output());
    ensure!(outcome.stdout.contains("    1         0  Shop.OutOfStockException"), "{}", outcome.output());
    Ok(())
}

/// One command counts in several processes, and ends in all of them at once.
fn counts_in_several_processes(runtime: Runtime) -> Result<()> {
    let program = programs::named("throws")?;
    let mut hosts =
        [under_agent::start(program.command(runtime)?)?, under_agent::start(program.command(runtime)?)?];
    let pids = hosts.iter().map(|live| live.pid.to_string()).collect::<Vec<_>>().join(",");
    let mut watching =
        Host::start_with_merged_output(host::redial(&["exceptions", &pids, "--json", "-n", "4"])?)?;
    for _ in 0..2 {
        watching.wait_for("redial: process")?;
    }
    for live in &mut hosts {
        throw(&mut live.host, "plain 2", 2)?;
    }
    let text = watching.finish()?.ok()?.stdout;
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<serde_json::Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    for live in &mut hosts {
        let of = |event: &str| {
            lines.iter().filter(|line| line["event"] == event && line["pid"] == live.pid).count()
        };
        ensure!((of("exception"), of("count"), of("total")) == (2, 1, 1), "{text}");
        wait_until_reported(&mut live.controller()?, false)?;
    }
    Ok(())
}

on_each_runtime!(
    counts_every_throw,
    counts_exactly_on_many_threads,
    counts_only_types_that_match,
    runtime_reports_only_while_asked,
    unloaded_modules_keep_their_names,
    rows_are_limited,
    counts_what_nothing_catches,
    messages_obey_the_hosts_limits,
    prints_exceptions_and_counts,
    counts_in_several_processes,
);

#[cfg(target_os = "linux")]
mod after_an_attach {
    use super::{Runtime, counts_every_throw_after_an_attach};

    #[test]
    fn net_3_1() -> anyhow::Result<()> {
        counts_every_throw_after_an_attach(Runtime::V3_1)
    }

    #[test]
    fn net_8_0() -> anyhow::Result<()> {
        counts_every_throw_after_an_attach(Runtime::V8_0)
    }
}

//! What the runtime itself calls of the core library (`programs/internals`), with the whole core library dialled from the
//! start, off, and on again: the program gives what it gives without the agent, whatever throws, is finalized, called back
//! or cast in it.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

const CORE_LIBRARY: &str = "System.Private.CoreLib!*";
/// Times that everything is gone through.
const RUNS: usize = 4;

fn go_through(host: &mut Host) -> Result<Vec<String>> {
    host.say("run")?;
    let mut said = Vec::new();
    loop {
        let line = host.next_line()?;
        if line == "done" {
            ensure!(said.len() > 75, "{said:#?}");
            return Ok(said);
        }
        said.push(line);
    }
}

fn end(mut host: Host) -> Result<()> {
    host.say("exit")?;
    let outcome = host.finish()?;
    ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.said());
    ensure!(outcome.stdout.ends_with("exits\n"), "{}", outcome.said());
    Ok(())
}

fn as_it_is(runtime: Runtime) -> Result<Vec<Vec<String>>> {
    let mut host = Host::start(programs::named("internals")?.command(runtime)?)?;
    host.wait_for("ready")?;
    let runs = (0..RUNS).map(|_| go_through(&mut host)).collect::<Result<_>>()?;
    end(host)?;
    Ok(runs)
}

fn the_core_library_dialled(runtime: Runtime) -> Result<()> {
    let expected = as_it_is(runtime)?;
    let dial = format!("{CORE_LIBRARY}=count");
    let command = programs::named("internals")?.command(runtime)?;
    let mut host = Host::start(host::redial_run(&["--dial", &dial], &command)?)?;
    let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
    controller.subscribe(Some(CORE_LIBRARY))?;
    controller.wait_until("the whole core library dialled", |dials| {
        dials.len() > 10_000 && dials.values().all(|row| row.wanted == Level::Count)
    })?;
    for (number, expected) in expected.iter().enumerate() {
        match number {
            0 => {}
            _ if number % 2 == 0 => {
                controller.dial(CORE_LIBRARY, Level::Count, Stay::Kept)?;
            }
            _ => {
                controller.off(CORE_LIBRARY)?;
            }
        }
        let said = go_through(&mut host)?;
        let differ: Vec<_> = said.iter().zip(expected).filter(|(said, expected)| said != expected).collect();
        ensure!(differ.is_empty() && said.len() == expected.len(), "run {number}: {differ:#?}");
        let rows = controller.status(Some(CORE_LIBRARY))?;
        let live = rows.iter().filter(|row| row.state == CopyState::Live).count();
        ensure!(if number % 2 == 0 { live > 1500 } else { live == 0 }, "run {number}: {live} live");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    end(host)
}

/// By name, what has no IL says why.
fn what_has_no_body_is_refused_by_name(runtime: Runtime) -> Result<()> {
    let command = programs::named("internals")?.command(runtime)?;
    let mut host = Host::start(host::redial_run(&[], &command)?)?;
    let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
    for (pattern, reason) in [
        ("internals!Internals.Native.Length(string)", Reason::PInvoke),
        ("internals!Internals.Helpers+INamed.Named<T>()", Reason::NoBody),
        ("internals!Internals.Native+Compare.Invoke", Reason::RuntimeImplemented),
    ] {
        let report = controller.dial(pattern, Level::Count, Stay::Kept)?;
        ensure!(report.matched == 1 && report.refused_by_reason == [(reason, 1)], "{pattern}: {report:?}");
        let note = controller.row(pattern)?.note;
        ensure!(note.as_deref() == Some(reason.sentence()), "{pattern}: {note:?}");
    }
    end(host)
}

on_each_runtime!(the_core_library_dialled, what_has_no_body_is_refused_by_name);

/// A helper that the JIT makes a call of, dialled after it and its caller were optimised: every call counts.
#[test]
fn casts_that_became_calls_are_counted() -> Result<()> {
    const HELPER: &str =
        "System.Private.CoreLib!System.Runtime.CompilerServices.CastHelpers.IsInstanceOfInterface";
    let mut command = programs::named("internals")?.command(Runtime::V8_0)?;
    // Else the JIT guesses types, and makes no call where it guessed well.
    command.env("DOTNET_TieredPGO", "0");
    let mut host = Host::start(host::redial_run(&[], &command)?)?;
    let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
    for _ in 0..10 {
        host.ask("casts 100", "casts")?;
    }
    let report = controller.dial(HELPER, Level::Count, Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    for times in [50, 100] {
        let before = controller.row(HELPER)?.calls;
        host.ask(&format!("casts {times}"), "casts")?;
        let calls = controller.row(HELPER)?.calls - before;
        ensure!(calls == times * 1000, "{calls} of {times},000 casts were counted");
    }
    end(host)
}

/// Calls of which the JIT may make something else say so; others of the same type do not.
#[test]
fn what_the_jit_may_expand_says_so() -> Result<()> {
    for (runtime, expanded) in [
        (Runtime::V2_1, "System.Collections.Generic.EqualityComparer<T>.get_Default"),
        (Runtime::V3_1, "System.Math.Max(int, int)"),
        (Runtime::V8_0, "System.Runtime.CompilerServices.Unsafe.As<T>(object)"),
        (Runtime::V8_0, "System.Nullable<T>.GetValueOrDefault()"),
        (Runtime::V8_0, "System.Runtime.Intrinsics.X86.Sse2.Add"),
    ] {
        let command = programs::named("internals")?.command(runtime)?;
        let mut host = Host::start(host::redial_run(&[], &command)?)?;
        let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
        let noted = |controller: &mut Controller, method: &str| -> Result<(usize, bool)> {
            let report =
                controller.dial(&format!("System.Private.CoreLib!{method}"), Level::Count, Stay::Kept)?;
            let rows = controller.status(Some(&format!("System.Private.CoreLib!{method}")))?;
            let says = |note: &Option<String>| {
                note.as_deref().is_some_and(|note| note.contains("replace calls by code of its own"))
            };
            let told = rows.iter().filter(|row| says(&row.note)).count();
            ensure!(!rows.is_empty() && (told == rows.len() || told == 0), "{method}: {rows:?}");
            Ok((told, report.warnings.iter().any(|warning| warning.contains("code of its own"))))
        };
        let (told, warned) = noted(&mut controller, expanded)?;
        ensure!(told > 0 && warned, "{} {expanded}", runtime.name());
        ensure!(noted(&mut controller, "System.Text.StringBuilder.Append(char)")? == (0, false));
        end(host)?;
    }
    Ok(())
}

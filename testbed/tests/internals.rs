//! Core library methods that the runtime itself calls (`programs/internals`), with the whole core library
//! dialled from the start, off, and on again. The program prints the same as without the agent, through
//! exceptions, finalizers, callbacks and casts.

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::{ChangeWarning, RowNote};
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

const CORE_LIBRARY: &str = "System.Private.CoreLib!*";
/// Number of runs through everything.
const RUNS: usize = 4;

fn run_everything(host: &mut Host) -> Result<Vec<String>> {
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
    ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.output());
    ensure!(outcome.stdout.ends_with("exits\n"), "{}", outcome.output());
    Ok(())
}

fn without_agent(runtime: Runtime) -> Result<Vec<Vec<String>>> {
    let mut host = Host::start(programs::named("internals")?.command(runtime)?)?;
    host.wait_for("ready")?;
    let runs = (0..RUNS).map(|_| run_everything(&mut host)).collect::<Result<_>>()?;
    end(host)?;
    Ok(runs)
}

fn program_is_unchanged_with_core_library_dialled(runtime: Runtime) -> Result<()> {
    let expected = without_agent(runtime)?;
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
                controller.dial(CORE_LIBRARY, Level::Count, Lifetime::Kept)?;
            }
            _ => {
                controller.off(CORE_LIBRARY)?;
            }
        }
        let said = run_everything(&mut host)?;
        let differ: Vec<_> = said.iter().zip(expected).filter(|(said, expected)| said != expected).collect();
        ensure!(differ.is_empty() && said.len() == expected.len(), "run {number}: {differ:#?}");
        let rows = controller.status(Some(CORE_LIBRARY))?;
        let live = rows.iter().filter(|row| row.state == CopyState::Live).count();
        ensure!(if number % 2 == 0 { live > 1500 } else { live == 0 }, "run {number}: {live} live");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    end(host)
}

/// Named methods without IL are refused with a reason.
fn refuses_named_methods_without_body(runtime: Runtime) -> Result<()> {
    let command = programs::named("internals")?.command(runtime)?;
    let mut host = Host::start(host::redial_run(&[], &command)?)?;
    let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
    for (pattern, reason) in [
        ("internals!Internals.Native.Length(string)", Reason::PInvoke),
        ("internals!Internals.Helpers+INamed.Named<T>()", Reason::NoBody),
        ("internals!Internals.Native+Compare.Invoke", Reason::RuntimeImplemented),
    ] {
        let report = controller.dial(pattern, Level::Count, Lifetime::Kept)?;
        ensure!(report.matched == 1 && report.refused_by_reason == [(reason, 1)], "{pattern}: {report:?}");
        let note = controller.row(pattern)?.note;
        ensure!(note == Some(RowNote::NotDialled { reason, hresult: 0 }), "{pattern}: {note:?}");
    }
    end(host)
}

on_each_runtime!(program_is_unchanged_with_core_library_dialled, refuses_named_methods_without_body);

/// A helper that the JIT turns into a call, dialled after it and its caller were optimised: every call counts.
#[test]
fn counts_casts_that_became_calls() -> Result<()> {
    const HELPER: &str =
        "System.Private.CoreLib!System.Runtime.CompilerServices.CastHelpers.IsInstanceOfInterface";
    let mut command = programs::named("internals")?.command(Runtime::V8_0)?;
    // Otherwise the JIT guesses types and omits the call where its guess is right.
    command.env("DOTNET_TieredPGO", "0");
    let mut host = Host::start(host::redial_run(&[], &command)?)?;
    let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
    for _ in 0..10 {
        host.ask("casts 100", "casts")?;
    }
    let report = controller.dial(HELPER, Level::Count, Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    for times in [50, 100] {
        let before = controller.row(HELPER)?.calls;
        host.ask(&format!("casts {times}"), "casts")?;
        let calls = controller.row(HELPER)?.calls - before;
        ensure!(calls == times * 1000, "{calls} of {times},000 casts were counted");
    }
    end(host)
}

/// Methods that the JIT may expand have a note; others of the same type do not.
#[test]
fn notes_methods_that_the_jit_may_expand() -> Result<()> {
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
                controller.dial(&format!("System.Private.CoreLib!{method}"), Level::Count, Lifetime::Kept)?;
            let rows = controller.status(Some(&format!("System.Private.CoreLib!{method}")))?;
            let reported = rows.iter().filter(|row| row.note == Some(RowNote::CallsReplaced)).count();
            ensure!(!rows.is_empty() && (reported == rows.len() || reported == 0), "{method}: {rows:?}");
            Ok((
                reported,
                report.warnings.iter().any(|one| matches!(one, ChangeWarning::CallsReplaced { .. })),
            ))
        };
        let (reported, warned) = noted(&mut controller, expanded)?;
        ensure!(reported > 0 && warned, "{} {expanded}", runtime.name());
        ensure!(noted(&mut controller, "System.Text.StringBuilder.Append(char)")? == (0, false));
        end(host)?;
    }
    Ok(())
}

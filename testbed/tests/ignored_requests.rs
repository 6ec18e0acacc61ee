//! Requests that runtimes accept and ignore. The agent refuses them in advance for code that may be edited
//! while it runs (debug builds with Hot Reload). Otherwise it notices that the runtime compiles original code,
//! and reports that.

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::{Remainder, RowNote};
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent;

const SHAPES: &str = "shapes!*";
const FRAMEWORK: &str = "System.Private.CoreLib!System.Text.StringBuilder.*";
const HOT_RELOAD: (&str, &str) = ("DOTNET_MODIFIABLE_ASSEMBLIES", "debug");

fn start(runtime: Runtime, optimised: bool, variable: (&str, &str)) -> Result<(Host, Controller)> {
    let mut command = programs::shapes(optimised)?.command(runtime)?;
    command.env(variable.0, variable.1);
    let mut host = Host::start(host::redial_run(&[], &command)?)?;
    let pid = host.wait_for("ready")?.parse()?;
    Ok((host, Controller::connect(pid)?))
}

fn run(host: &mut Host) -> Result<()> {
    host.ask("run", "done").map(drop)
}

fn finish(mut host: Host, mut controller: Controller) -> Result<()> {
    controller.all_off()?;
    run(&mut host)?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    host.close_input();
    ensure!(host.finish()?.code()? == 0);
    Ok(())
}

fn refuses_debug_builds_under_hot_reload(runtime: Runtime) -> Result<()> {
    let (mut host, mut controller) = start(runtime, false, HOT_RELOAD)?;
    let report = controller.dial(SHAPES, Level::Count, Lifetime::Kept)?;
    let refused: Vec<Reason> = report.refused_by_reason.iter().map(|(reason, _)| *reason).collect();
    // Older runtimes do not support it.
    let expected = if runtime == Runtime::V8_0 { vec![Reason::HotReload] } else { vec![] };
    ensure!(refused == expected && (report.accepted == 0) != expected.is_empty(), "{report:?}");
    // Modules that are not debug builds are dialled as usual.
    let report = controller.dial(FRAMEWORK, Level::Count, Lifetime::Kept)?;
    ensure!(report.accepted > 20 && report.refused.is_empty(), "{report:?}");
    run(&mut host)?;
    let live = |rows: &[redial_protocol::message::StatusRow]| {
        rows.iter().filter(|row| row.state == CopyState::Live && row.calls > 0).count()
    };
    ensure!(live(&controller.status(Some(FRAMEWORK))?) > 1);
    ensure!((live(&controller.status(Some(SHAPES))?) == 0) == (runtime == Runtime::V8_0));
    finish(host, controller)
}

on_each_runtime!(refuses_debug_builds_under_hot_reload);

#[test]
fn dials_release_builds() -> Result<()> {
    let (mut host, mut controller) = start(Runtime::V8_0, true, HOT_RELOAD)?;
    let report = controller.dial(SHAPES, Level::Count, Lifetime::Kept)?;
    ensure!(report.accepted > 300 && report.refused.is_empty(), "{report:?}");
    run(&mut host)?;
    ensure!(controller.status(Some(SHAPES))?.iter().filter(|row| row.calls > 0).count() > 100);
    finish(host, controller)
}

/// .NET Core 3.1 has such a switch too, and would spin in the first call.
#[test]
fn refuses_code_that_a_debugger_may_edit() -> Result<()> {
    for runtime in [Runtime::V3_1, Runtime::V8_0] {
        let (mut host, mut controller) = start(runtime, false, ("COMPlus_ForceEnc", "1"))?;
        let report = controller.dial(SHAPES, Level::Count, Lifetime::Kept)?;
        let reasons: Vec<Reason> = report.refused_by_reason.iter().map(|(reason, _)| *reason).collect();
        ensure!((report.accepted, reasons) == (0, vec![Reason::HotReload]), "{report:?}");
        run(&mut host)?;
        finish(host, controller)?;
    }
    Ok(())
}

/// The runtime silently never recompiles a generic method's instances over types that can be unloaded. The
/// agent notices that it compiles the original for them; over other types the method counts.
#[test]
fn notes_generic_instances_over_unloadable_types() -> Result<()> {
    const OVER: &str = "collectible!Collectible.Over<T>(int)";
    for runtime in [Runtime::V3_1, Runtime::V8_0] {
        let command = programs::named("collectible")?.command(runtime)?;
        let mut live = under_agent::start(command)?;
        let mut controller = live.controller()?;
        controller.subscribe(None)?;
        for load in ["collectible", "over", "over-int"] {
            live.host.ask(&format!("load {load}"), "loaded")?;
        }
        let report = controller.dial(OVER, Level::Count, Lifetime::Kept)?;
        ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
        live.host.ask("call over-int 30", "called")?;
        let row = controller.row(OVER)?;
        ensure!((row.state, row.calls) == (CopyState::Live, 30) && row.note.is_none(), "{row:?}");
        live.host.ask("call over 20", "called")?;
        controller.wait_until("a note about original code", |dials| {
            dials.values().any(|row| row.note == Some(RowNote::RequestIgnored))
        })?;
        live.host.ask("call over-int 30", "called")?;
        let row = controller.row(OVER)?;
        ensure!((row.state, row.calls) == (CopyState::Live, 60), "{row:?}");
        let remains = controller.agent_status()?.remains;
        ensure!(remains.iter().any(|one| matches!(one, Remainder::RestrainedInlining { .. })), "{remains:?}");
        // Off removes the note, and a new dial starts without it.
        controller.off(OVER)?;
        ensure!(controller.row(OVER)?.note.is_none());
        live.host.ask("call over 20", "called")?;
        controller.dial(OVER, Level::Count, Lifetime::Kept)?;
        ensure!(controller.row(OVER)?.note.is_none());
        live.host.close_input();
        ensure!(live.host.finish()?.code()? == 0);
    }
    Ok(())
}

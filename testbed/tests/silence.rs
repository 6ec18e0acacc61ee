//! Code that may be edited while it runs: runtimes accept requests for it and do nothing. What Hot Reload may change (debug
//! builds under `DOTNET_MODIFIABLE_ASSEMBLIES=debug`) is refused beforehand; what a debugger may change nobody knows, and it is
//! seen that the runtime goes on without us.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

const SHAPES: &str = "shapes!*";
const FRAMEWORK: &str = "System.Private.CoreLib!System.Text.StringBuilder.*";
const HOT_RELOAD: (&str, &str) = ("DOTNET_MODIFIABLE_ASSEMBLIES", "debug");
const IGNORED: &str = "yet compiled the original code";

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

fn debug_builds_are_refused_where_the_runtime_would_ignore_them(runtime: Runtime) -> Result<()> {
    let (mut host, mut controller) = start(runtime, false, HOT_RELOAD)?;
    let report = controller.dial(SHAPES, Level::Count, Stay::Kept)?;
    let refused: Vec<Reason> = report.refused_by_reason.iter().map(|(reason, _)| *reason).collect();
    // Older runtimes know nothing of it.
    let expected = if runtime == Runtime::V8_0 { vec![Reason::HotReload] } else { vec![] };
    ensure!(refused == expected && (report.accepted == 0) == !expected.is_empty(), "{report:?}");
    // What is no debug build is dialled as ever.
    let report = controller.dial(FRAMEWORK, Level::Count, Stay::Kept)?;
    ensure!(report.accepted > 20 && report.refused.is_empty(), "{report:?}");
    run(&mut host)?;
    let live = |rows: &[redial_protocol::message::StatusRow]| {
        rows.iter().filter(|row| row.state == State::Live && row.calls > 0).count()
    };
    ensure!(live(&controller.status(Some(FRAMEWORK))?) > 1);
    ensure!((live(&controller.status(Some(SHAPES))?) == 0) == (runtime == Runtime::V8_0));
    finish(host, controller)
}

on_each_runtime!(debug_builds_are_refused_where_the_runtime_would_ignore_them);

#[test]
fn release_builds_are_dialled() -> Result<()> {
    let (mut host, mut controller) = start(Runtime::V8_0, true, HOT_RELOAD)?;
    let report = controller.dial(SHAPES, Level::Count, Stay::Kept)?;
    ensure!(report.accepted > 300 && report.refused.is_empty(), "{report:?}");
    run(&mut host)?;
    ensure!(controller.status(Some(SHAPES))?.iter().filter(|row| row.calls > 0).count() > 100);
    finish(host, controller)
}

/// On .NET Core 3.1 a switch does what a debugger would: whoever is called says that the runtime passes us over, the others
/// are only asked, and what cannot be edited counts.
#[test]
fn what_the_runtime_ignores_says_so_once_it_is_called() -> Result<()> {
    let (mut host, mut controller) = start(Runtime::V3_1, false, ("COMPlus_ForceEnc", "1"))?;
    let report = controller.dial(SHAPES, Level::Count, Stay::Kept)?;
    ensure!(report.accepted > 300 && report.refused.is_empty(), "{report:?}");
    controller.dial(FRAMEWORK, Level::Count, Stay::Kept)?;
    controller.subscribe(None)?;
    run(&mut host)?;
    let ignored = |row: &redial_protocol::message::StatusRow| {
        row.note.as_deref().is_some_and(|note| note.contains(IGNORED))
    };
    controller.wait_until("what is called to be told of", |dials| {
        dials.values().filter(|row| ignored(row)).count() > 100
    })?;
    for row in controller.dials().values() {
        let silent = row.module == "shapes" && row.state == State::Asked && row.calls == 0;
        ensure!(silent || !ignored(row) && row.module != "shapes", "{row:?}");
    }
    let counted = controller.status(Some(FRAMEWORK))?.iter().filter(|row| row.calls > 0).count();
    ensure!(counted > 1, "{counted} methods of the framework counted");
    finish(host, controller)
}

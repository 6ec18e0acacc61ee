//! Methods with invalid IL. A probe must not make anything worse.

use std::process::Command;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, ensure_messages};
use redial_testbed::{generate, host, on_each_runtime, programs};

on_each_runtime!(
    bad_body_fails_alone,
    detects_failure_after_one_call,
    variable_arguments_fail_as_without_agent
);

const BROKEN: &str = "Bad!Bad.Bodies.Broken(int)";
const GOOD: &str = "Bad!Bad.Bodies.Good(int)";

fn badil(runtime: Runtime) -> Result<Command> {
    let mut command = programs::named("badil")?.command(runtime)?;
    command.arg(generate::bad_library()?);
    // Without tiering, 2.1 compiles the original first and patches a jump into it: see the test below.
    command.env("COMPlus_TieredCompilation", "1");
    Ok(command)
}

/// Dialled while the program runs.
fn bad_body_fails_alone(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(badil(runtime)?)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    // The same results as without the agent.
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(live.host.ask("good 1", "good")? == "2");
    let report = controller.dial_all(&[BROKEN, GOOD], Level::Count, Lifetime::Kept)?;
    ensure!(report.matched == 2, "{report:?}");
    for n in 0..5 {
        ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
        ensure!(live.host.ask(&format!("good {n}"), "good")? == (n + 1).to_string());
    }
    wait_for_failure(&mut controller)?;
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(live.host.ask("good 6", "good")? == "7");

    let broken = controller.row(BROKEN)?;
    ensure!(broken.note.is_some() && broken.version.is_none(), "{broken:?}");
    let good = controller.row(GOOD)?;
    ensure!((good.state, good.calls) == (CopyState::Live, 6), "{good:?}");

    // The agent does not try again.
    let outcome = live.redial("dial", &[BROKEN, "count"])?;
    ensure_messages(&outcome, 1, &[])?;
    ensure!(outcome.stdout.contains("1 method refused"), "{}", outcome.output());
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(controller.all_off()? == (1, 0));
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(live.host.ask("good 6", "good")? == "7");
    ensure!(controller.row(GOOD)?.calls == 6);
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// The runtime does not report a failed compilation and does not try again; the agent detects it anyway. A
/// standing order dialled the method before its module was loaded.
fn detects_failure_after_one_call(runtime: Runtime) -> Result<()> {
    let run = host::redial_run(&["--dial", "Bad!*=count"], &badil(runtime)?)?;
    let mut live = under_agent::start_prepared(run)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    ensure!(live.host.ask("good 1", "good")? == "2");
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    wait_for_failure(&mut controller)?;
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(controller.row(GOOD)?.calls == 1, "{:?}", controller.row(GOOD)?);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Variable arguments work only on Windows: no runtime here compiles calls with them, dialled or not.
fn variable_arguments_fail_as_without_agent(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(badil(runtime)?)?;
    let mut controller = live.controller()?;
    let without = live.host.ask("variable 1", "threw")?;
    let report = controller.dial("Bad!Bad.Bodies.*Variable*", Level::Count, Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (2, 2), "{report:?}");
    controller.dial(GOOD, Level::Count, Lifetime::Kept)?;
    for _ in 0..3 {
        ensure!(live.host.ask("variable 1", "threw")? == without);
        ensure!(live.host.ask("good 1", "good")? == "2");
    }
    for row in controller.status(Some("Bad!Bad.Bodies.*Variable*"))? {
        ensure!(row.calls == 0 && row.state != CopyState::Live, "{row:?}");
    }
    ensure!(controller.row(GOOD)?.calls == 3);
    controller.all_off()?;
    ensure!(live.host.ask("variable 1", "threw")? == without);
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Without tiering 2.1 never asks for the instrumented body, because the original does not compile. Nothing
/// fails or runs.
#[test]
fn untiered_2_1_never_asks_for_the_body() -> Result<()> {
    let mut command = badil(Runtime::V2_1)?;
    command.env_remove("COMPlus_TieredCompilation");
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    controller.dial_all(&[BROKEN, GOOD], Level::Count, Lifetime::Kept)?;
    for _ in 0..3 {
        ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
        ensure!(live.host.ask("good 1", "good")? == "2");
    }
    let (broken, good) = (controller.row(BROKEN)?, controller.row(GOOD)?);
    ensure!((broken.state, broken.calls) == (CopyState::Asked, 0), "{broken:?}");
    ensure!((good.state, good.calls) == (CopyState::Live, 3), "{good:?}");
    ensure!(controller.all_off()? == (2, 0));
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    Ok(())
}

fn wait_for_failure(controller: &mut Controller) -> Result<()> {
    controller.wait_until("the broken one to fail", |dials| {
        dials.values().any(|row| row.method == "Bad.Bodies.Broken" && row.state == CopyState::Failed)
    })
}

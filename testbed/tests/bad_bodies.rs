//! Methods whose own IL is invalid: the probe cannot make them better, and must not make anything worse.

use std::process::Command;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, ensure_said};
use redial_testbed::{generate, host, on_each_runtime, programs};

on_each_runtime!(a_bad_body_fails_alone, one_call_is_enough, variable_arguments_fail_as_without_us);

const BROKEN: &str = "Bad!Bad.Bodies.Broken(int)";
const GOOD: &str = "Bad!Bad.Bodies.Good(int)";

fn badil(runtime: Runtime) -> Result<Command> {
    let mut command = programs::named("badil")?.command(runtime)?;
    command.arg(generate::bad_library()?);
    // Without tiering 2.1 compiles the original first and patches a jump into it: see the test below.
    command.env("COMPlus_TieredCompilation", "1");
    Ok(command)
}

/// Dialled while the program runs.
fn a_bad_body_fails_alone(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(badil(runtime)?)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    // As it is without us.
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(live.host.ask("good 1", "good")? == "2");
    let report = controller.dial_all(&[BROKEN, GOOD], Level::Count, Stay::Kept)?;
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

    // It is not tried again.
    let outcome = live.redial("dial", &[BROKEN, "count"])?;
    ensure_said(&outcome, 1, &[])?;
    ensure!(outcome.stdout.contains("1 method refused"), "{}", outcome.said());
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

/// The runtime says nothing of a failed compilation and is not called again: the agent finds out all the same.
/// Dialled by an order that stood before the module was loaded.
fn one_call_is_enough(runtime: Runtime) -> Result<()> {
    let run = host::redial_run(&["--dial", "Bad!*=count"], &badil(runtime)?)?;
    let mut live = under_agent::start_as_it_is(run)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    ensure!(live.host.ask("good 1", "good")? == "2");
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    wait_for_failure(&mut controller)?;
    ensure!(live.host.ask("broken 1", "threw")? == "InvalidProgramException");
    ensure!(controller.row(GOOD)?.calls == 1, "{:?}", controller.row(GOOD)?);
    live.host.close_input();
    ensure_said(&live.host.finish()?, 0, &[])
}

/// Variable arguments are for Windows: no runtime here compiles a method that is called with some, dialled or not.
fn variable_arguments_fail_as_without_us(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(badil(runtime)?)?;
    let mut controller = live.controller()?;
    let without = live.host.ask("variable 1", "threw")?;
    let report = controller.dial("Bad!Bad.Bodies.*Variable*", Level::Count, Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (2, 2), "{report:?}");
    controller.dial(GOOD, Level::Count, Stay::Kept)?;
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
    ensure_said(&live.host.finish()?, 0, &[])
}

/// There 2.1 never asks for our body, since the original does not compile: nothing failed, nothing ran.
#[test]
fn without_tiering_2_1_never_gets_to_our_body() -> Result<()> {
    let mut command = badil(Runtime::V2_1)?;
    command.env_remove("COMPlus_TieredCompilation");
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    controller.dial_all(&[BROKEN, GOOD], Level::Count, Stay::Kept)?;
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

//! Counts are exact wherever a thread's stack is: threads that come and go, stacks that take the place of others and
//! grow over many pages.

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::Stay;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{on_each_runtime, programs, under_agent};

on_each_runtime!(threads_that_come_and_go_are_counted_exactly);

fn threads_that_come_and_go_are_counted_exactly(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("stacks")?.command(runtime)?)?;
    let mut controller = live.controller()?;
    let report = controller.dial("stacks!Stacks.*", Level::Count, Stay::Kept)?;
    ensure!(report.accepted + report.bodyless == report.matched && report.accepted >= 3, "{report:?}");
    for round in ["run 30 8 2000", "run 100 2 0", "run 4 16 1500"] {
        let ran = live.host.ask(round, "ran ")?;
        let (narrow, wide) = ran.split_once(' ').context("two numbers")?;
        for (method, truth) in [("Narrow", narrow), ("Wide", wide)] {
            let row = controller.row(&format!("stacks!Stacks.{method}"))?;
            ensure!(row.calls.to_string() == truth, "{truth} calls of {method} after {round:?}: {row:?}");
        }
    }
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// A method that calls itself last, optimised from the start, needs no more stack with its dial on.
#[test]
fn last_calls_stay_jumps() -> Result<()> {
    let mut command = programs::named("stacks")?.command(Runtime::V8_0)?;
    command.env("DOTNET_TieredCompilation", "0");
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let sum = live.host.ask("deep 3000000", "sum ")?;
    controller.dial("stacks!Stacks.Down", Level::Count, Stay::Kept)?;
    ensure!(live.host.ask("deep 3000000", "sum ")? == sum, "the sums differ");
    let row = controller.row("stacks!Stacks.Down")?;
    ensure!(row.calls == 3_000_001, "{row:?}");
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

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

//! Threads of reflection over a module while its methods are dialled and reverted: the metadata that the probe's
//! token is added to must not move under its readers.
//!
//! What is added first counts most, so fresh processes do.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::report::DialReport;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, Live};
use redial_testbed::{generate, on_each_runtime, programs, soak};

on_each_runtime!(
    ten_thousand_methods_turned_under_reflection,
    many_first_dials_under_reflection,
    first_dials_of_a_small_module_under_reflection,
    the_core_library_turned_under_reflection,
);

/// Threads of reflection.
const THREADS: &str = "8";
/// Every class of `Big`, their nested ones included.
const BIG: &str = "Big!Big.*.*";

fn reflect(runtime: Runtime, over: &str) -> Result<Live> {
    let mut command: Command = programs::named("reflect")?.command(runtime)?;
    command.args([over, THREADS]);
    under_agent::start(command)
}

fn big() -> Result<String> {
    Ok(generate::big_library()?.to_str().context("the cache folder's name is text")?.to_owned())
}

/// Accepted and refused copies are all the matched ones, refusals none.
fn all_accepted(report: &DialReport) -> Result<u64> {
    ensure!(report.refused_by_reason.is_empty(), "{report:?}");
    ensure!(report.accepted + report.bodyless == report.matched, "{report:?}");
    Ok(report.accepted)
}

/// Ends reflection and the host: passes were made, nothing was thrown, nothing crashed.
fn end(mut live: Live, mut controller: Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!(status.guard_trips == 0, "{status:?}");
    let stopped = live.host.ask("stop", "stopped passes")?;
    let (passes, exceptions) = stopped.split_once(" exceptions ").context("passes P exceptions E")?;
    ensure!(passes.parse::<u64>()? > 0, "nothing was read: {stopped}");
    live.host.close_input();
    let outcome = live.host.finish()?;
    ensure!(exceptions == "0", "{exceptions} exceptions:\n{}", outcome.said());
    ensure!(outcome.code()? == 0, "{}", outcome.said());
    Ok(())
}

/// Waits until reflection has gone once more over everything.
fn another_pass(live: &mut Live) -> Result<()> {
    live.host.ask("passes 1", "passes").map(drop)
}

fn ten_thousand_methods_turned_under_reflection(runtime: Runtime) -> Result<()> {
    let mut live = reflect(runtime, &big()?)?;
    let mut controller = live.controller()?;
    let expected = live.host.ask("call 1", "called 1")?;
    live.host.ask("start", "started")?;
    for round in 0..8 {
        let accepted = all_accepted(&controller.dial(BIG, Level::Count, Stay::Held)?)?;
        ensure!(accepted > 10_000, "only {accepted} methods");
        if round % 2 == 0 {
            another_pass(&mut live)?;
        }
        all_accepted(&controller.off(BIG)?)?;
    }
    // A part of them is called as well: the runtime compiles our bodies beside the readers.
    all_accepted(&controller.dial("Big!Big.C1*.*", Level::Count, Stay::Held)?)?;
    ensure!(live.host.ask("call 1", "called 1")? == expected, "the results changed");
    let rows = controller.status(Some("Big!Big.C1*.Run(int)"))?;
    ensure!(rows.len() == 11 && rows.iter().all(|row| row.calls == 1), "{rows:?}");
    all_accepted(&controller.off("Big!Big.C1*.*")?)?;
    ensure!(live.host.ask("call 1", "called 1")? == expected, "the results changed");
    ensure!(controller.status(Some("Big!Big.C1*.Run(int)"))?.iter().all(|row| row.calls == 1));
    end(live, controller)
}

/// The first dial of a module, which opens its metadata for writing, in one fresh process after another.
fn many_first_dials_under_reflection(runtime: Runtime) -> Result<()> {
    for _ in 0..soak::scaled(8, 20) {
        let mut live = reflect(runtime, &big()?)?;
        let mut controller = live.controller()?;
        live.host.ask("start", "started")?;
        another_pass(&mut live)?;
        // One method first: the write alone, with readers everywhere.
        all_accepted(&controller.dial("Big!Big.C50.M0", Level::Count, Stay::Held)?)?;
        all_accepted(&controller.dial(BIG, Level::Count, Stay::Held)?)?;
        another_pass(&mut live)?;
        end(live, controller)?;
    }
    Ok(())
}

/// The same of a module that stays far from the limits of its tables. Where modules were opened for writing at their
/// first dial, one such process in seventy crashed.
fn first_dials_of_a_small_module_under_reflection(runtime: Runtime) -> Result<()> {
    let small = generate::hot_library()?;
    let small = small.to_str().context("the cache folder's name is text")?;
    for _ in 0..soak::scaled(8, 50) {
        let mut live = reflect(runtime, small)?;
        let mut controller = live.controller()?;
        live.host.ask("start", "started")?;
        another_pass(&mut live)?;
        all_accepted(&controller.dial("Hot!Hot.H0.M0", Level::Count, Stay::Held)?)?;
        all_accepted(&controller.dial("Hot!Hot.H*.*", Level::Count, Stay::Held)?)?;
        another_pass(&mut live)?;
        end(live, controller)?;
    }
    Ok(())
}

/// The core library is read by every thread all the time, and not only by ours.
fn the_core_library_turned_under_reflection(runtime: Runtime) -> Result<()> {
    const PATTERN: &str = "System.Private.CoreLib!System.Collections.*.*";
    for _ in 0..2 {
        let mut live = reflect(runtime, "corelib")?;
        let mut controller = live.controller()?;
        live.host.ask("start", "started")?;
        for _ in 0..5 {
            let report = controller.dial(PATTERN, Level::Count, Stay::Held)?;
            ensure!(report.accepted > 500 && report.refused_by_reason.is_empty(), "{report:?}");
            controller.off(PATTERN)?;
        }
        controller.dial(PATTERN, Level::Count, Stay::Held)?;
        another_pass(&mut live)?;
        ensure!(controller.all_off()?.1 == 0);
        end(live, controller)?;
    }
    Ok(())
}

//! Threads reflect over a module while its methods are dialled and reverted: adding the probe's token must not
//! move metadata under its readers.
//!
//! The first addition matters most, so the tests use fresh processes.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::report::DialReport;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{generate, on_each_runtime, programs, soak};

on_each_runtime!(
    turns_ten_thousand_methods_under_reflection,
    survives_many_first_dials_under_reflection,
    survives_first_dials_of_a_small_module,
    turns_the_core_library_under_reflection,
);

/// Number of reflecting threads.
const THREADS: &str = "8";
/// Every class of `Big`, including nested ones.
const BIG: &str = "Big!Big.*.*";

fn reflect(runtime: Runtime, over: &str) -> Result<LiveHost> {
    let mut command: Command = programs::named("reflect")?.command(runtime)?;
    command.args([over, THREADS]);
    under_agent::start(command)
}

fn big() -> Result<String> {
    Ok(generate::big_library()?.to_str().context("the cache folder's name is text")?.to_owned())
}

/// Checks that no copy was refused, and returns the number of accepted copies.
fn ensure_all_accepted(report: &DialReport) -> Result<u64> {
    ensure!(report.refused_by_reason.is_empty(), "{report:?}");
    ensure!(report.accepted + report.bodyless == report.matched, "{report:?}");
    Ok(report.accepted)
}

/// Ends reflection and the host, after checking for completed passes without exceptions or crashes.
fn end(mut live: LiveHost, mut controller: Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!(status.guard_trips == 0, "{status:?}");
    let stopped = live.host.ask("stop", "stopped passes")?;
    let (passes, exceptions) = stopped.split_once(" exceptions ").context("passes P exceptions E")?;
    ensure!(passes.parse::<u64>()? > 0, "nothing was read: {stopped}");
    live.host.close_input();
    let outcome = live.host.finish()?;
    ensure!(exceptions == "0", "{exceptions} exceptions:\n{}", outcome.output());
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

/// Waits until reflection has completed another pass.
fn wait_for_pass(live: &mut LiveHost) -> Result<()> {
    live.host.ask("passes 1", "passes").map(drop)
}

fn turns_ten_thousand_methods_under_reflection(runtime: Runtime) -> Result<()> {
    let mut live = reflect(runtime, &big()?)?;
    let mut controller = live.controller()?;
    let expected = live.host.ask("call 1", "called 1")?;
    live.host.ask("start", "started")?;
    for round in 0..soak::scaled(4, 10) {
        let accepted = ensure_all_accepted(&controller.dial(BIG, Level::Count, Lifetime::Held)?)?;
        ensure!(accepted > 10_000, "only {accepted} methods");
        if round % 2 == 0 {
            wait_for_pass(&mut live)?;
        }
        ensure_all_accepted(&controller.off(BIG)?)?;
    }
    // Some are called as well, so the runtime compiles instrumented bodies beside the readers.
    ensure_all_accepted(&controller.dial("Big!Big.C1*.*", Level::Count, Lifetime::Held)?)?;
    ensure!(live.host.ask("call 1", "called 1")? == expected, "the results changed");
    let rows = controller.status(Some("Big!Big.C1*.Run(int)"))?;
    ensure!(rows.len() == 11 && rows.iter().all(|row| row.calls == 1), "{rows:?}");
    ensure_all_accepted(&controller.off("Big!Big.C1*.*")?)?;
    ensure!(live.host.ask("call 1", "called 1")? == expected, "the results changed");
    ensure!(controller.status(Some("Big!Big.C1*.Run(int)"))?.iter().all(|row| row.calls == 1));
    end(live, controller)
}

/// The first dial of a module, which opens its metadata for writing, in one fresh process after another.
fn survives_many_first_dials_under_reflection(runtime: Runtime) -> Result<()> {
    for _ in 0..soak::scaled(3, 50) {
        let mut live = reflect(runtime, &big()?)?;
        let mut controller = live.controller()?;
        live.host.ask("start", "started")?;
        wait_for_pass(&mut live)?;
        // One method first: a single write, with readers everywhere.
        ensure_all_accepted(&controller.dial("Big!Big.C50.M0", Level::Count, Lifetime::Held)?)?;
        ensure_all_accepted(&controller.dial(BIG, Level::Count, Lifetime::Held)?)?;
        wait_for_pass(&mut live)?;
        end(live, controller)?;
    }
    Ok(())
}

/// The same with a module far below the limits of its tables. When modules were opened for writing at their
/// first dial, one such process in seventy crashed.
fn survives_first_dials_of_a_small_module(runtime: Runtime) -> Result<()> {
    let small = generate::hot_library()?;
    let small = small.to_str().context("the cache folder's name is text")?;
    for _ in 0..soak::scaled(8, 50) {
        let mut live = reflect(runtime, small)?;
        let mut controller = live.controller()?;
        live.host.ask("start", "started")?;
        wait_for_pass(&mut live)?;
        ensure_all_accepted(&controller.dial("Hot!Hot.H0.M0", Level::Count, Lifetime::Held)?)?;
        ensure_all_accepted(&controller.dial("Hot!Hot.H*.*", Level::Count, Lifetime::Held)?)?;
        wait_for_pass(&mut live)?;
        end(live, controller)?;
    }
    Ok(())
}

/// Every thread reads the core library's metadata all the time, not only the test's threads.
fn turns_the_core_library_under_reflection(runtime: Runtime) -> Result<()> {
    const PATTERN: &str = "System.Private.CoreLib!System.Collections.*.*";
    for _ in 0..2 {
        let mut live = reflect(runtime, "corelib")?;
        let mut controller = live.controller()?;
        live.host.ask("start", "started")?;
        for _ in 0..5 {
            let report = controller.dial(PATTERN, Level::Count, Lifetime::Held)?;
            ensure!(report.accepted > 500 && report.refused_by_reason.is_empty(), "{report:?}");
            controller.off(PATTERN)?;
        }
        controller.dial(PATTERN, Level::Count, Lifetime::Held)?;
        wait_for_pass(&mut live)?;
        ensure!(controller.all_off()?.1 == 0);
        end(live, controller)?;
    }
    Ok(())
}

//! Counts are exact wherever a thread's stack is: threads that come and go, stacks that reuse the memory of
//! others and grow over many pages.

use anyhow::{Context, Result, ensure};
use redial_protocol::diagnostics::{MissingTimes, UntimedReason};
use redial_protocol::level::Level;
use redial_testbed::controller::Lifetime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{on_each_runtime, programs, under_agent};

/// The note of a method that cannot be timed because its last call is to itself.
const ENDS_IN_ITSELF: MissingTimes = MissingTimes::Untimed(UntimedReason::EndsInItself);

on_each_runtime!(counts_short_lived_threads_exactly, tail_calls_stay_jumps);

fn counts_short_lived_threads_exactly(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("stacks")?.command(runtime)?)?;
    let mut controller = live.controller()?;
    let report = controller.dial("stacks!Stacks.*", Level::Count, Lifetime::Kept)?;
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

/// Methods that end with a call to themselves, optimised from the start, need no more stack with their dials
/// on: plain and generic ones, those of generic types, over value types and in shared code. A method that ends
/// with a call to another one of the same name, or to another generic one, is timed.
fn tail_calls_stay_jumps(runtime: Runtime) -> Result<()> {
    const DEPTH: u64 = 3_000_000;
    let mut command = programs::named("stacks")?.command(runtime)?;
    under_agent::set_tiered(&mut command, "0");
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let deep = format!("deep {DEPTH}");
    let sum = live.host.ask(&deep, "sum ")?;
    for (round, level) in [Level::Count, Level::Time].into_iter().enumerate() {
        let report = controller.dial("stacks!Last*.*", level, Lifetime::Kept)?;
        ensure!(report.accepted == 6, "{report:?}");
        ensure!(live.host.ask(&deep, "sum ")? == sum, "at {level}: the sums differ");
        for row in controller.status(Some("stacks!Last*.*"))? {
            let goes_deep = [
                ("Last.Down(int, long)", 1),
                ("Last.Generic<T>(int, long, T)", 2),
                ("Last<T>.Down(int, long)", 2),
                ("Last<T>.Both<U>(int, long, U)", 2),
            ];
            let name = format!("{}{}", row.method, row.signature);
            let deep =
                goes_deep.iter().find(|(method, _)| *method == name).map(|(_, calls)| calls * (DEPTH + 1));
            let calls = (round as u64 + 1) * deep.unwrap_or(2);
            ensure!(row.calls == calls, "at {level}: not {calls} calls: {row:?}");
            let only_counted =
                row.times_note.as_ref().is_some_and(|note| note.missing == Some(ENDS_IN_ITSELF));
            ensure!(only_counted == (level == Level::Time && deep.is_some()), "at {level}: {row:?}");
        }
    }
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

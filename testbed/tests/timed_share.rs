//! At level *time*, nearly every method of large real modules is timed: few pass on their frame's address or
//! end with a call to themselves, and none lacks room for its variables in the metadata.

use redial_text::diagnostics::{Reader, row_notes};
use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_testbed::controller::Lifetime;
use redial_testbed::runtimes::{self, Runtime};
use redial_testbed::{on_each_runtime, programs, under_agent};

on_each_runtime!(times_nearly_all_of_the_core_library, times_nearly_all_of_the_compiler);

fn times_nearly_all_of_the_core_library(runtime: Runtime) -> Result<()> {
    ensure_timed_share(runtime, "corelib", "System.Private.CoreLib")
}

fn times_nearly_all_of_the_compiler(runtime: Runtime) -> Result<()> {
    let file = runtimes::compiler()?.join("Microsoft.CodeAnalysis.CSharp.dll");
    ensure_timed_share(runtime, &file.display().to_string(), "Microsoft.CodeAnalysis.CSharp")
}

fn ensure_timed_share(runtime: Runtime, file: &str, module: &str) -> Result<()> {
    let mut command = programs::named("reflect")?.command(runtime)?;
    command.args([file, "0"]);
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let pattern = format!("{module}!*");
    let report = controller.dial(&pattern, Level::Time, Lifetime::Kept)?;
    let (mut all, mut only_counted) = (0_usize, BTreeMap::<String, usize>::new());
    for row in controller.status(Some(&pattern))? {
        if row.state == CopyState::Refused {
            continue;
        }
        all += 1;
        // Before .NET 8, hardware intrinsics are methods that call themselves.
        if row.method.starts_with("System.Runtime.Intrinsics.") {
            continue;
        }
        if let Some(why) = &row.times_note {
            *only_counted.entry(row_notes::times_note(why, Reader::CommandLine)).or_default() += 1;
        }
    }
    println!("{}: {module}: of {all} methods are only counted: {only_counted:#?}", runtime.name());
    ensure!(all as u64 == report.accepted && all > 10_000, "{all} methods, {report:?}");
    let few = only_counted.values().sum::<usize>() * 100 < all;
    ensure!(few && !only_counted.keys().any(|why| why.contains("room")), "{only_counted:#?}");
    ensure!(controller.all_off()? == (all as u64, 0), "not all are off");
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

//! Clients that do everything in their power to a host at work. It keeps its memory, its descriptors and its numbers.

mod backlogs;
mod connections;
// They send signals, read `/proc`, and limit descriptors.
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(target_os = "linux")]
mod everything;
mod frames;

use std::process::Command;

use anyhow::Result;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    Ok(command)
}

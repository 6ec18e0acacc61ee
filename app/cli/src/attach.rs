//! `redial attach`: loads the agent into running processes. A process that has the agent counts as success.

use super::{arguments, multi_process};
use redial_link::attach::{Attached, attach};
use redial_link::exit::{Exit, Failure};
use std::time::Duration;

/// Loads the agent.
pub fn run(arguments: &arguments::AttachArguments) -> Result<Exit, Failure> {
    let wait = Duration::from_secs(arguments.timeout);
    multi_process::each(&arguments.target, false, |pid, out| {
        out.line(&result_text(pid, attach(pid, wait)?))?;
        Ok(Exit::Done)
    })
}

fn result_text(pid: u32, attached: Attached) -> String {
    match attached {
        Attached::Now => format!("loaded the agent into process {pid}; it stays until the process ends"),
        Attached::Before => format!("the agent is already loaded into process {pid}"),
    }
}

//! `redial attach`: loads the agent into running processes. Done already is done, too.

use super::{arguments, several};
use crate::exit::{Exit, Failure};
use crate::link::attach::{Attached, attach};
use std::time::Duration;

/// Loads the agent.
pub fn run(arguments: &arguments::Attach) -> Result<Exit, Failure> {
    let wait = Duration::from_secs(arguments.timeout);
    several::each(&arguments.target, false, |pid, out| {
        out.line(&said(pid, attach(pid, wait)?))?;
        Ok(Exit::Done)
    })
}

fn said(pid: u32, attached: Attached) -> String {
    match attached {
        Attached::Now => format!("the agent is loaded into process {pid}; it stays until the process ends"),
        Attached::Before => format!("the agent is in process {pid} already"),
    }
}

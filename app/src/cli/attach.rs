//! `redial attach`: loads the agent into a running process. Done already is done, too.

use super::arguments;
use crate::exit::{Exit, Failure};
use crate::link::attach::{Attached, attach};
use crate::output::Out;
use std::time::Duration;

/// Loads the agent.
pub fn run(arguments: &arguments::Attach) -> Result<Exit, Failure> {
    let attached = attach(arguments.pid, Duration::from_secs(arguments.timeout))?;
    let mut out = Out::new();
    out.line(&said(arguments.pid, attached))?;
    out.flush()?;
    Ok(Exit::Done)
}

fn said(pid: u32, attached: Attached) -> String {
    match attached {
        Attached::Now => format!("the agent is loaded into process {pid}; it stays until the process ends"),
        Attached::Before => format!("the agent is in process {pid} already"),
    }
}

//! The host with many methods: `Hot`, a thousand short ones in constant use, and copies of `Big`, ten thousand of all
//! shapes each.

use std::collections::HashSet;

use anyhow::{Context, Result};
use redial_protocol::ids::RowId;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::state::CopyState;
use redial_testbed::controller::Controller;
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{generate, programs};

use super::context::Bench;

/// Every method of `Hot`.
pub const HOT: &str = "Hot!Hot.H*.M*";
/// Number of methods of `Hot`.
pub const HOT_METHODS: usize = (generate::HOT_CLASSES * generate::HOT_METHODS) as usize;

/// A running host.
pub struct Many {
    /// The process, driven by lines.
    pub host: Host,
    /// Its process id.
    pub pid: u32,
    /// Milliseconds of the first call of every method of `Hot`, while the runtime compiled them.
    pub first_calls: f64,
}

impl Many {
    /// Starts it under the agent with this many copies of `Big`, everything loaded and nothing dialled.
    pub fn start(bench: &Bench, runtime: Runtime, copies: u32) -> Result<Many> {
        let mut command = programs::named("many")?.command(runtime)?;
        command.arg(generate::hot_library()?);
        for number in 0..copies {
            command.arg(generate::big_library_named(&copy(number))?);
        }
        host::load_agent_from(&mut command, bench.built.agent());
        let mut host = Host::start(command)?;
        let first_calls = host.wait_for("first ")?.parse().context("a host says `first MS`")?;
        let pid = host.wait_for("ready ")?.parse().context("a host says `ready PID`")?;
        Ok(Many { host, pid, first_calls })
    }

    /// Opens a session that subscribes to everything.
    pub fn watch(&self) -> Result<Controller> {
        let mut controller = Controller::connect(self.pid)?;
        controller.subscribe(None)?;
        Ok(controller)
    }

    /// Returns resident memory after a collection, in bytes.
    pub fn memory(&mut self) -> Result<f64> {
        let kib: f64 = self.host.ask("memory", "memory ")?.parse().context("memory is a number")?;
        Ok(kib * 1024.0)
    }
}

/// Name of a copy of `Big`.
fn copy(number: u32) -> String {
    format!("Big{number}")
}

/// The ten thousand methods of a copy.
pub fn big(number: u32) -> String {
    format!("{}!Big.C*.M*", copy(number))
}

/// Waits until every method of `Hot` went live. It counts events only, since reading every row at each of thousands of
/// events would dominate the measurement.
pub fn wait_for_live(controller: &mut Controller) -> Result<()> {
    let mut live: HashSet<RowId> = HashSet::new();
    controller.wait_for("that every hot method is live", |event| {
        match event {
            Event::Transition(transition) if transition.state == CopyState::Live => {
                live.insert(transition.row);
            }
            // Rows reported for the first time may be live already.
            Event::Rows { rows, .. } => {
                live.extend(rows.iter().filter(|row| row.state == CopyState::Live).map(|row| row.row));
            }
            _ => {}
        }
        (live.len() >= HOT_METHODS).then_some(())
    })
}

/// Waits until every method of `Hot` has a row in this state.
pub fn wait_for_all(controller: &mut Controller, state: CopyState) -> Result<()> {
    controller.wait_until("that every hot method is known", |dials| {
        let there = |row: &&StatusRow| row.state == state && row.module == "Hot";
        dials.values().filter(there).count() >= HOT_METHODS
    })
}

//! Agent and controller of different protocols: each controller lists the other's agent and turns all its dials off.
//! `cargo xtask test dist` builds the older ones from an earlier commit and names them in the environment.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_protocol::PROTOCOL_VERSION;
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{artefacts, on_each_runtime, programs};
use serde_json::Value;

on_each_runtime!(lists_and_stops_an_older_agent, an_older_controller_lists_and_stops_this_agent);

/// A controller and an agent of one protocol.
struct Release {
    redial: PathBuf,
    agent: PathBuf,
}

impl Release {
    fn current() -> Result<Release> {
        Ok(Release { redial: artefacts::redial()?, agent: artefacts::agent()? })
    }

    fn older() -> Result<Release> {
        let named = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).with_context(|| {
                format!("{name} is not set; `cargo xtask test dist` builds an older version")
            })
        };
        Ok(Release { redial: named("REDIAL_OLDER_BIN")?, agent: named("REDIAL_OLDER_AGENT")? })
    }

    fn run(&self, arguments: &[&str]) -> Result<Outcome> {
        let mut command = Command::new(&self.redial);
        command.env("REDIAL_AGENT", &self.agent).args(arguments);
        host::run(command)
    }

    fn row(&self, pid: &str) -> Result<Value> {
        let rows = self.run(&["ps", "--json"])?.ok()?.json()?;
        let row = rows
            .as_array()
            .and_then(|rows| rows.iter().find(|row| row["pid"].as_u64() == pid.parse().ok()).cloned());
        row.with_context(|| format!("ps does not list {pid}: {rows}"))
    }
}

fn shop(runtime: Runtime, agent: &Path) -> Result<(Host, String)> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "1"]);
    host::load_agent_from(&mut command, agent);
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?;
    Ok((host, pid))
}

fn lists_and_stops_an_older_agent(runtime: Runtime) -> Result<()> {
    stops(runtime, &Release::older()?, &Release::current()?)
}

fn an_older_controller_lists_and_stops_this_agent(runtime: Runtime) -> Result<()> {
    stops(runtime, &Release::current()?, &Release::older()?)
}

/// Dials methods with the program that belongs to the agent, and turns them off with the other.
fn stops(runtime: Runtime, own: &Release, other: &Release) -> Result<()> {
    let (mut host, pid) = shop(runtime, &own.agent)?;
    own.run(&["dial", &pid, "Shop!Shop.Cart.*", "count"])?.ok()?;
    host.ask("round 3", "done")?;
    let kept = own.row(&pid)?["kept"].as_u64();
    ensure!(kept > Some(0), "{}", own.row(&pid)?);

    let seen = other.row(&pid)?;
    ensure!(seen["agent"] == "loaded" && seen["kept"].as_u64() == kept, "{seen}");
    let refused = other.run(&["status", &pid])?;
    ensure!(refused.code()? != 0, "{}", refused.output());
    for part in ["protocol 4", &format!("protocol {PROTOCOL_VERSION}"), &format!("`redial off {pid}`")] {
        ensure!(refused.stderr.contains(part), "no {part:?} in {}", refused.output());
    }
    let off = other.run(&["off", &pid])?.ok()?;
    ensure!(off.stdout.contains("every dial is off"), "{}", off.output());

    let calls = |rows: &Value| -> u64 {
        rows.as_array().into_iter().flatten().filter_map(|row| row["calls"].as_u64()).sum()
    };
    let before = own.run(&["status", &pid, "--json"])?.ok()?.json()?;
    host.ask("round 3", "done")?;
    let after = own.run(&["status", &pid, "--json"])?.ok()?.json()?;
    let rows = after.as_array().context("an array of rows")?;
    ensure!(!rows.is_empty() && rows.iter().all(|row| row["state"] == "off"), "{after}");
    ensure!(calls(&before) > 0 && calls(&before) == calls(&after), "it counted on: {before} {after}");
    host.say("exit")?;
    host.finish()?.ok().map(drop)
}

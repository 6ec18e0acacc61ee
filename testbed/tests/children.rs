//! Processes that a host starts, and hosts with prohibiting variables: inactive with a reason, or active on
//! their own.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};

on_each_runtime!(
    child_stays_inactive,
    child_has_its_own_agent,
    wrong_variables_keep_the_agent_inactive,
    mark_names_the_reason,
    respects_a_lower_maximum_level,
);

// It reads `/proc`.
#[cfg(target_os = "linux")]
on_each_runtime!(child_inherits_no_handle);

const STEP: &str = "child!Child.Step(int)";

fn child(runtime: Runtime) -> Result<Command> {
    programs::named("child")?.command(runtime)
}

/// Lets the host start another process and returns it.
fn start_child(live: &mut LiveHost) -> Result<LiveHost> {
    let pid = live.host.ask("start", "started")?.parse()?;
    // The host here is a placeholder: only `redial` uses this value.
    Ok(LiveHost { host: Host::start(Command::new(if cfg!(windows) { "cmd" } else { "cat" }))?, pid })
}

fn calls(live: &LiveHost) -> Result<Vec<u64>> {
    live.rows(STEP)?.iter().map(|row| row["calls"].as_u64().context("calls is a number")).collect()
}

fn child_stays_inactive(runtime: Runtime) -> Result<()> {
    let dial = format!("{STEP}=count");
    let mut live = under_agent::start_prepared(host::redial_run(&["--dial", &dial], &child(runtime)?)?)?;
    let below = start_child(&mut live)?;
    live.host.ask("call 3", "called 3")?;
    live.host.ask("ask call 5", "answer called 5")?;
    for command in ["status", "modules", "off"] {
        ensure_messages(&below.redial(command, &[])?, 4, &["runs without the agent"])?;
    }
    ensure!(calls(&live)? == [3], "{:?}", calls(&live)?);
    ensure!(live.host.ask("end", "ended")? == "0", "the child ended badly");
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

fn child_has_its_own_agent(runtime: Runtime) -> Result<()> {
    let dial = format!("{STEP}=count");
    let options = ["--children", "--dial", &dial];
    let mut live = under_agent::start_prepared(host::redial_run(&options, &child(runtime)?)?)?;
    let below = start_child(&mut live)?;
    live.host.ask("call 3", "called 3")?;
    live.host.ask("ask call 5", "answer called 5")?;
    ensure!(
        (calls(&live)?, calls(&below)?) == (vec![3], vec![5]),
        "{:?} {:?}",
        calls(&live)?,
        calls(&below)?
    );
    ensure_messages(&live.redial("off", &[])?, 0, &[])?;
    live.host.ask("call 10", "called 10")?;
    live.host.ask("ask call 20", "answer called 20")?;
    ensure!(
        (calls(&live)?, calls(&below)?) == (vec![3], vec![25]),
        "{:?} {:?}",
        calls(&live)?,
        calls(&below)?
    );
    ensure!(live.host.ask("end", "ended")? == "0", "the child ended badly");
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Returns the inodes of the Unix sockets at a process's endpoint: the listener and accepted connections.
#[cfg(target_os = "linux")]
fn endpoint_inodes(pid: u32) -> Result<BTreeSet<String>> {
    let start = format!("/{pid}-");
    let listed = fs::read_to_string("/proc/net/unix")?;
    let of_endpoint = |line: &&str| line.contains(&start) && line.ends_with(".sock");
    Ok(listed
        .lines()
        .filter(of_endpoint)
        .filter_map(|line| Some(line.split_whitespace().nth(6)?.to_owned()))
        .collect())
}

#[cfg(target_os = "linux")]
fn open_sockets(pid: u32) -> Result<BTreeSet<String>> {
    let mut inodes = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // A descriptor may close while the folder is read.
        let Ok(target) = fs::read_link(entry?.path()) else { continue };
        let inode = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
        inodes.extend(inode.map(str::to_owned));
    }
    Ok(inodes)
}

#[cfg(target_os = "linux")]
fn child_inherits_no_handle(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start_prepared(host::redial_run(&["--children"], &child(runtime)?)?)?;
    let _session = live.controller()?;
    let below = start_child(&mut live)?;
    let ours = endpoint_inodes(live.pid)?;
    ensure!(ours.len() >= 2, "a listener and a session, not {ours:?}");
    ensure!(ours.is_subset(&open_sockets(live.pid)?), "the host does not have {ours:?} open");
    let theirs = open_sockets(below.pid)?;
    ensure!(theirs.is_disjoint(&ours), "the child has {theirs:?}, of which {ours:?} are its parent's");
    Ok(())
}

/// Variables of a runtime with the agent, and the reason that the agent then gives.
const WRONG: [(&str, &str, &str); 8] = [
    ("REDIAL_DISABLE", "1", "REDIAL_DISABLE is set"),
    ("REDIAL_DISABLE", "yes", "REDIAL_DISABLE is 'yes'; expected 0 or 1"),
    ("REDIAL_MAX_LEVEL", "loud", "REDIAL_MAX_LEVEL is 'loud'; expected one of off, count, time, trace"),
    ("REDIAL_SILENCE_MS", "soon", "REDIAL_SILENCE_MS is 'soon'; expected a number of milliseconds"),
    ("REDIAL_FRAME_MS", "-1", "REDIAL_FRAME_MS is '-1'; expected a number of milliseconds"),
    ("REDIAL_LAUNCHER", "12", "REDIAL_LAUNCHER is '12'; expected PID:START"),
    ("REDIAL_LAUNCHER", "1:1", "`redial run` did not start this process directly"),
    ("REDIAL_ORDERS", "/nonexistent/orders", "cannot apply REDIAL_ORDERS (/nonexistent/orders)"),
];

/// Through `redial run`, which sets some of the variables itself.
fn wrong_variables_keep_the_agent_inactive(runtime: Runtime) -> Result<()> {
    for (name, value, reason) in &WRONG[..5] {
        let mut command = host::redial_run(&["--dial", &format!("{STEP}=count")], &child(runtime)?)?;
        command.env(name, value);
        let mut host = Host::start(command)?;
        let pid = host.wait_for("ready")?;
        ensure_messages(&host::run(host::redial(&["status", &pid])?)?, 4, &["runs without the agent"])?;
        host.ask("call 3", "called 3")?;
        host.close_input();
        ensure_messages(
            &host.finish()?,
            0,
            &["ran without dials because the agent stayed inactive:", reason],
        )?;
    }
    Ok(())
}

fn mark_names_the_reason(runtime: Runtime) -> Result<()> {
    let mark =
        std::env::temp_dir().join(format!("redial-children-mark-{}-{}", std::process::id(), runtime.name()));
    for (name, value, reason) in WRONG {
        fs::write(&mark, "")?;
        let mut command = child(runtime)?;
        host::load_agent(&mut command)?;
        command.env(name, value).env("REDIAL_MARK", &mark);
        let mut host = Host::start(command)?;
        let pid = host.wait_for("ready")?;
        let marked = fs::read_to_string(&mark)?;
        ensure!(
            marked.starts_with(&format!("inert {reason}")) && marked.ends_with('\n'),
            "{name}={value}: {marked:?}"
        );
        ensure!(marked.lines().count() == 1, "{marked:?}");
        ensure_messages(&host::run(host::redial(&["off", &pid])?)?, 4, &["runs without the agent"])?;
        host.ask("call 3", "called 3")?;
        host.close_input();
        ensure!(host.finish()?.code()? == 0);
    }
    fs::remove_file(&mark)?;
    Ok(())
}

fn respects_a_lower_maximum_level(runtime: Runtime) -> Result<()> {
    let mut command = child(runtime)?;
    command.env("REDIAL_MAX_LEVEL", "off");
    let live = under_agent::start(command)?;
    ensure_messages(
        &live.redial("dial", &[STEP, "count"])?,
        1,
        &["level count is not offered by this agent"],
    )?;
    ensure!(live.rows(STEP)?.is_empty(), "a refused dial left a row");
    ensure_messages(
        &live.redial("trace", &[STEP])?,
        1,
        &["level trace is not offered by this agent, which allows at most off"],
    )?;
    ensure_messages(&live.redial("off", &[])?, 0, &[])
}

//! *Stop* and *Kill* for a launcher that ends on request while its program does not, through the window's
//! worker.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use redial_link::worker::{LaunchSpec, StopSignal, Worker, WorkerCommand};
use redial_model::ids::Ticket;
use redial_model::update::{LaunchUpdate, Update};
use redial_testbed::host::DEADLINE;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

const TICKET: Ticket = Ticket(1);

/// Takes updates about the launched program until `found` returns a value. An error lists all other updates.
fn until<T>(worker: &Worker, what: &str, mut found: impl FnMut(&LaunchUpdate) -> Option<T>) -> Result<T> {
    let deadline = Instant::now() + DEADLINE;
    let mut updates = Vec::new();
    while Instant::now() < deadline {
        let Some(Update::Launch(TICKET, launch)) = worker.wait(Duration::from_millis(100)) else { continue };
        if let Some(found) = found(&launch) {
            return Ok(found);
        }
        updates.push(launch);
    }
    bail!("{what} did not come; the updates were {updates:#?}")
}

/// Returns whether a process runs and is not a zombie.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn kills_a_program_that_outlives_its_launcher() -> Result<()> {
    let program = programs::named("stays")?.command(Runtime::V8_0)?;
    let mut arguments = vec!["-c".into(), "\"$0\" \"$@\" & wait".into(), program.get_program().to_owned()];
    arguments.extend(program.get_args().map(ToOwned::to_owned));
    let spec = LaunchSpec {
        program: "sh".into(),
        arguments,
        environment: program
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect(),
        children: true,
        ..LaunchSpec::default()
    };
    let mut worker = Worker::start(Arc::new(|| {}))?;
    worker.send(WorkerCommand::Launch(TICKET, spec));
    let mut pid = 0;
    until(&worker, "that it runs", |launch| match launch {
        LaunchUpdate::Loaded(key) => {
            pid = key.pid;
            None
        }
        LaunchUpdate::Output { lines, .. } => (lines.first()?.text == format!("ready {pid}")).then_some(()),
        _ => None,
    })?;
    worker.send(WorkerCommand::Stop(TICKET, StopSignal::Ask));
    let notice = until(&worker, "that it runs on", |launch| match launch {
        LaunchUpdate::Notice(text) => Some(text.clone()),
        LaunchUpdate::Ended { how } => Some(format!("it was left alone, sh having ended {how}")),
        _ => None,
    })?;
    let expected = "sh has ended, and 1 process that it started still runs; “Kill” ends it";
    ensure!(notice == expected && runs(pid), "{notice}");
    worker.send(WorkerCommand::Stop(TICKET, StopSignal::Kill));
    let how = until(&worker, "the end", |launch| match launch {
        LaunchUpdate::Ended { how } => Some(how.clone()),
        _ => None,
    })?;
    ensure!(how == "by signal 15" && !runs(pid), "{how}");
    Ok(())
}

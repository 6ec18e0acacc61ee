//! Clients that take every place beside a host that needs its descriptors itself.

use std::os::unix::net::UnixStream;
use std::time::Instant;

use anyhow::{Result, ensure};
use redial_testbed::host::{self, DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::SocketFolder;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{on_each_runtime, programs, resource_limits, soak};

on_each_runtime!(leaves_descriptors_to_a_host_that_opens_files);

/// The host opens eight files at a time without a pause, while clients take every place that the agent gives away.
fn leaves_descriptors_to_a_host_that_opens_files(runtime: Runtime) -> Result<()> {
    const DESCRIPTORS: u64 = 100;
    const ROUNDS: u64 = 20;
    let mut command = programs::named("files")?.command(runtime)?;
    host::load_agent(&mut command)?;
    let folder = SocketFolder::of(&mut command)?;
    resource_limits::limit(&mut command, libc::RLIMIT_NOFILE, DESCRIPTORS);
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready ")?;
    let socket = folder.socket(pid.parse()?)?;
    let mut before = 0;
    for round in 0..soak::scaled(ROUNDS, 20) {
        let clients: Vec<UnixStream> =
            (0..DESCRIPTORS).filter_map(|_| UnixStream::connect(&socket).ok()).collect();
        ensure!(!clients.is_empty(), "nobody listens");
        // A host that ran out of descriptors answers once more, but opens nothing any more.
        let deadline = Instant::now() + DEADLINE;
        loop {
            let line = {
                host.say("opened")?;
                host.next_line()?
            };
            let opened = line.strip_prefix("opened ").and_then(|number| number.parse::<u64>().ok());
            let Some(opened) = opened else { anyhow::bail!("round {round}: {line}") };
            if opened > before + 1_000 {
                before = opened;
                break;
            }
            ensure!(Instant::now() < deadline, "round {round}: no more files are opened");
        }
        drop(clients);
    }
    let deadline = Instant::now() + DEADLINE;
    let mut status = host::run(host::redial(&["status", &pid])?)?;
    while status.code()? != 0 && Instant::now() < deadline {
        status = host::run(host::redial(&["status", &pid])?)?;
    }
    ensure_messages(&status, 0, &[])?;
    host.say("exit")?;
    host.finish()?.ok().map(drop)
}

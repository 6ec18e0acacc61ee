//! Limits and names of Linux: descriptors of the host, and sockets that others left.

use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_protocol::endpoint;
use redial_protocol::ids::ProcessKey;
use redial_testbed::host::{self, DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::SocketFolder;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{on_each_runtime, resource_limits};

use crate::shop;

on_each_runtime!(leaves_descriptors_to_the_host, starts_beside_a_socket_with_a_full_queue);

fn leaves_descriptors_to_the_host(runtime: Runtime) -> Result<()> {
    const DESCRIPTORS: u64 = 60;
    let mut command = shop(runtime)?;
    host::load_agent(&mut command)?;
    let folder = SocketFolder::of(&mut command)?;
    resource_limits::limit(&mut command, libc::RLIMIT_NOFILE, DESCRIPTORS);
    let mut host = Host::start(command)?;
    let socket = folder.socket(host.pid())?;
    let deadline = Instant::now() + DEADLINE;
    let mut clients: Vec<UnixStream> = Vec::new();
    // As soon as there is a socket, while the program still loads its assemblies.
    while clients.len() < DESCRIPTORS as usize {
        match UnixStream::connect(&socket) {
            Ok(client) => clients.push(client),
            Err(_) if clients.is_empty() && Instant::now() < deadline => std::thread::yield_now(),
            Err(error) => return Err(host.failed_with(error.into())),
        }
    }
    let pid = host.wait_for("ready")?;
    host.ask("round 1", "done")?;
    drop(clients);
    // A thread of the agent notices the end of a session.
    let mut status = host::run(host::redial(&["status", &pid])?)?;
    while status.code()? != 0 && Instant::now() < deadline {
        status = host::run(host::redial(&["status", &pid])?)?;
    }
    ensure_messages(&status, 0, &[])
}

/// A process in another pid namespace may share the folder: its sockets look abandoned.
fn starts_beside_a_socket_with_a_full_queue(runtime: Runtime) -> Result<()> {
    let mut command = shop(runtime)?;
    host::load_agent(&mut command)?;
    let folder = SocketFolder::of(&mut command)?;
    std::fs::DirBuilder::new().mode(0o700).create(folder.own())?;
    let path = folder.own().join(endpoint::socket_name(ProcessKey { pid: u32::MAX, start: 4 }));
    let listener = UnixListener::bind(&path)?;
    // SAFETY: listen(2) on an open descriptor; a second call only changes the length of the queue.
    ensure!(unsafe { libc::listen(listener.as_raw_fd(), 0) } == 0);
    let _waiting = UnixStream::connect(&path)?;
    let mut host = Host::start(command)?;
    host.wait_for("ready")?;
    let socket = folder.socket(host.pid())?;
    let deadline = Instant::now() + DEADLINE / 10;
    while !socket.exists() {
        ensure!(Instant::now() < deadline, "no endpoint");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    ensure!(path.exists(), "a listener with a full queue is not dead");
    UnixStream::connect(&socket).context("nobody listens")?;
    Ok(())
}

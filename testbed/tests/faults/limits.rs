//! Controllers that use up memory, descriptors or queues. The host has its share of each.

use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_protocol::endpoint;
use redial_protocol::ids::ProcessKey;
use redial_protocol::limits::{MAX_FRAME, MAX_SESSIONS};
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_testbed::host::{self, DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::{RawClient, SocketFolder, TargetHost};
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{on_each_runtime, resource_limits};

use crate::shop;

on_each_runtime!(
    memory_of_large_frames_is_bounded,
    leaves_descriptors_to_the_host,
    starts_beside_a_socket_with_a_full_queue,
    turns_off_beside_any_number_of_idle_sessions,
);

/// Returns a request as long as a frame, and one as long that claims a string of 31 MiB.
fn large_bodies() -> Result<[Vec<u8>; 2]> {
    let pattern = "x".repeat(MAX_FRAME - 64);
    let command = WireCommand::Methods { pattern: Some(pattern), limit: 1 };
    let whole = ControllerPacket::Request(Request { id: 1, command }).to_frame()?.split_off(4);
    let mut claim = vec![0x10, 1, 1, 1, 0xfc];
    claim.extend((31u32 << 20).to_le_bytes());
    claim.resize(MAX_FRAME, b'x');
    Ok([whole, claim])
}

fn memory_of_large_frames_is_bounded(runtime: Runtime) -> Result<()> {
    const ALLOWED_KB: u64 = 32 << 10;
    let host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    let [whole, claim] = large_bodies()?;
    let (now, most) = (host.fact("VmRSS")?, host.fact("VmHWM")?);
    let all_send = |count: usize, hello: bool, body: &[u8]| -> Result<()> {
        let connect = |_| {
            let mut client = host.connect()?;
            if hello {
                client.hello()?;
            }
            Ok(client)
        };
        let mut clients = (0..count).map(connect).collect::<Result<Vec<RawClient>>>()?;
        std::thread::scope(|scope| {
            for client in &mut clients {
                scope.spawn(|| {
                    for _ in 0..3 {
                        client.body(body);
                    }
                });
            }
        });
        Ok(())
    };
    for (count, hello) in [(16, false), (64, false), (MAX_SESSIONS - 1, true)] {
        for body in [&claim, &whole] {
            all_send(count, hello, body)?;
            let grown = host.fact("VmHWM")?.saturating_sub(most);
            ensure!(grown < ALLOWED_KB, "{count} sessions (hello: {hello}) took {grown} kB at their peak");
            let grown = host.fact("VmRSS")?.saturating_sub(now);
            ensure!(grown < ALLOWED_KB, "{count} sessions (hello: {hello}) left {grown} kB");
            eprintln!("{count} {hello}: grew by {grown} kB");
        }
    }
    // A session by itself is always served.
    let mut client = host.connect()?;
    client.hello()?;
    client.body(&whole);
    ensure!(matches!(client.packet()?, Some(AgentPacket::Event(_))));
    ensure!(other.agent_status()?.guard_trips == 0);
    Ok(())
}

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

/// Idle connections would stay for ten minutes.
fn turns_off_beside_any_number_of_idle_sessions(runtime: Runtime) -> Result<()> {
    let mut command = shop(runtime)?;
    command.env("REDIAL_FRAME_MS", "600000");
    let host = TargetHost::start(command)?;
    let idle = (0..100).map(|_| host.connect()).collect::<Result<Vec<RawClient>>>()?;
    ensure_messages(&host.live.redial("off", &[])?, 0, &[])?;
    drop(idle);
    Ok(())
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

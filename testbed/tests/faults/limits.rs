//! Controllers that use up memory, descriptors or queues. The host has its share of each.

use anyhow::{Result, ensure};
use redial_protocol::limits::{MAX_FRAME, MAX_SESSIONS};
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_testbed::on_each_runtime;
use redial_testbed::process_facts::Fact;
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::{RawClient, TargetHost};
use redial_testbed::under_agent::ensure_messages;

use crate::shop;

on_each_runtime!(memory_of_large_frames_is_bounded, turns_off_beside_any_number_of_idle_sessions);

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
    let (now, most) = (host.fact(Fact::Resident)?, host.fact(Fact::PeakResident)?);
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
            let grown = host.fact(Fact::PeakResident)?.saturating_sub(most);
            ensure!(grown < ALLOWED_KB, "{count} sessions (hello: {hello}) took {grown} kB at their peak");
            let grown = host.fact(Fact::Resident)?.saturating_sub(now);
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

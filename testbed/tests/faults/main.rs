//! Controllers that send garbage or half a frame, or never read. The agent closes them or lets them wait, and
//! no other session is affected.

mod limits;
#[cfg(target_os = "linux")]
mod sockets;

use std::io::{ErrorKind, Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_FRAME, MAX_OUTBOX, MAX_SESSIONS};
use redial_protocol::message::{Event, Reply, Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::DEADLINE;
use redial_testbed::noise::noise;
use redial_testbed::process_facts::Fact;
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::TargetHost;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{generate, on_each_runtime, programs, truth};

on_each_runtime!(
    closes_garbage_without_affecting_others,
    closes_half_a_frame_in_time,
    cuts_off_clients_that_never_read_replies,
    subscriber_that_reads_late_misses_no_number,
    short_connections_leave_nothing_behind,
    refuses_too_many_sessions,
);

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    Ok(command)
}

fn big(runtime: Runtime) -> Result<Command> {
    let mut command = programs::named("reflect")?.command(runtime)?;
    command.arg(generate::big_library()?).arg("1");
    Ok(command)
}

fn closes_garbage_without_affecting_others(runtime: Runtime) -> Result<()> {
    let mut host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    other.dial("Shop!Shop.Cart.Add(int)", Level::Count, Lifetime::Held)?;
    host.live.host.ask("truth-reset", "reset")?;
    host.live.host.ask("loop on", "looping")?;
    let size = host.fact(Fact::AddressSpace)?;

    // The agent tolerates two bad bodies but not three.
    let mut client = host.connect()?;
    client.hello()?;
    for _ in 0..2 {
        client.body(&noise(3, 40));
        client.send(&ControllerPacket::Status)?;
        ensure!(matches!(client.packet()?, Some(AgentPacket::Status(_))));
    }
    client.body(&noise(4, 40));
    client.ensure_closed()?;
    // Every request before the hello is bad.
    let mut client = host.connect()?;
    for id in 0..3 {
        client.ask(id, WireCommand::RequestRevert { patterns: vec!["*".into()], take: true })?;
    }
    client.ensure_closed()?;
    // Impossible lengths.
    for length in [0, MAX_FRAME as u32 + 1, u32::MAX] {
        let mut client = host.connect()?;
        client.hello()?;
        client.stream.write_all(&length.to_le_bytes())?;
        client.ensure_closed().with_context(|| format!("length {length}"))?;
    }
    // Every kind of body with noise in it (0x03 is AllOff, which needs no body), and requests cut anywhere.
    let request = ControllerPacket::Request(Request {
        id: 9,
        command: WireCommand::Methods { pattern: Some("A.*".into()), limit: 9 },
    });
    let request = request.to_frame()?.split_off(4);
    let noisy =
        (0..=255u8).filter(|kind| *kind != 3).map(|kind| [vec![kind], noise(u64::from(kind), 60)].concat());
    let bodies: Vec<Vec<u8>> = noisy.chain((1..request.len()).map(|end| request[..end].to_vec())).collect();
    for bodies in bodies.chunks(8) {
        let mut client = host.connect()?;
        client.hello()?;
        bodies.iter().for_each(|body| client.body(body));
        // Some kinds get answers before the third bad body ends the connection.
        while client.packet()?.is_some() {}
        other.agent_status()?;
    }
    for seed in 0..100 {
        let mut client = host.connect()?;
        // It may be closed before all bytes are written.
        drop(client.stream.write_all(&noise(seed, 20_000)));
        client.ensure_closed().with_context(|| format!("noise {seed}"))?;
    }

    let grown = host.fact(Fact::AddressSpace)?.saturating_sub(size);
    // Threads reserve some memory, but nothing reserves the claimed length of 4 GiB.
    ensure!(grown < 2 << 20, "the host grew by {grown} kB of addresses");
    let truth = truth::ask(&mut host.live.host, "loop off")?;
    let row = other.row("Shop!Shop.Cart.Add(int)")?;
    ensure!(truth["Shop.Cart.Add(int)"] == row.calls && row.calls > 0, "{truth:?} {row:?}");
    ensure!(other.agent_status()?.guard_trips == 0);
    host.live.host.ask("round 1", "done")?;
    Ok(())
}

fn closes_half_a_frame_in_time(runtime: Runtime) -> Result<()> {
    let mut command = shop(runtime)?;
    command.env("REDIAL_FRAME_MS", "300");
    let host = TargetHost::start(command)?;
    let mut other = host.live.controller()?;
    // A prefix of two bytes, a truncated body, and one that claims the maximum length.
    for bytes in [
        vec![1, 0],
        [100u32.to_le_bytes().to_vec(), noise(1, 10)].concat(),
        [(MAX_FRAME as u32).to_le_bytes().to_vec(), noise(2, 100_000)].concat(),
    ] {
        let mut client = host.connect()?;
        client.hello()?;
        client.stream.write_all(&bytes)?;
        other.agent_status()?;
        client.ensure_closed()?;
    }
    // Bytes that arrive one by one do not keep it open.
    let mut client = host.connect()?;
    client.hello()?;
    client.stream.write_all(&5000u32.to_le_bytes())?;
    client.stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        ensure!(Instant::now() < deadline, "one byte now and then held the connection open");
        let written = client.stream.write_all(&[0]);
        let closed = match client.stream.read(&mut [0; 1]) {
            Ok(0) => true,
            Ok(_) => bail!("half a frame was answered"),
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        other.agent_status()?;
        if closed || written.is_err() {
            break;
        }
    }
    // A session that is silent between whole frames may stay for any time.
    let mut quiet = host.connect()?;
    quiet.hello()?;
    let mut client = host.connect()?;
    client.stream.write_all(&[9])?;
    client.ensure_closed()?;
    quiet.send(&ControllerPacket::Status)?;
    ensure!(matches!(quiet.packet()?, Some(AgentPacket::Status(_))));
    Ok(())
}

/// Requests far more answers than any buffer holds.
fn cuts_off_clients_that_never_read_replies(runtime: Runtime) -> Result<()> {
    const ASKED: u32 = 200;
    let host = TargetHost::start(big(runtime)?)?;
    let mut other = host.live.controller()?;
    // The size of one such answer, and the memory that the agent keeps after the first one.
    let whole = WireCommand::Methods { pattern: None, limit: u64::MAX };
    for _ in 0..3 {
        let answer = other.ask(whole.clone())?;
        ensure!(matches!(answer.reply, Reply::Methods { matched: 10_000.., .. }), "{:?}", answer.reply);
    }
    let before = host.fact(Fact::Resident)?;
    let mut client = host.connect()?;
    client.hello()?;
    for id in 1..=ASKED {
        client.ask(id, whole.clone())?;
    }
    other.agent_status()?;
    client.wait_for_hang_up()?;
    let grown = host.fact(Fact::Resident)?.saturating_sub(before);
    ensure!(grown < 5 * (MAX_OUTBOX as u64 >> 10), "the host grew by {grown} kB for unread answers");
    let mut answered = 0;
    while let Some(packet) = client.packet()? {
        answered += u32::from(matches!(packet, AgentPacket::Event(Event::Reply { .. })));
    }
    ensure!(answered < 50, "{answered} answers of {ASKED} were kept for a client that does not read");
    ensure!(other.agent_status()?.guard_trips == 0);
    Ok(())
}

/// Numbers accumulate in the agent until there is room again.
fn subscriber_that_reads_late_misses_no_number(runtime: Runtime) -> Result<()> {
    const ROUNDS: usize = 40;
    let mut host = TargetHost::start(big(runtime)?)?;
    let mut other = host.live.controller()?;
    other.dial("Big!Big.C*.*", Level::Count, Lifetime::Held)?;
    host.live.host.ask("call 1", "called 1")?;
    let mut client = host.connect()?;
    client.hello()?;
    client.ask(1, WireCommand::Subscribe { pattern: Some("Big!*".into()), interval_ms: 10 })?;
    let before = host.fact(Fact::Resident)?;
    for _ in 0..ROUNDS {
        host.live.host.ask("call 1", "called 1")?;
        other.agent_status()?;
    }
    let grown = host.fact(Fact::Resident)?.saturating_sub(before);
    ensure!(grown < 64 << 10, "the host grew by {grown} kB");
    // It finally reads rows, then exact sums of everything since.
    let mut expected = other.status(Some("Big!*"))?;
    expected.sort_by_key(|row| row.row);
    let total: u64 = expected.iter().map(|row| row.calls).sum();
    let (mut calls, mut counted) = (std::collections::BTreeMap::new(), 0);
    let deadline = Instant::now() + DEADLINE;
    while counted < total {
        ensure!(Instant::now() < deadline, "only {counted} of {total} calls were reported");
        match client.packet()?.context("the subscription ended")? {
            AgentPacket::Event(Event::Rows { rows, .. }) => {
                for row in rows {
                    counted += row.calls;
                    ensure!(calls.insert(row.row, row.calls).is_none(), "a row came twice: {row:?}");
                }
            }
            AgentPacket::Event(Event::Counters { delta, .. }) => {
                for (row, more) in delta.rows.iter().zip(&delta.calls) {
                    *calls.get_mut(row).context("a number of an unknown row")? += more;
                    counted += more;
                }
            }
            AgentPacket::Event(_) => {}
            other => bail!("{other:?}"),
        }
    }
    let expected = expected.iter().map(|row| (row.row, row.calls)).collect();
    ensure!(calls == expected, "the numbers differ");
    Ok(())
}

fn short_connections_leave_nothing_behind(runtime: Runtime) -> Result<()> {
    let host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    let (threads, connections) = (host.fact(Fact::Threads)?, host.connections()?);
    let mut greeted = 0;
    for round in 0..500 {
        let mut client = host.connect()?;
        match round % 4 {
            0 => {}
            1 => drop(client.stream.write_all(&[7; 3])),
            // There may be no room while earlier sessions have not ended yet.
            2 => greeted += u32::from(client.hello().is_ok()),
            _ if client.hello().is_ok() => {
                greeted += 1;
                drop(client.ask(1, WireCommand::Subscribe { pattern: None, interval_ms: 60_000 }));
            }
            _ => {}
        }
    }
    ensure!(greeted > 50, "{greeted} of 250 were greeted");
    other.agent_status()?;
    host.wait_for_no_more_than(threads, connections)
}

fn refuses_too_many_sessions(runtime: Runtime) -> Result<()> {
    let host = TargetHost::start(shop(runtime)?)?;
    let mut idle = Vec::new();
    for _ in 0..MAX_SESSIONS {
        let mut one = host.connect()?;
        one.hello()?;
        idle.push(one);
    }
    // When full, one more session may look and turn off, nothing else, and only briefly.
    ensure_messages(&host.live.redial("status", &[])?, 1, &["already serves 16 controllers"])?;
    ensure_messages(&host.live.redial("off", &[])?, 0, &[])?;
    host.connect()?.ensure_closed()?;
    drop(idle.pop());
    // A thread of the agent notices the end of a session.
    let deadline = Instant::now() + DEADLINE;
    while Controller::connect(host.live.pid).is_err() {
        ensure!(Instant::now() < deadline, "the place that became free is not given away");
    }
    Ok(())
}

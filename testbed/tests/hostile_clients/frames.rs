//! Garbage at a high rate, half-open frames at the real deadline, and every length of a frame.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::limits::{FRAME_DEADLINE_MS, MAX_BAD_FRAMES, MAX_FRAME};
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_testbed::controller::Lifetime;
use redial_testbed::noise::noise;
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::{RawClient, TargetHost};
use redial_testbed::{on_each_runtime, soak, truth};

use crate::shop;

on_each_runtime!(
    garbage_at_a_high_rate_is_cut_off_and_counts_stay_exact,
    dripping_frame_is_closed_at_the_real_deadline,
    every_length_prefix_is_answered_or_closed,
);

fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes(), body].concat()
}

/// The answers to requests between a connection's frames tell how many of them the agent took.
fn garbage_at_a_high_rate_is_cut_off_and_counts_stay_exact(runtime: Runtime) -> Result<()> {
    const METHOD: &str = "Shop!Shop.Cart.Add(int)";
    const GARBAGE: u64 = 25;
    const PER_SECOND: u64 = 10_000;
    const CLIENTS: u32 = 4;
    let time = Duration::from_secs(soak::scaled(3, 20));
    let mut host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    other.dial(METHOD, Level::Count, Lifetime::Held)?;
    host.live.host.ask("truth-reset", "reset")?;
    host.live.host.ask("loop on", "looping")?;
    let status = ControllerPacket::Status.to_frame()?;
    let one = [framed(&noise(1, 40)), status].concat();
    let rest = one.repeat(GARBAGE as usize + 1 - MAX_BAD_FRAMES as usize);
    let endpoint = host.endpoint()?;
    let (sent, begun) = (AtomicU64::new(0), Instant::now());
    let each = Duration::from_secs(1) * CLIENTS * GARBAGE as u32 / PER_SECOND as u32;
    let client = || -> Result<()> {
        for number in 1u32.. {
            if begun.elapsed() >= time {
                break;
            }
            let mut client = RawClient::connect(&endpoint)?;
            for _ in 1..MAX_BAD_FRAMES {
                client.stream.write_all(&one)?;
                let answer = client.packet()?;
                ensure!(matches!(answer, Some(AgentPacket::Status(_))), "{answer:?}");
            }
            // The agent may close the connection before it has taken everything.
            drop(client.stream.write_all(&rest));
            sent.fetch_add(GARBAGE, Ordering::Relaxed);
            client.ensure_closed()?;
            std::thread::sleep((each * number).saturating_sub(begun.elapsed()));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| anyhow::anyhow!("panicked"))?)
    })?;
    let rate = sent.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    eprintln!("{rate:.0} garbage frames a second for {:.1?}", begun.elapsed());
    let truth = truth::ask(&mut host.live.host, "loop off")?;
    let row = other.row(METHOD)?;
    ensure!(truth["Shop.Cart.Add(int)"] == row.calls && row.calls > 0, "{truth:?} {row:?}");
    ensure!(other.agent_status()?.guard_trips == 0);
    Ok(())
}

/// The gate has a shorter deadline, which the variable sets. The bound is the contract's.
fn dripping_frame_is_closed_at_the_real_deadline(runtime: Runtime) -> Result<()> {
    let mut command = shop(runtime)?;
    let deadline = Duration::from_millis(if soak::is_on() { FRAME_DEADLINE_MS } else { 1_000 });
    if !soak::is_on() {
        command.env("REDIAL_FRAME_MS", "1000");
    }
    let host = TargetHost::start(command)?;
    let mut other = host.live.controller()?;
    let mut client = host.connect()?;
    client.hello()?;
    let begun = Instant::now();
    client.stream.write_all(&5_000u32.to_le_bytes())?;
    client.stream.set_read_timeout(Some(deadline / 10))?;
    let mut served = 0;
    while client.stream.write_all(&[0]).is_ok() {
        other.agent_status()?;
        served += 1;
        // Returns at the end of the connection, or after a tenth of the deadline.
        let read = std::io::Read::read(&mut client.stream, &mut [0]);
        if matches!(read, Ok(0))
            || read.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
        {
            break;
        }
    }
    let took = begun.elapsed();
    eprintln!("closed after {took:.2?}, and {served} requests of another session");
    ensure!(took >= deadline, "closed after {took:?}");
    // The agent looks every half second; the rest is for a loaded machine.
    ensure!(took <= deadline + Duration::from_secs(5), "closed after {took:?}");
    ensure!(served >= 5, "{served} requests were served meanwhile");
    Ok(())
}

fn every_length_prefix_is_answered_or_closed(runtime: Runtime) -> Result<()> {
    /// Sessions that announce the longest frame and send nothing more.
    const ANNOUNCED: usize = 8;
    let host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    let greeted = || -> Result<RawClient> {
        let mut client = host.connect()?;
        client.hello()?;
        Ok(client)
    };
    for length in [0, MAX_FRAME as u32 + 1, u32::MAX] {
        for client in [host.connect()?, greeted()?] {
            let mut client = client;
            client.stream.write_all(&length.to_le_bytes())?;
            client.ensure_closed().with_context(|| format!("length {length}"))?;
        }
    }
    // One byte: a whole message, and a kind that nobody knows, which is a bad frame.
    for client in [host.connect()?, greeted()?] {
        let mut client = client;
        client.body(&[2]);
        ensure!(matches!(client.packet()?, Some(AgentPacket::Status(_))));
        client.body(&[0xff]);
        client.body(&[2]);
        ensure!(matches!(client.packet()?, Some(AgentPacket::Status(_))));
    }
    // The longest frame: closed before the hello, for no such message is that long.
    let mut early = host.connect()?;
    early.stream.write_all(&(MAX_FRAME as u32).to_le_bytes())?;
    early.ensure_closed()?;
    // After it, the length alone takes no memory.
    let mut clients = (0..ANNOUNCED).map(|_| greeted()).collect::<Result<Vec<RawClient>>>()?;
    let before = other.agent_status()?.memory_bytes;
    for client in &mut clients {
        client.stream.write_all(&(MAX_FRAME as u32).to_le_bytes())?;
    }
    for _ in 0..20 {
        let now = other.agent_status()?.memory_bytes;
        ensure!(now < before + (1 << 20), "{before} bytes became {now}");
    }
    drop(clients);
    // The longest request is read, and refused because of its pattern.
    let command = WireCommand::Methods { pattern: Some(String::new()), limit: 1 };
    let shortest = ControllerPacket::Request(Request { id: 1, command }).to_frame()?;
    // A length of four bytes instead of one.
    let room = MAX_FRAME + 4 - shortest.len() - 4;
    let command = WireCommand::Methods { pattern: Some("x".repeat(room)), limit: 1 };
    let longest = ControllerPacket::Request(Request { id: 1, command }).to_frame()?;
    ensure!(longest.len() == MAX_FRAME + 4, "{} bytes", longest.len());
    let mut client = greeted()?;
    client.stream.write_all(&longest)?;
    ensure!(matches!(client.packet()?, Some(AgentPacket::Event(_))));
    ensure!(other.agent_status()?.guard_trips == 0);
    Ok(())
}

//! Unread answers and unfinished changes, which take memory in the agent.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_OUTBOX, MAX_SESSIONS};
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::packet::AgentPacket;
use redial_protocol::state::CopyState;
use redial_testbed::controller::Lifetime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::{RawClient, TargetHost};
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{on_each_runtime, soak, truth};

use crate::shop;

on_each_runtime!(
    stopped_readers_share_a_bound,
    slow_readers_turn_their_dials_off,
    orders_of_ended_sessions_are_bounded
);

/// Each asks for far more than an outbox holds. The host's numbers stay exact, and its methods can be dialled.
fn stopped_readers_share_a_bound(runtime: Runtime) -> Result<()> {
    const METHOD: &str = "Shop!Shop.Cart.Add(int)";
    /// Two outboxes, and for each session two pages, and a frame that it is about to send.
    const BOUND: u64 = 2 * MAX_OUTBOX as u64 + MAX_SESSIONS as u64 * (2 << 20);
    let mut host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    other.dial(METHOD, Level::Count, Lifetime::Held)?;
    host.live.host.ask("truth-reset", "reset")?;
    host.live.host.ask("loop on", "looping")?;
    let before = other.agent_status()?.memory_bytes;
    let all = WireCommand::Methods { pattern: None, limit: u64::MAX };
    let mut stopped = (0..MAX_SESSIONS - 1).map(|_| host.connect()).collect::<Result<Vec<RawClient>>>()?;
    for client in &mut stopped {
        client.hello()?;
        for id in 0..50 {
            client.ask(id, all.clone())?;
        }
    }
    let mut most = 0;
    // In the soak, until the agent has cut them all off.
    let end = Instant::now() + Duration::from_secs(soak::scaled(3, 5));
    while Instant::now() < end {
        most = most.max(other.agent_status()?.memory_bytes);
        // The callbacks of the runtime go on: another method gets a new body, and the old one back.
        other.dial("Shop!Shop.Money.*", Level::Count, Lifetime::Held)?;
        other.execute(WireCommand::ReleaseControl)?;
        host.live.host.ask("round 1", "done")?;
    }
    eprintln!("{before} bytes became {most}, with a bound of {BOUND}");
    ensure!(most > before + MAX_OUTBOX as u64, "nothing was queued: {before} bytes, then {most}");
    ensure!(most <= before + BOUND, "{before} bytes became {most}");
    if soak::is_on() {
        stopped.iter().try_for_each(RawClient::wait_for_hang_up)?;
    }
    drop(stopped);
    let truth = truth::ask(&mut host.live.host, "loop off")?;
    let row = other.row(METHOD)?;
    ensure!(row.calls > 0 && row.calls >= truth["Shop.Cart.Add(int)"], "{truth:?} {row:?}");
    ensure!(other.agent_status()?.guard_trips == 0);
    Ok(())
}

/// A controller that reads more slowly than its methods are called must be able to turn them off.
fn slow_readers_turn_their_dials_off(runtime: Runtime) -> Result<()> {
    const METHODS: &str = "Shop!Shop.Cart.*";
    let mut host = TargetHost::start(shop(runtime)?)?;
    let mut slow = host.connect()?;
    slow.hello()?;
    let change = |pattern: &str, level, options| WireCommand::RequestReJit {
        orders: vec![Order { options, ..Order::new(pattern.to_owned(), level) }],
        later: true,
        take: false,
        lifetime: Lifetime::Held,
    };
    let every_call = TimeOptions { rate: Some(1_000_000), ..TimeOptions::default() };
    slow.ask(1, change(METHODS, Level::Trace, every_call))?;
    slow.ask(2, WireCommand::StreamCalls { pattern: None })?;
    let read_until = |last: u32, slow: &mut RawClient| -> Result<usize> {
        let mut bytes = 0;
        loop {
            let Some(packet) = slow.packet()? else { anyhow::bail!("closed") };
            bytes += packet.to_frame()?.len();
            if let AgentPacket::Event(Event::Reply { id, reply }) = packet {
                ensure!(!matches!(reply, Reply::Refused(_)), "{id}: {reply:?}");
                if id == last {
                    return Ok(bytes);
                }
            }
        }
    };
    read_until(2, &mut slow)?;
    // Another session gets the same calls, and reads them.
    let mut other = host.live.controller()?;
    other.execute(WireCommand::StreamCalls { pattern: None })?;
    while other.received_bytes() < MAX_OUTBOX as u64 {
        host.live.host.ask("round 200", "done")?;
        // Reads everything that was sent before the answer.
        other.agent_status()?;
        other.take_queued()?;
    }
    for id in 3..9 {
        slow.ask(id, change("Shop!Shop.Money.*", Level::Count, TimeOptions::default()))?;
    }
    slow.ask(9, change(METHODS, Level::Off, TimeOptions::default()))?;
    let unread = read_until(9, &mut slow)?;
    ensure!(unread > MAX_OUTBOX / 4, "the reader was not slow: {unread} bytes");
    let rows = other.status(Some(METHODS))?;
    ensure!(!rows.is_empty() && rows.iter().all(|row| row.state == CopyState::Off), "{rows:?}");
    Ok(())
}

/// Sessions that send changes as long as a frame and end at once, while the ReJIT thread makes plans.
fn orders_of_ended_sessions_are_bounded(runtime: Runtime) -> Result<()> {
    const BOUND: u64 = 48 << 20;
    let host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    let before = other.agent_status()?.memory_bytes;
    let order = |number: usize| Order::new(format!("*!*.{number}{}", "x".repeat(1000)), Level::Count);
    let orders: Vec<Order> = (0..4000).map(order).collect();
    let mut planner = host.connect()?;
    planner.hello()?;
    for id in 0..soak::scaled(1, 3) as u32 {
        planner.ask(id, WireCommand::Plan { orders: orders.clone(), lifetime: Lifetime::Kept })?;
    }
    let (mut most, mut refused) = (0, 0);
    for _ in 0..soak::scaled(30, 10) {
        let mut client = host.connect()?;
        client.hello()?;
        let change = WireCommand::RequestReJit {
            orders: orders.clone(),
            later: true,
            take: true,
            lifetime: Lifetime::Kept,
        };
        client.ask(1, change)?;
        // Its answer says that the change has been read, too.
        client.ask(2, WireCommand::Ping)?;
        match client.packet()? {
            Some(AgentPacket::Event(Event::Reply { id: 1, reply: Reply::Refused(_) })) => refused += 1,
            Some(_) => {}
            None => anyhow::bail!("closed"),
        }
        drop(client);
        most = most.max(other.agent_status()?.memory_bytes);
    }
    eprintln!("{before} bytes became {most}; {refused} changes were refused");
    ensure!(most <= before + BOUND, "{before} bytes became {most}");
    ensure!(refused > 0, "the ReJIT thread had time for everything");
    ensure_messages(&host.live.redial("off", &[])?, 0, &[])
}

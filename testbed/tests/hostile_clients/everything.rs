//! A client that does everything at once, and plans that take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::packet::AgentPacket;
use redial_testbed::busy_host::BusyHost;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::discarding_server::DiscardingServer;
use redial_testbed::host::{self, DEADLINE};
use redial_testbed::hostility::Hostility;
use redial_testbed::process_facts::{self, Fact};
use redial_testbed::runtimes::Runtime;
use redial_testbed::skip::not_run;
use redial_testbed::target_host::TargetHost;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{artefacts, on_each_runtime, soak};

use crate::shop;

on_each_runtime!(everything_at_once_leaves_the_host_its_memory, off_ends_a_long_plan);

/// The name of the agent's ReJIT thread.
const REJIT_THREAD: &str = "redial-rejit";
/// The most that a host may grow meanwhile.
const GROWTH_KB: u64 = 64 << 10;
/// The most that may stay afterwards, in the C library's arenas.
const REMAINDER_KB: u64 = 24 << 10;

/// Throughput is measured by `cargo xtask bench hostile`.
fn everything_at_once_leaves_the_host_its_memory(runtime: Runtime) -> Result<()> {
    if runtime != Runtime::V8_0 && !soak::is_on() {
        let test = format!("everything_at_once_leaves_the_host_its_memory on {}", runtime.name());
        not_run(&test, "the gate has time for .NET 8 only; the soak runs it on all");
        return Ok(());
    }
    let time = Duration::from_secs(soak::scaled(8, 8));
    let mut host = BusyHost::start(runtime, &artefacts::agent()?)?;
    // The same client against a server that discards everything, which also warms the host up.
    let control = {
        let server = DiscardingServer::start("hostile-test")?;
        let _client = Hostility::start(server.path());
        host.rate(time / 2, || Ok(()))?
    };
    let before = process_facts::of(host.pid, Fact::Resident)?;
    let client = Hostility::start(&host.socket()?);
    let pid = host.pid;
    let peak = PeakMemory::watch(pid);
    let rate = host.rate(time, || Ok(()))?;
    // Meanwhile, whoever wants the dials off gets them off.
    ensure_messages(&host::run(host::redial(&["off", &pid.to_string()])?)?, 0, &[])?;
    let rates = client.rates();
    ensure!(rates.iter().all(|(_, rate)| *rate > 0.0), "not everything was done: {rates:?}");
    drop(client);
    let most = peak.finish()?;
    eprintln!(
        "{rate:.0} a second, beside the control {control:.0}; {before} kB grew to {most} kB; {rates:.1?}"
    );
    ensure!(most.saturating_sub(before) <= GROWTH_KB, "{before} kB became {most} kB");
    let deadline = Instant::now() + DEADLINE / 10;
    let mut controller = loop {
        // A thread of the agent notices the end of a session.
        match Controller::connect(pid) {
            Ok(controller) => break controller,
            Err(error) => ensure!(Instant::now() < deadline, "no place became free: {error:#}"),
        }
    };
    while process_facts::of(pid, Fact::Resident)? > before + REMAINDER_KB {
        let now = process_facts::of(pid, Fact::Resident)?;
        ensure!(Instant::now() < deadline, "{before} kB became {most} kB, and {now} kB stayed");
        std::thread::sleep(Duration::from_millis(20));
    }
    eprintln!("{} kB afterwards", process_facts::of(pid, Fact::Resident)?);
    ensure!(controller.agent_status()?.guard_trips == 0);
    let method = if runtime == Runtime::V8_0 { "web!Web.Cart.Total(int)" } else { "Shop!Shop.Cart.Add(int)" };
    let deadline = Instant::now() + DEADLINE;
    // The client's sessions still carry out requests left in their sockets. "All off" among them can refuse or undo this
    // change.
    loop {
        match controller.dial(method, Level::Count, Lifetime::Held) {
            Ok(_) if controller.row(method)?.calls > 0 => break,
            Ok(_) => ensure!(Instant::now() < deadline, "{:?}", controller.row(method)?),
            Err(refusal) => {
                ensure!(
                    format!("{refusal}").contains("AllOffFirst") && Instant::now() < deadline,
                    "{refusal:#}"
                );
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(controller);
    host.end()
}

/// Watches the resident memory of a process.
struct PeakMemory {
    stop: Arc<AtomicBool>,
    watcher: JoinHandle<Result<u64>>,
}

impl PeakMemory {
    fn watch(pid: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let watcher = std::thread::spawn(move || {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(process_facts::of(pid, Fact::Resident)?);
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(most)
        });
        Self { stop, watcher }
    }

    /// Returns the most that it was, kB.
    fn finish(self) -> Result<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.watcher.join().map_err(|_| anyhow!("the watcher panicked"))?
    }
}

/// A plan of thousands of long patterns takes seconds. "All off" ends it.
fn off_ends_a_long_plan(runtime: Runtime) -> Result<()> {
    let host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    other.dial("Shop!Shop.Cart.Add(int)", Level::Count, Lifetime::Kept)?;
    let order = |number: usize| Order::new(format!("*!*.{number}{}", "x".repeat(1000)), Level::Count);
    let orders = (0..4000).map(order).collect();
    let before = host.processor_time(REJIT_THREAD)?;
    let mut planner = host.connect()?;
    planner.hello()?;
    planner.ask(1, WireCommand::Plan { orders, lifetime: Lifetime::Kept })?;
    // It is in the middle of it once it has worked for some time.
    while host.processor_time(REJIT_THREAD)? < before + Duration::from_millis(100) {
        std::thread::yield_now();
    }
    ensure!(other.all_off()? == (1, 0));
    let answer = planner.packet()?;
    let is_refused =
        matches!(answer, Some(AgentPacket::Event(Event::Reply { id: 1, reply: Reply::Refused(_) })));
    ensure!(is_refused, "the plan was made first: {answer:?}");
    Ok(())
}

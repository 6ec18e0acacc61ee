//! A host with a million methods (a tenth of that in the gate): the agent's memory stays small, and the first page of
//! a list comes at once.

use std::time::Instant;

use anyhow::{Result, ensure};
use redial_protocol::message::{Event, Reply, Request, WireCommand};
use redial_protocol::packet::ControllerPacket;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{generate, on_each_runtime, programs, soak, under_agent};

on_each_runtime!(large_catalogue_takes_little_memory);

const METHODS_PER_LIBRARY: u64 = 10_000;
/// The agent's limit for a million methods, bytes.
const MAX_GROWTH: u64 = 16 << 20;
const REQUEST: u32 = 1_000_000;

fn large_catalogue_takes_little_memory(runtime: Runtime) -> Result<()> {
    let libraries = soak::scaled(10, 10);
    let folder = generate::wide_libraries(libraries, METHODS_PER_LIBRARY)?;
    let mut command = programs::named("modules")?.command(runtime)?;
    command.arg(folder).arg("2");
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    let before = controller.agent_status()?.memory_bytes;
    live.host.ask(&format!("start {libraries}"), "started")?;
    live.host.ask("wait", "loaded")?;
    let loaded = controller.agent_status()?.memory_bytes;

    let everything = WireCommand::Methods { pattern: None, limit: u64::MAX };
    let mut first_pages = Vec::new();
    for round in 0..3 {
        let begun = Instant::now();
        let request = Request { id: REQUEST + round, command: everything.clone() };
        controller.send(&ControllerPacket::Request(request))?;
        controller
            .wait_for("the first page", |event| matches!(event, Event::Methods { .. }).then_some(()))?;
        first_pages.push(begun.elapsed());
        let matched = controller.wait_for("the reply", |event| match event {
            Event::Reply { reply: Reply::Methods { matched, .. }, .. } => Some(*matched),
            _ => None,
        })?;
        ensure!(matched > libraries * METHODS_PER_LIBRARY, "only {matched} methods");
    }
    let listed = controller.agent_status()?.memory_bytes;
    println!(
        "{}: {} methods; the agent's memory {before} + {} bytes, listed + {}; first pages after {first_pages:?}",
        runtime.name(),
        libraries * METHODS_PER_LIBRARY,
        loaded.saturating_sub(before),
        listed.saturating_sub(before),
    );
    for after in [loaded, listed] {
        let grown = after.saturating_sub(before);
        let limit = MAX_GROWTH * libraries * METHODS_PER_LIBRARY / 1_000_000;
        ensure!(grown <= limit, "{grown} bytes for {libraries} libraries, more than {limit}");
    }
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}

//! Memory: what a process gains while its dials are toggled is what the agent reports, in the memory that it uses itself
//! and in its estimate of what the CLR keeps.
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::limits::AUDIT_ENTRIES;
use redial_protocol::message::WireCommand;
use redial_protocol::order::{Lifetime, Order, TimeOptions};
use redial_protocol::reason::Reason;
use redial_testbed::controller::Controller;
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{generate, programs, soak};
use std::fs;

on_each_runtime!(
    reports_the_memory_of_requests,
    reports_the_memory_of_compilations,
    dry_runs_keep_nothing,
    known_trace_options_keep_nothing,
    further_trace_options_are_limited
);

const HOT: &str = "Hot!Hot.H*.M*";
/// Growth that no dial explains, in bytes: a collection's timing, the pages of a few threads.
const SLACK: u64 = 1 << 20;

/// Memory in bytes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Resident memory of the process.
    resident: u64,
    /// The agent's memory, as it reports it.
    agent: u64,
    /// The agent's estimate of what the CLR keeps.
    clr: u64,
}

impl Memory {
    fn of(live: &mut LiveHost, controller: &mut Controller) -> Result<Self> {
        // A collection first.
        live.host.ask("memory", "memory ")?;
        let all = fs::read_to_string(format!("/proc/{}/smaps_rollup", live.pid))?;
        let line = all.lines().find_map(|line| line.strip_prefix("Rss:")).context("no Rss")?;
        let resident = line.trim().trim_end_matches(" kB").parse::<u64>()? << 10;
        let status = controller.agent_status()?;
        ensure!(status.guard_trips == 0, "{status:?}");
        Ok(Memory { resident, agent: status.memory_bytes, clr: status.clr_kept_bytes })
    }

    /// Ensures that nine tenths of the growth since `before` are reported, and that the report is not several times it.
    fn ensure_explained(self, before: Self, most: u64, what: &str) -> Result<()> {
        let grown = self.resident.saturating_sub(before.resident);
        let agent = self.agent.saturating_sub(before.agent);
        let clr = self.clr.saturating_sub(before.clr);
        println!(
            "{what}: the process grew by {grown} bytes; the agent by {agent}, what the CLR keeps by {clr}"
        );
        ensure!(agent + clr + SLACK >= grown / 10 * 9, "unreported: {self:?} after {before:?}");
        ensure!(
            agent + clr <= grown * most / 10 + SLACK,
            "reported and not there: {self:?} after {before:?}"
        );
        Ok(())
    }
}

/// A program with the 1,000 methods of Hot compiled. Without tiering, a method is compiled once for a dial.
fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    let mut command = programs::named("many")?.command(runtime)?;
    command.arg(generate::hot_library()?);
    under_agent::set_tiered(&mut command, "0");
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    // The first collections and answers take memory of their own.
    for _ in 0..3 {
        Memory::of(&mut live, &mut controller)?;
    }
    Ok((live, controller))
}

/// Every method of every module, of which next to none is called: the CLR keeps a record of each request.
fn reports_the_memory_of_requests(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let mut before = None;
    let mut requested = 0;
    for round in 0..=soak::scaled(3, 7) {
        let report = controller.dial("*", Level::Count, Lifetime::Kept)?;
        ensure!(report.accepted > 20_000, "{report:?}");
        ensure!(controller.all_off()? == (report.accepted, 0));
        if round == 0 {
            before = Some(Memory::of(&mut live, &mut controller)?);
        } else {
            requested += report.accepted;
        }
    }
    let what = format!("{}, {requested} requested methods", runtime.name());
    let after = Memory::of(&mut live, &mut controller)?;
    after.ensure_explained(before.context("no rounds")?, 12, &what)
}

/// A thousand methods, each called after each change.
fn reports_the_memory_of_compilations(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let mut before = None;
    let rounds = soak::scaled(6, 10);
    for round in 0..=rounds {
        let report = controller.dial(HOT, Level::Count, Lifetime::Kept)?;
        ensure!(report.accepted == 1_000, "{report:?}");
        live.host.ask("sweep 2", "swept 2")?;
        ensure!(controller.all_off()? == (report.accepted, 0));
        live.host.ask("sweep 2", "swept 2")?;
        if round == 0 {
            before = Some(Memory::of(&mut live, &mut controller)?);
        }
    }
    // The estimate is that of larger methods.
    let after = Memory::of(&mut live, &mut controller)?;
    let what = format!("{}, {rounds} compilations each of 1,000 methods", runtime.name());
    after.ensure_explained(before.context("no rounds")?, 25, &what)
}

/// Plans of everything; the first ones fill the caches of the CLR and of the allocator.
fn dry_runs_keep_nothing(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    let plans = soak::scaled(10, 10);
    let mut before = None;
    for plan in 0..2 * plans {
        if plan == plans {
            before = Some(Memory::of(&mut live, &mut controller)?);
        }
        let orders = vec![Order::new("*", Level::Count)];
        controller.ask(WireCommand::Plan { orders, lifetime: Lifetime::Kept })?;
    }
    let (before, after) = (before.context("no plans")?, Memory::of(&mut live, &mut controller)?);
    println!("{}, {plans} plans: {before:?}, then {after:?}", runtime.name());
    ensure!(after.resident.saturating_sub(before.resident) <= SLACK, "{after:?} after {before:?}");
    Ok(())
}

/// Traces calls longer than this many milliseconds.
fn slower_than(pattern: &str, milliseconds: u64, options: TimeOptions) -> Vec<Order> {
    let when = Some(format!("duration > duration(\"{milliseconds}ms\")"));
    vec![Order { when, options, ..Order::new(pattern, Level::Trace) }]
}

/// Hundreds of changes between a few conditions, rates and depths: each combination of a condition with a stack has a body.
fn known_trace_options_keep_nothing(runtime: Runtime) -> Result<()> {
    const ONE: &str = "Hot!Hot.H0.M0(int)";
    /// Until the list of changes is full.
    const WARM: u64 = AUDIT_ENTRIES as u64 + 50;
    let (mut live, mut controller) = start(runtime)?;
    // The agent remembers the latest 16,384 transitions.
    for _ in 0..9 {
        controller.dial(HOT, Level::Count, Lifetime::Kept)?;
        controller.all_off()?;
    }
    let changes = soak::scaled(500, 10);
    let mut before = None;
    for change in 0..WARM + changes {
        if change == WARM {
            before = Some(Memory::of(&mut live, &mut controller)?);
        }
        let (rate, depth) = (Some(100 + change as u32), Some((change % 3) as u8));
        let options = TimeOptions { rate, depth, ..TimeOptions::default() };
        let report = controller.order(slower_than(ONE, 1 + change % 5, options), Lifetime::Kept)?;
        ensure!(report.accepted == 1, "{report:?}");
    }
    controller.all_off()?;
    let (before, after) = (before.context("no changes")?, Memory::of(&mut live, &mut controller)?);
    println!("{}, {changes} changes: {before:?}, then {after:?}", runtime.name());
    ensure!(after.agent <= before.agent + (32 << 10), "{after:?} after {before:?}");
    Ok(())
}

/// More conditions than there is memory for: the agent refuses further ones, and says so.
fn further_trace_options_are_limited(runtime: Runtime) -> Result<()> {
    /// Limit of the agent, and what else the changes take.
    const MOST: u64 = (16 << 20) + (4 << 20);
    let (mut live, mut controller) = start(runtime)?;
    let change = |controller: &mut Controller, milliseconds| {
        controller.order(slower_than(HOT, milliseconds, TimeOptions::default()), Lifetime::Kept)
    };
    let first = change(&mut controller, 1)?;
    ensure!(first.accepted == 1_000, "{first:?}");
    let before = Memory::of(&mut live, &mut controller)?;
    let mut refused = None;
    for milliseconds in 2..60 {
        let report = change(&mut controller, milliseconds)?;
        if report.accepted == 0 {
            refused = Some((milliseconds, report));
            break;
        }
    }
    let (changes, report) = refused.context("every condition was accepted")?;
    ensure!(changes > 5 && report.refused_by_reason == [(Reason::Budget, 1_000)], "{changes}: {report:?}");
    let after = Memory::of(&mut live, &mut controller)?;
    println!("{}, {changes} conditions: {before:?}, then {after:?}", runtime.name());
    ensure!(after.agent <= before.agent + MOST, "{after:?} after {before:?}");
    // Those that are known, and the other levels.
    ensure!(change(&mut controller, 1)?.accepted == 1_000);
    ensure!(controller.dial(HOT, Level::Time, Lifetime::Kept)?.accepted == 1_000);
    ensure!(controller.all_off()? == (1_000, 0));
    Ok(())
}

//! Modules that load and unload under standing dials: unloaded modules leave nothing that grows.
//!
//! Only collectible contexts unload on .NET Core, and the runtime cannot recompile their methods, so they are
//! refused. Modules that can be both dialled and unloaded exist only on .NET Framework.

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::Remainder;
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{programs, soak};

/// By name and with a wildcard.
const ORDERS: [&str; 2] = ["Gathered!Gathered.Work.Twice(int)", "Gathered!Gathered.Work.*"];
/// Number of transitions that the agent remembers. Their list is full before the test compares memory.
const RING: u64 = 16_384;
/// Enough methods to fill it, turned on and off twice.
const MANY: &str = "System.Private.CoreLib!System.*.*";
/// Rounds until the agent's memory of unloaded modules has reached its maximum.
const FIRST_ROUNDS: u64 = 300;
const ROUNDS: u64 = 200;
/// Records of the runtime's own inlining meanwhile: some kilobytes, independent of the number of rounds.
const INLINED: u64 = 16 << 10;

#[test]
fn rounds_of_loading_leave_nothing_net_3_1() -> Result<()> {
    rounds_of_loading_leave_nothing(Runtime::V3_1)
}

#[test]
fn rounds_of_loading_leave_nothing_net_8_0() -> Result<()> {
    rounds_of_loading_leave_nothing(Runtime::V8_0)
}

fn rounds_of_loading_leave_nothing(runtime: Runtime) -> Result<()> {
    let mut command = programs::named("collectible")?.command(runtime)?;
    // The first rounds compile everything and record its inlining.
    under_agent::set_tiered(&mut command, "0");
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let many = controller.dial(MANY, Level::Count, Lifetime::Kept)?;
    ensure!(many.accepted > RING / 2, "{many:?}");
    controller.off(MANY)?;
    live.host.ask("load plain", "loaded")?;
    let report = controller.dial_all(&ORDERS, Level::Count, Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    let mut lives = Vec::new();
    for _ in 0..FIRST_ROUNDS {
        lives.push(load_and_unload(&mut live, &mut controller)?);
    }
    let rows = controller.status(None)?.len();
    let memory = controller.agent_status()?.memory_bytes;
    let rounds = soak::scaled(ROUNDS, 200);
    for _ in 0..rounds {
        lives.push(load_and_unload(&mut live, &mut controller)?);
    }

    // Each generation of a module has its own key.
    let mut keys = lives.clone();
    keys.sort_unstable();
    keys.dedup();
    ensure!(keys.len() == lives.len(), "two lives of a module share a key");
    let mut ids: Vec<_> = keys.iter().map(|key| key.module_id).collect();
    ids.dedup();
    // A ModuleID is reused only after the runtime has used the 2 GiB that it reserves for code at its start.
    ensure!(!soak::is_on() || ids.len() < keys.len(), "no ModuleID came back in {} lives", keys.len());
    let grown = controller.status(None)?.len() - rows;
    ensure!(grown == 0, "{rounds} modules that came and went left {grown} rows more");
    let after = controller.agent_status()?.memory_bytes;
    println!("{}: {rounds} modules came and went; {memory} bytes became {after}", runtime.name());
    // A forgotten row leaves nothing.
    ensure!(after <= memory + INLINED, "{rounds} modules that came and went: {memory} bytes became {after}");

    // The module that stays counted every call, and goes off.
    let row = controller.status(Some(ORDERS[0]))?.into_iter().find(|row| row.state == CopyState::Live);
    let calls = row.map(|row| row.calls);
    ensure!(calls == Some(3 * (FIRST_ROUNDS + rounds)), "{calls:?} calls of what stays");
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    let is_unfinished = |one: &Remainder| matches!(one, Remainder::UnfinishedReads { .. });
    ensure!(!status.remains.iter().any(is_unfinished), "{:?}", status.remains);
    ensure!(controller.all_off()?.1 == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Loads a context, calls its method and unloads it. Returns the module's key.
fn load_and_unload(live: &mut LiveHost, controller: &mut Controller) -> Result<ModuleKey> {
    live.host.ask("load collectible", "loaded")?;
    live.host.ask("call collectible 3", "called")?;
    live.host.ask("call plain 3", "called")?;
    let loaded = gathered_modules(controller)?;
    ensure!(loaded.len() == 2, "loaded: {loaded:?}");
    live.host.ask("unload", "unloaded")?;
    let left = gathered_modules(controller)?;
    ensure!(left.len() == 1, "left: {left:?}");
    let gone: Vec<_> = loaded.into_iter().filter(|key| !left.contains(key)).collect();
    ensure!(gone.len() == 1, "{gone:?} has gone");
    Ok(gone[0])
}

fn gathered_modules(controller: &mut Controller) -> Result<Vec<ModuleKey>> {
    let (_, modules) = controller.modules()?;
    Ok(modules.into_iter().filter(|module| module.name == "Gathered").map(|module| module.key).collect())
}

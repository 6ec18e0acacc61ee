//! Modules that come and go while dials stand: what has gone leaves nothing behind that grows.
//!
//! Only collectible contexts unload on .NET Core, and their methods are refused, since the runtime cannot recompile
//! them; a module that can be dialled and unloads is there on .NET Framework alone.

use anyhow::{Result, ensure};
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, Live, ensure_said};
use redial_testbed::{programs, soak};

/// Both: by name, and with a wildcard.
const ORDERS: [&str; 2] = ["Gathered!Gathered.Work.Twice(int)", "Gathered!Gathered.Work.*"];
/// The transitions that the agent remembers. Their list is full before memory is compared.
const RING: u64 = 16_384;
/// Enough of them: each of these twice, on and off again.
const MANY: &str = "System.Private.CoreLib!System.*.*";
/// Rounds until whatever the agent keeps of what has gone is as large as it gets.
const FIRST_ROUNDS: u64 = 300;
const ROUNDS: u64 = 200;
/// What is left of a row that was forgotten: its number, which means no other row ever again.
const NUMBER_BYTES: u64 = 8;
/// What the runtime inlines into code of its own meanwhile is remembered: some kilobytes, however many rounds.
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
    // What is compiled is compiled in the first rounds, and what was inlined there is known from then on.
    under_agent::set_tiered(&mut command, "0");
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let many = controller.dial(MANY, Level::Count, Stay::Kept)?;
    ensure!(many.accepted > RING / 2, "{many:?}");
    controller.off(MANY)?;
    live.host.ask("load plain", "loaded")?;
    let report = controller.dial_all(&ORDERS, Level::Count, Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    let mut lives = Vec::new();
    for _ in 0..FIRST_ROUNDS {
        lives.push(round(&mut live, &mut controller)?);
    }
    let rows = controller.status(None)?.len();
    let memory = controller.agent_status()?.memory_bytes;
    let rounds = soak::scaled(ROUNDS, 200);
    for _ in 0..rounds {
        lives.push(round(&mut live, &mut controller)?);
    }

    // Each life of a module had its own key.
    let mut keys = lives.clone();
    keys.sort_unstable();
    keys.dedup();
    ensure!(keys.len() == lives.len(), "two lives of a module share a key");
    let mut ids: Vec<_> = keys.iter().map(|key| key.module_id).collect();
    ids.dedup();
    // A ModuleID comes back only when the runtime has used up the 2 GiB it reserves for code at its start.
    ensure!(!soak::is_on() || ids.len() < keys.len(), "no ModuleID came back in {} lives", keys.len());
    let grown = controller.status(None)?.len() - rows;
    ensure!(grown == 0, "{rounds} modules that came and went left {grown} rows more");
    let after = controller.agent_status()?.memory_bytes;
    // The list of numbers doubles when it is full; within the gate's rounds it must not even do that.
    let doubled = if soak::is_on() { 2 * (rows as u64 + rounds) } else { rounds };
    let most = memory + doubled * NUMBER_BYTES + INLINED;
    ensure!(after <= most, "{rounds} modules that came and went: {memory} bytes became {after}");

    // What stays counted every call, and goes off.
    let row = controller.status(Some(ORDERS[0]))?.into_iter().find(|row| row.state == CopyState::Live);
    let calls = row.map(|row| row.calls);
    ensure!(calls == Some(3 * (FIRST_ROUNDS + rounds)), "{calls:?} calls of what stays");
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    ensure!(controller.all_off()?.1 == 0);
    live.host.close_input();
    ensure_said(&live.host.finish()?, 0, &[])
}

/// A context comes, its method is called, and it goes; the module's key.
fn round(live: &mut Live, controller: &mut Controller) -> Result<ModuleKey> {
    live.host.ask("load collectible", "loaded")?;
    live.host.ask("call collectible 3", "called")?;
    live.host.ask("call plain 3", "called")?;
    let loaded = gathered(controller)?;
    ensure!(loaded.len() == 2, "loaded: {loaded:?}");
    live.host.ask("unload", "unloaded")?;
    let left = gathered(controller)?;
    ensure!(left.len() == 1, "left: {left:?}");
    let gone: Vec<_> = loaded.into_iter().filter(|key| !left.contains(key)).collect();
    ensure!(gone.len() == 1, "{gone:?} has gone");
    Ok(gone[0])
}

fn gathered(controller: &mut Controller) -> Result<Vec<ModuleKey>> {
    let (_, modules) = controller.modules()?;
    Ok(modules.into_iter().filter(|module| module.name == "Gathered").map(|module| module.key).collect())
}

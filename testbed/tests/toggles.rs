//! A thousand hot methods, turned on and off repeatedly while eight threads call them. Each change takes
//! effect, every revert too, the agent's memory does not grow, and at the end everything is as before.

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{generate, programs, soak};

const HOT: &str = "Hot!Hot.H*.M*";
const METHODS: u64 = (generate::HOT_CLASSES * generate::HOT_METHODS) as u64;
const THREADS: u32 = 8;
/// Growth allowed for the agent's own memory, in bytes.
const DRIFT: u64 = 8 << 20;
/// Rounds before the first measurement of memory, since the first round creates rows and counters.
const WARM: u64 = 1;

fn ensure_all(rows: &[StatusRow], state: CopyState, when: &str) -> Result<()> {
    let other: Vec<_> = rows.iter().filter(|row| row.state != state || row.note.is_some()).take(3).collect();
    ensure!(rows.len() as u64 == METHODS && other.is_empty(), "{when}: {} rows, {other:?}", rows.len());
    Ok(())
}

fn on(controller: &mut Controller) -> Result<()> {
    // Class by class, so that changes overlap with earlier compilations.
    for class in 0..generate::HOT_CLASSES {
        controller.dial(&format!("Hot!Hot.H{class}.M*"), Level::Count, Lifetime::Kept)?;
    }
    controller.wait_until("that every hot method is live", |dials| {
        dials.values().filter(|row| row.state == CopyState::Live).count() as u64 == METHODS
    })
}

fn off(controller: &mut Controller) -> Result<()> {
    for class in (0..generate::HOT_CLASSES).rev() {
        controller.off(&format!("Hot!Hot.H{class}.M*"))?;
    }
    Ok(())
}

fn toggles_hot_methods_without_growth(runtime: Runtime) -> Result<()> {
    // 100,000 changes in the soak; in the gate 10,000 on 8.0 and 4,000 where a request stops the program.
    let rounds = match runtime {
        Runtime::V8_0 => soak::scaled(5, 10),
        _ => soak::scaled(2, 25),
    };
    let mut command = programs::named("many")?.command(runtime)?;
    command.arg(generate::hot_library()?);
    host::load_agent(&mut command)?;
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready ")?.parse()?;
    let memory = |host: &mut Host| -> Result<u64> { Ok(host.ask("memory", "memory ")?.parse()?) };
    let mut controller = Controller::connect(pid)?;
    controller.subscribe(Some(HOT))?;
    host.ask(&format!("hammer {THREADS}"), "hammering")?;
    let mut began = None;
    for round in 0..WARM + rounds {
        if round == WARM {
            began = Some((controller.agent_status()?.memory_bytes, memory(&mut host)?));
        }
        on(&mut controller)?;
        off(&mut controller)?;
        ensure_all(&controller.status(Some(HOT))?, CopyState::Off, &format!("round {round}"))?;
    }
    let (ours, resident) = began.context("rounds")?;
    let status = controller.agent_status()?;
    let grown = status.memory_bytes.saturating_sub(ours);
    println!(
        "{}: {} toggles; the agent's memory {} + {grown} bytes; the process {resident} + {} KiB; kept by the CLR, as we \
         estimate: {} KiB",
        runtime.name(),
        2 * METHODS * rounds,
        ours,
        memory(&mut host)?.saturating_sub(resident),
        status.clr_kept_bytes / 1024,
    );
    ensure!(grown <= DRIFT, "the agent's memory grew by {grown} bytes");
    ensure!(status.guard_trips == 0, "{status:?}");
    host.ask("stop", "stopped")?;

    // At rest only dialled methods count.
    let calls = |rows: &[StatusRow]| rows.iter().map(|row| row.calls).collect::<Vec<_>>();
    let before = controller.status(Some(HOT))?;
    ensure!(before.iter().all(|row| row.calls > 0), "every method was called while it was on");
    host.ask("sweep 20", "swept 20")?;
    ensure!(calls(&controller.status(Some(HOT))?) == calls(&before), "something counts that is off");
    controller.dial(HOT, Level::Count, Lifetime::Kept)?;
    host.ask("sweep 7", "swept 7")?;
    let rows = controller.status(Some(HOT))?;
    ensure_all(&rows, CopyState::Live, "on again")?;
    ensure!(calls(&rows) == calls(&before).iter().map(|calls| calls + 7).collect::<Vec<_>>(), "not exact");
    ensure!(controller.all_off()? == (METHODS, 0));
    host.close_input();
    ensure!(host.finish()?.code()? == 0);
    Ok(())
}

on_each_runtime!(toggles_hot_methods_without_growth);

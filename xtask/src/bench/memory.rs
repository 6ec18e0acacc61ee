//! Row `memory`: memory per dialled method, in the agent and in the process, and the memory that the CLR keeps for each
//! recompilation until the AppDomain unloads.

use std::time::Duration;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

use redial_testbed::controller::Lifetime;

use super::context::Bench;
use super::figures::{Figure, Target};
use super::many::{self, HOT_METHODS, Many};

/// Most memory of the agent with nothing dialled, in KiB.
const IDLE: f64 = 16.0 * 1024.0;
/// Changes of all hot methods after which the agent's queues have their final length.
const SETTLE: usize = 8;
/// The agent merges changes of a copy that are less than 50 ms apart.
const APART: Duration = Duration::from_millis(80);

/// Measures each runtime in processes of its own.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let (hosts, cycles) = if bench.quick { (1, 4) } else { (3, 16) };
    let mut figures = Vec::new();
    for runtime in bench.runtimes.iter().copied() {
        let [mut idle, mut agent, mut process, mut kept] = [const { Vec::new() }; 4];
        for _ in 0..hosts {
            let mut many = Many::start(bench, runtime, 1)?;
            idle.push(dialled(&mut many, &mut agent, &mut process)?);
            kept.push(recompiled(&mut many, cycles)?);
        }
        let on = runtime.name();
        let figure = |what: &str, unit: &str, numbers: &[f64], target| {
            Figure::of(&format!("{on}: {what}"), unit, numbers, target)
        };
        figures.push(figure("the agent, nothing dialled", "KiB", &idle, Target::Worst(IDLE)));
        figures.push(figure("the agent, per dialled method", "bytes", &agent, Target::None));
        figures.push(figure("the process, per dialled method", "bytes", &process, Target::None));
        figures.push(figure("kept per dial, recompilation and off", "bytes", &kept, Target::None));
    }
    Ok(figures)
}

/// Dials ten thousand methods that nobody calls. Also returns the agent's memory before, in KiB.
fn dialled(many: &mut Many, agent: &mut Vec<f64>, process: &mut Vec<f64>) -> Result<f64> {
    let mut controller = many.watch()?;
    let before = (controller.agent_status()?.memory_bytes as f64, many.memory()?);
    let report = controller.dial(&many::big(0), Level::Count, Lifetime::Kept)?;
    ensure!(report.accepted >= 10_000, "{report:?}");
    let after = (controller.agent_status()?.memory_bytes as f64, many.memory()?);
    agent.push((after.0 - before.0) / report.accepted as f64);
    process.push((after.1 - before.1) / report.accepted as f64);
    Ok(before.0 / 1024.0)
}

/// Returns the growth of the process, in bytes, for each dial of a method that is called, turned off and called again.
fn recompiled(many: &mut Many, cycles: usize) -> Result<f64> {
    let mut controller = many.watch()?;
    let mut before = 0.0;
    for cycle in 0..SETTLE + cycles {
        if cycle == SETTLE {
            before = many.memory()?;
        }
        controller.dial(many::HOT, Level::Count, Lifetime::Kept)?;
        many.host.ask("sweep 1", "swept")?;
        many::wait_for_live(&mut controller)?;
        std::thread::sleep(APART);
        controller.off(many::HOT)?;
        many.host.ask("sweep 1", "swept")?;
        many::wait_for_all(&mut controller, CopyState::Off)?;
        std::thread::sleep(APART);
    }
    Ok((many.memory()? - before) / (cycles * HOT_METHODS) as f64)
}

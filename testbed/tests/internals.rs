//! What the runtime itself calls of the core library (`programs/internals`), with the whole core library dialled from the
//! start, off, and on again: the program gives what it gives without the agent, whatever throws, is finalized, called back
//! or cast in it.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::state::State;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

const CORE_LIBRARY: &str = "System.Private.CoreLib!*";
/// Times that everything is gone through.
const RUNS: usize = 4;

fn go_through(host: &mut Host) -> Result<Vec<String>> {
    host.say("run")?;
    let mut said = Vec::new();
    loop {
        let line = host.next_line()?;
        if line == "done" {
            ensure!(said.len() > 90, "{said:#?}");
            return Ok(said);
        }
        said.push(line);
    }
}

fn end(mut host: Host) -> Result<()> {
    host.say("exit")?;
    let outcome = host.finish()?;
    ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.said());
    ensure!(outcome.stdout.ends_with("exits\n"), "{}", outcome.said());
    Ok(())
}

fn as_it_is(runtime: Runtime) -> Result<Vec<Vec<String>>> {
    let mut host = Host::start(programs::named("internals")?.command(runtime)?)?;
    host.wait_for("ready")?;
    let runs = (0..RUNS).map(|_| go_through(&mut host)).collect::<Result<_>>()?;
    end(host)?;
    Ok(runs)
}

fn the_core_library_dialled(runtime: Runtime) -> Result<()> {
    let expected = as_it_is(runtime)?;
    let dial = format!("{CORE_LIBRARY}=count");
    let command = programs::named("internals")?.command(runtime)?;
    let mut host = Host::start(host::redial_run(&["--dial", &dial], &command)?)?;
    let mut controller = Controller::connect(host.wait_for("ready")?.parse()?)?;
    controller.subscribe(Some(CORE_LIBRARY))?;
    controller.wait_until("the whole core library dialled", |dials| {
        dials.len() > 10_000 && dials.values().all(|row| row.wanted == Level::Count)
    })?;
    for (number, expected) in expected.iter().enumerate() {
        match number {
            0 => {}
            _ if number % 2 == 0 => {
                controller.dial(CORE_LIBRARY, Level::Count, Stay::Kept)?;
            }
            _ => {
                controller.off(CORE_LIBRARY)?;
            }
        }
        let said = go_through(&mut host)?;
        let differ: Vec<_> = said.iter().zip(expected).filter(|(said, expected)| said != expected).collect();
        ensure!(differ.is_empty() && said.len() == expected.len(), "run {number}: {differ:#?}");
        let rows = controller.status(Some(CORE_LIBRARY))?;
        let live = rows.iter().filter(|row| row.state == State::Live).count();
        ensure!(if number % 2 == 0 { live > 1500 } else { live == 0 }, "run {number}: {live} live");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    end(host)
}

on_each_runtime!(the_core_library_dialled);

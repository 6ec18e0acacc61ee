//! Thrown exceptions of a program that counts its own (`programs/throws`).

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::trace::{OmittedReason, Value};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::thrown::{Exceptions, expected, is_text, stop, stream};
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};
use std::time::Instant;

/// Runs a command of the program; all its exceptions must be caught.
fn throw(host: &mut Host, command: &str, caught: u64) -> Result<()> {
    let answer = host.ask(command, "done")?;
    ensure!(answer.parse() == Ok(caught), "{command}: caught {answer}");
    Ok(())
}

fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(programs::named("throws")?.command(runtime)?)
}

fn end(mut live: LiveHost, controller: Controller) -> Result<()> {
    drop(controller);
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

fn counts_everything(live: &mut LiveHost, controller: &mut Controller) -> Result<()> {
    stream(controller, None, Some(1_000_000))?;
    for command in ["plain 7", "inner 5", "rethrow 4", "anew 3", "generic 6", "own 2", "dynamic 3", "null 4", "async 3", "library 2", "handler 5"] {
        let caught = command.rsplit(' ').next().unwrap_or_default().parse()?;
        throw(&mut live.host, command, caught)?;
        println!("{command}");
        let all = stop(controller)?;
        println!("{:#?} {:?}", all.counts(), all.totals);
        for e in &all.exceptions { println!("{e:?}"); }
        stream(controller, None, Some(1_000_000))?;
    }
    Ok(())
}

fn counts_every_throw(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    counts_everything(&mut live, &mut controller)?;
    end(live, controller)
}

on_each_runtime!(counts_every_throw);

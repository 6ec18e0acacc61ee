//! The first timed call of a method is as true as the millionth, on every runtime.

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::WireCommand;
use redial_testbed::controller::Lifetime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{on_each_runtime, programs, under_agent};

on_each_runtime!(first_call_takes_what_the_method_takes);

const ADD: &str = "Copied!Copied.Counter.Add(int)";
/// Copies of the module for each number of threads. One call may be interrupted; hardly in each of them.
const COPIES: usize = 8;
/// An addition takes a few nanoseconds. A stub of the runtime takes 100 microseconds in the first module of a
/// process, and four or more in each further one.
const MOST_NS: u64 = 2_000;

/// Each copy of a module is new to the runtime. In each the method is called once per thread, timed from the
/// start.
fn first_call_takes_what_the_method_takes(runtime: Runtime) -> Result<()> {
    let command = programs::named("alc")?.command(runtime)?;
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    // The first copy makes the pattern match; later ones get the order as they load.
    live.host.ask("load", "loaded ")?;
    controller.dial(ADD, Level::Time, Lifetime::Kept)?;
    for threads in [1, 8] {
        for _ in 0..COPIES {
            let loaded = live.host.ask("load", "loaded ")?;
            let copy = loaded.split(' ').next().unwrap_or_default();
            live.host.ask(&format!("together {copy} {threads}"), "called ")?;
        }
        let answer = controller.ask(WireCommand::Status { pattern: Some(ADD.to_owned()) })?;
        let of_copies = answer.times.iter().filter(|times| times.exits == threads);
        let longest: Vec<u64> = of_copies.map(|times| times.max_ns).collect();
        let least = longest.iter().min().context("no calls")?;
        println!("{}: {threads} threads: the longest call in each copy: {longest:?} ns", runtime.name());
        ensure!(longest.len() == COPIES && *least < MOST_NS, "{threads} threads: {longest:?}");
    }
    ensure!(controller.all_off()?.1 == 0 && controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

//! Row `ps`: processor time of finding processes, on a machine with 500 extra ones.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use redial_testbed::host::Host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::figures::Figure;
use super::meter::Meter;
use super::window_benchmark::run_benchmark;

/// Number of extra processes without .NET.
const OTHERS: usize = 500;

/// Measures with a process of each runtime, one of them with the agent.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let _others = Others::start(OTHERS)?;
    let _with_agent = Meter::start(bench, Runtime::V8_0)?;
    let mut plain = Vec::new();
    for runtime in Runtime::all() {
        let mut host = Host::start(programs::named("loops")?.command(runtime)?)?;
        host.wait_for("ready ")?;
        plain.push(host);
    }
    run_benchmark(bench, &["--processes"])
}

/// Waiting processes; dropping them ends them.
struct Others(Vec<Child>);

impl Others {
    fn start(number: usize) -> Result<Self> {
        let mut others = Self(Vec::with_capacity(number));
        for _ in 0..number {
            let mut command = Command::new("sleep");
            command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
            others.0.push(command.spawn().context("sleep cannot be started")?);
        }
        Ok(others)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Both fail only if it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

//! Row `ps`: processor time of finding processes, and the time that `redial ps` takes, on a machine with 500 extra ones.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::Host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::figures::{Figure, Target};
use super::meter::Meter;
use super::window_benchmark::run_benchmark;

/// Number of extra processes without .NET.
const OTHERS: usize = 500;
/// Runs of `redial ps`; one more comes first and warms caches.
const RUNS: usize = 30;

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
    let mut figures = run_benchmark(bench, &["--processes"])?;
    figures.push(command_line(bench)?);
    Ok(figures)
}

/// Measures `redial ps` from its start to its end.
fn command_line(bench: &Bench) -> Result<Figure> {
    let run = || {
        let begun = Instant::now();
        let output = Command::new(bench.built.program()).arg("ps").output()?;
        ensure!(output.status.success(), "`redial ps` ended with {}", output.status);
        Ok(begun.elapsed().as_secs_f64() * 1000.0)
    };
    run()?;
    let took = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>>>()?;
    Ok(Figure::of("`redial ps`", "ms", &took, Target::Median(50.0)))
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

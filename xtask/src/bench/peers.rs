//! Alternatives to Redial in the same measuring host: the CLR's enter and leave hooks, and Frida.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use redial_testbed::frida;
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use crate::build;
use crate::process::checkout;

/// A measuring host in which every method calls a counting hook.
pub struct Hooked<'b> {
    /// The host.
    pub meter: Meter<'b>,
    calls: u64,
}

impl<'b> Hooked<'b> {
    /// Starts it; `exact`: with an atomic counter.
    pub fn start(bench: &'b Bench, runtime: Runtime, exact: bool) -> Result<Self> {
        let library = build::bench_hooks()?;
        let meter = Meter::start_with(bench, runtime, |command| {
            // The library returns its only class for any class id.
            host::load_agent_from(command, &library);
            command.env("BENCH_HOOKS", if exact { "exact" } else { "" });
        })?;
        Ok(Self { meter, calls: 0 })
    }

    /// Measures the plain method, as [`Meter::nanoseconds`].
    pub fn nanoseconds(&mut self, threads: u32, chunks: u32) -> Result<f64> {
        self.calls += u64::from(threads) * u64::from(chunks) * 1_000_000;
        self.meter.nanoseconds(PLAIN, threads, chunks)
    }

    /// Ends it and checks that the hook really ran. A plain counter may have lost up to half of the calls.
    pub fn end(self) -> Result<()> {
        let said = self.meter.end()?;
        let hooked = said.lines().find_map(|line| line.strip_prefix("hooked "));
        let hooked: u64 = hooked.with_context(|| format!("the hooks said nothing: {said}"))?.parse()?;
        ensure!(hooked >= self.calls / 2, "the hook ran {hooked} times in {} calls", self.calls);
        Ok(())
    }
}

/// A measuring host with Frida in it, and the Python program that drives Frida.
pub struct Frida<'b> {
    /// The host.
    pub meter: Meter<'b>,
    python: Host,
    hits: u64,
}

impl<'b> Frida<'b> {
    /// Starts both. The hot method is compiled once, optimised, and stays where it is.
    ///
    /// # Errors
    /// When Frida cannot be installed, or cannot enter a process here.
    pub fn start(bench: &'b Bench, runtime: Runtime) -> Result<Self> {
        let module = frida::python_module()?;
        let mut meter = Meter::start_with(bench, runtime, |command| {
            // Every version still reads these names.
            command.env("COMPlus_TieredCompilation", "0").env("COMPlus_PerfMapEnabled", "1");
        })?;
        meter.nanoseconds(PLAIN, 1, 1)?;
        let address = compiled_at(meter.pid())?;
        let mut command = Command::new("python3");
        command.arg(checkout().join("xtask/src/bench/frida_probe.py")).args([meter.pid(), &address]);
        command.env("PYTHONPATH", module).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut python = Host::start(command)?;
        python.wait_for("ready")?;
        Ok(Self { meter, python, hits: 0 })
    }

    /// Puts the probe at the hot method.
    pub fn attach(&mut self) -> Result<()> {
        self.python.ask("attach", "attach").map(drop)
    }

    /// Removes the probe after checking that it ran.
    pub fn detach(&mut self) -> Result<()> {
        self.python.ask("detach", "detach")?;
        let hits: u64 = self.python.ask("hits", "hits ")?.parse()?;
        ensure!(hits > self.hits, "Frida's probe did not run");
        self.hits = hits;
        Ok(())
    }
}

/// Returns the address of the hot method's code, as the runtime reports it.
fn compiled_at(pid: &str) -> Result<String> {
    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    let text = fs::read_to_string(&map).context("the runtime wrote no map of its code")?;
    // Otherwise both files would stay: this one and the description of the process.
    let _ = fs::remove_file(&map);
    let _ = fs::remove_file(format!("/tmp/perfinfo-{pid}.map"));
    let wanted = format!("Loops::{PLAIN}(");
    match text.lines().rfind(|line| line.contains(&wanted)).and_then(|line| line.split(' ').next()) {
        Some(address) => Ok(format!("0x{address}")),
        None => bail!("the runtime's map of its code has no {wanted}"),
    }
}

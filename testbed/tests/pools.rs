//! Application pools of IIS. The workers are stand-ins: `w3wp.exe` with the arguments of IIS, which runs a program in its own
//! process on the real CLR (`testbed/native/dotnet.c`). IIS itself is not here.
#![cfg(windows)]

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::load::Load;
use redial_testbed::programs::{self, Program};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, truth};
use serde_json::Value;

const ADD: &str = "counter!Counter.Add(int)";

/// A folder with `w3wp.exe`, for the pools of one test. Dropping it removes the folder.
struct Iis {
    folder: PathBuf,
    runtime: Runtime,
    /// Makes the pools' names unlike those of other tests.
    suffix: String,
}

impl Iis {
    fn new(test: &str, runtime: Runtime) -> Result<Iis> {
        let suffix = format!("{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(format!("redial-pools-{suffix}"));
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(Runtime::V8_0.ensure()?.dotnet(), folder.join("w3wp.exe"))?;
        Ok(Iis { folder, runtime, suffix })
    }

    fn pool(&self, name: &str) -> String {
        format!("{name} {}", self.suffix)
    }

    fn target(&self, pool: &str) -> String {
        format!("pool:{}", self.pool(pool))
    }

    /// Returns the command of a worker, as IIS starts one, with this program in its process.
    fn command(&self, pool: &str, program: &Program) -> Result<Command> {
        let mut worker = Command::new(self.folder.join("w3wp.exe"));
        self.runtime.settle_environment(&mut worker);
        let pool = self.pool(pool);
        let pipe = format!(r"\\.\pipe\iisipm{}", self.suffix);
        worker.args(["-ap", &pool, "-v", "v4.0", "-l", "webengine4.dll", "-a", &pipe]);
        worker.args(["-h", r"C:\inetpub\temp\apppools\pool.config", "-w", "", "-m", "0"]);
        worker.env("APP_POOL_ID", &pool).env("STAND_IN_PROGRAM", program.dll());
        Ok(worker)
    }

    fn start(&self, pool: &str) -> Result<LiveHost> {
        under_agent::start(self.command(pool, &programs::named("counter")?)?)
    }
}

impl Drop for Iis {
    fn drop(&mut self) {
        // A folder that stays behind must not hide a failure.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn redial(arguments: &[&str]) -> Result<Outcome> {
    host::run(host::redial(arguments)?)
}

fn call(worker: &mut LiveHost, calls: u64) -> Result<()> {
    worker.host.ask(&format!("call {calls}"), "called").map(drop)
}

fn calls(worker: &LiveHost) -> Result<Vec<u64>> {
    worker.rows(ADD)?.iter().map(|row| row["calls"].as_u64().context("a number of calls")).collect()
}

fn end(mut worker: LiveHost) -> Result<()> {
    worker.host.say("exit")?;
    let outcome = worker.host.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

/// Returns the row of `ps --json` of this process.
fn process(pid: u32) -> Result<Value> {
    let listed = redial(&["ps", "--json"])?.ok()?.json()?;
    let rows = listed.as_array().context("ps --json is an array")?;
    rows.iter().find(|row| row["pid"] == pid).cloned().with_context(|| format!("no {pid} in {listed}"))
}

fn dials_only_the_named_pool(runtime: Runtime) -> Result<()> {
    let iis = Iis::new("named", runtime)?;
    let (mut shop, mut stock) = (iis.start("Shop")?, iis.start("Stock")?);
    for (worker, pool) in [(&shop, "Shop"), (&stock, "Stock")] {
        let row = process(worker.pid)?;
        ensure!(row["group"] == iis.target(pool) && row["name"] == "w3wp.exe", "{row}");
        ensure!(row["runtime"]["version"] == runtime.version(), "{row}");
    }

    redial(&["dial", &iis.target("Shop"), ADD, "count"])?.ok()?;
    call(&mut shop, 1_234)?;
    call(&mut stock, 77)?;
    ensure!(calls(&shop)? == [1_234] && stock.rows("*")?.is_empty(), "{:?}", stock.rows("*")?);
    // Names of pools are those of Windows.
    let status = redial(&["status", &iis.target("Shop").to_uppercase().replace("POOL:", "pool:"), "--json"])?;
    let status = status.ok()?.json()?;
    let rows = status.as_array().context("status --json is an array")?;
    ensure!(rows.len() == 1 && rows[0]["pid"] == shop.pid, "{status}");

    redial(&["off", &iis.target("Shop")])?.ok()?;
    call(&mut shop, 10)?;
    ensure!(calls(&shop)? == [1_234]);
    let nowhere = format!("no worker process of application pool '{}'", iis.pool("Nowhere"));
    ensure_messages(&redial(&["off", &iis.target("Nowhere")])?, 3, &[&nowhere])?;
    end(shop)?;
    end(stock)
}

/// IIS starts the new worker before the old one ends.
fn recycled_worker_joins(runtime: Runtime) -> Result<()> {
    let iis = Iis::new("recycled", runtime)?;
    let mut old = iis.start("Shop")?;
    let mut dial = Host::start_with_merged_output(host::redial(&[
        "dial",
        &iis.target("Shop"),
        ADD,
        "count",
        "--follow",
    ])?)?;
    dial.wait_for(&format!("process {} (w3wp.exe)", old.pid))?;
    dial.wait_for(&format!("following {}", iis.target("Shop")))?;
    call(&mut old, 5)?;
    ensure!(calls(&old)? == [5]);

    let mut new = iis.start("Shop")?;
    dial.wait_for(&format!("process {} (w3wp.exe) started", new.pid))?;
    call(&mut new, 6)?;
    ensure!(calls(&new)? == [6]);
    let ended = format!("process {} (w3wp.exe) has ended", old.pid);
    end(old)?;
    dial.wait_for(&ended)?;
    call(&mut new, 1)?;
    ensure!(calls(&new)? == [7]);
    dial.kill();
    end(new)
}

/// ASP.NET Core answers requests in the worker's process. Its program's methods are counted exactly, and no more once off.
fn counts_a_web_program_in_the_worker(runtime: Runtime) -> Result<()> {
    const TOTAL: &str = "web!Web.Cart.Total(int)";
    let iis = Iis::new("web", runtime)?;
    let mut command = iis.command("Web", &programs::named("web")?)?;
    host::load_agent(&mut command)?;
    let mut worker = Host::start(command)?;
    let ready = worker.wait_for("ready ")?;
    let (pid, port) = ready.split_once(' ').with_context(|| format!("ready {ready:?}"))?;
    let row = process(pid.parse()?)?;
    ensure!(row["group"] == iis.target("Web") && row["name"] == "w3wp.exe", "{row}");
    let load = Load::start(port.parse()?);
    load.go_on(100)?;
    load.pause()?;

    let target = iis.target("Web");
    redial(&["dial", &target, TOTAL, "count"])?.ok()?;
    worker.ask("truth-reset", "reset")?;
    load.go_on(500)?;
    load.pause()?;
    let calls = || -> Result<u64> {
        let rows = redial(&["status", &target, TOTAL, "--json"])?.ok()?.json()?;
        rows[0]["calls"].as_u64().with_context(|| format!("{rows}"))
    };
    let truth = truth::ask(&mut worker, "truth")?;
    let counted = calls()?;
    ensure!(counted >= 500 && truth.get("Web.Cart.Total(int)") == Some(&counted), "{counted}: {truth:?}");
    redial(&["off", &target])?.ok()?;
    load.go_on(100)?;
    load.pause()?;
    ensure!(calls()? == counted, "it counts on: {}", calls()?);
    load.end()?;
    worker.say("exit")?;
    let outcome = worker.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

#[test]
fn counts_a_web_program_in_a_3_1_worker() -> Result<()> {
    counts_a_web_program_in_the_worker(Runtime::ASP_NET_3_1)
}

#[test]
fn counts_a_web_program_in_an_8_0_worker() -> Result<()> {
    counts_a_web_program_in_the_worker(Runtime::V8_0)
}

on_each_runtime!(dials_only_the_named_pool, recycled_worker_joins);

//! Many timed threads take little memory and address space from their process, so that its own needs are met under
//! limits, too.
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::skip::not_run;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs, resource_limits, soak};
use std::fs;

on_each_runtime!(times_a_thousand_threads_in_limited_memory, times_a_thousand_threads_in_limited_space);

const THREADS: u64 = 1000;
const WORK: &str = "threads!Threads.Work(int)";
const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// `RLIMIT_DATA` counts the memory that a process may write to, like `vm.overcommit_memory=2` does for the machine.
fn times_a_thousand_threads_in_limited_memory(runtime: Runtime) -> Result<()> {
    ensure_times_threads(runtime, Some((libc::RLIMIT_DATA, 2 << 30)))
}

fn times_a_thousand_threads_in_limited_space(runtime: Runtime) -> Result<()> {
    ensure_times_threads(runtime, Some((libc::RLIMIT_AS, 6 << 30)))
}

/// The whole machine promises no more memory than it has. (The test runner runs nothing beside it.)
#[test]
fn times_a_thousand_threads_without_overcommit() -> Result<()> {
    const TEST: &str = "times_a_thousand_threads_without_overcommit";
    if !soak::is_on() {
        not_run(TEST, "it changes a setting of the machine, so it belongs to the soak");
        return Ok(());
    }
    let room = kib("CommitLimit")?.saturating_sub(kib("Committed_AS")?);
    if room < 4 << 20 {
        not_run(TEST, "programs were promised most of the memory already");
        return Ok(());
    }
    let Some(_strict) = Strict::begin() else {
        not_run(TEST, "vm.overcommit_memory cannot be changed here");
        return Ok(());
    };
    ensure_times_threads(Runtime::V8_0, None)
}

/// `vm.overcommit_memory` is 2 until this is dropped.
struct Strict(String);

impl Strict {
    fn begin() -> Option<Strict> {
        let before = Strict(fs::read_to_string(OVERCOMMIT).ok()?);
        fs::write(OVERCOMMIT, "2").is_ok().then_some(before)
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        fs::write(OVERCOMMIT, &self.0).expect("it was written before");
    }
}

fn kib(field: &str) -> Result<u64> {
    let all = fs::read_to_string("/proc/meminfo")?;
    let line = all.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).context("a field")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Every call of every thread is timed, and the program can use its heap as without the agent.
fn ensure_times_threads(runtime: Runtime, limited: Option<(libc::__rlimit_resource_t, u64)>) -> Result<()> {
    let mut command = programs::named("threads")?.command(runtime)?;
    // What the runtime and the C library reserve depends on machine and version.
    for prefix in ["DOTNET", "COMPlus"] {
        command.env(format!("{prefix}_GCHeapHardLimit"), "10000000").env(format!("{prefix}_gcServer"), "0");
    }
    command.env("MALLOC_ARENA_MAX", "2");
    if let Some((resource, bytes)) = limited {
        resource_limits::limit(&mut command, resource, bytes);
    }
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    controller.dial(WORK, Level::Time, Lifetime::Kept)?;
    let mut calls = 0;
    for _ in 0..2 {
        live.host.ask(&format!("start {THREADS}"), "started ")?;
        ensure!(live.host.ask("call 100", "called ")? == (calls + THREADS * 101).to_string());
        calls += THREADS * 101;
        live.host.ask("take 100", "took")?;
        ensure_timed(&live, &mut controller, calls)?;
        live.host.ask("end", "ended")?;
    }
    ensure_timed(&live, &mut controller, calls)?;
    ensure!(controller.all_off()?.1 == 0 && controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

fn ensure_timed(live: &LiveHost, controller: &mut Controller, calls: u64) -> Result<()> {
    let (row, times) = controller.timed(WORK)?;
    ensure!((row.calls, times.exits) == (calls, calls), "not {calls} calls: {row:?} {times:?}");
    ensure!(row.times_note.is_none(), "{row:?}");
    let status = fs::read_to_string(format!("/proc/{}/status", live.pid))?;
    let sizes =
        status.lines().filter(|line| ["VmSize", "VmData", "VmRSS"].iter().any(|one| line.contains(one)));
    println!("{calls} calls: {}", sizes.collect::<Vec<_>>().join("; "));
    Ok(())
}

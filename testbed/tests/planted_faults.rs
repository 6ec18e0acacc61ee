//! A fault in any callback of the agent, on a live host: the host works and ends as without the agent. After
//! three faults the agent turns all dials off and says so.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_AGENT_FAULTS;
use redial_protocol::message::StatusRow;
use redial_protocol::order::{Order, TimeOptions};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, DEADLINE, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{cache, on_each_runtime, process_facts, programs, soak};

on_each_runtime!(
    three_faults_in_a_callback_turn_the_agent_off,
    faults_in_request_errors_turn_the_agent_off,
    faults_at_the_start_leave_the_host_alone,
    faults_at_the_end_leave_the_host_alone,
);

/// Rounds within which the program provokes each callback three times.
const MAX_ROUNDS: u32 = 10;
/// Callbacks that every round of the program provokes.
const REPEATED: [&str; 20] = [
    "ModuleLoadFinished",
    "ModuleAttachedToAssembly",
    "ModuleUnloadStarted",
    "JITInlining",
    "JITCompilationStarted",
    "JITCompilationFinished",
    "DynamicMethodJITCompilationStarted",
    "DynamicMethodJITCompilationFinished",
    "DynamicMethodUnloaded",
    "GetReJITParameters",
    "ReJITCompilationStarted",
    "ReJITCompilationFinished",
    "ExceptionThrown",
    "ExceptionSearchFunctionEnter",
    "ExceptionSearchFilterEnter",
    "ExceptionSearchFilterLeave",
    "ExceptionUnwindFunctionEnter",
    "ExceptionUnwindFinallyEnter",
    "ExceptionUnwindFinallyLeave",
    "ExceptionCatcherEnter",
];
const PATTERN: &str = "Loaded!Loaded.Work.*";

/// The file that names the callbacks in which the agent fails. Dropping it removes the file.
struct Plan(PathBuf);

impl Plan {
    /// Nothing fails before [`Plan::fail_in`].
    fn new() -> Plan {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Plan(cache::folder().join(format!("faults-{}-{number}", std::process::id())))
    }

    /// Returns the program, to be started under an agent that follows this plan.
    fn command(&self, runtime: Runtime) -> Result<Command> {
        let mut command = programs::named("provoke")?.command(runtime)?;
        command.env("REDIAL_TEST_PANIC", &self.0);
        // The first compilation inlines.
        under_agent::set_tiered(&mut command, "0");
        Ok(command)
    }

    fn fail_in(&self, callbacks: &str) -> Result<()> {
        std::fs::write(&self.0, callbacks).with_context(|| self.0.display().to_string())
    }

    fn end(&self) -> Result<()> {
        std::fs::remove_file(&self.0).with_context(|| self.0.display().to_string())
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // The file exists only if a check failed meanwhile.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Lets the program work one round; returns its answer.
fn round(host: &mut Host) -> Result<String> {
    host.ask("work 1", "worked 1 ")
}

/// Returns the answer to one round without the agent.
fn expected_answer(runtime: Runtime) -> Result<String> {
    let mut host = Host::start(programs::named("provoke")?.command(runtime)?)?;
    let answer = round(&mut host)?;
    end(host)?;
    Ok(answer)
}

/// Ends the program. It must return its number and say nothing.
fn end(mut host: Host) -> Result<Outcome> {
    host.say("exit 7")?;
    let outcome = host.finish()?;
    ensure!(outcome.code()? == 7 && outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(outcome)
}

/// Dials the methods that every round loads, so that every kind of callback comes.
fn dial(controller: &mut Controller) -> Result<()> {
    let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
    let order = Order { options, ..Order::new(PATTERN, Level::Time) };
    controller.order(vec![order], Lifetime::Kept).map(drop)
}

/// Waits until the agent has turned all dials off, and checks what it says.
fn ensure_off(live: &mut LiveHost, controller: &mut Controller, expected: &str) -> Result<()> {
    let is_on = |row: &StatusRow| row.wanted != Level::Off || row.version.is_some();
    let deadline = Instant::now() + DEADLINE;
    // No event announces the end of the agent.
    while controller.status(Some(PATTERN))?.iter().any(is_on) {
        ensure!(Instant::now() < deadline, "dials are still on: {:?}", controller.status(Some(PATTERN))?);
        ensure!(round(&mut live.host)? == expected);
        std::thread::sleep(Duration::from_millis(20));
    }
    let before: Vec<u64> = controller.status(Some(PATTERN))?.iter().map(|row| row.calls).collect();
    ensure!(round(&mut live.host)? == expected);
    let after: Vec<u64> = controller.status(Some(PATTERN))?.iter().map(|row| row.calls).collect();
    ensure!(before == after, "calls were counted after the end: {before:?} {after:?}");
    let status = controller.agent_status()?;
    ensure!((status.held, status.kept) == (0, 0), "{status:?}");
    let sentence = "the agent switched itself off after three internal errors; every dial is off";
    ensure_messages(&live.redial("dial", &["*", "count"])?, 1, &[sentence])?;
    let said = live.redial("status", &[])?.ok()?;
    ensure!(said.output().contains(sentence), "{}", said.output());
    Ok(())
}

fn three_faults_in_a_callback_turn_the_agent_off(runtime: Runtime) -> Result<()> {
    let expected = expected_answer(runtime)?;
    // In the gate the runtimes share the callbacks.
    let (first, step) = match runtime {
        _ if soak::is_on() => (0, 1),
        Runtime::V2_1 => (0, 3),
        Runtime::V3_1 => (1, 3),
        _ => (2, 3),
    };
    for callback in REPEATED.into_iter().skip(first).step_by(step).chain(["*"]) {
        turns_off_by(runtime, callback, &expected).with_context(|| callback)?;
    }
    Ok(())
}

fn turns_off_by(runtime: Runtime, callback: &str, expected: &str) -> Result<()> {
    let plan = Plan::new();
    let (mut live, mut controller) = under_agent::start_controlled(plan.command(runtime)?)?;
    ensure!(round(&mut live.host)? == expected);
    dial(&mut controller)?;
    ensure!(round(&mut live.host)? == expected);
    let rows = controller.status(Some(PATTERN))?;
    ensure!(rows.iter().any(|row| row.calls > 0), "nothing was counted: {rows:?}");
    ensure!(controller.agent_status()?.guard_trips == 0);
    plan.fail_in(callback)?;
    let mut rounds = 0;
    while controller.agent_status()?.guard_trips < MAX_AGENT_FAULTS {
        ensure!(rounds < MAX_ROUNDS, "{} faults in {rounds} rounds", controller.agent_status()?.guard_trips);
        ensure!(round(&mut live.host)? == expected);
        rounds += 1;
    }
    ensure_off(&mut live, &mut controller, expected)?;
    plan.end()?;
    end(live.host)?;
    controller.wait_for_end()
}

/// `ReJITError`, which comes with every request here.
fn faults_in_request_errors_turn_the_agent_off(runtime: Runtime) -> Result<()> {
    let expected = expected_answer(runtime)?;
    let plan = Plan::new();
    let mut command = plan.command(runtime)?;
    command.env("REDIAL_TEST_BAD_TOKEN", "1");
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    ensure!(round(&mut live.host)? == expected);
    plan.fail_in("ReJITError")?;
    for faults in 1..=MAX_AGENT_FAULTS {
        controller.dial(
            &format!("provoke!Provoke.{}", ["Main", "Round", "Say"][faults as usize - 1]),
            Level::Count,
            Lifetime::Kept,
        )?;
        ensure!(controller.agent_status()?.guard_trips == faults, "{:?}", controller.agent_status()?);
        ensure!(round(&mut live.host)? == expected);
    }
    ensure_off(&mut live, &mut controller, &expected)?;
    plan.end()?;
    end(live.host).map(drop)
}

/// Without `Initialize` there is no agent; callbacks that come once or twice do not turn it off.
fn faults_at_the_start_leave_the_host_alone(runtime: Runtime) -> Result<()> {
    let expected = expected_answer(runtime)?;
    for callback in ["*", "Initialize"] {
        let plan = Plan::new();
        plan.fail_in(callback)?;
        let mut command = plan.command(runtime)?;
        host::load_agent(&mut command)?;
        let mut host = Host::start(command)?;
        let pid: u32 = host.wait_for("ready")?.parse()?;
        ensure!(round(&mut host)? == expected);
        ensure!(!process_facts::has_library(pid, "redial_agent")?, "{callback}: the library is still there");
        end(host)?;
    }
    for callback in ["AppDomainCreationStarted", "AppDomainCreationFinished"] {
        let plan = Plan::new();
        plan.fail_in(callback)?;
        let (mut live, mut controller) = under_agent::start_controlled(plan.command(runtime)?)?;
        ensure!(round(&mut live.host)? == expected);
        let faults = controller.agent_status()?.guard_trips;
        ensure!(faults > 0, "{callback} did not fail");
        // .NET Core 2.1 makes three domains at its start.
        let accepted = dial(&mut controller).is_ok();
        ensure!(
            accepted == (faults < MAX_AGENT_FAULTS),
            "{callback}: {faults} faults, dials accepted: {accepted}"
        );
        ensure!(round(&mut live.host)? == expected);
        let rows = controller.status(Some(PATTERN))?;
        ensure!(rows.iter().any(|row| row.calls > 0) == accepted, "{callback}: {rows:?}");
        end(live.host)?;
    }
    Ok(())
}

#[test]
fn faults_in_an_attach_leave_a_3_1_host_alone() -> Result<()> {
    faults_in_an_attach_leave_the_host_alone(Runtime::V3_1)
}

#[test]
fn faults_in_an_attach_leave_an_8_0_host_alone() -> Result<()> {
    faults_in_an_attach_leave_the_host_alone(Runtime::V8_0)
}

/// The attach fails with a sentence. Where the library could be unloaded, a later attach succeeds.
fn faults_in_an_attach_leave_the_host_alone(runtime: Runtime) -> Result<()> {
    let expected = expected_answer(runtime)?;
    for (callback, sentence) in
        [("InitializeForAttach", "refused to load"), ("ProfilerAttachComplete", "could not start")]
    {
        let plan = Plan::new();
        let mut host = Host::start(plan.command(runtime)?)?;
        let pid = host.wait_for("ready")?;
        ensure!(round(&mut host)? == expected);
        plan.fail_in(callback)?;
        let failed = host::run(host::redial(&["attach", &pid])?)?;
        ensure!(failed.code()? != 0 && failed.stdout.is_empty(), "{}", failed.output());
        ensure!(failed.stderr.contains(sentence), "{callback}: {}", failed.output());
        ensure!(round(&mut host)? == expected);
        plan.end()?;
        let again = host::run(host::redial(&["attach", &pid])?)?;
        let is_unloaded = callback == "InitializeForAttach";
        ensure!((again.code()? == 0) == is_unloaded, "{callback}: {}", again.output());
        ensure!(round(&mut host)? == expected);
        end(host)?;
    }
    Ok(())
}

/// The agent's threads do not call a runtime that has shut down, although `Shutdown` failed.
fn faults_at_the_end_leave_the_host_alone(runtime: Runtime) -> Result<()> {
    let expected = expected_answer(runtime)?;
    for callbacks in ["Shutdown", "AppDomainShutdownStarted", "Shutdown AppDomainShutdownStarted"] {
        let plan = Plan::new();
        let (mut live, mut controller) = under_agent::start_controlled(plan.command(runtime)?)?;
        ensure!(round(&mut live.host)? == expected);
        dial(&mut controller)?;
        ensure!(round(&mut live.host)? == expected);
        plan.fail_in(callbacks)?;
        end(live.host)?;
        controller.wait_for_end()?;
    }
    Ok(())
}

//! A method of every shape of IL body (`programs/shapes`). Dialled or not, each gives the same result and side
//! effects, and throws the same exception with the same lines in its trace; counts equal the truth.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, Counts, differences};
use redial_testbed::truth::{self, Truth};
use redial_testbed::{generate, on_each_runtime, programs, under_agent};

/// The program, and shapes that C# cannot express.
const EVERY: [&str; 2] = ["shapes!*", "Jumps!*"];
/// Levels under test.
const LEVELS: [Level; 2] = [Level::Count, Level::Time];
/// Number of runs through every shape.
const RUNS: usize = 4;

/// How the C# compiler and the JIT compile the program.
#[derive(Clone, Copy)]
struct Mode {
    optimised: bool,
    tiered: &'static str,
    /// Whether traces are the same in each run. If code is optimised at varying times, inlining and the lines
    /// of calls vary too.
    traces: bool,
}

const DEBUG: Mode = Mode { optimised: false, tiered: "1", traces: true };
const OPTIMISED: Mode = Mode { optimised: true, tiered: "0", traces: true };
const TIERED: Mode = Mode { optimised: true, tiered: "1", traces: false };

fn start(runtime: Runtime, mode: Mode, options: Option<&[&str]>) -> Result<(Host, u32)> {
    let mut command = programs::shapes(mode.optimised)?.command(runtime)?;
    command.arg(generate::jumps_library()?);
    under_agent::set_tiered(&mut command, mode.tiered);
    if let Some(options) = options {
        command = host::redial_run(options, &command)?;
    }
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse()?;
    Ok((host, pid))
}

fn run_all_shapes(host: &mut Host, runtime: Runtime, mode: Mode) -> Result<Run> {
    host.say("run")?;
    let mut said = Vec::new();
    loop {
        let line = host.next_line()?;
        if line == "done" {
            break;
        }
        let line = with_lines_that_hold(runtime, &line);
        said.push(if mode.traces { line } else { without_trace(&line) });
    }
    ensure!(said.len() > 100, "{} shapes", said.len());
    Ok((said, truth::ask(host, "truth")?))
}

/// Drops lines that the runtime gets wrong. Before .NET 5 it takes the place of an exception for an offset in
/// the method's *first* code (`GetStackFramesFromException` in its debugdebugger.cpp), so the trace lines of
/// recompiled methods are wrong with any profiler. .NET Core 2.1 also ignores the map of offsets
/// (dotnet/coreclr 21786).
fn with_lines_that_hold(runtime: Runtime, line: &str) -> String {
    if runtime == Runtime::V8_0 || line.starts_with("stack frames") && runtime == Runtime::V3_1 {
        return line.to_owned();
    }
    let mut parts = line.split(":line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn without_trace(line: &str) -> String {
    match (line.split_once('|'), line.rsplit_once('#')) {
        (Some((before, _)), Some((_, after))) => format!("{before} #{after}"),
        _ => line.to_owned(),
    }
}

/// The result of every shape, and the calls that it made.
type Run = (Vec<String>, Truth);

fn without_agent(runtime: Runtime, mode: Mode) -> Result<Vec<Run>> {
    let (mut host, _) = start(runtime, mode, None)?;
    let runs = (0..RUNS).map(|_| run_all_shapes(&mut host, runtime, mode)).collect::<Result<Vec<_>>>()?;
    host.close_input();
    ensure!(host.finish()?.code()? == 0);
    let traced = runs[0].0.iter().filter(|line| line.contains("|   at Shapes.")).count();
    ensure!(traced >= if mode.traces { 15 } else { 0 }, "{traced} shapes have traces");
    Ok(runs)
}

fn ensure_same(said: &[String], expected: &[String], when: &str) -> Result<()> {
    let differ: Vec<_> = said.iter().zip(expected).filter(|(said, expected)| said != expected).collect();
    ensure!(differ.is_empty() && said.len() == expected.len(), "{when}: {differ:#?}");
    Ok(())
}

fn ensure_exact(truth: &Truth, before: &Counts, counts: &Counts, when: &str) -> Result<()> {
    let wrong = differences(truth, before, counts, |_, _| true);
    ensure!(truth.len() > 100 && wrong.is_empty(), "{when}: not exact:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Checks that only methods without IL are refused and that nothing failed. Returns the counts.
fn ensure_accepted(controller: &mut Controller, state: &[CopyState]) -> Result<Counts> {
    let mut rows = Vec::new();
    for pattern in EVERY {
        rows.extend(controller.status(Some(pattern))?);
    }
    let other: Vec<_> = rows.iter().filter(|row| !state.contains(&row.state)).collect();
    ensure!(rows.len() > 300 && other.is_empty(), "{} rows: {other:?}", rows.len());
    Ok(shop::of_rows(&rows))
}

fn dialled_from_the_start(runtime: Runtime, mode: Mode) -> Result<()> {
    let expected = without_agent(runtime, mode)?;
    LEVELS.into_iter().try_for_each(|level| dial_from_the_start_at(runtime, mode, level, &expected))
}

fn dial_from_the_start_at(runtime: Runtime, mode: Mode, level: Level, expected: &[Run]) -> Result<()> {
    let orders = EVERY.map(|pattern| format!("{pattern}={level}"));
    let options: Vec<&str> = orders.iter().flat_map(|order| ["--dial", order.as_str()]).collect();
    let (mut host, pid) = start(runtime, mode, Some(&options))?;
    let mut controller = Controller::connect(pid)?;
    let mut before = Counts::new();
    for (number, (shapes, _)) in expected.iter().enumerate() {
        let when = format!("run {number}");
        let (said, truth) = run_all_shapes(&mut host, runtime, mode)?;
        ensure_same(&said, shapes, &when)?;
        let counts = ensure_accepted(&mut controller, &[CopyState::Asked, CopyState::Live])?;
        ensure_exact(&truth, &before, &counts, &when)?;
        before = counts;
    }
    finish(host, controller)
}

fn dialled_while_it_runs(runtime: Runtime, mode: Mode) -> Result<()> {
    let expected = without_agent(runtime, mode)?;
    LEVELS.into_iter().try_for_each(|level| dial_while_it_runs_at(runtime, mode, level, &expected))
}

fn dial_while_it_runs_at(runtime: Runtime, mode: Mode, level: Level, expected: &[Run]) -> Result<()> {
    let (mut host, pid) = start(runtime, mode, Some(&[]))?;
    let mut controller = Controller::connect(pid)?;
    let mut before = Counts::new();
    for (number, (shapes, _)) in expected.iter().enumerate() {
        let on = number % 2 == 1;
        if on {
            let report = controller.dial_all(&EVERY, level, Lifetime::Kept)?;
            ensure!(report.refused.is_empty() && report.accepted > 300, "{report:?}");
        } else if number > 0 {
            for pattern in EVERY {
                controller.off(pattern)?;
            }
        }
        let when = format!("run {number}, {}", if on { "dialled" } else { "not dialled" });
        let (said, truth) = run_all_shapes(&mut host, runtime, mode)?;
        ensure_same(&said, shapes, &when)?;
        if on {
            let counts = ensure_accepted(&mut controller, &[CopyState::Asked, CopyState::Live])?;
            ensure_exact(&truth, &before, &counts, &when)?;
            before = counts;
        } else if number > 0 {
            // The call that printed the last line may have been in flight when its dial was turned off.
            controller.subscribe(None)?;
            controller.wait_until("calls in flight to end", |dials| {
                dials.values().all(|row| row.state != CopyState::Reverting)
            })?;
            ensure!(ensure_accepted(&mut controller, &[CopyState::Off])?.iter().all(|(name, counted)| {
                before.get(name).is_some_and(|earlier| earlier.calls == counted.calls)
            }));
        }
    }
    finish(host, controller)
}

fn finish(mut host: Host, mut controller: Controller) -> Result<()> {
    ensure!(controller.agent_status()?.guard_trips == 0);
    host.close_input();
    let outcome = host.finish()?;
    ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

fn debug_from_the_start(runtime: Runtime) -> Result<()> {
    dialled_from_the_start(runtime, DEBUG)
}

fn optimised_from_the_start(runtime: Runtime) -> Result<()> {
    dialled_from_the_start(runtime, OPTIMISED)
}

fn tiered_from_the_start(runtime: Runtime) -> Result<()> {
    dialled_from_the_start(runtime, TIERED)
}

fn debug_while_it_runs(runtime: Runtime) -> Result<()> {
    dialled_while_it_runs(runtime, DEBUG)
}

fn optimised_while_it_runs(runtime: Runtime) -> Result<()> {
    dialled_while_it_runs(runtime, OPTIMISED)
}

fn tiered_while_it_runs(runtime: Runtime) -> Result<()> {
    dialled_while_it_runs(runtime, TIERED)
}

on_each_runtime!(
    debug_from_the_start,
    optimised_from_the_start,
    tiered_from_the_start,
    debug_while_it_runs,
    optimised_while_it_runs,
    tiered_while_it_runs,
);
